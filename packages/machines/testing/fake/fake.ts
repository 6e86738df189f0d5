import { Readable, duplexPair, type Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { FakeBrowser } from './browser.ts';
import {
  type Browser,
  NoDisplayError,
  NoSuchFileError,
  vmKinds,
  type OpenFile,
  type Runtime,
  type TemplateState,
  type Vm,
  type VmExit,
  type VmFiles,
  type VmKind,
  type VmSpec,
  type VmStats,
  type VmArtifact,
} from '../../src/runtime.ts';

export interface FakeRuntime extends Runtime {
  kinds: readonly VmKind[];
  readonly counts: { booted: number; destroyed: number };
  /** Running machines by id. */
  readonly machines: ReadonlyMap<string, FakeVm>;
  /** The next boot fails with this error and leaves nothing. It may be one of another call, or of this one's first try. */
  failNextBoot(error: Error): void;
  /** Every boot from now on fails with this error and leaves nothing; null ends that. */
  failBoots(error: Error | null): void;
  /** Every boot from now on takes this long. */
  delayBoot(ms: number): void;
  /** Sets the generation of machines that boot from now on. */
  upgrade(generation: string): void;
  /** Adds an artifact without a machine, as a killed worker leaves it. */
  plantArtifact(id: string): VmArtifact;
}

/** Creates a runtime with machines in memory, for tests of everything above it. */
export function createFakeRuntime(options: { bootDelayMs?: number } = {}): FakeRuntime {
  return new MemoryRuntime(options.bootDelayMs ?? 0);
}

class MemoryRuntime implements FakeRuntime {
  readonly name = 'fake';
  readonly isolation = 'process';
  readonly isJailed = true;
  kinds: readonly VmKind[] = vmKinds;
  readonly slowdown = 1;
  readonly bootMsMax = 30_000;
  browser: Browser = { version: 'Chromium 1', builtAt: new Date() };
  readonly warnings: readonly string[] = [];
  readonly counts = { booted: 0, destroyed: 0 };
  readonly machines = new Map<string, FakeVm>();
  readonly #planted = new Map<string, VmArtifact>();
  #bootDelayMs: number;
  #nextFailure: Error | null = null;
  #failure: Error | null = null;
  #generation = 'fake-1';

  constructor(bootDelayMs: number) {
    this.#bootDelayMs = bootDelayMs;
  }

  failNextBoot(error: Error): void {
    this.#nextFailure = error;
  }

  failBoots(error: Error | null): void {
    this.#failure = error;
  }

  delayBoot(ms: number): void {
    this.#bootDelayMs = ms;
  }

  upgrade(generation: string): void {
    this.#generation = generation;
  }

  generation(): string {
    return this.#generation;
  }

  templates(): readonly TemplateState[] {
    return [];
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  plantArtifact(id: string): VmArtifact {
    const artifact = { id, processIdentity: `planted:${id}`, pids: [] };
    this.#planted.set(id, artifact);
    return artifact;
  }

  async boot(spec: VmSpec, { signal }: { signal: AbortSignal }): Promise<Vm> {
    signal.throwIfAborted();
    const failure = this.#nextFailure ?? this.#failure;
    this.#nextFailure = null;
    // The timer rejects with its own error; callers expect the signal's reason.
    if (this.#bootDelayMs > 0) await sleep(this.#bootDelayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    if (failure) throw failure;
    if (this.machines.has(spec.id)) throw new Error(`machine ${spec.id} already exists`);
    this.counts.booted += 1;
    const vm = new FakeVm(spec, { processIdentity: `fake:${this.counts.booted}`, generation: this.#generation }, () => {
      this.counts.destroyed += 1;
      this.machines.delete(spec.id);
    });
    this.machines.set(spec.id, vm);
    return vm;
  }

  async list(): Promise<VmArtifact[]> {
    return [
      ...[...this.machines.values()].map(({ id, processIdentity }) => ({ id, processIdentity, pids: [] })),
      ...this.#planted.values(),
    ];
  }

  async destroy(artifact: VmArtifact): Promise<void> {
    if (this.#planted.get(artifact.id)?.processIdentity === artifact.processIdentity) this.#planted.delete(artifact.id);
    const vm = this.machines.get(artifact.id);
    if (vm?.processIdentity === artifact.processIdentity) await vm.destroy();
  }
}

/** Files in memory. Tests add downloads by name. */
class FakeFiles implements VmFiles {
  readonly uploads = new Map<string, Buffer>();
  readonly downloads = new Map<string, Buffer>();
  /** Whether no upload can be stored. */
  isDiskFull = false;
  /** Uploads that wait for the disk. */
  waiting = 0;
  #disk: Promise<void> = Promise.resolve();

  /** Uploads wait until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#disk = promise;
    return resolve;
  }

  async put(id: string, name: string, data: Buffer): Promise<string> {
    this.waiting += 1;
    await this.#disk;
    this.waiting -= 1;
    if (this.isDiskFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const path = `/uploads/${id}/${name}`;
    this.uploads.set(path, data);
    return path;
  }

  openDownload(name: string): Promise<OpenFile> {
    const data = this.downloads.get(name);
    if (!data) return Promise.reject(new NoSuchFileError('no such download'));
    return Promise.resolve({ bytes: data.length, stream: () => Readable.from([data]), close: () => Promise.resolve() });
  }
}

export class FakeVm implements Vm {
  readonly id: string;
  readonly kind: VmKind;
  readonly isolation = 'process';
  readonly runtime = 'fake';
  readonly pid = null;
  readonly cdp: Duplex;
  readonly downloadsPath = '/downloads';
  readonly files = new FakeFiles();
  readonly exited: Promise<VmExit>;
  readonly processIdentity: string;
  readonly generation: string;
  /** The browser behind the pipe. */
  readonly browser: FakeBrowser;
  /** null for machines without a display. */
  readonly display: FakeDisplay | null;
  priority: VmSpec['priority'];

  readonly #browserEnd: Duplex;
  readonly #onDestroyed: () => void;
  #resolveExit: (exit: VmExit) => void = () => {};
  #destroying: Promise<void> | undefined;

  constructor(spec: VmSpec, { processIdentity, generation }: { processIdentity: string; generation: string }, onDestroyed: () => void) {
    this.id = spec.id;
    this.kind = spec.kind;
    this.display = spec.kind === 'full_browser' ? new FakeDisplay() : null;
    this.priority = spec.priority;
    this.processIdentity = processIdentity;
    this.generation = generation;
    this.#onDestroyed = onDestroyed;
    const [ours, theirs] = duplexPair();
    this.cdp = ours;
    this.#browserEnd = theirs;
    this.cdp.on('error', () => {});
    this.exited = new Promise((resolve) => {
      this.#resolveExit = resolve;
    });
    this.browser = new FakeBrowser(theirs, () => this.#stop({ reason: 'exited', detail: 'code 0' }));
  }

  async openVnc(): Promise<Duplex> {
    if (!this.display) throw new NoDisplayError('the machine has no display');
    return this.display.connect();
  }

  async resizeDisplay(page: { width: number; height: number }): Promise<void> {
    if (!this.display) throw new NoDisplayError('the machine has no display');
    await this.display.resize(page);
  }

  prioritize(): void {
    this.priority = 'normal';
  }

  async stats(): Promise<VmStats> {
    return { memoryBytes: 100 * 1024 ** 2 };
  }

  /** The browser exits on its own. As of a process, the reason is known a moment after its pipe has closed. */
  crash(reason: 'exited' | 'out_of_memory' = 'exited'): void {
    this.#close();
    setTimeout(() => this.#resolveExit({ reason, detail: 'signal SIGKILL' }), exitNoticeMs);
  }

  /** The browser runs but no longer answers. */
  freeze(): void {
    this.browser.freeze();
  }

  destroy(): Promise<void> {
    this.#destroying ??= this.#end();
    return this.#destroying;
  }

  async #end(): Promise<void> {
    this.#stop({ reason: 'destroyed', detail: '' });
    this.#onDestroyed();
  }

  #stop(exit: VmExit): void {
    this.#resolveExit(exit);
    this.#close();
  }

  #close(): void {
    this.display?.end();
    this.#browserEnd.destroy();
    this.cdp.destroy();
  }
}

/** How long after the end of its pipe the exit of a browser is known. */
const exitNoticeMs = 20;

/** First message of an RFB server. */
const rfbGreeting = 'RFB 003.008\n';

/** A display without a picture: it greets, records what it receives, and echoes it. */
class FakeDisplay {
  /** The current page size. */
  page = { width: 1280, height: 720 };
  /** Data received on each connection, in order. */
  readonly received: Buffer[][] = [];
  readonly #open = new Set<Duplex>();
  #hasEnded = false;

  connect(): Promise<Duplex> {
    if (this.#hasEnded) return Promise.reject(new NoDisplayError('the machine has ended'));
    const [theirs, ours] = duplexPair();
    const said: Buffer[] = [];
    this.received.push(said);
    this.#open.add(ours);
    theirs.on('error', () => {});
    ours
      .on('error', () => {})
      .on('close', () => {
        this.#open.delete(ours);
        // Like a socket: destroying one half of a pair only ends the other.
        theirs.destroy();
      });
    ours.on('data', (bytes: Buffer) => {
      said.push(bytes);
      ours.write(bytes);
    });
    // Destroy, as one half of a pair never finishes once the other is destroyed.
    ours.on('end', () => ours.destroy());
    ours.write(rfbGreeting);
    return Promise.resolve(theirs);
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#open.size;
  }

  resize(page: { width: number; height: number }): Promise<void> {
    if (this.#hasEnded) return Promise.reject(new NoDisplayError('the machine has ended'));
    this.page = { ...page };
    return Promise.resolve();
  }

  /** Closes all connections, as a display does with clients that send what it does not understand. */
  dropClients(): void {
    for (const connection of this.#open) connection.destroy();
  }

  end(): void {
    this.#hasEnded = true;
    this.dropClients();
  }
}
