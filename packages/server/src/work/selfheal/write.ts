import type { Store, Tables } from '../../store/store.ts';
import { endOf, type SiteAttempt, type JournalEntry } from './attempt.ts';
import { keyOf } from './journal.ts';
import { bestOf } from './learn.ts';
import { newSite, updateStrategyStats, updateSite, type StrategyStats } from './site.ts';
import { addToHours, insertEvents, lockSites, writeSites, type HourCount, type SiteKey } from './store.ts';

/** Writes a batch in one transaction. Safe with concurrent workers. */
export function writeEntries(store: Store, batch: readonly JournalEntry[]): Promise<void> {
  const attempts = batch.flatMap((note) => note.attempts).sort((one, other) => endOf(one).getTime() - endOf(other).getTime());
  return store.transaction(async (tx) => {
    await insertEvents(
      tx,
      batch.flatMap((note) => note.events),
    );
    await learnFrom(tx, attempts);
    // Last, because every worker's batch touches this hour's rows.
    await addToHours(tx, countHours(batch));
  });
}

/** Pages that robots.txt disallows were not requested, so they teach nothing about strategies. */
async function learnFrom(tx: Tables, all: readonly SiteAttempt[]): Promise<void> {
  const attempts = all.filter(({ block }) => block?.type !== 'robots_disallowed');
  if (attempts.length === 0) return;
  const keys = new Map<string, SiteKey>(attempts.map(({ owner, domain }) => [keyOf(owner, domain), { owner, domain }]));
  const known = await lockSites(tx, [...keys.values()]);
  const sites = new Map(known.sites.map((site) => [keyOf(site.owner, site.domain), site]));
  const strategyStats = new Map(known.strategyStats.map((stats) => [statsKey(stats), stats]));
  for (const attempt of attempts) {
    const { owner, domain } = attempt;
    const key = keyOf(owner, domain);
    sites.set(key, updateSite(sites.get(key) ?? newSite(owner, domain), attempt));
    strategyStats.set(statsKey(attempt), updateStrategyStats(strategyStats.get(statsKey(attempt)), attempt));
  }
  const statsBySite = Map.groupBy(strategyStats.values(), ({ owner, domain }) => keyOf(owner, domain));
  const learnedSites = [...sites].map(([key, site]) => ({ ...site, bestStrategy: bestOf(statsBySite.get(key) ?? []) }));
  await writeSites(tx, learnedSites, [...strategyStats.values()]);
}

const statsKey = ({ owner, domain, strategy }: Pick<StrategyStats, 'owner' | 'domain' | 'strategy'>): string =>
  `${keyOf(owner, domain)}\n${strategy}`;

export const hourOf = (at: Date): Date => new Date(Math.floor(at.getTime() / 3_600_000) * 3_600_000);

/** Counters by the names that the overview reads. Work counts in the hour in which its last attempt ended. */
function countHours(batch: readonly JournalEntry[]): HourCount[] {
  const counts = new Map<string, HourCount>();
  const add = (at: Date, name: string): void => {
    const hour = hourOf(at);
    const key = `${hour.getTime()} ${name}`;
    counts.set(key, { hour, name, count: (counts.get(key)?.count ?? 0) + 1 });
  };
  for (const { attempts, events, healed } of batch) {
    for (const attempt of attempts) add(endOf(attempt), attempt.outcome);
    for (const { at, type, vendor } of events) {
      add(at, `type:${type}`);
      add(at, `vendor:${vendor}`);
    }
    const last = attempts.at(-1);
    if (last && healed) add(endOf(last), healed === 'none' ? 'unresolved' : `healed:${healed}`);
  }
  return [...counts.values()];
}
