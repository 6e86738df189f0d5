import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import type { Outcome, Release } from './ledger.ts';
import { staleHolds } from './store.ts';

export interface VoidDeps {
  store: Store;
  clock: Clock;
  log: Log;
  workerId: string;
  /** Start of this process: older holds of its worker belong to calls that no longer run. */
  startedAt: Date;
  /** Ids of workers whose heartbeat has stopped. */
  silentWorkers(): Promise<string[]>;
  release(operation: Release): Promise<Outcome>;
}

/** Few enough to share the ledger with calls. */
const voidedAtOnce = 500;

/** Voids expired holds, and those of lost or restarted workers. */
export async function voidStaleHolds(deps: VoidDeps, signal: AbortSignal): Promise<void> {
  const { store, clock, log, workerId, startedAt, silentWorkers, release } = deps;
  const lostWorkerIds = await silentWorkers();
  const restarted = { workerId, startedAt };
  for (let hasMore = true; hasMore && !signal.aborted;) {
    const stale = await staleHolds(store, { now: clock.now(), lostWorkerIds, restarted, limit: voidedAtOnce });
    // `createdAt` protects a hold that was renewed since it was read.
    const outcomes = await Promise.all(stale.map(({ opId, owner, createdAt }) => release({ kind: 'release', opId, owner, createdAt })));
    const voided = outcomes.filter(({ amount }) => amount > 0).length;
    if (voided > 0) log.info({ holds: voided }, 'expired holds voided');
    hasMore = stale.length === voidedAtOnce && voided > 0;
  }
}
