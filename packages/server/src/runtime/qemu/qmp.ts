/**
 * QEMU's monitor: JSON objects, one a line, over a socket.
 *
 * A guest that has broken out into QEMU speaks here too, so lines are bounded
 * and nothing that is said is believed beyond its shape.
 */
import type { Duplex } from 'node:stream';
import { z } from 'zod';

/** QEMU refused a command, said what it may not say, or is gone. */
export class QmpFailed extends Error {}

/** The longest answer that is asked for is the console's buffer, each of its bytes as six characters at worst. */
const lineLengthMax = 512 * 1024;

const Message = z.object({
  id: z.number().int().optional(),
  return: z.unknown().optional(),
  error: z.object({ desc: z.string() }).optional(),
  event: z.string().max(200).optional(),
});

export interface QmpOptions {
  signal?: AbortSignal;
  /** Puts the line on the socket: for commands that carry a descriptor along. */
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
  #failure: QmpFailed | undefined;

  /** QEMU greets on its own, and takes no other command before `qmp_capabilities`. */
  constructor(socket: Duplex) {
    this.#socket = socket;
    socket.on('error', () => {});
    for (const event of ['end', 'close']) socket.on(event, () => this.#fail('the monitor is closed'));
    socket.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    this.call('qmp_capabilities').catch(() => {});
  }

  /** Resolves with what the command returns. Throws QmpFailed, or the signal's reason: the command is not taken back then. */
  call(
    command: string,
    given: Record<string, unknown> = {},
    { signal, send = (line) => void this.#socket.write(line) }: QmpOptions = {},
  ): Promise<unknown> {
    const id = (this.#lastId += 1);
    return new Promise((resolve, reject) => {
      if (this.#failure) throw this.#failure;
      signal?.throwIfAborted();
      const onAbort = (): void => settle()(signal?.reason);
      const settle = (): ((error: unknown) => void) => {
        signal?.removeEventListener('abort', onAbort);
        this.#waiting.delete(id);
        return reject;
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(id, { command, reject: (error) => settle()(error), resolve: (value) => (settle(), resolve(value)) });
      Promise.resolve(send(`${JSON.stringify({ execute: command, arguments: given, id })}\n`)).catch((error: unknown) => settle()(error));
    });
  }

  /** Calls back once: when QEMU tells of this event, or at once when it has. */
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
    if (event !== undefined) this.#tell(event);
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (error) waiting?.reject(new QmpFailed(`${waiting.command}: ${error.desc.slice(0, 1000)}`));
    else waiting?.resolve(message.data.return);
  }

  /** Only of events that somebody listens for is anything kept: QEMU may tell of them without end. */
  #tell(event: string): void {
    if (this.#events.size < 100) this.#events.add(event);
    this.#listeners.get(event)?.();
    this.#listeners.delete(event);
  }

  #fail(why: string): void {
    if (this.#failure) return;
    this.#failure = new QmpFailed(`QEMU: ${why}`);
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
