import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { BlockGroup, BlockType, BlockVendor, SiteState, StrategyName } from '@berth/contract';
import type { Tables } from '../../store/store.ts';
import type { BlockEvent } from './attempt.ts';
import { siteStateOf, windowOf, type Recent, type StrategyStats, type Site } from './site.ts';

type EventData = Omit<BlockEvent, 'eventId' | 'at' | 'owner' | 'domain' | 'type'>;

interface SelfHealTables {
  block_events: { event_id: string; created_at: Date; owner_id: string; domain: string; type: BlockType; details: EventData };
  site_health: {
    owner_id: string;
    domain: string;
    recent: Recent;
    state: Exclude<SiteState, 'cooldown'>;
    success_rate: number | null;
    consecutive_blocks: number;
    cooldowns: number;
    cooldown_until: Date | null;
    last_ok_at: Date | null;
    last_block_at: Date | null;
    last_block_type: BlockType | null;
    vendor: BlockVendor | null;
    best_strategy: StrategyName | null;
    updated_at: Date;
  };
  site_strategies: {
    owner_id: string;
    domain: string;
    strategy: StrategyName;
    attempts: number;
    successes: number;
    blocks: number;
    errors: number;
    duration_ms: number;
    recent: Recent;
    last_used_at: Date;
    cost_micro: number;
  };
  selfheal_hours: { hour: Date; name: string; count: number };
}
type EventRow = Selectable<SelfHealTables['block_events']>;
type SiteRow = Selectable<SelfHealTables['site_health']>;
type StrategyStatsRow = Selectable<SelfHealTables['site_strategies']>;

export interface SiteKey {
  owner: string;
  domain: string;
}

const own = (tables: Tables) => tables.tables<SelfHealTables>();

/**
 * Sends a list as one JSON parameter, so that the statement is the same for any
 * length and is prepared once.
 */
const asRows = (rows: object[]) => sql`${JSON.stringify(rows)}::jsonb`;

const toEvent = ({ event_id, created_at, owner_id, details, ...row }: EventRow): BlockEvent => ({
  eventId: event_id,
  at: created_at,
  owner: owner_id,
  ...row,
  ...details,
});

const fromEvent = ({ eventId, at, owner, domain, type, ...details }: BlockEvent): EventRow => ({
  event_id: eventId,
  created_at: at,
  owner_id: owner,
  domain,
  type,
  details,
});

const toSite = (row: SiteRow): Site => ({
  owner: row.owner_id,
  domain: row.domain,
  recent: row.recent,
  consecutiveBlocks: row.consecutive_blocks,
  cooldowns: row.cooldowns,
  cooldownUntil: row.cooldown_until,
  lastOkAt: row.last_ok_at,
  lastBlockAt: row.last_block_at,
  lastBlockType: row.last_block_type,
  vendor: row.vendor,
  bestStrategy: row.best_strategy,
  updatedAt: row.updated_at,
});

function fromSite(site: Site): SiteRow {
  const window = windowOf(site.recent);
  return {
    owner_id: site.owner,
    domain: site.domain,
    recent: site.recent,
    state: siteStateOf(window),
    success_rate: window.attempts > 0 ? window.ok / window.attempts : null,
    consecutive_blocks: site.consecutiveBlocks,
    cooldowns: site.cooldowns,
    cooldown_until: site.cooldownUntil,
    last_ok_at: site.lastOkAt,
    last_block_at: site.lastBlockAt,
    last_block_type: site.lastBlockType,
    vendor: site.vendor,
    best_strategy: site.bestStrategy,
    updated_at: site.updatedAt ?? new Date(0),
  };
}

const toStrategyStats = (row: StrategyStatsRow): StrategyStats => ({
  owner: row.owner_id,
  domain: row.domain,
  strategy: row.strategy,
  attempts: row.attempts,
  successes: row.successes,
  blocks: row.blocks,
  errors: row.errors,
  durationMs: row.duration_ms,
  costMicro: row.cost_micro,
  recent: row.recent,
  lastUsedAt: row.last_used_at,
});

const fromStrategyStats = (stats: StrategyStats): StrategyStatsRow => ({
  owner_id: stats.owner,
  domain: stats.domain,
  strategy: stats.strategy,
  attempts: stats.attempts,
  successes: stats.successes,
  blocks: stats.blocks,
  errors: stats.errors,
  duration_ms: stats.durationMs,
  cost_micro: stats.costMicro,
  recent: stats.recent,
  last_used_at: stats.lastUsedAt,
});

