import type { ServerResponse, IncomingMessage } from 'node:http';
import type { Call, ForwardedCall, ReadableHeader } from '../call.ts';
import type { InnerCall } from '../inner.ts';
import type { Principal } from '../../accounts/principals/principals.ts';
import { ServiceError, type Endpoint, type ErrorCode } from '@berth/contract';
import { redactUrl } from '@berth/lib/secrets/redact/redact.ts';
import type { Caller } from '@berth/lib/turns/sections.ts';
import { beginRequest, type RequestSpan } from '@berth/lib/tracing.ts';

/** The client closed the connection before the response was written. */
export class ClientDisconnectedError extends Error {
  constructor() {
    super('the client closed the connection');
    this.name = 'ClientDisconnectedError';
  }
}

const noBytes = Buffer.alloc(0);
const nobody: Principal = { owner: null, keyId: null, requestsPerMinute: null, scope: 'none' };

/**
 * One request from its arrival to its response; its handler sees it as a Call.
 *
 * The AbortController of `signal` is created on first use: few handlers need it,
 * and it would be the larger part of the cost of a small request.
 */
export class Exchange implements Call {
  params: never = undefined as never;
  query: never = undefined as never;
  body: never = undefined as never;
  rawBody: Buffer = noBytes;
  principal: Principal = nobody;
  origin = '';

  readonly requestId: string;
  readonly target: string;
  readonly startedMs: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse | null;
  /** Caller for whom the request's work runs. */
  readonly caller: Caller;
  endpointId = '';
  /** Path template of the endpoint. */
  #route = '';
  /** null where requests are not traced. */
  readonly #span: RequestSpan | null;
  /** Whether view links open this endpoint. */
  acceptsLinks = false;
  /** An event stream: the service does not wait for its end when it stops. */
  isEndless = false;
  status: number | undefined;
  /** Error code of the response; null for success and for validation errors. */
  code: ErrorCode | null = null;
  readonly headers: Record<string, string> = {};
  /** Rate limit headers. They belong to this request and are not stored for idempotent replays. */
  rateHeaders: Record<string, string> | undefined;

  #controller: AbortController | undefined;
  #abortedBy: Error | undefined;
  #reject: ((reason: Error) => void) | undefined;

  /** Set for a request that another worker has admitted. */
  readonly forwarded: ForwardedCall | null;
  /** Set for a request of the service to itself. */
  inner: InnerCall | null = null;

  constructor(request: IncomingMessage, response: ServerResponse | null, requestId: string, forwarded: ForwardedCall | null = null) {
    this.forwarded = forwarded;
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.caller = { name: '', requestId };
    this.target = request.url ?? '/';
    this.startedMs = performance.now();
    this.#span = beginRequest(request.headers);
  }

  /** Trace header of the reply; undefined where requests are not traced. */
  get traceparent(): string | undefined {
    return this.#span?.traceparent;
  }

  routeTo({ id, path }: Endpoint): void {
    this.endpointId = id;
    this.#route = path;
  }

  /** Runs a part of this request, whose spans are parts of its trace. */
  trace<T>(work: () => T): T {
    return this.#span ? this.#span.run(work) : work();
  }

  endTrace(status: number): void {
    if (!this.#span) return;
    const method = this.request.method ?? '';
    this.#span.end(this.#route === '' ? method : `${method} ${this.#route}`, {
      'http.request.method': method,
      'http.response.status_code': status,
      'berth.request_id': this.requestId,
      ...(this.#route === '' ? {} : { 'http.route': this.#route, 'berth.operation_id': this.endpointId }),
      ...(this.code === null ? {} : { 'error.type': this.code }),
    });
  }

  /** The path without tokens and without the query, which may hold one. A `?` that was pasted percent-encoded ends it, too. */
  get path(): string {
    return redactUrl(this.target.split(/\?|%3f/i, 1)[0] ?? '', { placeholder: '[secret]', rule: 'own' });
  }

  /** The ids by which its log lines are found. */
  get logFields(): object {
    const { requestId, sessionId } = this.caller;
    return {
      request_id: requestId,
      ...(sessionId === undefined ? {} : { session_id: sessionId }),
      ...(this.forwarded ? { forwarded_by: this.forwarded.from } : {}),
    };
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#abortedBy) this.#controller.abort(this.#abortedBy);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#abortedBy !== undefined;
  }

  header(name: ReadableHeader): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value[0] : value;
  }

  setHeader(name: string, value: string): void {
    this.headers[name.toLowerCase()] = value;
  }

  setStatus(status: number): void {
    this.status = status;
  }

  /** Rejects the pending wait with `reason`, even if the work ignores the signal. */
  abort(reason: Error): void {
    if (this.#abortedBy) return;
    this.#abortedBy = reason;
    this.#controller?.abort(reason);
    this.#reject?.(reason);
  }

  /**
   * Waits for the work, at most `deadlineMs`. Work that ignores the signal runs
   * on, and its result is dropped.
   *
   * @throws ServiceError deadline_exceeded
   */
  async withDeadline<T>(deadlineMs: number, work: Promise<T>): Promise<T> {
    const timer = setTimeout(expire, deadlineMs, this, deadlineMs);
    try {
      return await this.untilAborted(work);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits for the work until the exchange is aborted. */
  untilAborted<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#abortedBy) reject(this.#abortedBy);
      this.#reject = reject;
      work.then(resolve, reject);
    });
  }
}

const expire = (exchange: Exchange, deadlineMs: number): void =>
  exchange.abort(
    new ServiceError('deadline_exceeded', `The request exceeded its deadline of ${Math.round(deadlineMs / 100) / 10} seconds.`, {
      details: { deadline_ms: deadlineMs },
    }),
  );
