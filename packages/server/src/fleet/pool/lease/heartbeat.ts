/** What this worker reports to the others with its heartbeat, and what the same statement reads: the operator's decision about it. */
import { apiVersion, poolKinds } from '@berth/contract';
import type { FleetContext } from '../slots.ts';
import type { HeartbeatReply, WorkerReport } from '../store.ts';
import { eachPoolKind } from '../targets.ts';

export class Heartbeat {
  readonly #fleet: FleetContext;
  readonly #startedAt: Date;
  #isStopping = false;
  #addresses: Pick<WorkerReport, 'url' | 'fleetAddress'> = { url: '', fleetAddress: null };
  #last: HeartbeatReply = { state: 'active', drainSecondsLeft: null, hasPeers: false };

  constructor(fleet: FleetContext) {
    this.#fleet = fleet;
    this.#startedAt = fleet.deps.clock.now();
  }

  report(): WorkerReport {
    return { ...readReport(this.#fleet), ...this.#addresses, startedAt: this.#startedAt, isStopping: this.#isStopping };
  }

  accept(reply: HeartbeatReply): void {
    this.#last = reply;
  }

  get last(): HeartbeatReply {
    return this.#last;
  }

  /** Makes the report say, from now on, that this worker stops. */
  announceStop(): void {
    this.#isStopping = true;
  }

  /** Sets the URL at which clients reach this worker, and the address of its internal listener, if it has one. */
  announce(url: string, fleetAddress: string | null): void {
    this.#addresses = { url, fleetAddress };
  }
}

function readReport(fleet: FleetContext): Omit<WorkerReport, 'url' | 'fleetAddress' | 'startedAt' | 'isStopping'> {
  const { deps, history, pressure, waiting } = fleet;
  const { admitting, processorsBusy } = pressure.read();
  let sessions = waiting;
  for (const { sessionId } of fleet.slots.values()) if (sessionId !== null) sessions += 1;
  return {
    workerId: deps.workerId,
    region: deps.region,
    version: apiVersion,
    registryVersion: deps.registryVersion,
    kinds: poolKinds.filter((kind) => deps.runtime.kinds.includes(kind) && !history.isBackingOff(kind)),
    sessions,
    sessionsMax: deps.sessionsMax,
    machinesLeft: pressure.machinesLeft(),
    admitting,
    processorsBusy,
    warm: eachPoolKind((kind) => fleet.count('ready', kind)),
  };
}
