/**
 * QEMU's monitor (QMP): JSON objects, one per line, over a socket.
 *
 * A guest that has broken out into QEMU can write here too, so lines are limited
 * and every message is validated.
 */
import type { Duplex } from 'node:stream';
import { z } from 'zod';

/** QEMU refused a command, broke the protocol, or has exited. */
export class QmpError extends Error {}

/** The longest response is the console's buffer, with up to six characters per byte. */
const lineLengthMax = 512 * 1024;

const Message = z.object({
  id: z.number().int().optional(),
  return: z.unknown().optional(),
  error: z.object({ desc: z.string() }).optional(),
  event: z.string().max(200).optional(),
});

interface QmpOptions {
  signal?: AbortSignal;
  /** Writes the line to the socket; for commands that pass a descriptor. */
  send?: (line: string) => Promise<void> | void;
}

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  command: string;
}

export class Qmp {
  readonly #socket: Duplex;
  readonly #waiting = new Map<number, Waiting>();
  readonly #events = new Set<string>();
  readonly #listeners = new Map<string, () => void>();
  #unread = '';
  #lastId = 0;
  #failure: QmpError | undefined;

  /** QEMU sends a greeting, and accepts no other command before `qmp_capabilities`. */
  constructor(socket: Duplex) {
    this.#socket = socket;
    socket.on('error', () => {});
    for (const event of ['end', 'close']) socket.on(event, () => this.#fail('the monitor is closed'));
    socket.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    this.call('qmp_capabilities').catch(() => {});
  }

  /** Returns the result of a command. An abort does not cancel the command in QEMU. @throws QmpError, or the signal's reason */
  call(
    command: string,
    given: Record<string, unknown> = {},
    { signal, send = (line) => void this.#socket.write(line) }: QmpOptions = {},
  ): Promise<unknown> {
    const id = (this.#lastId += 1);
    return new Promise((resolve, reject) => {
      if (this.#failure) throw this.#failure;
      signal?.throwIfAborted();
      const onAbort = (): void => cleanUp()(signal?.reason);
      const cleanUp = (): ((error: unknown) => void) => {
        signal?.removeEventListener('abort', onAbort);
        this.#waiting.delete(id);
        return reject;
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(id, { command, reject: (error) => cleanUp()(error), resolve: (value) => (cleanUp(), resolve(value)) });
      Promise.resolve(send(`${JSON.stringify({ execute: command, arguments: given, id })}\n`)).catch((error: unknown) => cleanUp()(error));
    });
  }

  /** Calls back once, on this event, or at once if it has already occurred. */
  onEvent(name: string, listener: () => void): void {
    if (this.#events.has(name)) listener();
    else this.#listeners.set(name, listener);
  }

  close(): void {
    this.#fail('the monitor was closed');
    this.#socket.destroy();
  }

  #read(text: string): void {
    const lines = (this.#unread + text).split('\n');
    this.#unread = lines.pop() ?? '';
    for (const line of lines) this.#take(line);
    if (this.#unread.length > lineLengthMax) this.#fail('a line that does not end');
  }

  #take(line: string): void {
    const message = Message.safeParse(line.length > lineLengthMax ? undefined : parse(line));
    if (!message.success) return this.#fail('a line that is no message');
    const { id, event, error } = message.data;
    if (event !== undefined) this.#emit(event);
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (error) waiting?.reject(new QmpError(`${waiting.command}: ${error.desc.slice(0, 1000)}`));
    else waiting?.resolve(message.data.return);
  }

  /** Stores a limited number of event names, as QEMU may send events without end. */
  #emit(event: string): void {
    if (this.#events.size < 100) this.#events.add(event);
    this.#listeners.get(event)?.();
    this.#listeners.delete(event);
  }

  #fail(why: string): void {
    if (this.#failure) return;
    this.#failure = new QmpError(`QEMU: ${why}`);
    this.#socket.destroy();
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
