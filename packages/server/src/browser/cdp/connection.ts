/** The worker's own DevTools client: commands and events on the root session and on sessions of its own. */
import type { Duplex } from 'node:stream';
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping.d.ts';
import type { Log } from '../../lib/log.ts';
import { BrowserGone } from '../model.ts';
import type { Patience } from '../timeout-scale.ts';
import { Pipe } from './pipe.ts';
import { sessionOf } from './message-head.ts';

export type Command = keyof ProtocolMapping.Commands;
export type Params<C extends Command> = ProtocolMapping.Commands[C]['paramsType'][0];
export type Result<C extends Command> = ProtocolMapping.Commands[C]['returnType'];
export type EventName = keyof ProtocolMapping.Events;
export type EventParams<E extends EventName> = ProtocolMapping.Events[E][0];

/** A browser process that works answers within a few ms; a page may be busy, which is why a page's limit is no proof of a frozen browser. */
export const answerLimitMs = 10_000;

/** The browser refused a command. */
export class ProtocolError extends Error {
  readonly code: number;
  constructor(method: string, code: number, message: string) {
    super(`${method}: ${message}`);
    this.code = code;
  }
}

/** No answer in time. */
export class CommandTimeout extends Error {}

export interface SendOptions {
  sessionId?: string | undefined;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

interface Pending {
  method: string;
  resolve(result: unknown): void;
  reject(error: Error): void;
  sessionId: string | undefined;
}

interface Incoming {
  id?: number;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string };
}

type Listener = (params: never, sessionId: string | undefined) => void;

export class Connection {
  /** With this browser: whoever waits for an answer of it asks here how long. */
  readonly patience: Patience;
  readonly #pipe: Pipe;
  readonly #log: Log;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #own = new Set<string>();
  #lastId = 0;
  #goneReason: 'closed' | 'unresponsive' | null = null;
  readonly #gone = Promise.withResolvers<'closed' | 'unresponsive'>();
  /** Messages of sessions that are not the worker's own. */
  onForeign: (sessionId: string, frame: Buffer) => void = () => {};

  constructor(stream: Duplex, { log, patience }: { log: Log; patience: Patience }) {
    this.#log = log;
    this.patience = patience;
    this.#pipe = new Pipe(stream, {
      onFrame: (frame) => this.#route(frame),
      onGone: (reason, cause) => {
        log.debug({ reason, error: cause }, 'the DevTools pipe is gone');
        this.end(reason);
      },
    });
  }

  get gone(): Promise<'closed' | 'unresponsive'> {
    return this.#gone.promise;
  }

  /** Sends a command; without a session it goes to the browser. @throws ProtocolError, CommandTimeout, BrowserGone, or the signal's reason */
  send<C extends Command>(method: C, params: Params<C>, options: SendOptions = {}): Promise<Result<C>> {
    if (this.#goneReason) return Promise.reject(new BrowserGone('the browser is gone'));
    if (options.signal?.aborted) return Promise.reject(options.signal.reason as Error);
    const { sessionId, signal } = options;
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Result<C>>();
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      this.#pending.delete(id);
    };
    const fail = (error: Error): void => {
      settle();
      reject(error);
    };
    const onAbort = (): void => fail(signal?.reason as Error);
    const timeoutMs = options.timeoutMs ?? this.patience.ms(answerLimitMs);
    const timer = setTimeout(() => fail(new CommandTimeout(`${method} was not answered`)), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#pending.set(id, {
      method,
      sessionId,
      reject: fail,
      resolve: (result) => {
        settle();
        resolve(result as Result<C>);
      },
    });
    this.#pipe.write(JSON.stringify(sessionId ? { id, method, params: params ?? {}, sessionId } : { id, method, params: params ?? {} }));
    return promise;
  }

  /** Sends a message of a customer's client, already checked. */
  forward(message: string): void {
    this.#pipe.write(message);
  }

  on<E extends EventName>(name: E, listener: (params: EventParams<E>, sessionId: string | undefined) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set<Listener>();
    const listening: Listener = listener;
    this.#listeners.set(name, listeners.add(listening));
    return () => listeners.delete(listening);
  }

  /** Makes a session the worker's own: its messages are read here and by no client. */
  adopt(sessionId: string): void {
    this.#own.add(sessionId);
  }

  /** Ends what waits on a session that is no more. */
  disown(sessionId: string): void {
    this.#own.delete(sessionId);
    for (const pending of [...this.#pending.values()])
      if (pending.sessionId === sessionId) pending.reject(new ProtocolError(pending.method, -32001, 'the session is gone'));
  }

  /** Settles `gone` and rejects everything that waits. Idempotent. */
  end(reason: 'closed' | 'unresponsive'): void {
    if (this.#goneReason) return;
    this.#goneReason = reason;
    this.#pipe.detach();
    for (const pending of [...this.#pending.values()]) pending.reject(new BrowserGone(`the browser is gone: ${reason}`));
    this.#gone.resolve(reason);
  }

  #route(frame: Buffer): void {
    const sessionId = sessionOf(frame);
    if (sessionId !== undefined && !this.#own.has(sessionId)) {
      this.onForeign(sessionId, frame);
      return;
    }
    let message: Incoming;
    try {
      message = JSON.parse(frame.toString('utf8')) as Incoming;
    } catch (error) {
      // A browser that talks nonsense has been taken over or is broken: nothing that it says can be trusted.
      this.#log.warn({ error }, 'the browser sent a message that is no JSON');
      this.end('closed');
      return;
    }
    if (typeof message.id === 'number') this.#answer(message.id, message);
    else if (typeof message.method === 'string') this.#tell(message.method, message.params, sessionId);
  }

  #answer(id: number, message: Incoming): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    if (message.error) pending.reject(new ProtocolError(pending.method, message.error.code, message.error.message));
    else pending.resolve(message.result);
  }

  #tell(method: string, params: unknown, sessionId: string | undefined): void {
    if (method === 'Target.attachedToTarget') this.#adoptOwn(params as { sessionId?: string; targetInfo?: { type?: string } });
    for (const listener of [...(this.#listeners.get(method) ?? [])]) {
      try {
        listener(params as never, sessionId);
      } catch (error) {
        this.#log.error({ error, method }, 'a browser event could not be handled');
      }
    }
  }

  /** Attachments told on the worker's own sessions are its own; browser-level ones are made for clients. */
  #adoptOwn(params: { sessionId?: string; targetInfo?: { type?: string } }): void {
    if (params.sessionId && params.targetInfo?.type !== 'browser') this.#own.add(params.sessionId);
  }
}
