import { poolKinds, type PoolKind } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';
import { liveWorkers, readTargets, writeTarget } from './store.ts';

/** A worker that was silent for this long is taken for dead: six heartbeats. */
export const silentSecondsMax = 30;
/** So long may another worker's word go unheard. */
const rereadMs = 3000;

/** How many machines of one kind a region keeps warm; who has set it is null where nobody has. */
export interface Target {
  target: number;
  updatedAt: Date | null;
  updatedBy: string | null;
}

export interface TargetsDeps {
  store: Store;
  audit: Audit;
  clock: Clock;
  workerId: string;
  region: string;
  /** What a region has that nobody has set. */
  poolTarget: number;
}

/**
 * How many machines the region keeps warm, and which part of it is this
 * worker's. Kept in the store, so that it holds for all workers of the region
 * and over their restarts; remembered here, so that nobody waits for it.
 */
export class Targets {
  readonly #deps: TargetsDeps;
  #targets: Record<PoolKind, Target>;
  /** Of the region, and alive: this one among them before its heart has beaten. */
  #workers: readonly string[];
  /** Monotonic; null before the first time. */
  #readMs: number | null = null;
  #asked = 0;
  #answered = 0;

  constructor(deps: TargetsDeps) {
    this.#deps = deps;
    this.#targets = unset(deps.poolTarget);
    this.#workers = [deps.workerId];
  }

  /** Of the whole region. */
  of(kind: PoolKind): Target {
    return this.#targets[kind];
  }

  /** Of this worker. */
  share(kind: PoolKind): number {
    return shareOf(this.#targets[kind].target, this.#workers, this.#deps.workerId);
  }

  /** Looks again when the last look is some seconds old. What is known stays known while the store is away. */
  async refresh(): Promise<void> {
    const { clock } = this.#deps;
    if (this.#readMs !== null && clock.monotonicMs() - this.#readMs < rereadMs) return;
    if (this.#readMs !== null) this.#readMs = clock.monotonicMs();
    await this.read();
    this.#readMs = clock.monotonicMs();
  }

  /** Written with who did it, or not at all; known here when it resolves. */
  async set(order: { kind: PoolKind; target: number; actor: string }): Promise<void> {
    const { store, audit, clock, region } = this.#deps;
    const { kind, target, actor } = order;
    await store.transaction(async (tx) => {
      await writeTarget(tx, region, { kind, target, updatedAt: clock.now(), updatedBy: actor });
      await audit.record(tx, { actor, action: 'pool.resized', owner: null, subject: region, details: { kind, target } });
    });
    await this.read();
  }

  /** An answer that comes after that to a later question is an old one. */
  async read(): Promise<void> {
    const { store, region, workerId, poolTarget } = this.#deps;
    this.#asked += 1;
    const asked = this.#asked;
    const [rows, workers] = await Promise.all([readTargets(store, region), liveWorkers(store, region, silentSecondsMax)]);
    if (asked < this.#answered) return;
    this.#answered = asked;
    this.#targets = { ...unset(poolTarget), ...Object.fromEntries(rows.map(({ kind, ...target }) => [kind, target])) };
    this.#workers = [...new Set([workerId, ...workers])];
  }
}

/** A browser with a display costs too much to be kept for nobody. */
const unset = (headless: number): Record<PoolKind, Target> =>
  eachPoolKind((kind) => ({ target: kind === 'headless' ? headless : 0, updatedAt: null, updatedBy: null }));

/** Alike for all, and what cannot be divided goes to those whose ids come first: so that all parts together are the whole, without a word between the workers. */
export function shareOf(target: number, workerIds: readonly string[], workerId: string): number {
  const rank = workerIds.toSorted().indexOf(workerId);
  return Math.floor(target / workerIds.length) + (rank < target % workerIds.length ? 1 : 0);
}

export const eachPoolKind = <V>(value: (kind: PoolKind) => V): Record<PoolKind, V> =>
  Object.fromEntries(poolKinds.map((kind) => [kind, value(kind)])) as Record<PoolKind, V>;
