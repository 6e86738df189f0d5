/** A DevTools pipe on which the browser's words take their time, as those of a browser do that is many times slower. */
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

export class SlowLine extends Duplex {
  /** Of what comes from now on; nothing overtakes what came before. */
  lagMs = 0;
  readonly #line: Duplex;
  #said: Promise<unknown> = Promise.resolve();

  constructor(line: Duplex) {
    super();
    this.#line = line;
    line.on('data', (chunk: Buffer) => this.#later(chunk));
    line.on('end', () => this.#later(null));
    line.on('error', () => this.destroy());
  }

  #later(chunk: Buffer | null): void {
    const due = sleep(this.lagMs);
    this.#said = this.#said.then(() => due).then(() => this.push(chunk));
  }

  override _read(): void {
    this.#line.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#line.write(chunk, done);
  }
}
