import type { ChildProcess } from 'node:child_process';
import { Server } from 'node:net';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { readOutOfMemoryKills } from '@berth/guest';
import type { Display } from '@berth/guest';
import { childrenOf, niceness, sendSignal, setSessionNice, usageOf } from '../host/processes.ts';
import type { HostProcess } from '../host/processes.ts';
import { NoDisplay } from '../runtime.ts';
import type { Isolation, Vm, VmExit, VmFiles, VmKind, VmOrder, VmStats } from '../runtime.ts';
import { killAll } from '../host/artifacts.ts';

/** Enough for the lines around a crash; the browser may print without end. */
const logTailBytes = 8 * 1024;
/** The processes of a namespace are reaped within some 20 ms of its first one's death; then the outer one is asked no longer. */
const reapGraceMs = 1000;

export interface ProcessVmParts {
  order: VmOrder;
  generation: string;
  isolation: Isolation;
  jailed: boolean;
  child: ChildProcess;
  downloadsPath: string;
  files: VmFiles;
  /** Null for machines without one. */
  display: Display | null;
  /** All living processes that carry the machine's marker, and their descendants. */
  findProcesses: () => HostProcess[];
  /** Takes the folder away and forgets the machine: the last act of `destroy`. */
  forget: () => Promise<void>;
  /** Ends the background weight where sessions of processes have none of their own. */
  renice: () => void;
}

/** One browser and everything that was started for it. */
export class ProcessVm implements Vm {
  readonly id: string;
  readonly kind: VmKind;
  readonly isolation: Isolation;
  readonly runtime = 'process';
  readonly generation: string;
  readonly pid: number | null;
  readonly cdp: Duplex;
  readonly downloadsPath: string;
  readonly files: VmFiles;
  readonly exited: Promise<VmExit>;
  /** Settles when the browser's connections have a way to the gate; never when the browser ends before. */
  readonly egressReady: Promise<void>;

  readonly #parts: ProcessVmParts;
  readonly #outOfMemoryKillsAtStart = readOutOfMemoryKills();
  readonly #connections = new Set<Socket>();
  #egress: Server | undefined;
  #resolveEgress: () => void = () => {};
  #logTail = '';
  #destroying: Promise<void> | undefined;
  #weighsLess: 'session' | 'threads' | undefined;

  constructor(parts: ProcessVmParts) {
    this.#parts = parts;
    this.id = parts.order.id;
    this.kind = parts.order.kind;
    this.generation = parts.generation;
    this.isolation = parts.isolation;
    this.pid = parts.child.pid ?? null;
    this.downloadsPath = parts.downloadsPath;
    this.files = parts.files;
    this.cdp = parts.child.stdio[3] as Socket;
    // The pipe breaks when the browser dies: that is told by `exited`.
    this.cdp.on('error', () => {});
    parts.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#logTail = (this.#logTail + text).slice(-logTailBytes);
    });
    this.exited = this.#watchExit();
    this.egressReady = new Promise((resolve) => {
      this.#resolveEgress = resolve;
    });
    parts.child.once('message', (_message, server) => {
      if (parts.child.connected) parts.child.disconnect();
      if (server instanceof Server) this.serveEgress(server);
    });
  }

  get logTail(): string {
    return this.#logTail;
  }

  /** From now on each connection of the browser goes to the order's gate. */
  serveEgress(server: Server): void {
    if (this.#destroying) {
      server.close();
      return;
    }
    this.#egress = server;
    server.on('connection', (connection) => {
      this.#connections.add(connection);
      connection.on('close', () => this.#connections.delete(connection));
      // A gate that has not attached yet, or no longer listens, must not bring the worker down.
      connection.on('error', () => {});
      this.#parts.order.acceptEgress(connection);
    });
    this.#resolveEgress();
  }

  /** To be called right after the start, before the browser has children. */
  yieldProcessor(lowerThreads: (pid: number) => boolean): void {
    if (this.pid === null) return;
    if (setSessionNice(this.pid, niceness.background)) this.#weighsLess = 'session';
    else if (lowerThreads(this.pid)) this.#weighsLess = 'threads';
  }

  async openVnc(): Promise<Duplex> {
    return this.#display().connect();
  }

  async sizeDisplay(page: { width: number; height: number }): Promise<void> {
    await this.#display().size(page);
  }

  #display(): Display {
    if (!this.#parts.display) throw new NoDisplay('the machine has no display');
    return this.#parts.display;
  }

  prioritize(): void {
    if (this.#weighsLess === 'session' && this.pid !== null) setSessionNice(this.pid, niceness.normal);
    else if (this.#weighsLess === 'threads') this.#parts.renice();
    this.#weighsLess = undefined;
  }

  async stats(): Promise<VmStats> {
    if (this.pid === null || !this.#isRunning()) return { memoryBytes: 0, cpuSeconds: 0, processes: 0 };
    return usageOf(this.pid);
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#end();
    return this.#destroying;
  }

  async #watchExit(): Promise<VmExit> {
    const { child } = this.#parts;
    const { code, signal } = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
      // Comes without an exit only when the program could not be started at all.
      child.on('error', (error) => {
        this.#logTail += error.message;
        if (child.pid === undefined) resolve({ code: null, signal: null });
      });
    });
    this.#closeSockets();
    const how = signal ? `signal ${signal}` : `code ${code}`;
    const detail = `${how}\n${this.#logTail}`.trim();
    if (this.#destroying) return { reason: 'destroyed', detail };
    // bubblewrap tells a child's signal as 128 and its number. Only a kill that the kernel counts as one for want of memory is called so.
    const killed = signal === 'SIGKILL' || code === 137;
    const outOfMemory = killed && readOutOfMemoryKills() > this.#outOfMemoryKillsAtStart;
    return { reason: outOfMemory ? 'out_of_memory' : 'exited', detail };
  }

  async #end(): Promise<void> {
    const viaNamespace = this.#kill();
    const inTime = await this.#reap();
    // What a jail's end leaves nothing of, a start that was cut short or a browser without a jail may.
    if (!viaNamespace || !inTime) await killAll(this.#parts.findProcesses);
    this.#closeSockets();
    this.cdp.destroy();
    this.#parts.child.stderr?.destroy();
    await this.#parts.forget();
  }

  #isRunning(): boolean {
    const { child } = this.#parts;
    return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /**
   * In a jail the namespace's first process is killed and the outer one left to
   * see it: the kernel lets the first one go only after all others are gone, so
   * the outer one's exit proves that nothing is left.
   */
  #kill(): boolean {
    const pid = this.pid;
    if (pid === null || !this.#isRunning()) return false;
    const inner = this.#parts.jailed ? childrenOf(pid) : [];
    if (inner.length === 0) {
      sendSignal(-pid, 'SIGKILL');
      return false;
    }
    for (const child of inner) sendSignal(child, 'SIGKILL');
    sendSignal(pid, 'SIGCONT');
    return true;
  }

  /** False when the outermost process had to be killed as well. */
  async #reap(): Promise<boolean> {
    const grace = new AbortController();
    const late = sleep(reapGraceMs, true, { signal: grace.signal }).catch(() => false);
    const expired = late.then((isLate) => isLate && this.#parts.child.kill('SIGKILL'));
    await this.exited;
    grace.abort();
    return !(await expired);
  }

  #closeSockets(): void {
    if (this.#parts.child.connected) this.#parts.child.disconnect();
    this.#egress?.close();
    this.#egress = undefined;
    for (const connection of this.#connections) connection.destroy();
    this.#parts.display?.close();
  }
}
