/** What the service learns about sites that refuse it: what to try next, when to leave them alone, and what the operator is told. */
import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError, strategyNames, type BlockType, type BlockVendor, type StrategyName } from '@berth/contract';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import { Lanes } from '../lib/lanes.ts';
import type { Log } from '../lib/log.ts';
import { Loop } from '../lib/loop.ts';
import type { Store } from '../store/store.ts';
import { noteOf, type Attempt, type BlockEvent } from './attempt.ts';
import { Journal, keyOf } from './journal.ts';
import { Ladder, paceMs, type Failure, type Rest } from './ladder.ts';
import { firstRung, learned } from './learn.ts';
import { healthAt, overviewHours, recordOf, stateAt, totalsOf, type Overview, type SiteHealth, type SiteStrategies } from './report.ts';
import { Lately } from './lately.ts';
import { isCooling, newSite, type Rung, type Site } from './site.ts';
import * as kept from './store.ts';
import { hourOf, writeNotes } from './write.ts';

export type { Attempt, BlockEvent, Outcome } from './attempt.ts';
export { domainNamed, domainOf } from './domains.ts';
export type { Failure, Rest } from './ladder.ts';
export type { Overview, SiteHealth, SiteStrategies, StrategyRecord } from './report.ts';

/** Older than this is forgotten: events, totals, and sites that nobody tried since. */
const keptDays = 30;
/** A flood of blocks leaves no more rows than this: some hundred megabytes. */
const eventsMaxDefault = 500_000;
const deletedAtOnce = 5000;
const pruneMs = 3_600_000;
const sitesListedMax = 1000;
const topSitesMax = 10;
/** Work that is paced waits for its turn within its own time; more of it than this would not get one. */
const paceBounds = { width: 1, waitingMax: 100, waitMsMax: 180_000 };

export interface SelfHealParts {
  store: Store;
  clock: Clock;
  log: Log;
  /** Keys the hashes of egress addresses. */
  secret: Buffer;
  /** What can be done here at all, whatever a caller allows: `direct` always can. */
  enabled: readonly StrategyName[];
  /** From 0 to below 1. */
  random?: () => number;
  /** Of all owners; the oldest are forgotten first. */
  eventsMax?: number;
}

export interface Course {
  /** Set while the site is left alone: it is not to be asked. */
  cooldown: { until: Date; type: BlockType; vendor: BlockVendor } | null;
  first: Rest;
  /** What to try after a failed attempt, in `leftMs` milliseconds with its wait; null where nothing is left to try. */
  next(failed: Failure, leftMs: number): Rest | null;
}

export type BlockFilter = kept.EventFilter;

