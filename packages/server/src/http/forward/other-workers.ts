/** Requests that another worker of the fleet answers, or may. */
import { ServiceError, type Endpoint, type ErrorCode } from '@berth/contract';
import { hasBody } from '../body/body.ts';
import type { Exchange } from '../server/exchange.ts';
import { forwardGraceMs, type ForwardedResponse, type ForwardTarget } from './forward.ts';
import type { HttpOptions } from '../options.ts';
import { relayResponse } from './relay-response.ts';

interface OtherWorkersDeps extends Pick<HttpOptions, 'forwarder' | 'limits' | 'isDraining'> {
  originOf(exchange: Exchange): string;
}

/** How a request is answered by one worker or another. */
interface Answers {
  here: () => Promise<void>;
  /** Throws RequestForwardedError where the worker has no room and is not the last one. */
  there: (target: ForwardTarget, isLast: boolean) => Promise<void>;
}

interface Forwarded {
  /** What was read of the body already; absent: it is passed on as it comes. */
  body?: Buffer | undefined;
  isLast: boolean;
}

/** Refusals after which another worker may take the request: nothing was made. */
const isForwardable = (code: ErrorCode | null): boolean => code === 'no_capacity' || code === 'draining';

/** The worker that was asked has no room: the request is forwarded to a further one. */
class RequestForwardedError extends Error {}

/** Whether a further worker may take a request that failed so. */
const mayForwardAgain = (error: unknown): boolean =>
  error instanceof RequestForwardedError ||
  (error instanceof ServiceError && (isForwardable(error.code) || (error.code === 'worker_unreachable' && error.retryable)));

/** Drops the refusal of a worker after which the next one is asked. @throws RequestForwardedError */
export function passRefusal({ code, body }: ForwardedResponse, isLast: boolean): void {
  if (isLast || !isForwardable(code)) return;
  body.resume();
  throw new RequestForwardedError();
}

export class OtherWorkers {
  readonly #options: OtherWorkersDeps;

  constructor(options: OtherWorkersDeps) {
    this.#options = options;
  }

  /** The worker of the session in the path answers, or this one. */
  async byPath(endpoint: Endpoint, exchange: Exchange, params: Readonly<Record<string, string>>, answers: Answers): Promise<void> {
    const forwarder = this.#forwarderOf(exchange);
    const target = await forwarder?.byPath(exchange, endpoint, params);
    if (!target) return answers.here();
    try {
      await answers.there(target, true);
    } catch (error) {
      // It ended with its worker, which is not there any more.
      const isRepeatable = error instanceof ServiceError && error.code === 'worker_unreachable' && !hasBody(exchange.request);
      if (!isRepeatable || !(await forwarder?.hasEnded(target))) throw error;
      await answers.here();
    }
  }

  /**
   * The worker that placement chooses for what the request asks answers, or this one. One that has no room made nothing: the
   * next one is asked. Where clients share a session, another may have made it elsewhere meanwhile: that worker is asked last.
   */
  async byContent(endpoint: Endpoint, exchange: Exchange, answers: Answers): Promise<void> {
    const forwarder = this.#forwarderOf(exchange);
    if (!forwarder) return answers.here();
    const { workerId } = forwarder;
    const find = async (): Promise<readonly ForwardTarget[]> =>
      (await forwarder.byContent(exchange, endpoint)) ?? [{ workerId, sessionId: null }];
    const targets = [...(await find())];
    let mayBeElsewhere = forwarder.isShared(exchange, endpoint);
    for (const [index, target] of targets.entries()) {
      const isLast = index === targets.length - 1;
      try {
        if (target.workerId === workerId) return await answers.here();
        return await answers.there(target, isLast && !mayBeElsewhere);
      } catch (error) {
        if (!mayForwardAgain(error) || (isLast && !mayBeElsewhere)) throw error;
        if (!isLast) continue;
        mayBeElsewhere = false;
        targets.push(...(await find()).slice(0, 1));
      }
    }
  }

  /** The reply with what other workers add to it. */
  gather(endpoint: Endpoint, exchange: Exchange, reply: unknown): unknown {
    return this.#forwarderOf(exchange)?.gather(exchange, endpoint, reply) ?? reply;
  }

  /** Sends the request to the worker and its response to the client. @throws ServiceError worker_unreachable, deadline_exceeded */
  async forward(endpoint: Endpoint, exchange: Exchange, target: ForwardTarget, { body, isLast }: Forwarded): Promise<void> {
    const { forwarder, limits } = this.#options;
    const { response } = exchange;
    if (!forwarder || !response) throw new Error('this worker is alone');
    exchange.origin = this.#options.originOf(exchange);
    if (target.sessionId !== null) exchange.caller.sessionId = target.sessionId;
    exchange.isEndless = endpoint.replyKind === 'events';
    const work = async (): Promise<void> => {
      const answer = await forwarder.send(exchange, target, body);
      passRefusal(answer, isLast);
      exchange.code = answer.code;
      await relayResponse(exchange, answer, { workerId: target.workerId, isClosing: this.#options.isDraining() });
    };
    try {
      await exchange.withDeadline((endpoint.deadlineMs ?? limits.deadlineMs) + forwardGraceMs, work());
    } catch (error) {
      if (!response.headersSent) throw error;
      if (!exchange.isEndless) response.destroy();
    }
  }

  /** Undefined where this worker is alone, and for what another has passed on: it goes no further. */
  #forwarderOf({ forwarded }: Exchange): HttpOptions['forwarder'] {
    return forwarded ? undefined : this.#options.forwarder;
  }
}
