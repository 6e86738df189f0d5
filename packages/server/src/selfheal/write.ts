import type { Store, Tables } from '../store/store.ts';
import { endOf, type Attempt, type Noted } from './attempt.ts';
import { keyOf } from './journal.ts';
import { bestOf } from './learn.ts';
import { newSite, rungAfter, siteAfter, type Rung } from './site.ts';
import { addToHours, insertEvents, lockSites, writeSites, type HourCount, type SiteKey } from './store.ts';

/** Writes a batch, all or nothing. Several workers may do so at once: each adds to what the others have written. */
export function writeNotes(store: Store, batch: readonly Noted[]): Promise<void> {
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

/** A page that its site's rules kept us from was not asked for: that is told, and says nothing of what works. */
async function learnFrom(tx: Tables, all: readonly Attempt[]): Promise<void> {
  const attempts = all.filter(({ block }) => block?.type !== 'robots_disallowed');
  if (attempts.length === 0) return;
  const keys = new Map<string, SiteKey>(attempts.map(({ owner, domain }) => [keyOf(owner, domain), { owner, domain }]));
  const known = await lockSites(tx, [...keys.values()]);
  const sites = new Map(known.sites.map((site) => [keyOf(site.owner, site.domain), site]));
  const rungs = new Map(known.rungs.map((rung) => [rungKey(rung), rung]));
  for (const attempt of attempts) {
    const { owner, domain } = attempt;
    const key = keyOf(owner, domain);
    sites.set(key, siteAfter(sites.get(key) ?? newSite(owner, domain), attempt));
    rungs.set(rungKey(attempt), rungAfter(rungs.get(rungKey(attempt)), attempt));
  }
  const rungsOf = Map.groupBy(rungs.values(), ({ owner, domain }) => keyOf(owner, domain));
  const learned = [...sites].map(([key, site]) => ({ ...site, bestStrategy: bestOf(rungsOf.get(key) ?? []) }));
  await writeSites(tx, learned, [...rungs.values()]);
}

const rungKey = ({ owner, domain, strategy }: Pick<Rung, 'owner' | 'domain' | 'strategy'>): string =>
  `${keyOf(owner, domain)}\n${strategy}`;

export const hourOf = (at: Date): Date => new Date(Math.floor(at.getTime() / 3_600_000) * 3_600_000);

/** What is counted, by the names that the overview reads. Work counts in the hour in which its last attempt was over. */
export function countHours(batch: readonly Noted[]): HourCount[] {
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
