/**
 * Artifacts of machines on this host: processes that carry the machine's marker
 * in their environment, their descendants, and the machine's folder. Shared by
 * all runtimes, so that each also cleans up what another one left.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '@berth/lib/log.ts';
import { killProcess, readBootId, readEnvironment, readProcesses, withDescendants, type HostProcess } from './processes.ts';
import { listMachineFolders, readMarker, removeMachineFolder, type MachinesFolder } from './machine-folder.ts';
import type { Vm, VmArtifact } from '../runtime.ts';

interface HostArtifactsOptions {
  machinesFolder: MachinesFolder;
  /** A machine of this worker is destroyed through its `Vm`, so that `exited` resolves. */
  running: (id: string) => Pick<Vm, 'destroy'> | undefined;
  log: Log;
}

/** Environment of a machine's outermost process. Its processes are found by it. */
export const machineEnvironment = (id: string, { dataDigest }: MachinesFolder): Record<string, string> => ({
  BERTH_VM: id,
  BERTH_DATA: dataDigest,
});

export class HostArtifacts {
  readonly #options: HostArtifactsOptions;
  /** Pids and start times are only comparable within one boot of the host. */
  readonly bootId = readBootId();

  constructor(options: HostArtifactsOptions) {
    this.#options = options;
  }

  /** Running processes that carry the machine's marker, and their descendants. */
  processesOf(id: string): HostProcess[] {
    return this.#findAll().get(id) ?? [];
  }

  async list(): Promise<VmArtifact[]> {
    const processes = this.#findAll();
    const folders = await listMachineFolders(this.#options.machinesFolder.dataDir);
    const ids = new Set([...folders, ...processes.keys()]);
    return Promise.all([...ids].map((id) => this.#artifactOf(id, processes.get(id) ?? [])));
  }

  /** Destroys what the artifact refers to, if the process identity still matches; the folder last. Idempotent. */
  async destroy(artifact: VmArtifact): Promise<void> {
    const { machinesFolder, running, log } = this.#options;
    const seen = (await this.list()).find(({ id }) => id === artifact.id);
    if (!seen) return;
    if (seen.processIdentity !== artifact.processIdentity) {
      log.warn(
        { vm: artifact.id, expected: artifact.processIdentity, processes: seen.processIdentity },
        'orphan cleanup skipped: process identity changed',
      );
      return;
    }
    const held = running(artifact.id);
    if (held) return held.destroy();
    await killAll(() => this.processesOf(artifact.id));
    await removeMachineFolder(machinesFolder.dataDir, artifact.id);
  }

  #findAll(): Map<string, HostProcess[]> {
    const all = readProcesses();
    const seeds = new Map<string, Set<number>>();
    for (const { pid } of all) {
      const environment = readEnvironment(pid);
      const id = environment.get('BERTH_DATA') === this.#options.machinesFolder.dataDigest ? environment.get('BERTH_VM') : undefined;
      if (id) seeds.set(id, (seeds.get(id) ?? new Set()).add(pid));
    }
    return new Map([...seeds].map(([id, pids]) => [id, withDescendants(pids, all)]));
  }

  async #artifactOf(id: string, processes: HostProcess[]): Promise<VmArtifact> {
    const pids = new Set(processes.map(({ pid }) => pid));
    const outermost = processes.find(({ parentPid }) => !pids.has(parentPid));
    if (outermost) return { id, processIdentity: `${outermost.pid}:${outermost.startTime}:${this.bootId}`, pids: [...pids] };
    const marker = await readMarker(this.#options.machinesFolder.dataDir, id);
    return { id, processIdentity: `${marker?.pid ?? 'none'}:${marker?.startTime ?? 'none'}:${marker?.bootId ?? 'none'}`, pids: [] };
  }
}

/** Kills until `find` returns none. Each process is matched by its start time, so that a reused pid is safe. */
export async function killAll(find: () => HostProcess[]): Promise<void> {
  for (let rest = find(); rest.length > 0; rest = find()) {
    for (const seen of rest) killProcess(seen);
    await sleep(5);
  }
}
