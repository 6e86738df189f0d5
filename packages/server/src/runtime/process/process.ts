import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, chown, stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Display, MachineFiles, makeSharedFolder } from '@berth/guest';
import type { FileFolders } from '@berth/guest';
import type { Clock } from '../../lib/clock.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { BootFailed, firstAnswer } from './first-answer.ts';
import { readProcess } from '../host/processes.ts';
import { jailCommand, jailDownloadsPath, jailUploadsPath, openCommand, spawnCommand } from './jail.ts';
import type { Command } from './jail.ts';
import {
  createMachineFolder,
  createSharedFolders,
  hostDisplayPath,
  hostDownloadsPath,
  hostUploadsPath,
  openMachinesPlace,
  removeMachineFolder,
  writeMarker,
} from '../host/machine-folder.ts';
import type { MachineMarker, MachinesPlace } from '../host/machine-folder.ts';
import { probeHost } from './probe.ts';
import type { HostPowers } from './probe.ts';
import { ProcessVm } from './process-vm.ts';
import type { Runtime, TemplateState, Vm, VmOrder, VmTrace } from '../runtime.ts';
import { Traces } from '../host/artifacts.ts';
import { isRoot, newUid } from '../host/users.ts';

export interface ProcessRuntimeOptions {
  /** Machines' folders are made in `<dataDir>/machines`. */
  dataDir: string;
  workerId: string;
  /** The program itself, not the wrapper script of a distribution. */
  chromiumPath: string;
  /** The program of machines of the kind `shell`; the same as the others' when absent. */
  shellPath?: string | undefined;
  log: Log;
  clock?: Clock;
  /** `none` starts the browser as a process group with a profile of its own and nothing else around it. */
  jail?: 'auto' | 'none';
}

/** Below this a large page runs out of shared memory, and Chromium is told to use files instead. */
const sharedMemoryMin = 512 * 1024 ** 2;

/** Browsers as processes of this host, each in a jail where the host allows one. */
export async function createProcessRuntime(options: ProcessRuntimeOptions): Promise<Runtime> {
  const machinesPlace = await openMachinesPlace(options.dataDir);
  const powers = await probeHost({ ...options, ...machinesPlace, uid: newUid() });
  const smallSharedMemory = await statfs('/dev/shm').then(
    ({ bsize, blocks }) => bsize * blocks < sharedMemoryMin,
    () => true,
  );
  const { size, mtimeMs } = await stat(options.chromiumPath);
  for (const warning of powers.warnings) options.log.warn({ warning }, 'machines are less isolated than they could be');
  return new ProcessRuntime({
    ...options,
    shellPath: options.shellPath ?? options.chromiumPath,
    clock: options.clock ?? systemClock,
    ...machinesPlace,
    powers,
    smallSharedMemory,
    generation: `chromium-${size}-${Math.round(mtimeMs)}`,
  });
}

interface Place extends Required<Omit<ProcessRuntimeOptions, 'jail' | 'shellPath' | 'dataDir'>>, MachinesPlace {
  shellPath: string;
  powers: HostPowers;
  smallSharedMemory: boolean;
  /** The browser's program, by size and date: another one after an upgrade. */
  generation: string;
}

class ProcessRuntime implements Runtime {
  readonly name = 'process';
  readonly isolation = 'process';
  readonly slowness = 1;
  readonly bootMsMax = 30_000;
  readonly warnings: readonly string[];

  readonly #place: Place;
  readonly #traces: Traces;
  readonly #running = new Map<string, ProcessVm>();

  constructor(place: Place) {
    this.#place = place;
    this.#traces = new Traces({ place, log: place.log, running: (id) => this.#running.get(id) });
    this.warnings = place.powers.warnings;
  }

