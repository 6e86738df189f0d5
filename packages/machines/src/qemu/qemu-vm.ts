import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { guestPaths, type BrowserExitResult } from '@berth/contract/guest';
import { memoryOf, type HostProcess } from '../host/processes.ts';
import { NoDisplayError, type Vm, type VmExit, type VmFiles, type VmKind, type VmSpec, type VmStats } from '../runtime.ts';
import { killAll } from '../host/artifacts.ts';
import type { GuestLink } from './guest/link.ts';

/** QEMU exits milliseconds after its ports close; the agent's exit report follows a little later than the end of the browser's pipe. */
const exitMsMax = 100;
const exitReportMsMax = 250;

/** The process behind a machine. */
export interface QemuHandle {
  readonly pid: number | null;
  /** Resolves with the last output of QEMU and the guest. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null; detail: string }>;
  /** Resolves when none of its processes is left. Idempotent. */
  kill(): Promise<void>;
}

interface QemuVmDeps {
  spec: VmSpec;
  generation: string;
  runtime: 'qemu-kvm' | 'qemu-tcg';
  machine: QemuHandle;
  link: GuestLink;
  /** The browser's DevTools pipe, opened over the link. */
  cdp: Duplex;
  /** Number of out-of-memory kills in the machine. */
  outOfMemoryKills: () => Promise<number>;
  /** Running processes that carry the machine's marker, and their descendants. */
  findProcesses: () => HostProcess[];
  /** Removes the folder and forgets the machine: the last step of `destroy`. */
  forget: () => Promise<void>;
  /** Ends the background priority. */
  prioritize: () => void;
}

/** One browser in one virtual machine. The machine ends with the browser, its agent, or the link to them. */
export class QemuVm implements Vm {
  readonly id: string;
  readonly kind: VmKind;
  readonly isolation = 'microvm';
  readonly runtime: 'qemu-kvm' | 'qemu-tcg';
  readonly generation: string;
  readonly pid: number | null;
  readonly cdp: Duplex;
  readonly downloadsPath = guestPaths.downloads;
  readonly files: VmFiles;
  readonly exited: Promise<VmExit>;

  readonly #deps: QemuVmDeps;
  #hasEnded = false;
  #destroying: Promise<void> | undefined;

  constructor(deps: QemuVmDeps) {
    this.#deps = deps;
    this.id = deps.spec.id;
    this.kind = deps.spec.kind;
    this.runtime = deps.runtime;
    this.generation = deps.generation;
    this.pid = deps.machine.pid;
    this.cdp = deps.cdp;
    this.files = deps.link.files;
    this.exited = this.#watchExit();
  }

  async openVnc(): Promise<Duplex> {
    return this.#display().openVnc();
  }

  async resizeDisplay(page: { width: number; height: number }): Promise<void> {
    await this.#display().resizeDisplay(page);
  }

  prioritize(): void {
    this.#deps.prioritize();
  }

  /** Measured on the host, as the guest's own numbers are not trusted. */
  async stats(): Promise<VmStats> {
    if (this.pid === null || this.#hasEnded) return { memoryBytes: 0 };
    return { memoryBytes: await memoryOf(this.pid) };
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#end();
    return this.#destroying;
  }

  #display(): GuestLink {
    if (this.kind !== 'full_browser' || this.#hasEnded) throw new NoDisplayError('the machine has no display');
    return this.#deps.link;
  }

  /** Whichever of browser, link and process ends first ends the others. */
  async #watchExit(): Promise<VmExit> {
    const { machine, link, outOfMemoryKills } = this.#deps;
    const browser = link.browserExit.then((exit) => ({ exit, why: describeExit(exit) }));
    const pipe = closeOf(this.cdp).then(() => sleep(exitReportMsMax, { why: 'the DevTools pipe closed' }, { ref: false }));
    const lost = link.closed.then((why) => sleep(exitMsMax, { why: `the link was lost: ${why}` }, { ref: false }));
    // Less specific reasons are delayed, so that a more specific one can arrive first.
    const first = await Promise.race<Ending | null>([machine.exited.then(() => null), browser, lost, pipe]);
    this.#hasEnded = true;
    if (first) await machine.kill();
    const { code, signal, detail } = await machine.exited;
    link.close();
    this.cdp.destroy();
    if (this.#destroying) return { reason: 'destroyed', detail };
    if (first) return { reason: first.exit?.out_of_memory ? 'out_of_memory' : 'exited', detail: `${first.why}\n${detail}`.trim() };
    // bubblewrap reports a child's signal as 128 plus its number. Out of memory only if the kernel counted an OOM kill.
    const killed = signal === 'SIGKILL' || code === 137;
    const outOfMemory = killed && (await outOfMemoryKills()) > 0;
    return { reason: outOfMemory ? 'out_of_memory' : 'exited', detail };
  }

  async #end(): Promise<void> {
    const { machine, link, findProcesses, forget } = this.#deps;
    await machine.kill();
    await this.exited;
    link.close();
    await killAll(findProcesses);
    await forget();
  }
}

interface Ending {
  exit?: BrowserExitResult;
  why: string;
}

const describeExit = ({ code, signal, log }: BrowserExitResult): string =>
  `the browser ended: ${signal === null ? `code ${code}` : `signal ${signal}`}\n${log}`.trim();

const closeOf = (stream: Duplex): Promise<void> =>
  new Promise((resolve) => (stream.closed ? resolve() : void stream.once('close', resolve)));
