import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isAlive, pidsOf } from './proc.ts';

const dyingTriesMax = 250;
const dyingPauseMs = 10;

/**
 * Holds everything a benchmark puts on the machine, so that all of it can be
 * taken off again, also when the benchmark is interrupted or fails.
 */
export class Stage {
  readonly #children = new Map<number, ChildProcess>();
  readonly #ends: (() => Promise<void> | void)[] = [];
  readonly #folders: string[] = [];
  readonly #within = new Set<Stage>();

  /** A stage that can be cleared alone, and is cleared with this one at the latest. */
  inner(): Stage {
    const stage = new Stage();
    this.#within.add(stage);
    return stage;
  }

  /** Each child leads a process group of its own, so that it ends with all that it started. */
  start(command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
    const child = spawn(command, args, { ...options, detached: true });
    const { pid } = child;
    if (pid === undefined) throw new Error(`${command} did not start`);
    this.#children.set(pid, child);
    child.once('exit', () => this.#children.delete(pid));
    return child;
  }

  /** Asks with SIGTERM, insists with SIGKILL after `graceMs`, and waits until the child and all below it are gone. */
  async stop(child: ChildProcess, options: { graceMs: number }): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const below = child.pid === undefined ? [] : pidsOf(child.pid);
    const exited = once(child, 'exit');
    if (options.graceMs > 0) child.kill('SIGTERM');
    const insist = setTimeout(() => signalGroup(child, 'SIGKILL'), options.graceMs);
    await exited;
    clearTimeout(insist);
    signalGroup(child, 'SIGKILL');
    for (let tries = 0; tries < dyingTriesMax && below.some(isAlive); tries += 1) await wait(dyingPauseMs);
  }

  folder(name: string): string {
    const path = mkdtempSync(join(tmpdir(), `berth-bench-${name}-`));
    // Databases and browsers run as users of their own and must pass through.
    chmodSync(path, 0o711);
    this.#folders.push(path);
    return path;
  }

  /** A folder that something still writes to is left for `end()`. */
  removeFolder(path: string): void {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOTEMPTY') return;
      throw error;
    }
    const place = this.#folders.indexOf(path);
    if (place >= 0) this.#folders.splice(place, 1);
  }

  onEnd(end: () => Promise<void> | void): void {
    this.#ends.push(end);
  }

  async end(): Promise<void> {
    for (const stage of this.#within) await stage.end();
    this.#within.clear();
    for (let end = this.#ends.pop(); end; end = this.#ends.pop()) await end();
    for (const child of this.#children.values()) await this.stop(child, { graceMs: 2000 });
    for (let path = this.#folders.pop(); path; path = this.#folders.pop()) rmSync(path, { recursive: true, force: true });
  }

  /** The last resort of a process that is exiting and can wait for nothing. */
  killAtOnce(): void {
    for (const stage of this.#within) stage.killAtOnce();
    for (const child of this.#children.values()) signalGroup(child, 'SIGKILL');
    for (const path of this.#folders) rmSync(path, { recursive: true, force: true });
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
