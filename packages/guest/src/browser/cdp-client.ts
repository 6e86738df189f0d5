import { EventEmitter, once } from 'node:events';
import type { Duplex } from 'node:stream';

interface Message {
  id?: number;
  result?: Record<string, unknown>;
}

/** A minimal DevTools client: one call at a time, events are ignored. */
export class CdpClient {
  readonly #pipe: Duplex;
  readonly #options: { signal?: AbortSignal };
  readonly #readable = new EventEmitter();
  #unread: Buffer = Buffer.alloc(0);
  #lastId = 0;

  /** The signal cancels pending calls. */
  constructor(pipe: Duplex, options: { signal?: AbortSignal } = {}) {
    this.#pipe = pipe;
    this.#options = options;
    pipe.on('readable', this.#notify).on('close', this.#notify);
  }

  /** Returns the result. Rejects when the browser refuses, has exited, or does not answer in time. */
  async call(method: string, params: object = {}, sessionId?: string): Promise<Record<string, unknown>> {
    const id = (this.#lastId += 1);
    this.#pipe.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    for (;;) {
      const message = await this.#next();
      if (message.id !== id) continue;
      if (!message.result) throw new Error(`the browser refused ${method}`);
      return message.result;
    }
  }

  /** Detaches from the pipe between two messages. */
  async end(): Promise<void> {
    while (this.#unread.length > 0) await this.#next();
    this.#pipe.off('readable', this.#notify).off('close', this.#notify);
  }

  readonly #notify = (): void => void this.#readable.emit('more');

  async #next(): Promise<Message> {
    for (;;) {
      const end = this.#unread.indexOf(0);
      if (end >= 0) {
        const message = this.#unread.toString('utf8', 0, end);
        this.#unread = this.#unread.subarray(end + 1);
        return JSON.parse(message) as Message;
      }
      const bytes = this.#pipe.read() as Buffer | null;
      if (bytes) this.#unread = Buffer.concat([this.#unread, bytes]);
      else if (this.#pipe.destroyed) throw new Error('the browser has exited');
      else await once(this.#readable, 'more', this.#options);
    }
  }
}
