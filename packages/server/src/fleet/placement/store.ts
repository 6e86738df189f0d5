import { sql } from 'kysely';
import type { WorkerState } from '@berth/contract';
import type { Tables } from '../../store/store.ts';
import type { Room } from './rank.ts';

/** The workers' rows, which their heartbeats write. */
interface PlacementTables {
  workers: {
    worker_id: string;
    region: string;
    url: string;
    version: string;
    started_at: Date;
    heartbeat_at: Date;
    kinds: string[];
    state: WorkerState;
    state_by: string | null;
    drain_until: Date | null;
    fleet_address: string | null;
    stopping: boolean;
    sessions: number;
    sessions_max: number;
    machines_left: number | null;
    admitting: boolean;
    processors_busy: boolean;
    warm: Record<string, number>;
    reserved_now: number;
    reserved_before: number;
  };
}

const isAlive = (silentSeconds: number) =>
  sql<boolean>`heartbeat_at >= now() - make_interval(secs => ${silentSeconds}) and heartbeat_at is distinct from lost_heartbeat`;
const reserved = sql<number>`reserved_now + reserved_before`;
const withoutDisk = sql<string | null>`case when current_setting('synchronous_commit') = 'on'
  then set_config('synchronous_commit', 'off', true) end`;

/** What a worker's row says of its room. */
type ReportedRoom = Omit<Room, 'takesWork'>;

const roomColumns = [
  'worker_id',
  'region',
  'kinds',
  'sessions',
  'sessions_max',
  'machines_left',
  'admitting',
  'processors_busy',
  'warm',
] as const;

const toRoom = (row: Pick<PlacementTables['workers'], (typeof roomColumns)[number]> & { reserved: number }): ReportedRoom => ({
  workerId: row.worker_id,
  region: row.region,
  kinds: row.kinds,
  sessions: row.sessions,
  sessionsMax: row.sessions_max,
  reserved: row.reserved,
  machinesLeft: row.machines_left,
  isAdmitting: row.admitting,
  isBusy: row.processors_busy,
  warm: row.warm,
});

/** The workers of a region that live and take new work. */
export async function listRooms(tables: Tables, region: string, silentSeconds: number): Promise<Room[]> {
  const rows = await tables
    .tables<PlacementTables>()
    .selectFrom('workers')
    .select(roomColumns)
    .select(reserved.as('reserved'))
    .where('region', '=', region)
    .where('state', '=', 'active')
    .where('stopping', '=', false)
    .where(isAlive(silentSeconds))
    .execute();
  return rows.map((row) => ({ ...toRoom(row), takesWork: true }));
}

/**
 * Reserves room for one session on the first of these workers that has some, by its row as it is now, and returns its
 * id. The reservation lasts until the worker's next heartbeat but one. One statement, so that no lock outlives it.
 *
 * A row that another placement is reserving in is skipped, unless `wait`: then of one worker only, because a row that
 * turns out to be full stays locked while the next is waited for.
 *
 * The commit does not wait for the disk: a crash of the database forgets what its end is near anyway, and the worker's
 * own limit decides. The setting ends with the statement, which is its own transaction. A stricter one is kept.
 */
export async function reserveRoom(
  tables: Tables,
  workerIds: readonly string[],
  { silentSeconds, wait }: { silentSeconds: number; wait: boolean },
): Promise<string | undefined> {
  const skip = wait ? sql`` : sql`skip locked`;
  const first = sql<string>`(
    select w.worker_id from workers w join unnest(${[...workerIds]}::text[]) with ordinality as c (worker_id, rank) using (worker_id)
    where w.state = 'active' and not w.stopping and w.admitting and w.${isAlive(silentSeconds)}
      and w.reserved_now + w.reserved_before < least(w.sessions_max - w.sessions, w.machines_left)
    order by c.rank limit 1 for update of w ${skip})`;
  const row = await tables
    .tables<PlacementTables>()
    .updateTable('workers')
    .set({ reserved_now: sql<number>`reserved_now + 1` })
    .where('worker_id', '=', first)
    .returning(['worker_id', withoutDisk.as('commit')])
    .executeTakeFirst();
  return row?.worker_id;
}

/** Whatever room it has: for sessions that were placed already. */
export async function addReserved(tables: Tables, workerId: string, count: number): Promise<void> {
  await tables
    .tables<PlacementTables>()
    .updateTable('workers')
    .set({ reserved_now: sql<number>`reserved_now + ${count}` })
    .where('worker_id', '=', workerId)
    .returning(withoutDisk.as('commit'))
    .execute();
}

/** A worker as it reported last, and what its operator decided. */
export interface WorkerRow extends ReportedRoom {
  url: string;
  version: string;
  startedAt: Date;
  heartbeatAt: Date;
  isAlive: boolean;
  state: WorkerState;
  stateBy: string | null;
  drainUntil: Date | null;
  /** Others pass requests to it. */
  hasListener: boolean;
  /** Number of owners that are pinned to it. */
  pinnedOwners: number;
}

const listed = (tables: Tables, silentSeconds: number) =>
  tables
    .tables<PlacementTables>()
    .selectFrom('workers')
    .selectAll()
    .select(isAlive(silentSeconds).as('is_alive'))
    .select(reserved.as('reserved'))
    .select(sql<number>`(select count(*)::int from owners where pinned_worker_id = workers.worker_id)`.as('pinned_owners'));

type ListedRow = Awaited<ReturnType<ReturnType<typeof listed>['executeTakeFirstOrThrow']>>;

/** The workers of all regions. */
export async function listWorkers(tables: Tables, silentSeconds: number): Promise<WorkerRow[]> {
  const rows = await listed(tables, silentSeconds).orderBy('region').orderBy('worker_id').execute();
  return rows.map(toWorker);
}

export async function findWorker(tables: Tables, workerId: string, silentSeconds: number): Promise<WorkerRow | undefined> {
  const row = await listed(tables, silentSeconds).where('worker_id', '=', workerId).executeTakeFirst();
  return row && toWorker(row);
}

const toWorker = (row: ListedRow): WorkerRow => ({
  ...toRoom(row),
  url: row.url,
  version: row.version,
  startedAt: row.started_at,
  heartbeatAt: row.heartbeat_at,
  isAlive: row.is_alive,
  // One that stops does what a drained one does, but that nobody decided it.
  state: row.stopping ? 'draining' : row.state,
  stateBy: row.state_by,
  drainUntil: row.drain_until,
  hasListener: row.fleet_address !== null,
  pinnedOwners: row.pinned_owners,
});

export interface StateChange {
  state: WorkerState;
  /** Seconds from now on by the database's clock; null: without a limit. */
  drainSeconds: number | null;
  /** Who decided. */
  actor: string;
}

/** False for an unknown worker. */
export async function writeState(tables: Tables, workerId: string, { state, drainSeconds, actor }: StateChange): Promise<boolean> {
  const until = drainSeconds === null ? null : sql<Date>`now() + make_interval(secs => ${drainSeconds})`;
  const { numUpdatedRows } = await tables
    .tables<PlacementTables>()
    .updateTable('workers')
    .set({ state, state_by: actor, drain_until: until })
    .where('worker_id', '=', workerId)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
