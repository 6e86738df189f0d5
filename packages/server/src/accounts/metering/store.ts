import type { EgressType } from '@berth/contract';
import { sql } from 'kysely';
import type { Tables } from '../../store/store.ts';
import type { Counts } from './counts.ts';

interface CountColumns {
  actions: number;
  egress_bytes: number;
  browser_ms: number;
  sessions: number;
  captcha_solves: number;
}
interface UsageTables {
  /** `egress_type` is null in older rows. */
  usage_meters: CountColumns & { meter_id: string; month: string; owner_id: string; updated_at: Date; egress_type: EgressType | null };
  usage_months: CountColumns & { owner_id: string; month: string };
  usage_days: CountColumns & { owner_id: string; day: string };
}

const own = (tables: Tables) => tables.tables<UsageTables>();

const toCounts = (row: CountColumns): Counts => ({
  actions: row.actions,
  egressBytes: row.egress_bytes,
  browserMs: row.browser_ms,
  sessions: row.sessions,
  captchaSolves: row.captcha_solves,
});

/** The counts of a meter in a month. */
export interface MeterRow {
  meterId: string;
  month: string;
  owner: string;
  egressType: EgressType;
  counts: Counts;
}

/** What usage that is written at `now` belongs to: that day, within the month that it was counted in. */
const dayIn = (month: ReturnType<typeof sql.ref>, now: Date) => {
  const first = sql`to_date(${month}, 'YYYY-MM')`;
  return sql`least(greatest((${now}::timestamptz at time zone 'UTC')::date, ${first}), (${first} + interval '1 month - 1 day')::date)`;
};

/** One array for each column: the statement has the same text for any number of rows, and is prepared once. */
const given = (rows: readonly MeterRow[]) => sql`unnest(
    ${rows.map(({ meterId }) => meterId)}::text[], ${rows.map(({ month }) => month)}::text[],
    ${rows.map(({ owner }) => owner)}::text[], ${rows.map(({ egressType }) => egressType)}::text[],
    ${rows.map(({ counts }) => counts.actions)}::bigint[], ${rows.map(({ counts }) => counts.egressBytes)}::bigint[],
    ${rows.map(({ counts }) => counts.browserMs)}::bigint[], ${rows.map(({ counts }) => counts.sessions)}::bigint[],
    ${rows.map(({ counts }) => counts.captchaSolves)}::bigint[]
  ) as given (meter_id, month, owner_id, egress_type, actions, egress_bytes, browser_ms, sessions, captcha_solves)`;

/**
 * Writes the counts of meters and adds the difference to their owners' months and days.
 * Idempotent: equal or older rows change nothing.
 *
 * The months are locked first, sorted, so that two workers never deadlock. The
 * rows are compared in a separate statement under the lock, so it sees what an
 * earlier attempt with a lost response has written.
 *
 * An idle fleet writes little else. So a row is found by its key alone, whatever the planner knows of the table:
 * a join of all rows, or the index of months, costs ten times as much where it knows nothing.
 */
export async function writeMeters(tx: Tables, rows: readonly MeterRow[], now: Date): Promise<void> {
  await lockMonths(tx, rows);
  await sql`with compared as materialized (
      select given.*, given.actions - coalesce(known.actions, 0) as more_actions,
        given.egress_bytes - coalesce(known.egress_bytes, 0) as more_egress_bytes,
        given.browser_ms - coalesce(known.browser_ms, 0) as more_browser_ms,
        given.sessions - coalesce(known.sessions, 0) as more_sessions,
        given.captcha_solves - coalesce(known.captcha_solves, 0) as more_captcha_solves
      from ${given(rows)} left join lateral (
        select * from usage_meters where meter_id = given.meter_id and month is not distinct from given.month offset 0
      ) known on true
    ), written as (
      insert into usage_meters (meter_id, month, owner_id, egress_type, actions, egress_bytes, browser_ms, sessions, captcha_solves, updated_at)
      select meter_id, month, owner_id, egress_type, actions, egress_bytes, browser_ms, sessions, captcha_solves, ${now}::timestamptz
      from compared on conflict (meter_id, month) do update set
        actions = greatest(usage_meters.actions, excluded.actions),
        egress_bytes = greatest(usage_meters.egress_bytes, excluded.egress_bytes),
        browser_ms = greatest(usage_meters.browser_ms, excluded.browser_ms),
        sessions = greatest(usage_meters.sessions, excluded.sessions),
        captcha_solves = greatest(usage_meters.captcha_solves, excluded.captcha_solves),
        updated_at = excluded.updated_at
    ), raised as (
      select owner_id, month,
        sum(greatest(more_actions, 0))::bigint as actions,
        sum(greatest(more_egress_bytes, 0))::bigint as egress_bytes,
        sum(greatest(more_browser_ms, 0))::bigint as browser_ms,
        sum(greatest(more_sessions, 0))::bigint as sessions,
        sum(greatest(more_captcha_solves, 0))::bigint as captcha_solves
      from compared group by owner_id, month
    ), months as (update usage_months set
      actions = usage_months.actions + raised.actions,
      egress_bytes = usage_months.egress_bytes + raised.egress_bytes,
      browser_ms = usage_months.browser_ms + raised.browser_ms,
      sessions = usage_months.sessions + raised.sessions,
      captcha_solves = usage_months.captcha_solves + raised.captcha_solves
      from raised where usage_months.owner_id = raised.owner_id and usage_months.month = raised.month
    ) insert into usage_days (owner_id, day, actions, egress_bytes, browser_ms, sessions, captcha_solves)
      select owner_id, ${dayIn(sql.ref('month'), now)}, actions, egress_bytes, browser_ms, sessions, captcha_solves from raised
      on conflict (owner_id, day) do update set
        actions = usage_days.actions + excluded.actions,
        egress_bytes = usage_days.egress_bytes + excluded.egress_bytes,
        browser_ms = usage_days.browser_ms + excluded.browser_ms,
        sessions = usage_days.sessions + excluded.sessions,
        captcha_solves = usage_days.captcha_solves + excluded.captcha_solves`.execute(own(tx));
}

