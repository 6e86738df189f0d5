import type { Audit } from '../audit/audit.ts';
import type { HostReader, VmKind } from '../runtime/runtime.ts';
import type { BootDeps } from './boot.ts';
import type { Machine, MachineState } from './machine.ts';
import type { Pressure } from './pressure.ts';
import type { FleetRecord } from './record.ts';
import type { Targets } from './targets.ts';

export interface FleetDeps extends BootDeps {
  audit: Audit;
  /** Machines kept warm in a region that nobody has said otherwise of. */
  poolTarget: number;
  /** No machine is started that would leave less. */
  memoryFreeBytesMin: number;
  /** What this host has left; read from the kernel when absent. */
  hostReader?: HostReader | undefined;
}

/** A place in the fleet. It is taken before the machine's first process starts, so that the reaper knows it for ours. */
export interface Berth {
  id: string;
  kind: VmKind;
  state: MachineState;
  createdAt: Date;
  /** What machines of its kind were made of when it was begun. */
  generation: string;
  /** null while it boots. */
  machine: Machine | null;
  /** null for a machine of the pool. */
  sessionId: string | null;
  /** As other workers have been told. */
  outdated: boolean;
  /** The release under way, shared by all who ask for it. */
  releasing: Promise<void> | null;
}

/** What the fleet's loops look at, and the means they have. */
export interface Roster {
  readonly deps: FleetDeps;
  readonly berths: ReadonlyMap<string, Berth>;
  readonly targets: Targets;
  readonly record: FleetRecord;
  readonly pressure: Pressure;
  readonly stopping: boolean;
  /** Sessions that wait for a machine to be started. */
  readonly waiting: number;
  count(state: MachineState, kind?: VmKind): number;
  /** Starts one machine: of the pool when `sessionId` is null. */
  boot(kind: VmKind, sessionId: string | null, signal: AbortSignal): Promise<Machine>;
  release(machineId: string): Promise<void>;
}

/**
 * Whether new machines are made of something else by now: than it is, and than
 * was said when it was begun. One that had to be made otherwise than was said
 * is not replaced by others like it for ever.
 */
export function isOutdated({ deps: { runtime } }: Pick<Roster, 'deps'>, { machine, kind, generation }: Berth): boolean {
  const now = runtime.generation(kind);
  return machine !== null && machine.vm.generation !== now && generation !== now;
}
