import { poolKinds } from '@berth/contract';
import type { BootWay, Runtime, VmKind } from '../runtime/runtime.ts';
import type { MachineState } from './machine.ts';
import type { Retirement } from './record.ts';
import type { Roster } from './roster.ts';

/** What this worker's machines come to, for metrics and /health. */
export interface FleetFacts {
  runtime: Pick<Runtime, 'name' | 'isolation' | 'warnings'>;
  machines: { kind: VmKind; state: MachineState; count: number }[];
  /** This worker's part of the region's targets. */
  targets: { kind: VmKind; target: number }[];
  boots: { kind: VmKind; way: BootWay; count: number }[];
  bootFailures: { kind: VmKind; count: number }[];
  /** Machines of the pool that were ended unused. */
  retired: Readonly<Record<Retirement, number>>;
  templates: { kind: VmKind; isCold: boolean }[];
  /** Kinds whose machines fail to start, one after another. */
  failing: VmKind[];
  /** Sessions that wait for a machine to be started. */
  waiting: number;
  /** Whether another machine would be started now. */
  admitting: boolean;
}

const kinds = ['headless', 'full_browser', 'shell'] as const satisfies readonly VmKind[];
const states = ['warming', 'ready', 'assigned', 'draining'] as const satisfies readonly MachineState[];

export function readFacts(fleet: Roster): FleetFacts {
  const { record, targets, pressure, waiting, deps } = fleet;
  const boots = record.boots();
  const told = deps.runtime.templates();
  return {
    runtime: deps.runtime,
    machines: kinds.flatMap((kind) => states.map((state) => ({ kind, state, count: fleet.count(state, kind) }))),
    targets: poolKinds.map((kind) => ({ kind, target: targets.share(kind) })),
    boots: boots.flatMap(({ kind, byWay }) => (['process', 'clone', 'cold'] as const).map((way) => ({ kind, way, count: byWay[way] }))),
    bootFailures: boots.map(({ kind, failed }) => ({ kind, count: failed })),
    retired: record.retired,
    templates: kinds.map((kind) => ({ kind, isCold: told.some((template) => template.kind === kind && template.way === 'cold') })),
    failing: record.failing(),
    waiting,
    admitting: pressure.look().admitting,
  };
}