/** Skips existing events: their batch was committed before and the reply was lost. */
export async function insertEvents(tables: Tables, events: BlockEvent[]): Promise<void> {
  if (events.length === 0) return;
  const rows = asRows(events.map(fromEvent));
  await sql`insert into block_events select * from jsonb_populate_recordset(null::block_events, ${rows}) on conflict do nothing`.execute(
    own(tables),
  );
}

/**
 * Locks the sites, creating missing ones, and reads their strategies. Always in
 * the same order, to avoid deadlocks between workers.
 */
export async function lockSites(tables: Tables, keys: SiteKey[]): Promise<{ sites: Site[]; strategyStats: StrategyStats[] }> {
  const rows = asRows(keys.map(({ owner, domain }) => ({ owner_id: owner, domain })));
  const wanted = sql`select owner_id, domain from jsonb_populate_recordset(null::site_health, ${rows})`;
  await sql`insert into site_health (owner_id, domain, updated_at) select owner_id, domain, 'epoch' from (${wanted}) wanted
    order by owner_id, domain on conflict do nothing`.execute(own(tables));
  const sites =
    await sql<SiteRow>`select * from site_health where (owner_id, domain) in (${wanted}) order by owner_id, domain for update`.execute(
      own(tables),
    );
  const strategyStats = await sql<StrategyStatsRow>`select * from site_strategies where (owner_id, domain) in (${wanted})`.execute(
    own(tables),
  );
  return { sites: sites.rows.map(toSite), strategyStats: strategyStats.rows.map(toStrategyStats) };
}

/** Overwrites the rows; requires the locks of `lockSites`. */
export async function writeSites(tables: Tables, sites: Site[], strategyStats: StrategyStats[]): Promise<void> {
  await sql`insert into site_health select * from jsonb_populate_recordset(null::site_health, ${asRows(sites.map(fromSite))})
    on conflict (owner_id, domain) do update set
      recent = excluded.recent, state = excluded.state, success_rate = excluded.success_rate,
      consecutive_blocks = excluded.consecutive_blocks, cooldowns = excluded.cooldowns, cooldown_until = excluded.cooldown_until,
      last_ok_at = excluded.last_ok_at, last_block_at = excluded.last_block_at, last_block_type = excluded.last_block_type,
      vendor = excluded.vendor, best_strategy = excluded.best_strategy, updated_at = excluded.updated_at`.execute(own(tables));
  const strategyRows = asRows(strategyStats.map(fromStrategyStats));
  await sql`insert into site_strategies select * from jsonb_populate_recordset(null::site_strategies, ${strategyRows})
    on conflict (owner_id, domain, strategy) do update set
      attempts = excluded.attempts, successes = excluded.successes, blocks = excluded.blocks, errors = excluded.errors,
      duration_ms = excluded.duration_ms, recent = excluded.recent, last_used_at = excluded.last_used_at,
      cost_micro = excluded.cost_micro`.execute(own(tables));
}

export interface HourCount {
  hour: Date;
  name: string;
  count: number;
}

/** Adds to the counters, in one order to avoid deadlocks. */
export async function addToHours(tables: Tables, counts: HourCount[]): Promise<void> {
  await sql`insert into selfheal_hours select * from jsonb_populate_recordset(null::selfheal_hours, ${asRows(counts)}) order by hour, name
    on conflict (hour, name) do update set count = selfheal_hours.count + excluded.count`.execute(own(tables));
}

export interface EventFilter {
  owner?: string | undefined;
  domain?: string | undefined;
  /** One that is no type of block matches none. */
  type?: string | undefined;
  vendor?: BlockVendor | undefined;
  since?: Date | undefined;
  /** Only what comes after this position: epoch ms and id of an event. */
  after?: readonly [number, string] | undefined;
  limit: number;
}

const vendorColumn = sql<BlockVendor>`details->>'vendor'`;

