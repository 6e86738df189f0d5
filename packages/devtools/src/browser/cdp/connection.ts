/** The worker's own DevTools client: commands and events on the root session and on sessions of its own. */
import type { Duplex } from 'node:stream';
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping.d.ts';
import type { Log } from '@berth/lib/log.ts';
import { currentCaller, runFor, section, type Caller } from '@berth/lib/turns/sections.ts';
import { mayBeUnstorable, toStorableValue } from '@berth/lib/text/text.ts';
import { BrowserClosedError } from '../interface.ts';
import { PageError } from '../page/page.ts';
import type { TimeoutScale } from '../timeout-scale.ts';
import { idAtHead } from './messages/client-message.ts';
import { GateTraces, type RemoteAddressOf } from './gate-traces.ts';
import { dataOf } from './messages/large-reply.ts';
import { NetErrors, type EgressFailureOf } from './net-errors.ts';
import { Pipe } from './pipe.ts';

export type Command = keyof ProtocolMapping.Commands;
export type Params<C extends Command> = ProtocolMapping.Commands[C]['paramsType'][0];
export type Result<C extends Command> = ProtocolMapping.Commands[C]['returnType'];
type EventName = keyof ProtocolMapping.Events;
type EventParams<E extends EventName> = ProtocolMapping.Events[E][0];

/** A healthy browser process replies within a few ms. A page may be busy, so a page's timeout does not prove a frozen browser. */
export const answerTimeoutMs = 10_000;

/** The browser refused a command, mostly because its target has closed or changed. Its own words are the cause. */
export class ProtocolError extends PageError {
  readonly code: number;
  /** The browser's own words. */
  readonly answer: string;
  constructor(method: string, code: number, answer: string) {
    super('context_lost', 'The page changed or closed during the call. Try again.', { cause: new Error(`${method}: ${answer}`) });
    this.name = 'ProtocolError';
    this.code = code;
    this.answer = answer;
  }
}

/** No answer in time. */
export class CommandTimeoutError extends PageError {
  constructor(method: string, message = 'The browser did not respond in time. Try again in a moment.') {
    super('timeout', message, { cause: new Error(`${method} timed out`) });
    this.name = 'CommandTimeoutError';
  }
}

export interface ConnectionOptions {
  log: Log;
  timeoutScale: TimeoutScale;
  /** Why the gate recently did not reach a host. The browser itself only knows that it failed. */
  egressFailureOf?: EgressFailureOf | undefined;
  /** Where the gate reaches a host. The browser itself only knows the gate. */
  remoteAddressOf?: RemoteAddressOf | undefined;
  /** Called before a message to or from the browser is passed on: none is any more where it calls `end`. */
  beforeMessage?: (() => void) | undefined;
}

interface SendOptions {
  sessionId?: string | undefined;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

/** Smaller ones are parsed within milliseconds. */
const largeReplyBytesMin = 1024 * 1024;

interface Pending {
  method: string;
  resolve(result: unknown): void;
  reject(error: Error): void;
  sessionId: string | undefined;
  /** The caller for whom the reply is read. */
  caller: Readonly<Caller> | undefined;
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
  readonly timeoutScale: TimeoutScale;
  readonly #pipe: Pipe;
  readonly #log: Log;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #ownSessions = new Set<string>();
  readonly #beforeMessage: () => void;
  readonly netErrors: NetErrors;
  readonly gateTraces: GateTraces;
  #lastId = 0;
  /** Number of messages that came from the browser. */
  receivedCount = 0;
  #closedReason: 'closed' | 'unresponsive' | null = null;
  readonly #closed = Promise.withResolvers<'closed' | 'unresponsive'>();
  /** Messages of sessions that are not the worker's own. */
  onForeign: (sessionId: string, frame: Buffer) => void = () => {};

