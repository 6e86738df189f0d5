import { poolKinds, type PoolKind } from '@berth/contract';
import type { Audit } from '../../accounts/audit/audit.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Store } from '../../store/store.ts';
import { liveWorkers, readTargets, writeTarget } from './store.ts';

/** No work is placed on a worker without a heartbeat for this long. */
export const silentSecondsMax = 30;
/** How long another worker's change may go unnoticed. */
const rereadMs = 3000;

/** How many machines of one kind a region keeps warm. The `updated` fields are null for the default. */
export interface Target {
  target: number;
  updatedAt: Date | null;
  updatedBy: string | null;
}

interface TargetsDeps {
  store: Store;
  audit: Audit;
  clock: Clock;
  workerId: string;
  region: string;
  /** The default target. */
  poolTarget: number;
  /** Whether this worker takes new sessions: the others share its part otherwise. */
  takesWork: () => boolean;
}

/**
 * How many machines the region keeps warm, and this worker's share. Stored, so
 * that all workers of the region use it across restarts; cached here.
 */
export class Targets {
  readonly #deps: TargetsDeps;
  #targets: Record<PoolKind, Target>;
  /** Live workers of the region that take new sessions. */
  #workers: readonly string[];
  /** Monotonic; null before the first read. */
  #readMs: number | null = null;
  #lastRequest = 0;
  #lastApplied = 0;

  constructor(deps: TargetsDeps) {
    this.#deps = deps;
    this.#targets = defaultTargets(deps.poolTarget);
    this.#workers = [deps.workerId];
  }

  /** The region's target. */
  of(kind: PoolKind): Target {
    return this.#targets[kind];
  }

  /** This worker's share of the target. */
  share(kind: PoolKind): number {
    return shareOf(this.#targets[kind].target, this.#workers, this.#deps.workerId);
  }

  /** Reads the store when the cache is some seconds old. Keeps the cache when the store is unavailable. */
  async refresh(): Promise<void> {
    const { clock } = this.#deps;
    if (this.#readMs !== null && clock.monotonicMs() - this.#readMs < rereadMs) return;
    if (this.#readMs !== null) this.#readMs = clock.monotonicMs();
    await this.read();
    this.#readMs = clock.monotonicMs();
  }

  /** Stores a target with its audit entry, and updates the cache. */
  async set(change: { kind: PoolKind; target: number; actor: string }): Promise<void> {
    const { store, audit, clock, region } = this.#deps;
    const { kind, target, actor } = change;
    await store.transaction(async (tx) => {
      await writeTarget(tx, region, { kind, target, updatedAt: clock.now(), updatedBy: actor });
      await audit.record(tx, { actor, action: 'pool.resized', owner: null, subject: region, details: { kind, target } });
    });
    await this.read();
  }

  /** Ignores a result that arrives after that of a later read. */
  async read(): Promise<void> {
    const { store, region, workerId, poolTarget, takesWork } = this.#deps;
    this.#lastRequest += 1;
    const request = this.#lastRequest;
    const [rows, workers] = await Promise.all([readTargets(store, region), liveWorkers(store, region)]);
    if (request < this.#lastApplied) return;
    this.#lastApplied = request;
    this.#targets = { ...defaultTargets(poolTarget), ...Object.fromEntries(rows.map(({ kind, ...target }) => [kind, target])) };
    // Its own row may not exist yet, or not have reached this read.
    const others = workers.filter((id) => id !== workerId);
    this.#workers = takesWork() ? [workerId, ...others] : others;
  }
}

/** Browsers with a display are too expensive to keep warm by default. */
const defaultTargets = (headless: number): Record<PoolKind, Target> =>
  eachPoolKind((kind) => ({ target: kind === 'headless' ? headless : 0, updatedAt: null, updatedBy: null }));

/** Equal shares, none for a worker that is not listed; the remainder goes to the lowest ids, so that workers agree without communication. */
export function shareOf(target: number, workerIds: readonly string[], workerId: string): number {
  const rank = workerIds.toSorted().indexOf(workerId);
  if (rank < 0) return 0;
  return Math.floor(target / workerIds.length) + (rank < target % workerIds.length ? 1 : 0);
}

export const eachPoolKind = <V>(value: (kind: PoolKind) => V): Record<PoolKind, V> =>
  Object.fromEntries(poolKinds.map((kind) => [kind, value(kind)])) as Record<PoolKind, V>;