  async boot(order: VmOrder, { signal }: { signal: AbortSignal }): Promise<Vm> {
    signal.throwIfAborted();
    if (this.#place.powers.refusal) throw new BootFailed(this.#place.powers.refusal);
    const startedMs = this.#place.clock.monotonicMs();
    const marker = await this.#anchor(order.id);
    const open = this.#place.powers.jail ? undefined : await listen().catch(() => undefined);
    let vm: ProcessVm | undefined;
    try {
      if (!this.#place.powers.jail && !open) throw new BootFailed('no port for the egress proxy');
      vm = await this.#start(order, marker, open);
      await ready(vm, signal);
    } catch (cause) {
      open?.close();
      await (vm ? vm.destroy() : removeMachineFolder(this.#place.dataDir, order.id));
      signal.throwIfAborted();
      throw new BootFailed(`machine ${order.id} did not start: ${vm?.logTail ?? ''}`, { cause });
    }
    this.#place.log.debug({ vm: order.id, pid: vm.pid, ms: Math.round(this.#place.clock.monotonicMs() - startedMs) }, 'machine booted');
    return vm;
  }

  generation(): string {
    return this.#place.generation;
  }

  templates(): readonly TemplateState[] {
    return [];
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  list(): Promise<VmTrace[]> {
    return this.#traces.list();
  }

  destroy(trace: VmTrace): Promise<void> {
    return this.#traces.destroy(trace);
  }

  async #anchor(id: string): Promise<MachineMarker> {
    const { dataDir, workerId, powers } = this.#place;
    const marker: MachineMarker = { id, workerId, bootId: this.#traces.bootId, uid: newUid(), pid: null, startTime: null, workPath: null };
    await createMachineFolder(dataDir, marker);
    if (powers.jail) {
      await createSharedFolders(dataDir, marker);
      return marker;
    }
    // Another user cannot walk through the data folder, which is closed to all but us.
    marker.workPath = await mkdtemp(join(tmpdir(), 'berth-vm-'));
    await writeMarker(dataDir, marker);
    await Promise.all(['tmp', 'downloads', 'uploads', 'display'].map((name) => mkdir(join(marker.workPath ?? '', name))));
    if (isRoot()) await makeSharedFolder();
    if (isRoot())
      await Promise.all(
        ['', 'tmp', 'downloads', 'display'].map((name) => chown(join(marker.workPath ?? '', name), marker.uid, marker.uid)),
      );
    return marker;
  }

  async #start(order: VmOrder, marker: MachineMarker, open: Server | undefined): Promise<ProcessVm> {
    const { dataDir, powers } = this.#place;
    const folders = powers.jail ? jailFolders(dataDir, order.id) : openFolders(marker.workPath ?? '');
    const displayPath = order.kind === 'full_browser' ? this.#displayPath(marker) : null;
    const child = spawnCommand(this.#command(order, marker, { open, displayPath }));
    const vm = new ProcessVm({
      order,
      generation: this.#place.generation,
      isolation: this.isolation,
      jailed: powers.jail,
      child,
      downloadsPath: powers.jail ? jailDownloadsPath : folders.downloads,
      files: new MachineFiles(folders),
      display: displayPath === null ? null : new Display(displayPath),
      findProcesses: () => this.#traces.processesOf(order.id),
      forget: async () => {
        await removeMachineFolder(dataDir, order.id);
        this.#running.delete(order.id);
      },
      // Takes some milliseconds of its own, in a process of its own: the worker does not wait for it.
      renice: () => void spawn('renice', ['-n', '0', '-u', String(marker.uid)], { stdio: 'ignore' }).on('error', () => {}),
    });
    this.#running.set(order.id, vm);
    if (order.priority === 'background') vm.yieldProcessor(lowerThreads);
    if (open) vm.serveEgress(open);
    if (child.pid !== undefined) {
      await writeMarker(dataDir, { ...marker, pid: child.pid, startTime: readProcess(child.pid)?.startTime ?? null });
    }
    return vm;
  }

  #displayPath({ id, workPath }: MachineMarker): string {
    return workPath === null ? hostDisplayPath(this.#place.dataDir, id) : join(workPath, 'display');
  }

  #command(
    { id, kind }: VmOrder,
    { uid, workPath }: MachineMarker,
    { open, displayPath }: { open: Server | undefined; displayPath: string | null },
  ): Command {
    const { dataDir, dataDigest, smallSharedMemory } = this.#place;
    const chromiumPath = kind === 'shell' ? this.#place.shellPath : this.#place.chromiumPath;
    const address = open?.address();
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
    return openCommand({
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

const openFolders = (workPath: string): FileFolders => ({
  downloads: join(workPath, 'downloads'),
  uploads: join(workPath, 'uploads'),
  uploadsInside: join(workPath, 'uploads'),
});

const lowerThreads = (pid: number): boolean => {
  // Without root the weight could not be raised again.
  if (!isRoot()) return false;
  setPriority(pid, constants.priority.PRIORITY_LOW);
  return true;
};

async function listen(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Resolves with the first DevTools answer and the way out in hand; rejects when the browser ends or the signal comes first. */
async function ready(vm: ProcessVm, signal: AbortSignal): Promise<void> {
  const settled = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true, signal: settled.signal });
  });
  const ended = vm.exited.then(({ detail }) => {
    throw new BootFailed(`the browser ended at once: ${detail}`);
  });
  try {
    await Promise.race([Promise.all([vm.egressReady, firstAnswer(vm.cdp)]), ended, aborted]);
    signal.throwIfAborted();
  } finally {
    settled.abort();
  }
}
