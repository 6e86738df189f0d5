import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** System call numbers of `clock_settime`. */
const clockSettimeNumbers: Partial<Record<NodeJS.Architecture, number>> = { x64: 227, arm64: 112 };

/** System calls that Node does not have, made by a helper that runs from the start. */
export class Kernel {
  readonly #program: ChildProcessByStdio<Writable, Readable, null>;
  readonly #answers: AsyncIterator<string>;
  /** Resolves when the helper is ready. */
  readonly ready: Promise<void>;

  constructor() {
    const script = fileURLToPath(new URL('./kernel.pl', import.meta.url));
    this.#program = spawn('/usr/bin/perl', [script, String(clockSettimeNumbers[process.arch])], { stdio: ['pipe', 'pipe', 'inherit'] });
    // A helper that has exited is reported by the next answer.
    this.#program.on('error', () => {});
    this.#program.stdin.on('error', () => {});
    this.#answers = createInterface({ input: this.#program.stdout })[Symbol.asyncIterator]();
    this.ready = this.#answer();
  }

  /** Sets randomness, the time and a new hardware address. Rejects with what the kernel refused. */
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