/** Newest first. */
export async function findEvents(tables: Tables, { owner, domain, type, vendor, since, after, limit }: EventFilter): Promise<BlockEvent[]> {
  let query = own(tables).selectFrom('block_events').selectAll();
  if (owner !== undefined) query = query.where('owner_id', '=', owner);
  if (domain !== undefined) query = query.where('domain', '=', domain);
  if (type !== undefined) query = query.where('type', '=', type as BlockType);
  if (vendor !== undefined) query = query.where(vendorColumn, '=', vendor);
  if (since !== undefined) query = query.where('created_at', '>=', since);
  if (after !== undefined) {
    const at = new Date(after[0]);
    // The first condition is for the index.
    query = query.where('created_at', '<=', at).where(({ or, eb }) => or([eb('created_at', '<', at), eb('event_id', '>', after[1])]));
  }
  const rows = await query.orderBy('created_at', 'desc').orderBy('event_id').limit(limit).execute();
  return rows.map(toEvent);
}

/** Where a site is in the list: the time of its cooldowns in epoch ms, its group, success rate (2 without one), owner and domain. */
export type SitePosition = readonly [asOfMs: number, group: number, rate: number, owner: string, domain: string];

interface SiteQuery {
  owner: string | undefined;
  /** The time of which the cooldowns are. */
  asOf: Date;
  after: SitePosition | undefined;
  limit: number;
}

/** Worst first: sites in a cooldown, then by state and success rate. */
export async function listSites(
  tables: Tables,
  { owner, asOf, after, limit }: SiteQuery,
): Promise<{ site: Site; position: SitePosition }[]> {
  const group = sql<number>`(case when cooldown_until > ${asOf} then 0 else 10 end
    + array_position(array['blocked', 'degraded', 'unknown', 'healthy'], state))`;
  const rate = sql<number>`coalesce(success_rate, 2)`;
  let query = own(tables)
    .selectFrom('site_health')
    .selectAll()
    .select([group.as('group'), rate.as('rate')]);
  if (owner !== undefined) query = query.where('owner_id', '=', owner);
  if (after !== undefined)
    query = query.where(sql<boolean>`(${group}, ${rate}, owner_id, domain) > (${after[1]}, ${after[2]}, ${after[3]}, ${after[4]})`);
  const rows = await query.orderBy(group).orderBy(rate).orderBy('owner_id').orderBy('domain').limit(limit).execute();
  return rows.map((row) => ({ site: toSite(row), position: [asOf.getTime(), row.group, row.rate, row.owner_id, row.domain] }));
}

interface ReadOptions {
  signal?: AbortSignal | undefined;
}

export async function findSite(tables: Tables, { owner, domain }: SiteKey, { signal }: ReadOptions = {}): Promise<Site | undefined> {
  const query = own(tables).selectFrom('site_health').selectAll().where('owner_id', '=', owner).where('domain', '=', domain);
  const row = await query.executeTakeFirst(signal && { signal });
  return row && toSite(row);
}

export async function findStrategyStats(
  tables: Tables,
  { owner, domain }: SiteKey,
  { signal }: ReadOptions = {},
): Promise<StrategyStats[]> {
  const query = own(tables).selectFrom('site_strategies').selectAll().where('owner_id', '=', owner).where('domain', '=', domain);
  return (await query.execute(signal && { signal })).map(toStrategyStats);
}

export async function sumHours(tables: Tables, since: Date): Promise<Map<string, number>> {
  const rows = await own(tables)
    .selectFrom('selfheal_hours')
    .select(['name', sql<number>`sum(count)::bigint`.as('sum')])
    .where('hour', '>=', since)
    .groupBy('name')
    .execute();
  return new Map(rows.map(({ name, sum }) => [name, sum]));
}

interface TopSite extends SiteKey {
  blocks: number;
  /** Empty when the site was deleted before its events. */
  site: Pick<Site, 'cooldownUntil' | 'recent'>;
}

export async function topSites(tables: Tables, since: Date, limit: number): Promise<TopSite[]> {
  const rows = await own(tables)
    .with('top', (query) =>
      query
        .selectFrom('block_events')
        .select(['owner_id', 'domain', (select) => select.fn.countAll<number>().as('blocks')])
        .where('created_at', '>=', since)
        .groupBy(['owner_id', 'domain'])
        .orderBy('blocks', 'desc')
        .orderBy('owner_id')
        .orderBy('domain')
        .limit(limit),
    )
    .selectFrom('top')
    .leftJoin('site_health', (join) =>
      join.onRef('site_health.owner_id', '=', 'top.owner_id').onRef('site_health.domain', '=', 'top.domain'),
    )
    .select(['top.owner_id', 'top.domain', 'top.blocks', 'site_health.cooldown_until', 'site_health.recent'])
    .orderBy('top.blocks', 'desc')
    .orderBy('top.owner_id')
    .orderBy('top.domain')
    .execute();
  return rows.map(({ owner_id, domain, blocks, cooldown_until, recent }) => ({
    owner: owner_id,
    domain,
    blocks,
    site: { cooldownUntil: cooldown_until, recent: recent ?? [] },
  }));
}

