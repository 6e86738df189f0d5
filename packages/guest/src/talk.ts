import { EventEmitter, once } from 'node:events';
import type { Duplex } from 'node:stream';

interface Message {
  id?: number;
  result?: Record<string, unknown>;
}

/** The least that can hold a conversation of DevTools: one question after the other, and whatever else is said is passed over. */
export class Talk {
  readonly #pipe: Duplex;
  readonly #options: { signal?: AbortSignal };
  readonly #arrivals = new EventEmitter();
  #unread: Buffer = Buffer.alloc(0);
  #lastId = 0;

  /** After the signal no answer is waited for. */
  constructor(pipe: Duplex, options: { signal?: AbortSignal } = {}) {
    this.#pipe = pipe;
    this.#options = options;
    pipe.on('readable', this.#tell).on('close', this.#tell);
  }

  /** Rejects when the browser refuses, is gone, or does not answer in time. */
  async ask(method: string, params: object = {}, sessionId?: string): Promise<Record<string, unknown>> {
    const id = (this.#lastId += 1);
    this.#pipe.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    for (;;) {
      const message = await this.#next();
      if (message.id !== id) continue;
      if (!message.result) throw new Error(`the browser refused ${method}`);
      return message.result;
    }
  }

  /** Leaves the pipe between two messages, to whoever reads it next. */
  async end(): Promise<void> {
    while (this.#unread.length > 0) await this.#next();
    this.#pipe.off('readable', this.#tell).off('close', this.#tell);
  }

  readonly #tell = (): void => void this.#arrivals.emit('more');

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
      else if (this.#pipe.destroyed) throw new Error('the browser is gone');
      else await once(this.#arrivals, 'more', this.#options);
    }
  }
}
