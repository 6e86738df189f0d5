/** Requests that another worker of the fleet answers, or may. */
import { ServiceError, type Endpoint } from '@berth/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasBody } from '../body/body.ts';
import type { Exchange } from '../server/exchange.ts';
import { forwardGraceMs, RequestForwardedError, isForwardable, mayForwardAgain, type ForwardTarget } from './forward.ts';
import type { HttpOptions } from '../options.ts';
import { relayResponse } from './relay-response.ts';

export type ParamsAndQuery = { Params: Record<string, string>; Querystring: Record<string, unknown> };
export type Incoming = FastifyRequest<ParamsAndQuery> & { exchange: Exchange };
export interface RequestContext {
  exchange: Exchange;
  request: Incoming;
  reply: FastifyReply;
}

type Serve = (context: RequestContext) => Promise<FastifyReply>;

interface OtherWorkersDeps extends Pick<HttpOptions, 'forwarder' | 'limits' | 'isDraining'> {
  originOf(exchange: Exchange): string;
}

interface NewWork {
  /** What was read of the request. */
  body: Buffer | undefined;
  /** Answers at this worker. */
  here: () => Promise<FastifyReply>;
}

const noBody = Buffer.alloc(0);

export class OtherWorkers {
  readonly #options: OtherWorkersDeps;

  constructor(options: OtherWorkersDeps) {
    this.#options = options;
  }

  /** Here, or by the worker of the session in the path, to which the body goes unread. */
  answer(endpoint: Endpoint, context: RequestContext, serve: Serve): Promise<FastifyReply> {
    const { forwarder } = this.#options;
    const { exchange, request } = context;
    const finding = forwarder && !exchange.forwarded ? forwarder.byPath(exchange, endpoint, request.params) : null;
    if (!finding) return serve(context);
    return finding.then((target) => {
      if (!target) return serve(context);
      return this.#forward(endpoint, context, target).catch(async (error: unknown) => {
        // It ended with its worker, which is not there any more.
        const isRepeatable = error instanceof ServiceError && error.code === 'worker_unreachable' && !hasBody(exchange.request);
        if (isRepeatable && (await forwarder?.hasEnded(target))) return serve(context);
        throw error;
      });
    });
  }

  /** Here, or by the worker that placement chooses for what the body asks. */
  async place(endpoint: Endpoint, context: RequestContext, work: NewWork): Promise<FastifyReply> {
    const { forwarder } = this.#options;
    const { exchange } = context;
    const targets = forwarder && !exchange.forwarded ? await forwarder.byContent(exchange, endpoint) : null;
    return targets ? this.#tryWorkers(endpoint, context, { ...work, targets }) : work.here();
  }

  /** The reply with what other workers add to it. */
  gather(endpoint: Endpoint, exchange: Exchange, reply: unknown): unknown {
    const { forwarder } = this.#options;
    return forwarder && !exchange.forwarded ? forwarder.gather(exchange, endpoint, reply) : reply;
  }

  /** @throws ServiceError worker_unreachable, deadline_exceeded */
  async #forward(
    endpoint: Endpoint,
    context: RequestContext,
    target: ForwardTarget,
    retry?: { body: Buffer | undefined; isLast: boolean },
  ): Promise<FastifyReply> {
    const { forwarder, limits } = this.#options;
    const { exchange, reply } = context;
    if (!forwarder) throw new Error('this worker is alone');
    exchange.origin = this.#options.originOf(exchange);
    if (target.sessionId !== null) exchange.caller.sessionId = target.sessionId;
    exchange.isEndless = endpoint.replyKind === 'events';
    const work = async (): Promise<void> => {
      const response = await forwarder.send(exchange, target, retry && (retry.body ?? noBody));
      if (retry && !retry.isLast && isForwardable(response.code)) {
        response.body.resume();
        throw new RequestForwardedError();
      }
      exchange.code = response.code;
      reply.hijack();
      const isClosing = this.#options.isDraining();
      await relayResponse(exchange, response, { workerId: target.workerId, isClosing });
    };
    try {
      await exchange.withDeadline((endpoint.deadlineMs ?? limits.deadlineMs) + forwardGraceMs, work());
    } catch (error) {
      if (!reply.raw.headersSent) throw error;
      if (!exchange.isEndless) reply.raw.destroy();
    }
    return reply;
  }

  /** A worker that has no room made nothing: the next one is asked. */
  async #tryWorkers(
    endpoint: Endpoint,
    context: RequestContext,
    { targets, body, here }: NewWork & { targets: readonly ForwardTarget[] },
  ): Promise<FastifyReply> {
    for (const [index, target] of targets.entries()) {
      const isLast = index === targets.length - 1;
      try {
        if (target.workerId === this.#options.forwarder?.workerId) return await here();
        return await this.#forward(endpoint, context, target, { body, isLast });
      } catch (error) {
        if (isLast || !mayForwardAgain(error)) throw error;
      }
    }
    return here();
  }
}
