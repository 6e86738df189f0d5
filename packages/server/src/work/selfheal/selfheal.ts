/** Learns about sites that block: which strategy to try next, when to pause, and reports for the operator. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ServiceError,
  blockSeriesMax,
  strategyNames,
  type BlockGroup,
  type BlockType,
  type BlockVendor,
  type StrategyName,
} from '@berth/contract';
import { LRUCache } from 'lru-cache';
import type { Clock } from '@berth/lib/clock.ts';
import { Lanes } from '@berth/lib/turns/lanes.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import type { Store } from '../../store/store.ts';
import { toJournalEntry, type SiteAttempt, type BlockEvent } from './attempt.ts';
import { intervalsOf, startOf, toBlockHistory, type BlockHistory } from './history.ts';
import { Journal, keyOf } from './journal.ts';
import { Ladder, paceMs, type Failure, type PlannedAttempt } from './ladder.ts';
import { chooseFirstStrategy, learnedStrategy, bestOf } from './learn.ts';
import {
  toSiteHealth,
  overviewHours,
  toStrategyReport,
  stateAt,
  toTotals,
  type Overview,
  type SiteHealth,
  type SiteStrategies,
} from './report.ts';
import { isCooling, newSite, type StrategyStats, type Site, updateStrategyStats, updateSite } from './site.ts';
import * as siteStore from './store.ts';
import { hourOf, writeEntries } from './write.ts';

export type { SiteAttempt, BlockEvent } from './attempt.ts';
export type { BlockCounts, BlockHistory } from './history.ts';
export { domainOfHost, domainOf } from '@berth/lib/text/domains.ts';
export type { Overview, SiteHealth, SiteStrategies } from './report.ts';

/** Older events, totals and unused sites are deleted. */
const retentionDays = 30;
/** Rows of block events: some hundred megabytes. */
const eventsMaxDefault = 500_000;
const deletedAtOnce = 5000;
const pruneMs = 3_600_000;
const topSitesMax = 10;
/** Throttled work waits for its turn within its own time budget. */
const paceBounds = { width: 1, waitingMax: 100, waitMsMax: 180_000 };

export interface SelfHealDeps {
  store: Store;
  clock: Clock;
  log: Log;
  /** The key for hashes of egress addresses. */
  secret: Buffer;
  /** The strategies this service supports; `direct` always is. */
  enabled: readonly StrategyName[];
  /** Returns a number from 0 to below 1. */
  random?: () => number;
  /** Maximum events across all owners; the oldest are deleted first. */
  eventsMax?: number;
}

export interface RetryPlan {
  /** Set while the site is in a cooldown and must not be requested. */
  cooldown: { until: Date; type: BlockType; vendor: BlockVendor } | null;
  firstAttempt: PlannedAttempt;
  /** The next attempt after a failed one, which with its wait fits into `leftMs`; null when no strategy is left. */
  nextAttempt(failed: Failure, leftMs: number): PlannedAttempt | null;
}

type BlockFilter = siteStore.EventFilter;
type SitePosition = siteStore.SitePosition;

interface ListedSite {
  health: SiteHealth;
  /** Position after which the next page starts. */
  position: SitePosition;
}

