import type { Audit } from '../../accounts/audit/audit.ts';
import type { LeaseDeps } from './lease/lease.ts';
import type { HostReader, VmKind } from '@berth/machines';
import type { BootDeps, Machine } from './machine.ts';
import type { MachineState } from './store.ts';
import type { Pressure } from './pressure.ts';
import type { FleetHistory } from './history.ts';
import type { Targets } from './targets.ts';

export interface FleetDeps extends BootDeps {
  audit: Audit;
  /** Version of the file of regions. */
  registryVersion: string;
  /** Sessions at once on this worker. */
  sessionsMax: number;
  /** The worker's lease: its length, the claimed data folder, and the connection of its heartbeats. */
  lease: Pick<LeaseDeps, 'dataFolder' | 'onDatabaseTime' | 'store'> & { ms: number };
  /** Machines kept warm in a region until an operator sets its target. */
  poolTarget: number;
  /** No machine is booted that would leave less free memory. */
  memoryFreeBytesMin: number;
  /** Reads the host's free resources; the kernel's readings when absent. */
  hostReader?: HostReader | undefined;
}

/** A machine's place in the fleet. Created before its first process, so that the reaper does not take it for an orphan. */
export interface VmSlot {
  id: string;
  kind: VmKind;
  state: MachineState;
  createdAt: Date;
  /** The generation of new machines of its kind when the boot began. */
  generation: string;
  /** null while it boots. */
  machine: Machine | null;
  /** null for a pool machine. */
  sessionId: string | null;
  /** The stored flag that other workers read. */
  outdated: boolean;
  /** The release in progress, shared by all callers. */
  releasing: Promise<void> | null;
}

/**
 * What the refill and the inventory use of the fleet. An interface for one class,
 * because the fleet imports both and a cycle of types is refused; the refill alone
 * would take nine functions and values.
 */
export interface FleetContext {
  readonly deps: FleetDeps;
  readonly slots: ReadonlyMap<string, VmSlot>;
  readonly targets: Targets;
  readonly history: FleetHistory;
  readonly pressure: Pressure;
  readonly stopping: boolean;
  /** Sessions waiting in the boot queue. */
  readonly waiting: number;
  count(state: MachineState, kind?: VmKind): number;
  /** Boots one machine, for the pool when `sessionId` is null. */
  boot(kind: VmKind, sessionId: string | null, signal: AbortSignal): Promise<Machine>;
  release(machineId: string): Promise<void>;
}

/**
 * Whether new machines have another generation than this one, both now and when
 * its boot began. A machine that fell back to another generation, such as a
 * cold boot, is not replaced, because its successor would fall back as well.
 */
export function isOutdated({ runtime }: Pick<FleetDeps, 'runtime'>, { machine, kind, generation }: VmSlot): boolean {
  const now = runtime.generation(kind);
  return machine !== null && machine.vm.generation !== now && generation !== now;
}
