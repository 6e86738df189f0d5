import { poolKinds, type PoolKind } from '@berth/contract';
import type { TemplateState } from '../runtime/runtime.ts';
import type { Machine, MachineState } from './machine.ts';
import type { MemoryReadings } from './memory.ts';
import type { PressureReading } from './pressure.ts';
import { isOutdated, type Berth, type Roster } from './roster.ts';
import { listMachines, type ListedMachine } from './store.ts';
import { eachPoolKind, silentSecondsMax, type Target } from './targets.ts';

/** `failed`: nobody holds it. Its end failed, and the reaper ends it in its next turns; or its worker is not heard of. */
export type InventoryState = MachineState | 'failed';

export interface InventoryVm {
  vmId: string;
  state: InventoryState;
  kind: string;
  sessionId: string | null;
  workerId: string;
  createdAt: Date;
  idleSeconds: number | null;
  memoryBytes: number | null;
  runtime: string | null;
  outdated: boolean;
}

export interface Inventory {
  region: string;
  targets: Record<PoolKind, Target>;
  vms: InventoryVm[];
  worker: { workerId: string; runtime: string; isolation: 'microvm' | 'process'; warnings: readonly string[]; templates: TemplateState[] };
  pressure: PressureReading;
  waiting: number;
}

/** All machines of the region: those of this worker as they are, those of others as they have last been written down. */
export async function readInventory(fleet: Roster, memory: MemoryReadings): Promise<Inventory> {
  const { store, region, workerId, runtime } = fleet.deps;
  // What is ended while the store answers is gone, and not failed.
  const before = new Set(fleet.berths.keys());
  const machines = [...fleet.berths.values()].flatMap(({ machine }): Machine[] => (machine ? [machine] : []));
  const [rows, bytes] = await Promise.all([listMachines(store, region, silentSecondsMax), memory.read(machines)]);
  const others = rows.filter(({ vmId }) => !fleet.berths.has(vmId) && !before.has(vmId));
  const vms = [
    ...[...fleet.berths.values()].map((berth) => ofBerth(fleet, berth, bytes.get(berth.id) ?? null)),
    ...others.map((row) => ofRow(fleet, row)),
  ].toSorted((one, other) => one.createdAt.getTime() - other.createdAt.getTime() || (one.vmId < other.vmId ? -1 : 1));
  const { name, isolation, warnings } = runtime;
  return {
    region,
    targets: eachPoolKind((kind) => fleet.targets.of(kind)),
    vms,
    worker: { workerId, runtime: name, isolation, warnings, templates: templatesOf(fleet) },
    pressure: fleet.pressure.look(),
    waiting: fleet.waiting,
  };
}

function ofBerth(fleet: Roster, berth: Berth, memoryBytes: number | null): InventoryVm {
  const { workerId, runtime, clock } = fleet.deps;
  const { id: vmId, state, kind, sessionId, createdAt, machine } = berth;
  const idleMs = state === 'ready' && machine ? clock.monotonicMs() - machine.readyMs : null;
  const made = machine?.vm.runtime ?? runtime.name;
  return {
    vmId,
    state,
    kind,
    sessionId,
    workerId,
    createdAt,
    idleSeconds: secondsOf(idleMs),
    memoryBytes,
    runtime: made,
    outdated: isOutdated(fleet, berth),
  };
}

function ofRow({ deps: { clock, workerId: own } }: Roster, row: ListedMachine): InventoryVm {
  const { vmId, kind, sessionId, workerId, createdAt, readyAt, runtime, outdated } = row;
  const state = row.isLost || workerId === own ? 'failed' : row.state;
  const idleMs = state === 'ready' && readyAt ? Math.max(0, clock.now().getTime() - readyAt.getTime()) : null;
  return { vmId, state, kind, sessionId, workerId, createdAt, idleSeconds: secondsOf(idleMs), memoryBytes: null, runtime, outdated };
}

const secondsOf = (ms: number | null): number | null => (ms === null ? null : Math.round(ms) / 1000);

/** Of all kinds that are kept warm, also where the runtime has nothing to say of templates. */
function templatesOf({ deps: { runtime }, record }: Roster): TemplateState[] {
  const told = runtime.templates();
  const plain = poolKinds
    .filter((kind) => !told.some((template) => template.kind === kind))
    .map((kind): TemplateState => {
      return { kind, way: 'process', failures: 0, note: null };
    });
  return [...told, ...plain].map((template) => {
    const failures = Math.max(template.failures, record.failures(template.kind));
    return { ...template, failures, note: template.note ?? failedNote(record.failedAt(template.kind)) };
  });
}

const failedNote = (at: Date | null): string | null => at && `the last start failed at ${at.toISOString()}: the log tells why`;
