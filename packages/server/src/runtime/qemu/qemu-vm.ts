import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { guestPaths } from '@berth/contract/guest';
import type { BrowserExited } from '@berth/contract/guest';
import { usageOf } from '../host/processes.ts';
import type { HostProcess } from '../host/processes.ts';
import { NoDisplay } from '../runtime.ts';
import type { Vm, VmExit, VmFiles, VmKind, VmOrder, VmStats } from '../runtime.ts';
import { killAll } from '../host/artifacts.ts';
import type { GuestLink } from './guest/link.ts';

/** Between the end of QEMU's ports and its own lie milliseconds, and more between the end of a browser's pipe and the agent's word of how it ended. */
const exitMsMax = 100;
const wordMsMax = 250;

/** What a machine needs of the process that it is. */
export interface QemuHandle {
  readonly pid: number | null;
  /** Settles once, with QEMU's and the guest's last words. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null; detail: string }>;
  /** Resolves when no process of it is left. Idempotent. */
  kill(): Promise<void>;
}

export interface QemuVmParts {
  order: VmOrder;
  generation: string;
  runtime: 'qemu-kvm' | 'qemu-tcg';
  machine: QemuHandle;
  link: GuestLink;
  /** The browser's DevTools pipe, opened over the link. */
  cdp: Duplex;
  /** How often the kernel has ended a process of the machine for want of memory. */
  outOfMemoryKills: () => Promise<number>;
  /** All living processes that carry the machine's marker, and their descendants. */
  findProcesses: () => HostProcess[];
  /** Takes the folder away and forgets the machine: the last act of `destroy`. */
  forget: () => Promise<void>;
  /** Ends the background weight. */
  prioritize: () => void;
}

/** One browser in one virtual machine, which lives no longer than the browser, its agent, and the link to them. */
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

  readonly #parts: QemuVmParts;
  #isOver = false;
  #destroying: Promise<void> | undefined;

  constructor(parts: QemuVmParts) {
    this.#parts = parts;
    this.id = parts.order.id;
    this.kind = parts.order.kind;
    this.runtime = parts.runtime;
    this.generation = parts.generation;
    this.pid = parts.machine.pid;
    this.cdp = parts.cdp;
    this.files = parts.link.files;
    this.exited = this.#watchExit();
  }

  async openVnc(): Promise<Duplex> {
    return this.#display().openVnc();
  }

  async sizeDisplay(page: { width: number; height: number }): Promise<void> {
    await this.#display().sizeDisplay(page);
  }

  prioritize(): void {
    this.#parts.prioritize();
  }

  /** By the host's own count: what the guest says of itself is no measure. */
  async stats(): Promise<VmStats> {
    if (this.pid === null || this.#isOver) return { memoryBytes: 0, cpuSeconds: 0, processes: 0 };
    return usageOf(this.pid);
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#end();
    return this.#destroying;
  }

  #display(): GuestLink {
    if (this.kind !== 'full_browser' || this.#isOver) throw new NoDisplay('the machine has no display');
    return this.#parts.link;
  }

  /** Whatever ends first ends the rest: a browser without its machine is lost, and a machine without its browser of no use. */
  async #watchExit(): Promise<VmExit> {
    const { machine, link, outOfMemoryKills } = this.#parts;
    const browser = link.browserExit.then((exit) => ({ exit, why: toldOf(exit) }));
    const pipe = closeOf(this.cdp).then(() => sleep(wordMsMax, { why: 'the DevTools pipe closed' }, { ref: false }));
    const gone = link.gone.then((why) => sleep(exitMsMax, { why: `the link was lost: ${why}` }, { ref: false }));
    // Whoever knows more is given a moment to say so.
    const first = await Promise.race<Ending | null>([machine.exited.then(() => null), browser, gone, pipe]);
    this.#isOver = true;
    if (first) await machine.kill();
    const { code, signal, detail } = await machine.exited;
    link.close();
    this.cdp.destroy();
    if (this.#destroying) return { reason: 'destroyed', detail };
    if (first) return { reason: first.exit?.out_of_memory ? 'out_of_memory' : 'exited', detail: `${first.why}\n${detail}`.trim() };
    // bubblewrap tells a child's signal as 128 and its number. Only a kill that the kernel counts as one for want of memory is called so.
    const killed = signal === 'SIGKILL' || code === 137;
    const outOfMemory = killed && (await outOfMemoryKills()) > 0;
    return { reason: outOfMemory ? 'out_of_memory' : 'exited', detail };
  }

  async #end(): Promise<void> {
    const { machine, link, findProcesses, forget } = this.#parts;
    await machine.kill();
    await this.exited;
    link.close();
    await killAll(findProcesses);
    await forget();
  }
}

interface Ending {
  exit?: BrowserExited;
  why: string;
}

const toldOf = ({ code, signal, log }: BrowserExited): string =>
  `the browser ended: ${signal === null ? `code ${code}` : `signal ${signal}`}\n${log}`.trim();

const closeOf = (stream: Duplex): Promise<void> =>
  new Promise((resolve) => (stream.closed ? resolve() : void stream.once('close', resolve)));
