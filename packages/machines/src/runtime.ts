/**
 * The seam between the service and the machines that browsers run in.
 *
 * One machine holds one browser. Its only egress is the connections that it
 * passes to `acceptEgress`, its only ingress is the DevTools pipe.
 */
import type { Duplex } from 'node:stream';
import type { OpenFile } from '@berth/guest';

export { displaySize, NoDisplayError, NoSuchFileError } from '@berth/guest';
export type { OpenFile } from '@berth/guest';
import type { Browser } from './host/browsers.ts';

export type { Browser } from './host/browsers.ts';
export { createHostReader, processorsHere } from './host/pressure.ts';
export type { HostReader, HostReading } from './host/pressure.ts';
export type { EncoderEnd, EncoderExit, EncoderOptions, VideoEncoder, VideoEncoders } from './encoder/encoder.ts';

/**
 * `headless`: the whole browser, without a display. `full_browser`: with windows on a display, which `openVnc` shows.
 * `shell`: the headless shell, which opens a page for a third of the work; the whole browser where it is not installed.
 */
export const vmKinds = ['headless', 'full_browser', 'shell'] as const;
export type VmKind = (typeof vmKinds)[number];
export type Isolation = 'microvm' | 'process';
type RuntimeName = 'qemu-kvm' | 'qemu-tcg' | 'process' | 'fake';

/** Why a machine ended: `destroyed` by this service, the others on its own. */
export interface VmExit {
  reason: 'destroyed' | 'exited' | 'out_of_memory';
  /** Exit code, signal and last log lines of the browser. For our log, never for a caller. */
  detail: string;
}

export interface VmSpec {
  /** `vm_…`, never reused. */
  id: string;
  kind: VmKind;
  /**
   * Called once per connection of the browser to its HTTP proxy. CONNECT or
   * absolute-form requests follow on it.
   */
  acceptEgress: (connection: Duplex) => void;
  /** A `background` machine yields the processor to those in use until `prioritize()`. */
  priority: 'normal' | 'background';
}

export interface VmStats {
  /** Proportional set size of all its processes. */
  memoryBytes: number;
}

/** Uploads and downloads of a machine. Nothing in the machine can redirect them to another path. */
export interface VmFiles {
  /** Stores a file that the browser can read but not change. Returns its path inside the machine. */
  put(id: string, name: string, data: Buffer): Promise<string>;
  /** Opens a download by the name that the browser gave it. @throws NoSuchFileError */
  openDownload(name: string): Promise<OpenFile>;
}

export interface Vm {
  readonly id: string;
  readonly kind: VmKind;
  readonly isolation: Isolation;
  readonly runtime: RuntimeName;
  /** `Runtime.generation` at the time of the boot. */
  readonly generation: string;
  /** The outermost process on this host. For operators. */
  readonly pid: number | null;
  /** The browser's DevTools pipe: JSON messages, each ended by a NUL byte. */
  readonly cdp: Duplex;
  /** Folder for downloads, as a path inside the machine. */
  readonly downloadsPath: string;
  readonly files: VmFiles;
  /** Connects to the display, which speaks RFB without a password. @throws NoDisplayError for machines of other kinds */
  openVnc(): Promise<Duplex>;
  /**
   * Resizes the display so that the browser's window fits a page of this size, in CSS px. Resolves when the display has
   * its new size; the window follows within about 100 ms.
   * @throws NoDisplayError
   */
  resizeDisplay(page: { width: number; height: number }): Promise<void>;
  /** Resolves when the machine has ended and its processes are reaped. Never rejects. */
  readonly exited: Promise<VmExit>;
  /** Ends the background priority. */
  prioritize(): void;
  stats(): Promise<VmStats>;
  /** Kills every process of the machine and removes its folder. Idempotent; callers share one promise. */
  destroy(): Promise<void>;
}

/** What a machine has on this host: processes, a folder, or both. */
export interface VmArtifact {
  id: string;
  /** Identifies the outermost process by pid, start time and boot. An artifact is destroyed only while this still matches. */
  processIdentity: string;
  /** Live processes of the machine. */
  pids: number[];
}

/** How machines of a kind start. `process`: as a process. `clone`: from a template. `cold`: booted from the image, as no template works. */
export type BootMethod = 'process' | 'clone' | 'cold';

export interface TemplateState {
  kind: VmKind;
  method: BootMethod;
  /** Boots of this kind that failed since the last success. */
  failures: number;
  /** Why machines boot cold or a template is being built; null in normal operation. */
  note: string | null;
}

export interface Runtime {
  readonly name: RuntimeName;
  readonly isolation: Isolation;
  /** Whether a browser sees nothing of this host, neither files nor network: it is in a jail or a virtual machine. */
  readonly isJailed: boolean;
  /** Kinds that can be started here: `full_browser` needs a display. */
  readonly kinds: readonly VmKind[];
  /** The browser of new machines. */
  readonly browser: Browser;
  /** Current warnings for the operator: missing namespaces, emulation, cold boots. Logged at start, shown in /health. */
  readonly warnings: readonly string[];
  /** Identifies the browser, image and template of new machines of a kind. Machines of another generation are outdated. */
  generation(kind: VmKind): string;
  /** State of templates, for operators: one entry per kind that has templates. */
  templates(): readonly TemplateState[];
  /** Factor by which a browser may be slower than on bare hardware: 1, more under emulation. Multiplies its timeouts. */
  readonly slowdown: number;
  /** Time limit of a boot in ms. */
  readonly bootMsMax: number;
  /** Resolves with the browser's first DevTools answer. A boot that throws leaves nothing behind. */
  boot(spec: VmSpec, options: { signal: AbortSignal }): Promise<Vm>;
  /** Reads the host (processes and folders that carry our marker), not memory. */
  list(): Promise<VmArtifact[]>;
  /** Destroys what the artifact refers to, if the process identity still matches. Idempotent. */
  destroy(artifact: VmArtifact): Promise<void>;
  /** Releases templates. Running machines are not affected. */
  close(): Promise<void>;
}
