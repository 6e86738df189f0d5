import { poolKinds, type PoolKind } from '@berth/contract';
import { vmKinds, type TemplateState, type BootMethod, type Runtime, type VmKind } from '@berth/machines';
import type { Machine } from './machine.ts';
import {
  type MachineState,
  countOtherMachines,
  listMachineIds,
  listMachines,
  listWorkers,
  type ListedMachine,
  type WorkerRecord,
} from './store.ts';
import type { MemoryReadings } from './memory.ts';
import type { PressureReading } from './pressure.ts';
import { isOutdated, type VmSlot, type FleetContext } from './slots.ts';
import { eachPoolKind, type Target } from './targets.ts';
import type { Retirement } from './history.ts';

/** `failed`: no worker runs it. Its release failed and the reaper will end it, or its worker is lost. */
type InventoryState = MachineState | 'failed';

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

/** All machines of the region: this worker's from memory, those of others from the store. */
export async function readInventory(fleet: FleetContext, memory: MemoryReadings): Promise<Inventory> {
  const { store, region, workerId, runtime } = fleet.deps;
  // A machine released during the query is ended, not failed.
  const before = new Set(fleet.slots.keys());
  const machines = [...fleet.slots.values()].flatMap(({ machine }): Machine[] => (machine ? [machine] : []));
  const [rows, bytes] = await Promise.all([listMachines(store, region), memory.read(machines)]);
  const otherRows = rows.filter(({ vmId }) => !fleet.slots.has(vmId) && !before.has(vmId));
  const vms = [
    ...[...fleet.slots.values()].map((slot) => fromSlot(fleet, slot, bytes.get(slot.id) ?? null)),
    ...otherRows.map((row) => fromRow(fleet, row)),
  ].toSorted((one, other) => one.createdAt.getTime() - other.createdAt.getTime() || (one.vmId < other.vmId ? -1 : 1));
  const { name, isolation, warnings } = runtime;
  return {
    region,
    targets: eachPoolKind((kind) => fleet.targets.of(kind)),
    vms,
    worker: { workerId, runtime: name, isolation, warnings, templates: templatesOf(fleet) },
    pressure: fleet.pressure.read(),
    waiting: fleet.waiting,
  };
}

function fromSlot(fleet: FleetContext, slot: VmSlot, memoryBytes: number | null): InventoryVm {
  const { workerId, runtime, clock } = fleet.deps;
  const { id: vmId, state, kind, sessionId, createdAt, machine } = slot;
  const idleMs = state === 'ready' && machine ? clock.monotonicMs() - machine.readyMs : null;
  const runtimeName = machine?.vm.runtime ?? runtime.name;
  return {
    vmId,
    state,
    kind,
    sessionId,
    workerId,
    createdAt,
    idleSeconds: secondsOf(idleMs),
    memoryBytes,
    runtime: runtimeName,
    outdated: isOutdated(fleet.deps, slot),
  };
}

function fromRow({ deps: { clock, workerId: own } }: FleetContext, row: ListedMachine): InventoryVm {
  const { vmId, kind, sessionId, workerId, createdAt, readyAt, runtime, outdated } = row;
  const state = row.isLost || workerId === own ? 'failed' : row.state;
  const idleMs = state === 'ready' && readyAt ? Math.max(0, clock.now().getTime() - readyAt.getTime()) : null;
  return { vmId, state, kind, sessionId, workerId, createdAt, idleSeconds: secondsOf(idleMs), memoryBytes: null, runtime, outdated };
}

const secondsOf = (ms: number | null): number | null => (ms === null ? null : Math.round(ms) / 1000);

/** One entry per pool kind, also for runtimes without templates. */
function templatesOf({ deps: { runtime }, history }: FleetContext): TemplateState[] {
  const templates = runtime.templates();
  const withoutTemplate = poolKinds
    .filter((kind) => !templates.some((template) => template.kind === kind))
    .map((kind): TemplateState => {
      return { kind, method: 'process', failures: 0, note: null };
    });
  return [...templates, ...withoutTemplate].map((template) => {
    const failures = Math.max(template.failures, history.failures(template.kind));
    return { ...template, failures, note: template.note ?? failedNote(history.failedAt(template.kind)) };
  });
}

const failedNote = (at: Date | null): string | null => at && `The last boot failed at ${at.toISOString()}. See the log for the cause.`;

/** This worker's machines, for metrics and /health. */
export interface FleetStats {
  runtime: Pick<Runtime, 'name' | 'isolation' | 'browser' | 'warnings'>;
  machines: { kind: VmKind; state: MachineState; count: number }[];
  /** This worker's share of the region's targets. */
  targets: { kind: VmKind; target: number }[];
  boots: { kind: VmKind; method: BootMethod; count: number }[];
  bootFailures: { kind: VmKind; count: number }[];
  /** Pool machines that were ended unused. */
  retired: Readonly<Record<Retirement, number>>;
  templates: { kind: VmKind; isCold: boolean }[];
  /** Kinds whose recent boots failed repeatedly. */
  failing: VmKind[];
  /** Sessions waiting in the boot queue. */
  waiting: number;
  /** Whether the host has room for another machine. */
  admitting: boolean;
}

const states = ['warming', 'ready', 'assigned', 'draining'] as const satisfies readonly MachineState[];

export function readStats(fleet: FleetContext): FleetStats {
  const { history, targets, pressure, waiting, deps } = fleet;
  const boots = history.boots();
  const templates = deps.runtime.templates();
  return {
    runtime: deps.runtime,
    machines: vmKinds.flatMap((kind) => states.map((state) => ({ kind, state, count: fleet.count(state, kind) }))),
    targets: poolKinds.map((kind) => ({ kind, target: targets.share(kind) })),
    boots: boots.flatMap(({ kind, byMethod }) =>
      (['process', 'clone', 'cold'] as const).map((method) => ({ kind, method, count: byMethod[method] })),
    ),
    bootFailures: boots.map(({ kind, failed }) => ({ kind, count: failed })),
    retired: history.retired,
    templates: vmKinds.map((kind) => ({
      kind,
      isCold: templates.some((template) => template.kind === kind && template.method === 'cold'),
    })),
    failing: history.failing((kind) => poolKinds.some((pooled) => pooled === kind && targets.share(pooled) > 0)),
    waiting,
    admitting: pressure.read().admitting,
  };
}

/** Workers of all regions, and the region's machines by state, without reading the machines. */
export interface FleetSummary {
  region: string;
  workerId: string;
  workers: WorkerRecord[];
  targets: Record<PoolKind, number>;
  machines: Record<InventoryState, number>;
  pressure: PressureReading;
  warnings: readonly string[];
}

export async function readSummary(fleet: FleetContext): Promise<FleetSummary> {
  const { store, region, workerId, runtime } = fleet.deps;
  // A machine released during the query is ended, not failed.
  const before = new Set(fleet.slots.keys());
  const [workers, others, storedIds] = await Promise.all([
    listWorkers(store),
    countOtherMachines(store, { region, workerId }),
    listMachineIds(store, workerId),
  ]);
  const failed = storedIds.filter((id) => !fleet.slots.has(id) && !before.has(id)).length;
  const machines: FleetSummary['machines'] = { warming: 0, ready: 0, assigned: 0, draining: 0, failed };
  for (const { state } of fleet.slots.values()) machines[state] += 1;
  for (const { state, count } of others) machines[state] += count;
  const targets = eachPoolKind((kind) => fleet.targets.of(kind).target);
  return { region, workerId, workers, targets, machines, pressure: fleet.pressure.read(), warnings: runtime.warnings };
}
