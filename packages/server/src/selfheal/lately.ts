/**
 * Sites that were asked for lately, with all that this worker has noted since,
 * so that a fetch after a fetch waits neither for the write nor for the read of
 * what the one before came to. What other workers note is seen a moment later.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import type { Attempt } from './attempt.ts';
import { keyOf } from './journal.ts';
import { bestOf } from './learn.ts';
import { rungAfter, siteAfter, type Rung, type Site } from './site.ts';

export interface Known {
  site: Site;
  rungs: Rung[];
}

const sitesMax = 5000;
/** How old another worker's notes may be when they are first seen here. */
const keptMs = 2000;

export class Lately {
  readonly #sites: LRUCache<string, Known>;

  constructor(clock: Clock) {
    this.#sites = new LRUCache({ max: sitesMax, ttl: keptMs, ttlResolution: 0, perf: { now: () => clock.monotonicMs() + 1 } });
  }

  find(key: string): Known | undefined {
    return this.#sites.get(key);
  }

  keep(key: string, known: Known): void {
    this.#sites.set(key, known);
  }

  note(attempts: readonly Attempt[]): void {
    for (const attempt of attempts) {
      const known = this.#sites.get(keyOf(attempt.owner, attempt.domain));
      if (!known || attempt.block?.type === 'robots_disallowed') continue;
      const before = known.rungs.find(({ strategy }) => strategy === attempt.strategy);
      known.rungs = [...known.rungs.filter((rung) => rung !== before), rungAfter(before, attempt)];
      known.site = { ...siteAfter(known.site, attempt), bestStrategy: bestOf(known.rungs) };
    }
  }
}
