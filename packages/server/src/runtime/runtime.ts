/**
 * The seam between the service and the machines that browsers run in.
 *
 * One machine holds one browser. It has no way out but the connections that
 * it hands to `acceptEgress`, and no way in but the DevTools pipe.
 */
import type { Duplex } from 'node:stream';
import type { OpenFile } from '@berth/guest';

export { NoDisplay, NoSuchFile } from '@berth/guest';
export type { OpenFile } from '@berth/guest';
export { createHostReader, processorsHere } from './host/pressure.ts';
export type { HostReader, HostReading } from './host/pressure.ts';
export type { EncoderEnd, EncoderExit, EncoderOrder, VideoEncoder, VideoEncoders } from './encoder/model.ts';

/** `headless`: the whole browser, without a display. `full_browser`: with windows on a display, that `openVnc` shows. `shell`: its engine alone, without windows, which opens a page for a third of the work; the whole browser where there is none. */
export type VmKind = 'headless' | 'full_browser' | 'shell';
export type Isolation = 'microvm' | 'process';
export type RuntimeName = 'qemu-kvm' | 'qemu-tcg' | 'process' | 'fake';

/** Why a machine is no more. `destroyed` is our own doing, `exited` is not. */
export interface VmExit {
  reason: 'destroyed' | 'exited' | 'out_of_memory';
  /** Exit code, signal and the last lines of the browser's own log: for our log, never for a caller. */
  detail: string;
}

export interface VmOrder {
  /** `vm_…`, unique for good: never given to a second machine. */
  id: string;
  kind: VmKind;
  /**
   * Called once for each connection that the browser opens to its HTTP proxy
   * (CONNECT or absolute-form requests follow on it).
   */
  acceptEgress: (connection: Duplex) => void;
  /** A machine that is booted ahead of need yields the processor to those in use, until `prioritize()`. */
  priority: 'normal' | 'background';
}

export interface VmStats {
  /** Proportional set size of all its processes. */
  memoryBytes: number;
  cpuSeconds: number;
  processes: number;
}

/** Files that go into a machine and come out of it. Nothing in the machine can lead them elsewhere. */
export interface VmFiles {
  /** Puts a file where the browser may read it and not change it. Resolves with its path as the browser sees it. */
  put(id: string, name: string, data: Buffer): Promise<string>;
  /** A download by the name that the browser gave it. Throws NoSuchFile. */
  openDownload(name: string): Promise<OpenFile>;
  /** Idempotent. */
  removeDownload(name: string): Promise<void>;
}

export interface Vm {
  readonly id: string;
  readonly kind: VmKind;
  readonly isolation: Isolation;
  readonly runtime: RuntimeName;
  /** What the machine was made of, as `Runtime.generation` was then. */
  readonly generation: string;
  /** The outermost process on this host, for the operator's eyes. */
  readonly pid: number | null;
  /** The browser's DevTools pipe: JSON messages, each ended by a NUL byte. */
  readonly cdp: Duplex;
  /** Where the browser must put downloads: a path as the browser sees it. */
  readonly downloadsPath: string;
  readonly files: VmFiles;
  /** A connection to the display, which speaks RFB without a password. Throws NoDisplay for machines of other kinds. */
  openVnc(): Promise<Duplex>;
  /** Makes the display so large that the browser's window has room for a page of this size, in CSS px. Resolves when the display has its new size; the window follows within some 100 ms. Throws NoDisplay. */
  sizeDisplay(page: { width: number; height: number }): Promise<void>;
  /** Settles once, when the machine is no more and its processes are reaped. */
  readonly exited: Promise<VmExit>;
  /** Ends the background priority of a machine that was booted ahead. */
  prioritize(): void;
  stats(): Promise<VmStats>;
  /** Ends every process of the machine and removes its folder. Idempotent; callers share one promise. */
  destroy(): Promise<void>;
}

/** Something on this host that shows that a machine is or was here. */
export interface VmTrace {
  id: string;
  /** Pins the incarnation: a trace is only ever acted on while this is still what is there. */
  incarnation: string;
  /** Live processes of the machine. */
  pids: number[];
}

/** How machines of one kind come to be. `process`: started as such. `clone`: from a template. `cold`: booted from the image, because there is no template that works. */
export type BootWay = 'process' | 'clone' | 'cold';

export interface TemplateState {
  kind: VmKind;
  way: BootWay;
  /** Boots of this kind that failed since one last went well. */
  failures: number;
  /** Why machines are booted cold, or a template is being made; null when all is well. */
  note: string | null;
}

export interface Runtime {
  readonly name: RuntimeName;
  readonly isolation: Isolation;
  /** What an operator should know now: missing namespaces, emulation, machines that are booted cold. Said at start and in /health. */
  readonly warnings: readonly string[];
  /** What the machines of a kind are made of now: the browser, the image, the template. One of another generation is outdated. */
  generation(kind: VmKind): string;
  /** For the operator's eyes, of each kind that was asked for. */
  templates(): readonly TemplateState[];
  /** How many times slower than on the processor itself a browser may be here: 1, and more under emulation. Limits that judge a browser by its answers are stretched by it. */
  readonly slowness: number;
  /** A boot that takes longer than this has failed. */
  readonly bootMsMax: number;
  /** Resolves when the browser's first DevTools answer is there; throws and leaves nothing behind otherwise. */
  boot(order: VmOrder, options: { signal: AbortSignal }): Promise<Vm>;
  /** By looking at the host (processes and folders that carry our marker), not at what was remembered. */
  list(): Promise<VmTrace[]>;
  /** Ends what a trace points at, if it is still that incarnation. Idempotent. */
  destroy(trace: VmTrace): Promise<void>;
  /** Lets go of what boots are made from. Machines are not touched. */
  close(): Promise<void>;
}
