/** One DevTools session of a page: that of its tab, or that of a frame which lives in another process. */
import type { Command, Connection, Params, Result } from '../cdp/connection.ts';
import { CommandTimeout, ProtocolError } from '../cdp/connection.ts';
import { systemClock } from '../../lib/clock.ts';
import { PageError } from './model.ts';

/** The protocol's word for a session that is no more. */
const sessionGone = -32001;

/** What one call may still take, however many trips it makes. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly #endsAt: number;

  constructor({ signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number }) {
    this.signal = signal;
    this.timeoutMs = timeoutMs;
    this.#endsAt = systemClock.monotonicMs() + timeoutMs;
  }

  get leftMs(): number {
    return Math.max(0, Math.ceil(this.#endsAt - systemClock.monotonicMs()));
  }

  /** A part of the call that may take less than the rest of it. */
  within(timeoutMs: number): Deadline {
    return new Deadline({ signal: this.signal, timeoutMs: Math.min(timeoutMs, this.leftMs) });
  }
}

export const lateError = (timeoutMs: number, cause?: unknown): PageError =>
  new PageError('timeout', `The page did not answer within ${timeoutMs} ms.`, { cause });

const crashError = (): PageError => new PageError('page_crashed', 'The page crashed.');

export interface PageSessionParts {
  connection: Connection;
  id: string;
  /** The frame at the top of this session's process. */
  rootFrameId: string;
  /** Why there is no such session any more. */
  explainGone(): Error;
}

export class PageSession {
  readonly id: string;
  readonly rootFrameId: string;
  readonly #connection: Connection;
  readonly #explainGone: () => Error;
  #process = new AbortController();
  #crashed = false;

  constructor({ connection, id, rootFrameId, explainGone }: PageSessionParts) {
    this.id = id;
    this.rootFrameId = rootFrameId;
    this.#connection = connection;
    this.#explainGone = explainGone;
  }

  /** @throws PageError `timeout` or `page_crashed`, ProtocolError where the browser refused, BrowserGone, TabNotFound, or the signal's reason */
  async send<C extends Command>(method: C, params: Params<C>, by: Deadline): Promise<Result<C>> {
    by.signal.throwIfAborted();
    if (this.#crashed) throw crashError();
    const timeoutMs = by.leftMs;
    if (timeoutMs === 0) throw lateError(by.timeoutMs);
    const signal = AbortSignal.any([by.signal, this.#process.signal]);
    try {
      return await this.#connection.send(method, params, { sessionId: this.id, signal, timeoutMs });
    } catch (error) {
      if (error instanceof CommandTimeout) throw lateError(by.timeoutMs, error);
      if (error instanceof ProtocolError && error.code === sessionGone) throw this.#explainGone();
      throw error;
    }
  }

  /** For what nobody waits for. */
  sendQuietly<C extends Command>(method: C, params: Params<C>): void {
    this.#connection.send(method, params, { sessionId: this.id }).catch(() => {});
  }

  /** Ends what waits for a process that died. The session itself stays: a navigation brings a fresh process. */
  onCrash(): void {
    this.#crashed = true;
    this.#process.abort(crashError());
    this.#process = new AbortController();
  }

  onDocument(): void {
    this.#crashed = false;
  }
}

/** Waits, unless the signal ends it. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void => {
    clearTimeout(timer);
    reject(signal.reason as Error);
  };
  const timer = setTimeout(() => {
    signal.removeEventListener('abort', onAbort);
    resolve();
  }, ms);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  return promise;
}
