import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, pidsOf } from './proc.ts';

const exitPollsMax = 250;
const exitPollMs = 10;

/**
 * Tracks the processes and folders of a benchmark, so that all are cleaned up,
 * also when it is interrupted or fails.
 */
export class Stage {
  readonly #processes = new Map<number, ChildProcess>();
  readonly #cleanups: (() => Promise<void> | void)[] = [];
  readonly #folders: string[] = [];
  readonly #children = new Set<Stage>();

  /** A stage that can be ended on its own, and ends with this one at the latest. */
  createChild(): Stage {
    const stage = new Stage();
    this.#children.add(stage);
    return stage;
  }

  /** Each child leads a process group, so that its descendants are stopped with it. */
  start(command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
    const child = spawn(command, args, { ...options, detached: true });
    const { pid } = child;
    if (pid === undefined) throw new Error(`${command} did not start`);
    this.#processes.set(pid, child);
    child.once('exit', () => this.#processes.delete(pid));
    return child;
  }

  /** Sends SIGTERM, then SIGKILL after `graceMs`, and waits until the child and its descendants have exited. */
  async stop(child: ChildProcess, options: { graceMs: number }): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const descendants = child.pid === undefined ? [] : pidsOf(child.pid);
    const exited = once(child, 'exit');
    if (options.graceMs > 0) child.kill('SIGTERM');
    const killTimer = setTimeout(() => signalGroup(child, 'SIGKILL'), options.graceMs);
    await exited;
    clearTimeout(killTimer);
    signalGroup(child, 'SIGKILL');
    for (let polls = 0; polls < exitPollsMax && descendants.some(isAlive); polls += 1) await sleep(exitPollMs);
  }

  folder(name: string): string {
    const path = mkdtempSync(join(tmpdir(), `berth-bench-${name}-`));
    // Databases and browsers run as other users and must be able to traverse it.
    chmodSync(path, 0o711);
    this.#folders.push(path);
    return path;
  }

  /** A folder that is still written to is left for `end()`. */
  removeFolder(path: string): void {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOTEMPTY') return;
      throw error;
    }
    const index = this.#folders.indexOf(path);
    if (index >= 0) this.#folders.splice(index, 1);
  }

  onEnd(end: () => Promise<void> | void): void {
    this.#cleanups.push(end);
  }

  async end(): Promise<void> {
    for (const stage of this.#children) await stage.end();
    this.#children.clear();
    for (let end = this.#cleanups.pop(); end; end = this.#cleanups.pop()) await end();
    for (const child of this.#processes.values()) await this.stop(child, { graceMs: 2000 });
    for (let path = this.#folders.pop(); path; path = this.#folders.pop()) rmSync(path, { recursive: true, force: true });
  }

  /** Kills everything synchronously, for the process's `exit` event. */
  killAll(): void {
    for (const stage of this.#children) stage.killAll();
    for (const child of this.#processes.values()) signalGroup(child, 'SIGKILL');
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
