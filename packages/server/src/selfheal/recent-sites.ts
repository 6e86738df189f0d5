/**
 * Caches recently used sites with all attempts of this worker since, so that a
 * fetch waits neither for the write of the previous one nor for its own read.
 * Attempts of other workers appear when an entry expires.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import type { Attempt } from './attempt.ts';
import { keyOf } from './journal.ts';
import { bestOf } from './learn.ts';
import { updateStrategyStats, updateSite, type StrategyStats, type Site } from './site.ts';

export interface SiteKnowledge {
  site: Site;
  strategyStats: StrategyStats[];
}

const sitesMax = 5000;
/** How long attempts of other workers may go unnoticed. */
const ttlMs = 2000;

export class RecentSites {
  readonly #sites: LRUCache<string, SiteKnowledge>;

  constructor(clock: Clock) {
    this.#sites = new LRUCache({ max: sitesMax, ttl: ttlMs, ttlResolution: 0, perf: { now: () => clock.monotonicMs() + 1 } });
  }

  get(key: string): SiteKnowledge | undefined {
    return this.#sites.get(key);
  }

  set(key: string, known: SiteKnowledge): void {
    this.#sites.set(key, known);
  }

  record(attempts: readonly Attempt[]): void {
    for (const attempt of attempts) {
      const known = this.#sites.get(keyOf(attempt.owner, attempt.domain));
      if (!known || attempt.block?.type === 'robots_disallowed') continue;
      const previous = known.strategyStats.find(({ strategy }) => strategy === attempt.strategy);
      known.strategyStats = [...known.strategyStats.filter((stats) => stats !== previous), updateStrategyStats(previous, attempt)];
      known.site = { ...updateSite(known.site, attempt), bestStrategy: bestOf(known.strategyStats) };
    }
  }
}
