/** `berth forward` as a process, and what it says. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline';

export const program = resolve(import.meta.dirname, '../../../packages/cli/src/main.ts');

/** The environment of a command, with no settings of whoever runs the tests. */
export const environmentIn = (home: string, more: Record<string, string>): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: home,
  XDG_STATE_HOME: join(home, 'state'),
  ...more,
});

interface Told {
  event: string;
  session_id?: string;
  message?: string;
}

/** A forward that runs, and what it has said. */
export class Forward {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly told: Told[] = [];
  address = '';
  cdpUrl = '';
  /** What it has written on either output. */
  output = '';
  #stdout = '';

  private constructor(words: readonly string[], { home, env }: { home: string; env: Record<string, string> }) {
    this.#child = spawn(process.execPath, [program, 'forward', '0', ...words], { cwd: home, env: environmentIn(home, env) });
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.#stdout += chunk.toString();
      this.output += chunk.toString();
    });
    this.#lines = createInterface({ input: this.#child.stderr ?? assert.fail('no standard error') });
    this.#lines.on('line', (line) => {
      this.output += `${line}\n`;
      if (line.startsWith('{')) this.told.push(JSON.parse(line) as Told);
    });
  }

  /** Starts it on a free port, and resolves when it listens. `endForwards` ends it. */
  static async start(words: readonly string[], where: { home: string; env: Record<string, string> }): Promise<Forward> {
    const forward = new Forward(words, where);
    started.push(forward);
    while (!forward.#stdout.includes('\n')) {
      const ended = once(forward.#child, 'exit').then(() => assert.fail(`berth forward ended: ${forward.output}`));
      await Promise.race([once(forward.#child.stdout ?? assert.fail('no standard output'), 'data'), ended]);
    }
    const { address, cdp_url } = JSON.parse(forward.#stdout.split('\n')[0] ?? '') as { address: string; cdp_url: string };
    forward.address = address;
    forward.cdpUrl = cdp_url;
    return forward;
  }

  /** Resolves when it has said so many times that this happened. */
  async until(event: string, count = 1): Promise<void> {
    while (this.told.filter((each) => each.event === event).length < count) await once(this.#lines, 'line');
  }

  async interrupt(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const ended = once(this.#child, 'close') as Promise<[number | null]>;
    this.#child.kill('SIGINT');
    const [code] = await ended;
    return code;
  }
}

const started: Forward[] = [];
export async function endForwards(): Promise<void> {
  await Promise.all(started.splice(0).map((forward) => forward.interrupt()));
}
