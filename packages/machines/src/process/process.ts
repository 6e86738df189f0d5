import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, chown, stat, statfs } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Display, MachineFiles, makeSharedFolder, type FileFolders } from '@berth/guest';
import { type Clock, systemClock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { MachineCgroups, type MachineCgroup, type MachineLimits } from '../host/cgroup.ts';
import { readBrowser, type Browser } from '../host/browsers.ts';
import { memoryHere } from '../host/pressure.ts';
import { BootError, waitForDevTools } from './devtools-ready.ts';
import { readProcess } from '../host/processes.ts';
import { jailCommand, jailDownloadsPath, jailUploadsPath, unjailedCommand, spawnCommand, type Command } from './jail.ts';
import {
  createMachineFolder,
  createSharedFolders,
  hostDisplayPath,
  hostDownloadsPath,
  hostUploadsPath,
  openMachinesFolder,
  removeMachineFolder,
  writeMarker,
  type MachineMarker,
  type MachinesFolder,
} from '../host/machine-folder.ts';
import { probeHost, type HostCapabilities } from './probe.ts';
import { ProcessVm } from './process-vm.ts';
import type { Runtime, TemplateState, Vm, VmKind, VmSpec, VmArtifact } from '../runtime.ts';
import { HostArtifacts } from '../host/artifacts.ts';
import { isRoot, newUid } from '../host/users.ts';

export interface ProcessRuntimeOptions {
  /** Machines' folders are made in `<dataDir>/machines`. */
  dataDir: string;
  workerId: string;
  /** The program itself, not the wrapper script of a distribution. */
  chromiumPath: string;
  /** The program of machines of the kind `shell`. Default `chromiumPath`. */
  shellPath?: string | undefined;
  log: Log;
  clock?: Clock;
  /** `none` starts the browser as a process group with its own profile, without a jail. */
  jail?: 'auto' | 'none';
  /** Memory of one machine; what is in its temporary files counts as well. */
  memoryMbMax?: number;
}

/** Minimum bytes of shared memory: with less, a large page runs out of it, and Chromium uses files instead. */
const sharedMemoryMin = 512 * 1024 ** 2;
const megabyte = 1024 ** 2;
const memoryMbMaxDefault = 2048;
/** A page of sixty frames has seventy processes with some twenty threads each. */
const threadsMax = 4096;
/** Memory kept back from all machines together, for the service, its database and the host. */
const serviceMemory = { share: 1 / 8, bytesMin: 768 * megabyte };

/** Creates a runtime that runs browsers as processes of this host, each in a jail where the host allows one. */
export async function createProcessRuntime(options: ProcessRuntimeOptions): Promise<Runtime> {
  const machinesFolder = await openMachinesFolder(options.dataDir);
  const reading = readBrowser(options.chromiumPath);
  // It is awaited below, after what may fail before.
  reading.catch(() => undefined);
  const capabilities = await probeHost({ ...options, ...machinesFolder, uid: newUid() });
  const smallSharedMemory = await statfs('/dev/shm').then(
    ({ bsize, blocks }) => bsize * blocks < sharedMemoryMin,
    () => true,
  );
  const [{ size, mtimeMs, mtime }, known] = await Promise.all([stat(options.chromiumPath), reading]);
  const browser = known ?? { version: 'unknown version', builtAt: mtime };
  const { dataDigest } = machinesFolder;
  const cgroups = await MachineCgroups.open(`berth-${dataDigest}`, options.log, { memoryBytesMax: machinesBytesMax() });
  for (const warning of capabilities.warnings) options.log.warn({ warning }, 'machine isolation reduced');
  return new ProcessRuntime({
    ...options,
    shellPath: options.shellPath ?? options.chromiumPath,
    clock: options.clock ?? systemClock,
    ...machinesFolder,
    browser,
    capabilities,
    smallSharedMemory,
    cgroups,
    memoryBytesMax: (options.memoryMbMax ?? memoryMbMaxDefault) * megabyte,
    generation: `chromium-${size}-${Math.round(mtimeMs)}`,
  });
}

const machinesBytesMax = (total = memoryHere()): number =>
  Math.floor(Math.max(total / 2, total - Math.max(total * serviceMemory.share, serviceMemory.bytesMin)));

interface ProcessRuntimeDeps
  extends Required<Omit<ProcessRuntimeOptions, 'jail' | 'shellPath' | 'dataDir' | 'memoryMbMax'>>, MachinesFolder {
  shellPath: string;
  browser: Browser;
  capabilities: HostCapabilities;
  smallSharedMemory: boolean;
  cgroups: MachineCgroups | null;
  memoryBytesMax: number;
  /** Derived from the size and date of the browser's program, so that it changes with an upgrade. */
  generation: string;
}

interface MachineStart {
  spec: VmSpec;
  marker: MachineMarker;
  cgroup: MachineCgroup | null;
}

class ProcessRuntime implements Runtime {
  readonly name = 'process';
  readonly isolation = 'process';
  readonly isJailed: boolean;
  readonly slowdown = 1;
  readonly bootMsMax = 30_000;
  readonly kinds: readonly VmKind[];
  readonly browser: Browser;
  readonly warnings: readonly string[];

  readonly #deps: ProcessRuntimeDeps;
  readonly #hostArtifacts: HostArtifacts;
  readonly #running = new Map<string, ProcessVm>();

  constructor(deps: ProcessRuntimeDeps) {
    this.#deps = deps;
    this.isJailed = deps.capabilities.jail;
    this.#hostArtifacts = new HostArtifacts({ machinesFolder: deps, log: deps.log, running: (id) => this.#running.get(id) });
    this.kinds = deps.capabilities.kinds;
    this.browser = deps.browser;
    this.warnings = deps.capabilities.warnings;
  }

  async boot(spec: VmSpec, { signal }: { signal: AbortSignal }): Promise<Vm> {
    signal.throwIfAborted();
    if (this.#deps.capabilities.refusal) throw new BootError(this.#deps.capabilities.refusal);
    const startedMs = this.#deps.clock.monotonicMs();
    const marker = await this.#anchor(spec.id);
    const egressServer = this.#deps.capabilities.jail ? undefined : await listen().catch(() => undefined);
    let vm: ProcessVm | undefined;
    let cgroup: MachineCgroup | null = null;
    try {
      if (!this.#deps.capabilities.jail && !egressServer) throw new BootError('no free port for the egress proxy');
      cgroup = (await this.#deps.cgroups?.create(spec.id, this.#limits)) ?? null;
      vm = await this.#start({ spec, marker, cgroup }, egressServer);
      await ready(vm, signal);
    } catch (cause) {
      egressServer?.close();
      await (vm ? vm.destroy() : this.#forget(spec.id, cgroup));
      signal.throwIfAborted();
      throw new BootError(`machine ${spec.id} did not start: ${vm?.logTail ?? ''}`, { cause });
    }
    this.#deps.log.debug({ vm: spec.id, pid: vm.pid, ms: Math.round(this.#deps.clock.monotonicMs() - startedMs) }, 'machine booted');
    return vm;
  }

  generation(): string {
    return this.#deps.generation;
  }

  templates(): readonly TemplateState[] {
    return [];
  }

  async close(): Promise<void> {
    await this.#deps.cgroups?.close();
  }

  list(): Promise<VmArtifact[]> {
    return this.#hostArtifacts.list();
  }

  async destroy(artifact: VmArtifact): Promise<void> {
    await this.#hostArtifacts.destroy(artifact);
    const isLeft = (await this.list()).some(({ id }) => id === artifact.id);
    if (!isLeft) await this.#deps.cgroups?.remove(artifact.id);
  }

  async #anchor(id: string): Promise<MachineMarker> {
    const { dataDir, workerId, capabilities } = this.#deps;
    const marker: MachineMarker = {
      id,
      workerId,
      bootId: this.#hostArtifacts.bootId,
      uid: newUid(),
      pid: null,
      startTime: null,
      workPath: null,
    };
    await createMachineFolder(dataDir, marker);
    if (capabilities.jail) {
      await createSharedFolders(dataDir, marker);
      return marker;
    }
    // The data folder is closed to other users.
    marker.workPath = await mkdtemp(join(tmpdir(), 'berth-vm-'));
    await writeMarker(dataDir, marker);
    await Promise.all(['tmp', 'downloads', 'uploads', 'display'].map((name) => mkdir(join(marker.workPath ?? '', name), { mode: 0o700 })));
    if (isRoot()) await makeSharedFolder();
    if (isRoot())
      await Promise.all(
        ['', 'tmp', 'downloads', 'uploads', 'display'].map((name) => chown(join(marker.workPath ?? '', name), marker.uid, marker.uid)),
      );
    return marker;
  }

  get #limits(): MachineLimits {
    return { memoryBytes: this.#deps.memoryBytesMax, cpus: null, processes: threadsMax };
  }

  /** Removes what a machine leaves, after all its processes. A group that is left is empty, and the next start removes it. */
  async #forget(id: string, cgroup: MachineCgroup | null): Promise<void> {
    const { dataDir, log } = this.#deps;
    await cgroup?.remove().catch((error: unknown) => log.warn({ vm: id, err: error }, 'control group not removed'));
    await removeMachineFolder(dataDir, id);
    this.#running.delete(id);
  }

  async #start({ spec, marker, cgroup }: MachineStart, egressServer: Server | undefined): Promise<ProcessVm> {
    const { dataDir, capabilities } = this.#deps;
    const folders = capabilities.jail ? jailFolders(dataDir, spec.id) : unjailedFolders(marker.workPath ?? '');
    const displayPath = spec.kind === 'full_browser' ? this.#displayPath(marker) : null;
    const child = spawnCommand(this.#command(spec, marker, { egressServer, displayPath }), cgroup?.paths);
    const vm = new ProcessVm({
      spec,
      generation: this.#deps.generation,
      isolation: this.isolation,
      jailed: capabilities.jail,
      child,
      downloadsPath: capabilities.jail ? jailDownloadsPath : folders.downloads,
      files: new MachineFiles(folders),
      display: displayPath === null ? null : new Display(displayPath),
      findProcesses: () => this.#hostArtifacts.processesOf(spec.id),
      forget: () => this.#forget(spec.id, cgroup),
      cgroup,
      // Takes some milliseconds in its own process; the worker does not wait for it.
      restorePriority: () => void spawn('renice', ['-n', '0', '-u', String(marker.uid)], { stdio: 'ignore' }).on('error', () => {}),
    });
    this.#running.set(spec.id, vm);
    if (spec.priority === 'background') vm.lowerPriority(lowerThreadPriority);
    if (egressServer) vm.attachEgress(egressServer);
    if (child.pid !== undefined) {
      await writeMarker(dataDir, { ...marker, pid: child.pid, startTime: readProcess(child.pid)?.startTime ?? null });
    }
    return vm;
  }

  #displayPath({ id, workPath }: MachineMarker): string {
    return workPath === null ? hostDisplayPath(this.#deps.dataDir, id) : join(workPath, 'display');
  }

  #command(
    { id, kind }: VmSpec,
    { uid, workPath }: MachineMarker,
    { egressServer, displayPath }: { egressServer: Server | undefined; displayPath: string | null },
  ): Command {
    const { dataDir, dataDigest, smallSharedMemory } = this.#deps;
    const chromiumPath = kind === 'shell' ? this.#deps.shellPath : this.#deps.chromiumPath;
    const address = egressServer?.address();
    if (workPath === null || !address || typeof address === 'string') {
      return jailCommand({
        id,
        dataDigest,
        uid,
        chromiumPath,
        hostDownloadsPath: hostDownloadsPath(dataDir, id),
        hostUploadsPath: hostUploadsPath(dataDir, id),
        hostDisplayPath: displayPath,
      });
    }
    return unjailedCommand({
      id,
      dataDigest,
      uid,
      chromiumPath,
      workPath,
      hostDisplayPath: displayPath,
      proxyPort: address.port,
      smallSharedMemory,
    });
  }
}

const jailFolders = (dataDir: string, id: string): FileFolders => ({
  downloads: hostDownloadsPath(dataDir, id),
  uploads: hostUploadsPath(dataDir, id),
  uploadsInside: jailUploadsPath,
});

const unjailedFolders = (workPath: string): FileFolders => ({
  downloads: join(workPath, 'downloads'),
  uploads: join(workPath, 'uploads'),
  uploadsInside: join(workPath, 'uploads'),
});

const lowerThreadPriority = (pid: number): boolean => {
  // Without root the priority could not be raised again.
  if (!isRoot()) return false;
  setPriority(pid, constants.priority.PRIORITY_LOW);
  return true;
};

async function listen(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Resolves when DevTools answers and egress is attached. Rejects when the browser exits or the signal aborts first. */
async function ready(vm: ProcessVm, signal: AbortSignal): Promise<void> {
  const settled = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true, signal: settled.signal });
  });
  const ended = vm.exited.then(({ detail }) => {
    throw new BootError(`the browser exited at start: ${detail}`);
  });
  try {
    await Promise.race([Promise.all([vm.egressReady, waitForDevTools(vm.cdp)]), ended, aborted]);
    signal.throwIfAborted();
  } finally {
    settled.abort();
  }
}
