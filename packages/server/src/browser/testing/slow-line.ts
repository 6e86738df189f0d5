/** A DevTools pipe that delays the browser's messages, like a much slower browser. */
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

export class SlowLine extends Duplex {
  /** Delay of further messages; their order is preserved. */
  lagMs = 0;
  readonly #line: Duplex;
  #delivered: Promise<unknown> = Promise.resolve();

  constructor(line: Duplex) {
    super();
    this.#line = line;
    line.on('data', (chunk: Buffer) => this.#later(chunk));
    line.on('end', () => this.#later(null));
    line.on('error', () => this.destroy());
  }

  #later(chunk: Buffer | null): void {
    const due = sleep(this.lagMs);
    this.#delivered = this.#delivered.then(() => due).then(() => this.push(chunk));
  }

  override _read(): void {
    this.#line.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#line.write(chunk, done);
  }
}