export class SelfHeal {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #secret: Buffer;
  readonly #enabled: readonly StrategyName[];
  readonly #random: () => number;
  readonly #eventsMax: number;
  readonly #journal: Journal;
  readonly #lately: Lately;
  readonly #lanes = new Lanes(paceBounds);
  /** When the last paced attempt was over, on this worker's monotonic clock. */
  readonly #pacedMs = new LRUCache<string, number>({ max: 10_000 });
  readonly pruning = new Loop('selfheal-pruning', pruneMs, (signal) => this.#prune(signal));
  /** Both are started and stopped here. */
  readonly loops: readonly Loop[];

  constructor({ store, clock, log, secret, enabled, random = Math.random, eventsMax = eventsMaxDefault }: SelfHealParts) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#secret = secret;
    this.#enabled = strategyNames.filter((name) => name === 'direct' || enabled.includes(name));
    this.#random = random;
    this.#lately = new Lately(clock);
    this.#eventsMax = eventsMax;
    this.#journal = new Journal((batch) => writeNotes(store, batch), log);
    this.loops = [this.#journal.loop, this.pruning];
  }

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  /** Writes what is still to be written. Throws where the database is away: that is lost. */
  async stop(): Promise<void> {
    await this.pruning.stop();
    await this.#journal.stop();
  }

  /**
   * The course for one work on a site. Knows all that this worker has recorded,
   * and what others have a moment after they did. With the database away it is
   * that of a site of which nothing is known. Throws only the signal's reason.
   *
   * `force` asks a site that is in a cooldown all the same.
   */
  async begin(
    owner: string,
    domain: string,
    { enabled, force, signal }: { enabled: readonly StrategyName[]; force: boolean; signal?: AbortSignal | undefined },
  ): Promise<Course> {
    const allowed = this.#enabled.filter((name) => name === 'direct' || enabled.includes(name));
    const { site, rungs } = await this.#known({ owner, domain }, signal);
    const ladder = new Ladder(allowed, this.#random);
    const cooldown =
      !force && site.cooldownUntil && isCooling(site, this.#clock.now())
        ? { until: site.cooldownUntil, type: site.lastBlockType ?? 'unknown', vendor: site.vendor ?? 'unknown' }
        : null;
    return {
      cooldown,
      first: ladder.first(firstRung(rungs, allowed, this.#random)),
      next: (failed, leftMs) => ladder.next(failed, leftMs),
    };
  }

  /** Takes all attempts of one work, in their order, once it is over. Never waits, never throws. */
  record({ attempts }: { attempts: readonly Attempt[] }): void {
    const note = noteOf(attempts, this.#secret);
    if (!note) return;
    this.#journal.add(note);
    this.#lately.note(note.attempts);
  }

  /** Attempts that could not be written since the start. */
  get dropped(): number {
    return this.#journal.dropped;
  }

  /**
   * Runs an attempt that is paced: one of an owner on a site at a time on this
   * worker, and a second between the end of one and the start of the next.
   * Throws the signal's reason, LaneFull, LaneTimeout, or what `attempt` throws.
   */
  pace<T>(owner: string, domain: string, signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    const key = keyOf(owner, domain);
    return this.#lanes.run(key, signal, async () => {
      const restMs = (this.#pacedMs.get(key) ?? -Infinity) + paceMs - this.#clock.monotonicMs();
      if (restMs > 0) await wait(restMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      try {
        return await attempt();
      } finally {
        this.#pacedMs.set(key, this.#clock.monotonicMs());
      }
    });
  }

  /** Newest first. */
  async blocks(filter: BlockFilter): Promise<BlockEvent[]> {
    await this.#journal.flush();
    return kept.findEvents(this.#store, filter);
  }

  /** Worst first, a thousand at most; of all owners where none is named. */
  async health(owner?: string): Promise<SiteHealth[]> {
    await this.#journal.flush();
    const now = this.#clock.now();
    const sites = await kept.listSites(this.#store, owner, { now, limit: sitesListedMax });
    return sites.map((site) => healthAt(site, now));
  }

  /** `unknown` for a site that was never tried. */
  async healthOf(owner: string, domain: string): Promise<SiteHealth> {
    await this.#journal.flush();
    const site = await kept.findSite(this.#store, { owner, domain });
    return healthAt(site ?? newSite(owner, domain), this.#clock.now());
  }

  async strategies(owner: string, domain: string): Promise<SiteStrategies> {
    await this.#journal.flush();
    const key = { owner, domain };
    const [site, rungs] = await Promise.all([kept.findSite(this.#store, key), kept.findRungs(this.#store, key)]);
    const strategies = strategyNames.map((name) =>
      recordOf(
        name,
        rungs.find(({ strategy }) => strategy === name),
        this.#enabled.includes(name),
      ),
    );
    const nextProbeAt = site && isCooling(site, this.#clock.now()) ? site.cooldownUntil : null;
    return { owner, domain, strategies, current: learned(rungs, this.#enabled), nextProbeAt };
  }

  async overview(): Promise<Overview> {
    await this.#journal.flush();
    const now = this.#clock.now();
    const since = new Date(hourOf(now).getTime() - (overviewHours - 1) * 3_600_000);
    const [sums, top, cooldowns] = await Promise.all([
      kept.sumHours(this.#store, since),
      kept.topSites(this.#store, since, topSitesMax),
      kept.countCooling(this.#store, now),
    ]);
    return {
      windowHours: overviewHours,
      ...totalsOf(sums),
      topDomains: top.map(({ owner, domain, blocks, site }) => ({ owner, domain, blocks, state: stateAt(site, now) })),
      cooldowns,
    };
  }

  /** Learning is never a reason for work to fail. */
  async #known(key: kept.SiteKey, signal: AbortSignal | undefined): Promise<{ site: Site; rungs: Rung[] }> {
    const name = keyOf(key.owner, key.domain);
    const lately = this.#lately.find(name);
    if (lately) return lately;
    try {
      await this.#journal.settle(name, signal);
      const [site, rungs] = await Promise.all([kept.findSite(this.#store, key, { signal }), kept.findRungs(this.#store, key, { signal })]);
      const known = { site: site ?? newSite(key.owner, key.domain), rungs };
      this.#lately.keep(name, known);
      return known;
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof ServiceError && error.code === 'store_unavailable'))
        this.#log.warn({ error }, 'what is known of a site could not be read');
      return { site: newSite(key.owner, key.domain), rungs: [] };
    }
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const aged = new Date(this.#clock.now().getTime() - keptDays * 86_400_000);
    const surplus = await kept.ageOfEvent(this.#store, this.#eventsMax);
    const before = surplus && surplus > aged ? surplus : aged;
    while (!signal.aborted && (await kept.deleteEvents(this.#store, before, deletedAtOnce)));
    await kept.deleteUnused(this.#store, aged);
  }
}
