/** One DevTools session of a page: that of its tab, or of an out-of-process frame. */
import { type Command, type Connection, type Params, type Result, CommandTimeoutError, ProtocolError } from '../cdp/connection.ts';
import type { Deadline } from '@berth/lib/deadline.ts';
import { PageError } from './page.ts';

/** The protocol's error code for a detached session. */
const sessionNotFoundCode = -32001;

export const timeoutError = (timeoutMs: number, cause?: unknown): PageError =>
  new PageError('timeout', `The page did not respond within ${timeoutMs} ms.`, { cause });

interface PageSessionDeps {
  connection: Connection;
  id: string;
  /** The root frame of this session's process. */
  rootFrameId: string;
  /** Called with each command that a caller waits for. */
  onCommand(): void;
  /** The error for commands to the detached session. */
  toClosedError(): Error;
  /** The error for commands to a process that has crashed. */
  toCrashError(): Error;
}

export class PageSession {
  readonly id: string;
  readonly rootFrameId: string;
  readonly #connection: Connection;
  readonly #onCommand: () => void;
  readonly #toClosedError: () => Error;
  readonly #toCrashError: () => Error;
  #process = new AbortController();
  #crashed = false;

  constructor({ connection, id, rootFrameId, onCommand, toClosedError, toCrashError }: PageSessionDeps) {
    this.id = id;
    this.rootFrameId = rootFrameId;
    this.#connection = connection;
    this.#onCommand = onCommand;
    this.#toClosedError = toClosedError;
    this.#toCrashError = toCrashError;
  }

  /** @throws PageError `timeout` or `page_crashed`, ProtocolError, BrowserClosedError, TabNotFoundError, or the signal's reason */
  async send<C extends Command>(method: C, params: Params<C>, by: Deadline): Promise<Result<C>> {
    by.signal.throwIfAborted();
    if (this.#crashed) throw this.#toCrashError();
    const timeoutMs = by.leftMs;
    if (timeoutMs === 0) throw timeoutError(by.timeoutMs);
    this.#onCommand();
    const signal = AbortSignal.any([by.signal, this.#process.signal]);
    try {
      return await this.#connection.send(method, params, { sessionId: this.id, signal, timeoutMs });
    } catch (error) {
      if (error instanceof CommandTimeoutError) throw timeoutError(by.timeoutMs, error);
      if (error instanceof ProtocolError && error.code === sessionNotFoundCode) throw this.#toClosedError();
      throw error;
    }
  }

  /** Sends a command and ignores its reply and errors. */
  sendNoReply<C extends Command>(method: C, params: Params<C>): void {
    this.#connection.send(method, params, { sessionId: this.id }).catch(() => {});
  }

  /** Rejects what waits for a crashed process. The session itself stays: a navigation starts a new process. */
  onCrash(): void {
    this.#crashed = true;
    this.#process.abort(this.#toCrashError());
    this.#process = new AbortController();
  }

  onDocument(): void {
    this.#crashed = false;
  }
}
