import { Readable, duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { FakeBrowser } from './browser.ts';
import { FakeDisplay } from './display.ts';
import { NoDisplay, NoSuchFile } from '../runtime.ts';
import type { OpenFile, Runtime, TemplateState, Vm, VmExit, VmFiles, VmKind, VmOrder, VmStats, VmTrace } from '../runtime.ts';

export interface FakeRuntime extends Runtime {
  readonly counts: { booted: number; destroyed: number };
  /** Machines that live now, by id. */
  readonly machines: ReadonlyMap<string, FakeVm>;
  /** The next boot fails with this error and leaves nothing. */
  failNextBoot(error: Error): void;
  /** Every boot from now on takes this long. */
  delayBoot(ms: number): void;
  /** Machines that are booted from now on are of another generation. */
  upgrade(generation: string): void;
  /** A machine that nobody holds, as a killed worker leaves one. */
  plantTrace(id: string): VmTrace;
}

/** Machines in memory, for tests of all that stands above the seam. */
export function createFakeRuntime(options: { bootDelayMs?: number } = {}): FakeRuntime {
  return new MemoryRuntime(options.bootDelayMs ?? 0);
}

class MemoryRuntime implements FakeRuntime {
  readonly name = 'fake';
  readonly isolation = 'process';
  readonly slowness = 1;
  readonly bootMsMax = 30_000;
  readonly warnings: readonly string[] = [];
  readonly counts = { booted: 0, destroyed: 0 };
  readonly machines = new Map<string, FakeVm>();
  readonly #planted = new Map<string, VmTrace>();
  #bootDelayMs: number;
  #nextFailure: Error | undefined;
  #generation = 'fake-1';

  constructor(bootDelayMs: number) {
    this.#bootDelayMs = bootDelayMs;
  }

  failNextBoot(error: Error): void {
    this.#nextFailure = error;
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

  plantTrace(id: string): VmTrace {
    const trace = { id, incarnation: `planted:${id}`, pids: [] };
    this.#planted.set(id, trace);
    return trace;
  }

  async boot(order: VmOrder, { signal }: { signal: AbortSignal }): Promise<Vm> {
    signal.throwIfAborted();
    const failure = this.#nextFailure;
    this.#nextFailure = undefined;
    // The timer reports an abort in its own words; callers are promised the signal's reason.
    if (this.#bootDelayMs > 0) await sleep(this.#bootDelayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    if (failure) throw failure;
    if (this.machines.has(order.id)) throw new Error(`machine ${order.id} is there already`);
    this.counts.booted += 1;
    const vm = new FakeVm(order, { incarnation: `fake:${this.counts.booted}`, generation: this.#generation }, () => {
      this.counts.destroyed += 1;
      this.machines.delete(order.id);
    });
    this.machines.set(order.id, vm);
    return vm;
  }

  async list(): Promise<VmTrace[]> {
    return [...[...this.machines.values()].map(({ id, incarnation }) => ({ id, incarnation, pids: [] })), ...this.#planted.values()];
  }

  async destroy(trace: VmTrace): Promise<void> {
    if (this.#planted.get(trace.id)?.incarnation === trace.incarnation) this.#planted.delete(trace.id);
    const vm = this.machines.get(trace.id);
    if (vm?.incarnation === trace.incarnation) await vm.destroy();
  }
}

/** Files in memory. Tests put downloads in by name. */
export class FakeFiles implements VmFiles {
  readonly uploads = new Map<string, Buffer>();
  readonly downloads = new Map<string, Buffer>();

  put(id: string, name: string, data: Buffer): Promise<string> {
    const path = `/uploads/${id}/${name}`;
    this.uploads.set(path, data);
    return Promise.resolve(path);
  }

  openDownload(name: string): Promise<OpenFile> {
    const data = this.downloads.get(name);
    if (!data) return Promise.reject(new NoSuchFile('no such download'));
    return Promise.resolve({ bytes: data.length, stream: () => Readable.from([data]), close: () => Promise.resolve() });
  }

  removeDownload(name: string): Promise<void> {
    this.downloads.delete(name);
    return Promise.resolve();
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
  readonly incarnation: string;
  readonly generation: string;
  /** The browser behind the pipe, for tests that make its pages crash. */
  readonly browser: FakeBrowser;
  /** What `openVnc` shows; null for machines without one. */
  readonly display: FakeDisplay | null;
  priority: VmOrder['priority'];

  readonly #browserEnd: Duplex;
  readonly #onDestroyed: () => void;
  #resolveExit: (exit: VmExit) => void = () => {};
  #destroying: Promise<void> | undefined;

  constructor(order: VmOrder, { incarnation, generation }: { incarnation: string; generation: string }, onDestroyed: () => void) {
    this.id = order.id;
    this.kind = order.kind;
    this.display = order.kind === 'full_browser' ? new FakeDisplay() : null;
    this.priority = order.priority;
    this.incarnation = incarnation;
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
    if (!this.display) throw new NoDisplay('the machine has no display');
    return this.display.connect();
  }

  async sizeDisplay(page: { width: number; height: number }): Promise<void> {
    if (!this.display) throw new NoDisplay('the machine has no display');
    await this.display.size(page);
  }

  prioritize(): void {
    this.priority = 'normal';
  }

  async stats(): Promise<VmStats> {
    return { memoryBytes: 100 * 1024 ** 2, cpuSeconds: 0.1, processes: 1 };
  }

  /** The browser dies without being asked to. */
  crash(reason: 'exited' | 'out_of_memory' = 'exited'): void {
    this.#stop({ reason, detail: 'signal SIGKILL' });
  }

  /** The browser lives and answers no more. */
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
    this.display?.end();
    this.#browserEnd.destroy();
    this.cdp.destroy();
  }
}
