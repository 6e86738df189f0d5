import type { ChildProcess } from 'node:child_process';
import { Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Display } from '@berth/guest';
import { killCounter, type MachineCgroup } from '../host/cgroup.ts';
import { childrenOf, niceness, sendSignal, setSessionNice, memoryOf, type HostProcess } from '../host/processes.ts';
import { NoDisplayError, type Isolation, type Vm, type VmExit, type VmFiles, type VmKind, type VmSpec, type VmStats } from '../runtime.ts';
import { killAll } from '../host/artifacts.ts';

/** Enough for the lines around a crash; the browser may print without limit. */
const logTailBytes = 8 * 1024;
/** Processes of a namespace are reaped within about 20 ms after its first one dies. After this time the outer one is killed. */
const reapGraceMs = 1000;

interface ProcessVmDeps {
  spec: VmSpec;
  generation: string;
  isolation: Isolation;
  jailed: boolean;
  child: ChildProcess;
  downloadsPath: string;
  files: VmFiles;
  /** null for machines without a display. */
  display: Display | null;
  /** Running processes that carry the machine's marker, and their descendants. */
  findProcesses: () => HostProcess[];
  /** Removes the folder and forgets the machine: the last step of `destroy`. */
  forget: () => Promise<void>;
  /** Ends the background priority where the scheduler has neither control groups nor autogroups. */
  restorePriority: () => void;
  /** null where the host allows none: the machine's limits do not apply. */
  cgroup: Pick<MachineCgroup, 'setWeight' | 'oomKills'> | null;
}