/** Adds those that are missing. */
async function lockMonths(tx: Tables, rows: readonly MeterRow[]): Promise<void> {
  const months = [...new Map(rows.map(({ owner, month }) => [JSON.stringify([owner, month]), { owner, month }])).values()];
  const wanted = sql`select * from unnest(
    ${months.map(({ owner }) => owner)}::text[], ${months.map(({ month }) => month)}::text[]) as wanted (owner_id, month)`;
  await sql`insert into usage_months (owner_id, month) ${wanted} order by owner_id, month on conflict do nothing`.execute(own(tx));
  await sql`select 1 from usage_months where (owner_id, month) in (${wanted}) order by owner_id, month for update`.execute(own(tx));
}

/** The usage of owners in a month, except that of these meters; without owners who have none. One statement, so that all is of one snapshot. */
export async function readRemoteCounts(
  tables: Tables,
  { owners, month }: { owners: string[]; month: string },
  meterIds: string[],
): Promise<Map<string, Counts>> {
  const { rows } = await sql<CountColumns & { owner: string }>`
    with ours as (
      select owner_id, sum(actions) as actions, sum(egress_bytes) as egress_bytes, sum(browser_ms) as browser_ms,
        sum(sessions) as sessions, sum(captcha_solves) as captcha_solves
      from usage_meters where meter_id = any(${meterIds}) and month = ${month} group by owner_id
    ) select m.owner_id as owner,
      (m.actions - coalesce(ours.actions, 0))::bigint as actions,
      (m.egress_bytes - coalesce(ours.egress_bytes, 0))::bigint as egress_bytes,
      (m.browser_ms - coalesce(ours.browser_ms, 0))::bigint as browser_ms,
      (m.sessions - coalesce(ours.sessions, 0))::bigint as sessions,
      (m.captcha_solves - coalesce(ours.captcha_solves, 0))::bigint as captcha_solves
    from usage_months m left join ours using (owner_id) where m.owner_id = any(${owners}) and m.month = ${month}`.execute(own(tables));
  return new Map(rows.map((row) => [row.owner, toCounts(row)]));
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

/** An owner's usage of each day from `first` on that has any; days are `YYYY-MM-DD`. */
export async function readDays(tables: Tables, owner: string, first: string): Promise<Map<string, Counts>> {
  const { rows } = await sql<CountColumns & { day: string }>`
    select to_char(day, 'YYYY-MM-DD') as day, actions, egress_bytes, browser_ms, sessions, captcha_solves
    from usage_days where owner_id = ${owner} and day >= ${first}::date`.execute(own(tables));
  return new Map(rows.map((row) => [row.day, toCounts(row)]));
}

/** Deletes at most `limit` days before `first`. Returns whether more may be left. */
export async function deleteDays(tables: Tables, first: string, limit: number): Promise<boolean> {
  const { numAffectedRows } = await sql`delete from usage_days where (owner_id, day) in
    (select owner_id, day from usage_days where day < ${first}::date limit ${limit})`.execute(own(tables));
  return Number(numAffectedRows) === limit;
}

/** Deletes at most `limit` meter rows of earlier months; owners' sums stay. Returns whether more may be left. */
export async function deleteMeters(tables: Tables, before: string, limit: number): Promise<boolean> {
  const { numAffectedRows } = await sql`delete from usage_meters where (meter_id, month) in
    (select meter_id, month from usage_meters where month < ${before} limit ${limit})`.execute(own(tables));
  return Number(numAffectedRows) === limit;
}

/** What an owner has used in a month through one type of egress. */
export interface UsageByEgress {
  owner: string;
  /** null: metered before types were recorded. */
  egressType: EgressType | null;
  browserMs: number;
  egressBytes: number;
  captchaSolves: number;
}

/** The written usage of a month, of all owners and workers. */
export async function readMonth(tables: Tables, month: string): Promise<UsageByEgress[]> {
  const { rows } = await sql<UsageByEgress>`
    select owner_id as owner, egress_type as "egressType", sum(browser_ms)::bigint as "browserMs",
      sum(egress_bytes)::bigint as "egressBytes", sum(captcha_solves)::bigint as "captchaSolves"
    from usage_meters where month = ${month} group by owner_id, egress_type`.execute(own(tables));
  return rows;
}
