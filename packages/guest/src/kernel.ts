import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** `clock_settime` by processor; it is called by number. */
const clockSettimeNumbers: Partial<Record<NodeJS.Architecture, number>> = { x64: 227, arm64: 112 };

/** The calls to the kernel that Node does not have, by a program that has been there since the start. */
export class Kernel {
  readonly #program: ChildProcessByStdio<Writable, Readable, null>;
  readonly #answers: AsyncIterator<string>;
  /** Resolves when the program waits for work. */
  readonly ready: Promise<void>;

  constructor() {
    const script = fileURLToPath(new URL('./kernel.pl', import.meta.url));
    this.#program = spawn('/usr/bin/perl', [script, String(clockSettimeNumbers[process.arch])], { stdio: ['pipe', 'pipe', 'inherit'] });
    // A program that has ended answers no more, which is told to whoever asks.
    this.#program.on('error', () => {});
    this.#program.stdin.on('error', () => {});
    this.#answers = createInterface({ input: this.#program.stdout })[Symbol.asyncIterator]();
    this.ready = this.#answer();
  }

  /** Randomness that nobody else has, the time, and a new hardware address. Rejects with what the kernel refused. */
  renew({ entropy, timeMs }: { entropy: Buffer; timeMs: number }): Promise<void> {
    this.#program.stdin.write(`${entropy.toString('hex')} ${Math.floor(timeMs / 1000)} ${(timeMs % 1000) * 1_000_000}\n`);
    return this.#answer();
  }

  close(): void {
    this.#program.kill('SIGKILL');
  }

  async #answer(): Promise<void> {
    const { value, done } = await this.#answers.next();
    if (done || value !== 'ok') throw new Error(`the kernel refused: ${done ? 'no answer' : value.slice(0, 200)}`);
  }
}