export async function countCooling(tables: Tables, now: Date): Promise<number> {
  const row = await own(tables)
    .selectFrom('site_health')
    .select((select) => select.fn.countAll<number>().as('cooling'))
    .where('cooldown_until', '>', now)
    .executeTakeFirstOrThrow();
  return row.cooling;
}

/** The time of the oldest of the newest `count` events; null when there are fewer. */
export async function ageOfEvent(tables: Tables, count: number): Promise<Date | null> {
  const row = await own(tables)
    .selectFrom('block_events')
    .select('created_at')
    .orderBy('created_at', 'desc')
    .offset(count - 1)
    .limit(1)
    .executeTakeFirst();
  return row?.created_at ?? null;
}

/** Deletes up to `limit` events before `before`. True when more may be left. */
export async function deleteEvents(tables: Tables, before: Date, limit: number): Promise<boolean> {
  const old = own(tables).selectFrom('block_events').select('event_id').where('created_at', '<', before).limit(limit);
  const { numDeletedRows } = await own(tables).deleteFrom('block_events').where('event_id', 'in', old).executeTakeFirstOrThrow();
  return Number(numDeletedRows) === limit;
}

/** Deletes sites and strategies unused since `before`, and totals of earlier hours. */
export async function deleteUnused(tables: Tables, before: Date): Promise<void> {
  await own(tables).deleteFrom('site_health').where('updated_at', '<', before).execute();
  await own(tables).deleteFrom('site_strategies').where('last_used_at', '<', before).execute();
  await own(tables).deleteFrom('selfheal_hours').where('hour', '<', before).execute();
}

export async function countEvents(tables: Tables, since: Date): Promise<number> {
  const row = await own(tables)
    .selectFrom('block_events')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('created_at', '>=', since)
    .executeTakeFirstOrThrow();
  return row.count;
}

export interface HistoryFilter extends Omit<EventFilter, 'since' | 'after' | 'limit'> {
  by: BlockGroup;
  since: Date;
  intervalSeconds: number;
  /** Groups with a name of their own in the result, those with the most blocks. */
  groupsMax: number;
}

export interface IntervalCount {
  /** null: all groups beyond the largest. */
  name: string | null;
  /** Number of the interval since the epoch. */
  interval: number;
  blocks: number;
  resolved: number;
}

const groupColumns: Record<BlockGroup, RawBuilder<string>> = {
  site: sql<string>`domain`,
  vendor: vendorColumn,
  type: sql<string>`type`,
  owner: sql<string>`owner_id`,
};

/** Blocks by group and interval; intervals without any are absent. */
export async function countIntervals(tables: Tables, filter: HistoryFilter): Promise<IntervalCount[]> {
  const { by, owner, domain, type, vendor, since, intervalSeconds, groupsMax } = filter;
  const conditions = [
    sql`created_at >= ${since}`,
    ...(owner === undefined ? [] : [sql`owner_id = ${owner}`]),
    ...(domain === undefined ? [] : [sql`domain = ${domain}`]),
    ...(type === undefined ? [] : [sql`type = ${type}`]),
    ...(vendor === undefined ? [] : [sql`${vendorColumn} = ${vendor}`]),
  ];
  const { rows } = await sql<IntervalCount>`
    with counted as (
      select ${groupColumns[by]} as name, floor(extract(epoch from created_at) / ${intervalSeconds})::bigint as interval,
        count(*) as blocks, count(*) filter (where details->>'resolvedBy' is not null) as resolved
      from block_events where ${sql.join(conditions, sql` and `)} group by 1, 2
    ), largest as (
      select name from counted group by name order by sum(blocks) desc, name limit ${groupsMax}
    )
    select largest.name, interval, sum(blocks)::bigint as blocks, sum(resolved)::bigint as resolved
    from counted left join largest using (name) group by 1, 2`.execute(own(tables));
  return rows;
}