  constructor(stream: Duplex, { log, timeoutScale, egressFailureOf, remoteAddressOf, beforeMessage = () => undefined }: ConnectionOptions) {
    this.#log = log;
    this.#beforeMessage = beforeMessage;
    this.netErrors = new NetErrors(egressFailureOf ?? (() => null));
    this.gateTraces = new GateTraces(remoteAddressOf ?? (() => null));
    this.timeoutScale = timeoutScale;
    this.#pipe = new Pipe(stream, {
      onFrame: (frame) => section('devtools', () => this.#route(frame)),
      onClose: (reason, cause) => {
        log.debug({ reason, err: cause }, 'DevTools pipe closed');
        this.end(reason);
      },
    });
  }

  get isClosed(): boolean {
    return this.#closedReason !== null;
  }

  get closed(): Promise<'closed' | 'unresponsive'> {
    return this.#closed.promise;
  }

  /**
   * Sends a command; without a session it goes to the browser.
   * @throws ProtocolError, CommandTimeoutError, BrowserClosedError, or the signal's reason
   */
  send<C extends Command>(method: C, params: Params<C>, options: SendOptions = {}): Promise<Result<C>> {
    this.#beforeMessage();
    if (this.#closedReason) return Promise.reject(new BrowserClosedError('the browser has closed'));
    if (options.signal?.aborted) return Promise.reject(options.signal.reason as Error);
    const { sessionId, signal } = options;
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Result<C>>();
    const cleanUp = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      this.#pending.delete(id);
    };
    const fail = (error: Error): void => {
      cleanUp();
      reject(error);
    };
    const onAbort = (): void => fail(signal?.reason as Error);
    const timeoutMs = options.timeoutMs ?? this.timeoutScale.ms(answerTimeoutMs);
    const timer = setTimeout(() => fail(new CommandTimeoutError(method)), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#pending.set(id, {
      method,
      sessionId,
      caller: currentCaller(),
      reject: fail,
      resolve: (result) => {
        cleanUp();
        resolve(result as Result<C>);
      },
    });
    this.#pipe.write(JSON.stringify(sessionId ? { id, method, params: params ?? {}, sessionId } : { id, method, params: params ?? {} }));
    return promise;
  }

  /** Sends a message of a customer's client, already checked. */
  forward(message: string | (string | Buffer)[]): void {
    this.#beforeMessage();
    this.#pipe.write(message);
  }

  /** Resolves when the browser has read what was sent to it; undefined while it keeps up. */
  drained(): Promise<void> | undefined {
    return this.#pipe.drained();
  }

  on<E extends EventName>(name: E, listener: (params: EventParams<E>, sessionId: string | undefined) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set<Listener>();
    const listening: Listener = listener;
    this.#listeners.set(name, listeners.add(listening));
    return () => listeners.delete(listening);
  }

  /** Marks a session as the worker's own: its messages are handled here and not passed to a client. */
  adopt(sessionId: string): void {
    this.#ownSessions.add(sessionId);
  }

  /** Rejects what waits on a detached session. */
  disown(sessionId: string): void {
    this.#ownSessions.delete(sessionId);
    for (const pending of [...this.#pending.values()])
      if (pending.sessionId === sessionId) pending.reject(new ProtocolError(pending.method, -32001, 'the session is detached'));
  }

  /** Resolves `closed` and rejects everything that waits. Idempotent. */
  end(reason: 'closed' | 'unresponsive'): void {
    if (this.#closedReason) return;
    this.#closedReason = reason;
    this.#pipe.detach();
    for (const pending of [...this.#pending.values()]) pending.reject(new BrowserClosedError(`the browser has closed: ${reason}`));
    this.#closed.resolve(reason);
  }

  #route(raw: Buffer): void {
    this.#beforeMessage();
    if (this.#closedReason) return;
    this.receivedCount += 1;
    const frame = this.gateTraces.apply(this.netErrors.apply(raw));
    const sessionId = sessionOf(frame);
    if (sessionId !== undefined && !this.#ownSessions.has(sessionId)) {
      this.onForeign(sessionId, frame);
      return;
    }
    if (frame.length > largeReplyBytesMin) this.#takeLarge(frame, sessionId);
    else this.#take(frame, sessionId);
  }

  /** Whoever asked for a large reply is who the event loop is held up for. */
  #takeLarge(frame: Buffer, sessionId: string | undefined): void {
    const pending = this.#pending.get(idAtHead(frame) ?? -1);
    const take = (): void => {
      const data = pending?.method === 'Page.captureScreenshot' ? dataOf(frame) : null;
      if (data) pending?.resolve({ data });
      else this.#take(frame, sessionId);
    };
    if (pending?.caller) runFor(pending.caller, take);
    else take();
  }

  #take(frame: Buffer, sessionId: string | undefined): void {
    let message: Incoming;
    try {
      message = parseMessage(frame);
    } catch (error) {
      // A browser that sends invalid JSON is compromised or broken: none of its messages can be trusted.
      this.#log.warn({ err: error }, 'invalid browser message received');
      this.end('closed');
      return;
    }
    if (typeof message.id === 'number') this.#onReply(message.id, message);
    else if (typeof message.method === 'string') this.#emit(message.method, message.params, sessionId);
  }

  #onReply(id: number, message: Incoming): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    if (message.error) pending.reject(new ProtocolError(pending.method, message.error.code, message.error.message));
    else pending.resolve(pending.method === 'Page.navigate' ? this.netErrors.inReply(message.result) : message.result);
  }

  #emit(method: string, params: unknown, sessionId: string | undefined): void {
    if (method === 'Target.attachedToTarget') this.#adoptOwn(params as { sessionId?: string; targetInfo?: { type?: string } });
    for (const listener of [...(this.#listeners.get(method) ?? [])]) {
      try {
        listener(params as never, sessionId);
      } catch (error) {
        this.#log.error({ err: error, method }, 'browser event handler failed');
      }
    }
  }

  /** Targets attached on the worker's own sessions are its own; browser-level ones belong to clients. */
  #adoptOwn(params: { sessionId?: string; targetInfo?: { type?: string } }): void {
    if (params.sessionId && params.targetInfo?.type !== 'browser') this.#ownSessions.add(params.sessionId);
  }
}

/** Pages set any text, such as a title with half of a surrogate pair, so text is made storable here, where it enters. */
function parseMessage(frame: Buffer): Incoming {
  const message = JSON.parse(frame.toString('utf8')) as Incoming;
  return mayBeUnstorable(frame) ? (toStorableValue(message) as Incoming) : message;
}

/**
 * Reads the session id of a browser's message without parsing it.
 *
 * Chromium writes the session id as the last top-level key, so a message of a
 * session ends in exactly `,"sessionId":"<32 hex>"}`. Those bytes
 * cannot be the end of anything else: inside a string the quotes would be
 * escaped, and inside a nested object a second brace would follow.
 */
const tailStart = Buffer.from(',"sessionId":"');
const idLength = 32;
const tailLength = tailStart.length + idLength + 2;
const quote = 0x22;
const brace = 0x7d;

/** The session id of a message; undefined: the root session. */
export function sessionOf(frame: Buffer): string | undefined {
  const start = frame.length - tailLength;
  if (start < 1 || frame[frame.length - 1] !== brace || frame[frame.length - 2] !== quote) return undefined;
  if (frame.compare(tailStart, 0, tailStart.length, start, start + tailStart.length) !== 0) return undefined;
  for (let at = start + tailStart.length; at < frame.length - 2; at += 1) if (!isUpperHex(frame[at] as number)) return undefined;
  return frame.toString('latin1', start + tailStart.length, frame.length - 2);
}

const isUpperHex = (byte: number): boolean => (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46);

/** Removes the session id in place: nobody else reads the buffer. */
export function withoutSession(frame: Buffer): Buffer {
  const end = frame.length - tailLength;
  frame[end] = brace;
  return frame.subarray(0, end + 1);
}

const attachmentStart = Buffer.from('{"method":"Target.');

/** Whether a message may be `Target.attachedToTarget` or `Target.detachedFromTarget`, which are parsed before a client gets them. */
export function isTargetEvent(frame: Buffer): boolean {
  // The eleventh byte decides nearly always, so that the common message costs one look.
  return (
    frame[11] === 0x54 &&
    frame.length > attachmentStart.length &&
    frame.compare(attachmentStart, 0, attachmentStart.length, 0, attachmentStart.length) === 0
  );
}
