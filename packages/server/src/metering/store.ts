import { sql } from 'kysely';
import type { Tables } from '../store/store.ts';
import type { Counts } from './counts.ts';

interface CountColumns {
  actions: number;
  egress_bytes: number;
  browser_ms: number;
  sessions: number;
  captcha_solves: number;
}
interface UsageTables {
  usage_meters: CountColumns & { meter_id: string; month: string; owner_id: string; updated_at: Date };
  usage_months: CountColumns & { owner_id: string; month: string };
}

const own = (tables: Tables) => tables.tables<UsageTables>();

const toCounts = (row: CountColumns): Counts => ({
  actions: row.actions,
  egressBytes: row.egress_bytes,
  browserMs: row.browser_ms,
  sessions: row.sessions,
  captchaSolves: row.captcha_solves,
});

const fromCounts = (counts: Counts): CountColumns => ({
  actions: counts.actions,
  egress_bytes: counts.egressBytes,
  browser_ms: counts.browserMs,
  sessions: counts.sessions,
  captcha_solves: counts.captchaSolves,
});

/** The counts of a meter in a month. */
export interface MeterRow {
  meterId: string;
  month: string;
  owner: string;
  counts: Counts;
}

/**
 * Writes the counts of meters and adds the difference to their owners' months.
 * Idempotent: equal or older rows change nothing.
 *
 * The months are locked first, sorted, so that two workers never deadlock. The
 * rows are compared in a separate statement under the lock, so it sees what an
 * earlier attempt with a lost response has written.
 */
export async function writeMeters(tx: Tables, rows: MeterRow[], now: Date): Promise<void> {
  const sent = rows.map(({ meterId, month, owner, counts }) => ({
    meter_id: meterId,
    month,
    owner_id: owner,
    ...fromCounts(counts),
    updated_at: now,
  }));
  // One JSON parameter: the statement has the same text for any number of rows and is prepared once.
  const given = sql`select * from jsonb_populate_recordset(null::usage_meters, ${JSON.stringify(sent)}::jsonb)`;
  await sql`insert into usage_months (owner_id, month) select distinct owner_id, month from (${given}) given
    order by owner_id, month on conflict do nothing`.execute(own(tx));
  await sql`select 1 from usage_months where (owner_id, month) in (select owner_id, month from (${given}) given)
    order by owner_id, month for update`.execute(own(tx));
  await sql`with before as (
      select * from usage_meters where (meter_id, month) in (select meter_id, month from (${given}) given)
    ), written as (
      insert into usage_meters ${given} on conflict (meter_id, month) do update set
        actions = greatest(usage_meters.actions, excluded.actions),
        egress_bytes = greatest(usage_meters.egress_bytes, excluded.egress_bytes),
        browser_ms = greatest(usage_meters.browser_ms, excluded.browser_ms),
        sessions = greatest(usage_meters.sessions, excluded.sessions),
        captcha_solves = greatest(usage_meters.captcha_solves, excluded.captcha_solves),
        updated_at = excluded.updated_at
      returning *
    ), raised as (
      select written.owner_id, written.month,
        sum(written.actions - coalesce(before.actions, 0))::bigint as actions,
        sum(written.egress_bytes - coalesce(before.egress_bytes, 0))::bigint as egress_bytes,
        sum(written.browser_ms - coalesce(before.browser_ms, 0))::bigint as browser_ms,
        sum(written.sessions - coalesce(before.sessions, 0))::bigint as sessions,
        sum(written.captcha_solves - coalesce(before.captcha_solves, 0))::bigint as captcha_solves
      from written left join before using (meter_id, month) group by written.owner_id, written.month
    ) update usage_months set
      actions = usage_months.actions + raised.actions,
      egress_bytes = usage_months.egress_bytes + raised.egress_bytes,
      browser_ms = usage_months.browser_ms + raised.browser_ms,
      sessions = usage_months.sessions + raised.sessions,
      captcha_solves = usage_months.captcha_solves + raised.captcha_solves
    from raised where usage_months.owner_id = raised.owner_id and usage_months.month = raised.month`.execute(own(tx));
}

/** An owner's usage in a month, except that of these meters. One statement, so that both are of one snapshot. */
export async function readRemoteCounts(
  tables: Tables,
  { owner, month }: { owner: string; month: string },
  meterIds: string[],
): Promise<Counts> {
  const { rows } = await sql<CountColumns>`
    with ours as (
      select sum(actions) as actions, sum(egress_bytes) as egress_bytes, sum(browser_ms) as browser_ms,
        sum(sessions) as sessions, sum(captcha_solves) as captcha_solves
      from usage_meters where meter_id = any(${meterIds}) and month = ${month} and owner_id = ${owner}
    ) select
      (m.actions - coalesce(ours.actions, 0))::bigint as actions,
      (m.egress_bytes - coalesce(ours.egress_bytes, 0))::bigint as egress_bytes,
      (m.browser_ms - coalesce(ours.browser_ms, 0))::bigint as browser_ms,
      (m.sessions - coalesce(ours.sessions, 0))::bigint as sessions,
      (m.captcha_solves - coalesce(ours.captcha_solves, 0))::bigint as captcha_solves
    from usage_months m, ours where m.owner_id = ${owner} and m.month = ${month}`.execute(own(tables));
  return toCounts(rows[0] ?? nothing);
}

/** The counts of a meter in all retained months. */
export async function readMeter(tables: Tables, meterId: string): Promise<Counts> {
  const { rows } = await sql<CountColumns>`
    select coalesce(sum(actions), 0)::bigint as actions, coalesce(sum(egress_bytes), 0)::bigint as egress_bytes,
      coalesce(sum(browser_ms), 0)::bigint as browser_ms, coalesce(sum(sessions), 0)::bigint as sessions,
      coalesce(sum(captcha_solves), 0)::bigint as captcha_solves
    from usage_meters where meter_id = ${meterId}`.execute(own(tables));
  return toCounts(rows[0] ?? nothing);
}

const nothing: CountColumns = { actions: 0, egress_bytes: 0, browser_ms: 0, sessions: 0, captcha_solves: 0 };

/** Deletes at most `limit` meter rows of earlier months; owners' sums stay. Returns whether more may be left. */
export async function deleteMeters(tables: Tables, before: string, limit: number): Promise<boolean> {
  const { numAffectedRows } = await sql`delete from usage_meters where (meter_id, month) in
    (select meter_id, month from usage_meters where month < ${before} limit ${limit})`.execute(own(tables));
  return Number(numAffectedRows) === limit;
}
