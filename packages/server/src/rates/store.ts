import { sql } from 'kysely';
import type { Tables } from '../store/store.ts';

interface RateTables {
  rate_counts: { scope: string; worker_id: string; calls: number; ends_at: Date };
}

/** What one worker has counted in the current window of a scope. */
export interface Count {
  scope: string;
  calls: number;
  secondsLeft: number;
}

/**
 * Writes what this worker has counted, and reads what the others have, for all of these scopes. One statement.
 * `secondsLeft` is of the window that ends first: by the database's clock, so that none is compared.
 */
export async function exchangeCounts(
  tables: Tables,
  workerId: string,
  { own, scopes }: { own: readonly Count[]; scopes: readonly string[] },
): Promise<Count[]> {
  const written = sql`insert into rate_counts (scope, worker_id, calls, ends_at)
    select scope, ${workerId}, calls, now() + make_interval(secs => seconds) from unnest(
      ${own.map(({ scope }) => scope)}::text[], ${own.map(({ calls }) => calls)}::int[], ${own.map((each) => each.secondsLeft)}::float8[]
    ) as own (scope, calls, seconds)
    on conflict (scope, worker_id) do update set calls = excluded.calls, ends_at = excluded.ends_at`;
  const { rows } = await sql<Count>`with written as (${written})
    select scope, sum(calls)::int as calls, extract(epoch from min(ends_at) - now())::float8 as "secondsLeft"
    from rate_counts where scope = any(${[...scopes]}::text[]) and worker_id <> ${workerId} and ends_at > now()
    group by scope`.execute(tables.tables<RateTables>());
  return rows;
}

/** Windows that have ended, of all workers. */
export async function pruneCounts(tables: Tables): Promise<void> {
  await tables
    .tables<RateTables>()
    .deleteFrom('rate_counts')
    .where('ends_at', '<', sql<Date>`now() - interval '1 minute'`)
    .execute();
}
