import { poolKinds } from '@berth/contract';
import type { BootMethod, Runtime, VmKind } from '../runtime/runtime.ts';
import type { MachineState } from './machine.ts';
import type { Retirement } from './history.ts';
import type { FleetContext } from './slots.ts';

/** This worker's machines, for metrics and /health. */
export interface FleetStats {
  runtime: Pick<Runtime, 'name' | 'isolation' | 'warnings'>;
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

const kinds = ['headless', 'full_browser', 'shell'] as const satisfies readonly VmKind[];
const states = ['warming', 'ready', 'assigned', 'draining'] as const satisfies readonly MachineState[];

export function readStats(fleet: FleetContext): FleetStats {
  const { history, targets, pressure, waiting, deps } = fleet;
  const boots = history.boots();
  const templates = deps.runtime.templates();
  return {
    runtime: deps.runtime,
    machines: kinds.flatMap((kind) => states.map((state) => ({ kind, state, count: fleet.count(state, kind) }))),
    targets: poolKinds.map((kind) => ({ kind, target: targets.share(kind) })),
    boots: boots.flatMap(({ kind, byMethod }) =>
      (['process', 'clone', 'cold'] as const).map((method) => ({ kind, method, count: byMethod[method] })),
    ),
    bootFailures: boots.map(({ kind, failed }) => ({ kind, count: failed })),
    retired: history.retired,
    templates: kinds.map((kind) => ({ kind, isCold: templates.some((template) => template.kind === kind && template.method === 'cold') })),
    failing: history.failing(),
    waiting,
    admitting: pressure.read().admitting,
  };
}
