/**
 * What shows on this host that a machine is or was here: processes that carry
 * its marker in their environment, with all that descends from them, and its
 * folder. One look for all runtimes, so that each also ends what another left.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../lib/log.ts';
import { killProcess, readBootId, readEnvironment, readProcesses, withDescendants } from './processes.ts';
import type { HostProcess } from './processes.ts';
import { listMachineFolders, readMarker, removeMachineFolder } from './machine-folder.ts';
import type { MachinesPlace } from './machine-folder.ts';
import type { Vm, VmTrace } from '../runtime.ts';

export interface TracesOptions {
  place: MachinesPlace;
  /** A machine that this worker holds is ended through it, so that whoever waits for it is told. */
  running: (id: string) => Pick<Vm, 'destroy'> | undefined;
  log: Log;
}

/** The environment by which the processes of a machine are found: to be given to its outermost one. */
export const machineEnvironment = (id: string, { dataDigest }: MachinesPlace): Record<string, string> => ({
  BERTH_VM: id,
  BERTH_DATA: dataDigest,
});

export class Traces {
  readonly #options: TracesOptions;
  /** Of this start of the host: another one's pids and start times say nothing here. */
  readonly bootId = readBootId();

  constructor(options: TracesOptions) {
    this.#options = options;
  }

  /** All living processes that carry the machine's marker, and their descendants. */
  processesOf(id: string): HostProcess[] {
    return this.#findAll().get(id) ?? [];
  }

  async list(): Promise<VmTrace[]> {
    const found = this.#findAll();
    const folders = await listMachineFolders(this.#options.place.dataDir);
    const ids = new Set([...folders, ...found.keys()]);
    return Promise.all([...ids].map((id) => this.#trace(id, found.get(id) ?? [])));
  }

  /** Ends what a trace points at, if it is still that incarnation; the folder goes last. Idempotent. */
  async destroy(trace: VmTrace): Promise<void> {
    const { place, running, log } = this.#options;
    const seen = (await this.list()).find(({ id }) => id === trace.id);
    if (!seen) return;
    if (seen.incarnation !== trace.incarnation) {
      log.warn(
        { vm: trace.id, expected: trace.incarnation, found: seen.incarnation },
        'a trace was not acted on: it is not that incarnation any more',
      );
      return;
    }
    const held = running(trace.id);
    if (held) return held.destroy();
    await killAll(() => this.processesOf(trace.id));
    await removeMachineFolder(place.dataDir, trace.id);
  }

  #findAll(): Map<string, HostProcess[]> {
    const all = readProcesses();
    const seeds = new Map<string, Set<number>>();
    for (const { pid } of all) {
      const environment = readEnvironment(pid);
      const id = environment.get('BERTH_DATA') === this.#options.place.dataDigest ? environment.get('BERTH_VM') : undefined;
      if (id) seeds.set(id, (seeds.get(id) ?? new Set()).add(pid));
    }
    return new Map([...seeds].map(([id, pids]) => [id, withDescendants(pids, all)]));
  }

  async #trace(id: string, processes: HostProcess[]): Promise<VmTrace> {
    const pids = new Set(processes.map(({ pid }) => pid));
    const outermost = processes.find(({ parentPid }) => !pids.has(parentPid));
    if (outermost) return { id, incarnation: `${outermost.pid}:${outermost.startTime}:${this.bootId}`, pids: [...pids] };
    const marker = await readMarker(this.#options.place.dataDir, id);
    return { id, incarnation: `${marker?.pid ?? 'none'}:${marker?.startTime ?? 'none'}:${marker?.bootId ?? 'none'}`, pids: [] };
  }
}

/** Kills until none is found any more, each by its own start: not another process that has got its number since. */
export async function killAll(find: () => HostProcess[]): Promise<void> {
  for (let rest = find(); rest.length > 0; rest = find()) {
    for (const seen of rest) killProcess(seen);
    await sleep(5);
  }
}
