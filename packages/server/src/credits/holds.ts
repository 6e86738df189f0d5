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
  /** When this process began: what its worker held before then belongs to calls that are gone. */
  startedAt: Date;
  /** Workers that no longer tell that they live. */
  silentWorkers(): Promise<string[]>;
  release(order: Release): Promise<Outcome>;
}

/** At once: few enough to share the ledger with calls. */
const voidedAtOnce = 500;

/** Voids holds whose time is up, and those that a worker left behind that is silent or was started again. */
export async function voidStaleHolds(deps: VoidDeps, signal: AbortSignal): Promise<void> {
  const { store, clock, log, workerId, startedAt, silentWorkers, release } = deps;
  const gone = await silentWorkers();
  const restarted = { workerId, startedAt };
  for (let mayBeMore = true; mayBeMore && !signal.aborted;) {
    const stale = await staleHolds(store, { now: clock.now(), gone, restarted, limit: voidedAtOnce });
    // One that was asked for again since it was looked at is left alone.
    const outcomes = await Promise.all(stale.map(({ opId, owner, createdAt }) => release({ kind: 'release', opId, owner, createdAt })));
    const voided = outcomes.filter(({ amount }) => amount > 0).length;
    if (voided > 0) log.info({ holds: voided }, 'holds that nobody came back for were voided');
    mayBeMore = stale.length === voidedAtOnce && voided > 0;
  }
}