/** One browser and the processes started with it. */
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
  /** Resolves when the browser's connections reach the gate; never if the browser exits before. */
  readonly egressReady: Promise<void>;

  readonly #deps: ProcessVmDeps;
  readonly #outOfMemoryKills: () => Promise<number>;
  readonly #connections = new Set<Socket>();
  #egress: Server | undefined;
  #resolveEgress: () => void = () => {};
  #logTail = '';
  #destroying: Promise<void> | undefined;
  #loweredBy: 'session' | 'threads' | undefined;

  constructor(deps: ProcessVmDeps) {
    this.#deps = deps;
    this.#outOfMemoryKills = killCounter(deps.cgroup);
    this.id = deps.spec.id;
    this.kind = deps.spec.kind;
    this.generation = deps.generation;
    this.isolation = deps.isolation;
    this.pid = deps.child.pid ?? null;
    this.downloadsPath = deps.downloadsPath;
    this.files = deps.files;
    this.cdp = deps.child.stdio[3] as Socket;
    // The pipe breaks when the browser exits, which `exited` reports.
    this.cdp.on('error', () => {});
    deps.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#logTail = (this.#logTail + text).slice(-logTailBytes);
    });
    this.exited = this.#watchExit();
    this.egressReady = new Promise((resolve) => {
      this.#resolveEgress = resolve;
    });
    deps.child.once('message', (_message, server) => {
      if (deps.child.connected) deps.child.disconnect();
      if (server instanceof Server) this.attachEgress(server);
    });
  }

  get logTail(): string {
    return this.#logTail;
  }

  /** Passes each connection of the browser to `acceptEgress`. */
  attachEgress(server: Server): void {
    if (this.#destroying) {
      server.close();
      return;
    }
    this.#egress = server;
    server.on('connection', (connection) => {
      this.#connections.add(connection);
      connection.on('close', () => this.#connections.delete(connection));
      // A gate that is not attached yet, or no longer listens, must not end the worker.
      connection.on('error', () => {});
      this.#deps.spec.acceptEgress(connection);
    });
    this.#resolveEgress();
  }

  /** Call it right after the start, before the browser has children. */
  lowerPriority(lowerThreadPriority: (pid: number) => boolean): void {
    if (this.pid === null) return;
    // Where cpu control groups are in use, the kernel ignores the niceness of sessions.
    void this.#setWeight('background');
    if (setSessionNice(this.pid, niceness.background)) this.#loweredBy = 'session';
    else if (lowerThreadPriority(this.pid)) this.#loweredBy = 'threads';
  }

  async openVnc(): Promise<Duplex> {
    return this.#display().connect();
  }

  async resizeDisplay(page: { width: number; height: number }): Promise<void> {
    await this.#display().resize(page);
  }

  #display(): Display {
    if (!this.#deps.display) throw new NoDisplayError('the machine has no display');
    return this.#deps.display;
  }

  prioritize(): void {
    void this.#setWeight('normal');
    if (this.#loweredBy === 'session' && this.pid !== null) setSessionNice(this.pid, niceness.normal);
    else if (this.#loweredBy === 'threads') this.#deps.restorePriority();
    this.#loweredBy = undefined;
  }

  /** The group is missing if the machine has ended. */
  async #setWeight(weight: 'normal' | 'background'): Promise<void> {
    await this.#deps.cgroup?.setWeight(weight).catch(() => false);
  }

  async stats(): Promise<VmStats> {
    if (this.pid === null || !this.#isRunning()) return { memoryBytes: 0 };
    return { memoryBytes: await memoryOf(this.pid) };
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#end();
    return this.#destroying;
  }

  async #watchExit(): Promise<VmExit> {
    const { child } = this.#deps;
    const { code, signal } = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
      // There is no exit event only if the program could not be started at all.
      child.on('error', (error) => {
        this.#logTail += error.message;
        if (child.pid === undefined) resolve({ code: null, signal: null });
      });
    });
    this.#closeSockets();
    const how = signal ? `signal ${signal}` : `code ${code}`;
    const detail = `${how}\n${this.#logTail}`.trim();
    if (this.#destroying) return { reason: 'destroyed', detail };
    // bubblewrap reports a child's signal as 128 plus its number. Out of memory only if the kernel counted an OOM kill.
    const killed = signal === 'SIGKILL' || code === 137;
    const outOfMemory = killed && (await this.#outOfMemoryKills()) > 0;
    return { reason: outOfMemory ? 'out_of_memory' : 'exited', detail };
  }

  async #end(): Promise<void> {
    const killedByNamespace = this.#kill();
    const inTime = await this.#reap();
    // The end of a jail leaves nothing; an aborted start or a browser without a jail may leave processes.
    if (!killedByNamespace || !inTime) await killAll(this.#deps.findProcesses);
    this.#closeSockets();
    this.cdp.destroy();
    this.#deps.child.stderr?.destroy();
    await this.#deps.forget();
  }

  #isRunning(): boolean {
    const { child } = this.#deps;
    return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /**
   * In a jail, kills the first process of the namespace. The kernel ends it only
   * after all others in the namespace, so the exit of the outer process proves
   * that nothing is left. Returns false where there is no such namespace.
   */
  #kill(): boolean {
    const pid = this.pid;
    if (pid === null || !this.#isRunning()) return false;
    const inner = this.#deps.jailed ? childrenOf(pid) : [];
    if (inner.length === 0) {
      sendSignal(-pid, 'SIGKILL');
      return false;
    }
    for (const child of inner) sendSignal(child, 'SIGKILL');
    sendSignal(pid, 'SIGCONT');
    return true;
  }

  /** Returns false when the outermost process had to be killed as well. */
  async #reap(): Promise<boolean> {
    const grace = new AbortController();
    const late = sleep(reapGraceMs, true, { signal: grace.signal }).catch(() => false);
    const expired = late.then((isLate) => isLate && this.#deps.child.kill('SIGKILL'));
    await this.exited;
    grace.abort();
    return !(await expired);
  }

  #closeSockets(): void {
    if (this.#deps.child.connected) this.#deps.child.disconnect();
    this.#egress?.close();
    this.#egress = undefined;
    for (const connection of this.#connections) connection.destroy();
    this.#deps.display?.close();
  }
}
