import type { ServerResponse, IncomingMessage } from 'node:http';
import type { Call, Principal, ReadableHeader } from './call.ts';
import { ServiceError, type ErrorCode } from '@berth/contract';

/** The caller went away before the answer was written. Nobody reads what is answered then. */
export class CallerGone extends Error {
  constructor() {
    super('the caller closed the connection');
    this.name = 'CallerGone';
  }
}

const noBytes = Buffer.alloc(0);
const nobody: Principal = { owner: null, keyId: null, requestsPerMinute: null, scope: 'none' };

/**
 * One request on its way through the stations, and what its handler sees of it.
 *
 * Most handlers never look at `signal`, so its controller is made when it is
 * first asked for: that is the larger part of the cost of a small request.
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
  endpointId = '';
  /** Somebody may look at its answer who has opened a link. */
  takesLinks = false;
  /** Its answer goes on for as long as the caller stays: nobody waits for its end when the service stops. */
  isEndless = false;
  status: number | undefined;
  /** Of the error that it was answered with; null for faults of a schema too, which have none. */
  code: ErrorCode | null = null;
  readonly headers: Record<string, string> = {};
  /** How much of its rate the caller has left: of this very request, so never kept for a repetition. */
  rateHeaders: Record<string, string> | undefined;

  #controller: AbortController | undefined;
  #abortedBy: Error | undefined;
  #giveUp: ((reason: Error) => void) | undefined;

  constructor(request: IncomingMessage, response: ServerResponse | null, requestId: string) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.target = request.url ?? '/';
    this.startedMs = performance.now();
  }

  /** What of the address may be logged: no query. A link that was pasted with its `?` encoded has it, and its token, in the path. */
  get path(): string {
    return this.target.split(/\?|%3f/i, 1)[0] ?? '';
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
    this.headers[name] = value;
  }

  setStatus(status: number): void {
    this.status = status;
  }

  /** Ends the waiting with `reason`, also when the work itself does not listen. */
  abort(reason: Error): void {
    if (this.#abortedBy) return;
    this.#abortedBy = reason;
    this.#controller?.abort(reason);
    this.#giveUp?.(reason);
  }

  /**
   * Waits for the work, at most `deadlineMs`. Work that is given up goes on
   * until it notices the signal; what it comes to is then nobody's business.
   */
  async within<T>(deadlineMs: number, work: Promise<T>): Promise<T> {
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
      this.#giveUp = reject;
      work.then(resolve, reject);
    });
  }
}

const expire = (exchange: Exchange, deadlineMs: number): void =>
  exchange.abort(
    new ServiceError('deadline_exceeded', `The request was given up after ${Math.round(deadlineMs / 100) / 10} seconds.`, {
      details: { deadline_ms: deadlineMs },
    }),
  );
