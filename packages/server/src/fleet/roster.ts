import type { Loop } from '../lib/loop.ts';
import type { VmKind } from '../runtime/runtime.ts';
import type { BootDeps } from './boot.ts';
import type { Machine, MachineState } from './machine.ts';

export interface FleetDeps extends BootDeps {
  /** Machines kept warm. */
  poolTarget: number;
}

/** A place in the fleet. It is taken before the machine's first process starts, so that the reaper knows it for ours. */
export interface Berth {
  id: string;
  kind: VmKind;
  state: MachineState;
  /** null while it boots. */
  machine: Machine | null;
  /** null for a machine of the pool. */
  sessionId: string | null;
  /** The release under way, shared by all who ask for it. */
  releasing: Promise<void> | null;
}

/** What the fleet's loops look at, and the means they have. */
export interface Roster {
  readonly deps: FleetDeps;
  readonly berths: ReadonlyMap<string, Berth>;
  readonly refill: Loop;
  readonly stopping: boolean;
  count(state: MachineState): number;
  boot(kind: VmKind, sessionId: string | null, signal: AbortSignal): Promise<Machine>;
  release(machineId: string): Promise<void>;
}