export class SelfHeal {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #secret: Buffer;
  readonly #enabled: readonly StrategyName[];
  readonly #random: () => number;
  readonly #eventsMax: number;
  readonly #journal: Journal;
  readonly #recentSites: RecentSites;
  readonly #lanes = new Lanes(paceBounds);
  /** The monotonic end time of the last throttled attempt. */
  readonly #pacedMs = new LRUCache<string, number>({ max: 10_000 });
  readonly pruning = new Loop('selfheal-pruning', pruneMs, (signal) => this.#prune(signal));
  readonly loops: readonly Loop[];

  constructor({ store, clock, log, secret, enabled, random = Math.random, eventsMax = eventsMaxDefault }: SelfHealDeps) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#secret = secret;
    this.#enabled = strategyNames.filter((name) => name === 'direct' || enabled.includes(name));
    this.#random = random;
    this.#recentSites = new RecentSites(clock);
    this.#eventsMax = eventsMax;
    this.#journal = new Journal((batch) => writeEntries(store, batch), log);
    this.loops = [this.#journal.loop, this.pruning];
  }

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  /** Writes the queued entries. @throws ServiceError store_unavailable; they are lost then */
  async stop(): Promise<void> {
    await this.pruning.stop();
    await this.#journal.stop();
  }

  /**
   * The retry plan for one work on a site, from all attempts recorded by this
   * worker and, a moment later, by others. Treats the site as unknown when the
   * database is unavailable. `ignoreCooldown` skips the cooldown.
   * @throws the signal's reason
   */
  async begin(
    owner: string,
    domain: string,
    { enabled, ignoreCooldown, signal }: { enabled: readonly StrategyName[]; ignoreCooldown: boolean; signal?: AbortSignal | undefined },
  ): Promise<RetryPlan> {
    const allowed = this.#enabled.filter((name) => name === 'direct' || enabled.includes(name));
    const { site, strategyStats } = await this.#loadSite({ owner, domain }, signal);
    const ladder = new Ladder(allowed, this.#random);
    const cooldown =
      !ignoreCooldown && site.cooldownUntil && isCooling(site, this.#clock.now())
        ? { until: site.cooldownUntil, type: site.lastBlockType ?? 'unknown', vendor: site.vendor ?? 'unknown' }
        : null;
    return {
      cooldown,
      firstAttempt: ladder.first(chooseFirstStrategy(strategyStats, allowed, this.#random)),
      nextAttempt: (failed, leftMs) => ladder.next(failed, leftMs),
    };
  }

  /** Records all attempts of a finished work, in order. Never waits, never throws. */
  record({ attempts }: { attempts: readonly SiteAttempt[] }): void {
    const entry = toJournalEntry(attempts, this.#secret);
    if (!entry) return;
    this.#journal.add(entry);
    this.#recentSites.record(entry.attempts);
  }

  /** Attempts dropped since the start. */
  get dropped(): number {
    return this.#journal.dropped;
  }

  /**
   * Runs a throttled attempt: one at a time per owner and site on this worker,
   * with a second between two.
   * @throws the signal's reason, LaneFullError, LaneTimeoutError, or what `attempt` throws
   */
  pace<T>(owner: string, domain: string, signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    const key = keyOf(owner, domain);
    return this.#lanes.run(key, signal, async () => {
      const waitMs = (this.#pacedMs.get(key) ?? -Infinity) + paceMs - this.#clock.monotonicMs();
      if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
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
    return siteStore.findEvents(this.#store, filter);
  }

  /** Blocks over the last hours, by group. @throws ServiceError store_unavailable */
  async history({
    hours,
    ...filter
  }: { hours: number; by: BlockGroup } & Omit<BlockFilter, 'since' | 'after' | 'limit'>): Promise<BlockHistory> {
    await this.#journal.flush();
    const now = this.#clock.now();
    const intervals = intervalsOf(hours, now);
    const { intervalSeconds } = intervals;
    const rows = await siteStore.countIntervals(this.#store, {
      ...filter,
      since: startOf(intervals),
      intervalSeconds,
      groupsMax: blockSeriesMax,
    });
    return toBlockHistory(rows, intervals, now);
  }

  /** Blocks of all owners since then. @throws ServiceError store_unavailable */
  async countBlocks(since: Date): Promise<number> {
    await this.#journal.flush();
    return siteStore.countEvents(this.#store, since);
  }

  /** Worst first; of all owners when `owner` is absent. Cooldowns are those of the time of the first page. */
  async health({
    owner,
    after,
    limit,
  }: {
    owner?: string | undefined;
    after?: SitePosition | undefined;
    limit: number;
  }): Promise<ListedSite[]> {
    await this.#journal.flush();
    const now = this.#clock.now();
    const asOf = after === undefined ? now : new Date(after[0]);
    const sites = await siteStore.listSites(this.#store, { owner, asOf, after, limit });
    return sites.map(({ site, position }) => ({ health: toSiteHealth(site, now), position }));
  }

  /** State `unknown` for a site without attempts. */
  async healthOf(owner: string, domain: string): Promise<SiteHealth> {
    await this.#journal.flush();
    const site = await siteStore.findSite(this.#store, { owner, domain });
    return toSiteHealth(site ?? newSite(owner, domain), this.#clock.now());
  }

  async strategies(owner: string, domain: string): Promise<SiteStrategies> {
    await this.#journal.flush();
    const key = { owner, domain };
    const [site, strategyStats] = await Promise.all([siteStore.findSite(this.#store, key), siteStore.findStrategyStats(this.#store, key)]);
    const strategies = strategyNames.map((name) =>
      toStrategyReport(
        name,
        strategyStats.find(({ strategy }) => strategy === name),
        this.#enabled.includes(name),
      ),
    );
    const nextProbeAt = site && isCooling(site, this.#clock.now()) ? site.cooldownUntil : null;
    return { owner, domain, strategies, current: learnedStrategy(strategyStats, this.#enabled), nextProbeAt };
  }

  async overview(): Promise<Overview> {
    await this.#journal.flush();
    const now = this.#clock.now();
    const since = new Date(hourOf(now).getTime() - (overviewHours - 1) * 3_600_000);
    const [sums, top, cooldowns] = await Promise.all([
      siteStore.sumHours(this.#store, since),
      siteStore.topSites(this.#store, since, topSitesMax),
      siteStore.countCooling(this.#store, now),
    ]);
    return {
      windowHours: overviewHours,
      since,
      ...toTotals(sums),
      topDomains: top.map(({ owner, domain, blocks, site }) => ({ owner, domain, blocks, state: stateAt(site, now) })),
      cooldowns,
    };
  }

  /** Falls back to an unknown site, because work must not fail for it. */
  async #loadSite(key: siteStore.SiteKey, signal: AbortSignal | undefined): Promise<{ site: Site; strategyStats: StrategyStats[] }> {
    const name = keyOf(key.owner, key.domain);
    const cached = this.#recentSites.get(name);
    if (cached) return cached;
    try {
      await this.#journal.waitUntilWritten(name, signal);
      const [site, strategyStats] = await Promise.all([
        siteStore.findSite(this.#store, key, { signal }),
        siteStore.findStrategyStats(this.#store, key, { signal }),
      ]);
      const known = { site: site ?? newSite(key.owner, key.domain), strategyStats };
      this.#recentSites.set(name, known);
      return known;
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof ServiceError && error.code === 'store_unavailable')) this.#log.warn({ err: error }, 'site state read failed');
      return { site: newSite(key.owner, key.domain), strategyStats: [] };
    }
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const aged = new Date(this.#clock.now().getTime() - retentionDays * 86_400_000);
    const surplus = await siteStore.ageOfEvent(this.#store, this.#eventsMax);
    const before = surplus && surplus > aged ? surplus : aged;
    while (!signal.aborted && (await siteStore.deleteEvents(this.#store, before, deletedAtOnce)));
    await siteStore.deleteUnused(this.#store, aged);
  }
}

interface SiteKnowledge {
  site: Site;
  strategyStats: StrategyStats[];
}

const sitesMax = 5000;
/** How long attempts of other workers may go unnoticed. */
const ttlMs = 2000;

class RecentSites {
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

  record(attempts: readonly SiteAttempt[]): void {
    for (const attempt of attempts) {
      const known = this.#sites.get(keyOf(attempt.owner, attempt.domain));
      if (!known || attempt.block?.type === 'robots_disallowed') continue;
      const previous = known.strategyStats.find(({ strategy }) => strategy === attempt.strategy);
      known.strategyStats = [...known.strategyStats.filter((stats) => stats !== previous), updateStrategyStats(previous, attempt)];
      known.site = { ...updateSite(known.site, attempt), bestStrategy: bestOf(known.strategyStats) };
    }
  }
}
