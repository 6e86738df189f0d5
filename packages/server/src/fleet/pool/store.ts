import type { PoolKind, WorkerState } from '@berth/contract';
import { sql, type Generated } from 'kysely';
import type { Tables } from '../../store/store.ts';
import type { SeenLease } from './lease/lease-view.ts';

/**
 *   warming ──► ready ──► assigned ──► draining ──► (ended)
 *      └──────────┴───────────────────────▲
 *
 * A machine that was booted for a waiting session goes from `warming` to
 * `assigned`. A used machine is never reused.
 */
export type MachineState = 'warming' | 'ready' | 'assigned' | 'draining';

interface FleetTables {
  machines: {
    vm_id: string;
    worker_id: string;
    region: string;
    kind: string;
    state: MachineState;
    session_id: string | null;
    created_at: Date;
    ready_at: Date | null;
    runtime: string | null;
    outdated: Generated<boolean>;
  };
  workers: {
    worker_id: string;
    region: string;
    url: string;
    started_at: Date;
    heartbeat_at: Date;
    fleet_address: string | null;
    lease_epoch: Generated<number>;
    lease_ms: Generated<number>;
    lease_holder: string | null;
    data_folder: string | null;
    lost_heartbeat: Date | null;
    version: string;
    kinds: string[];
    state: Generated<WorkerState>;
    drain_until: Generated<Date | null>;
    stopping: Generated<boolean>;
    registry_version: string | null;
    sessions: number;
    sessions_max: number;
    machines_left: number | null;
    admitting: boolean;
    processors_busy: boolean;
    warm: Record<PoolKind, number>;
    reserved_now: Generated<number>;
    reserved_before: Generated<number>;
  };
  lost_workers: { worker_id: string };
  pool_targets: { region: string; kind: PoolKind; target: number; updated_at: Date; updated_by: string };
}

interface MachineRecord {
  vmId: string;
  workerId: string;
  region: string;
  kind: string;
  sessionId: string | null;
  createdAt: Date;
  runtime: string;
}

/** A machine as its worker stored it last. */
export interface ListedMachine {
  vmId: string;
  workerId: string;
  kind: string;
  state: MachineState;
  sessionId: string | null;
  createdAt: Date;
  readyAt: Date | null;
  runtime: string | null;
  outdated: boolean;
  /** Whether its worker is lost. */
  isLost: boolean;
}

/** A target that an operator set. */
interface TargetRecord {
  kind: PoolKind;
  target: number;
  updatedAt: Date;
  updatedBy: string;
}

/** Inserted before the machine's first process starts. */
export async function insertMachine(tables: Tables, row: MachineRecord): Promise<void> {
  await tables
    .tables<FleetTables>()
    .insertInto('machines')
    .values({
      vm_id: row.vmId,
      worker_id: row.workerId,
      region: row.region,
      kind: row.kind,
      state: 'warming',
      session_id: row.sessionId,
      created_at: row.createdAt,
      ready_at: null,
      runtime: row.runtime,
    })
    .execute();
}

/** One compare-and-set. False when the machine was in none of the `from` states. */
export async function moveMachine(
  tables: Tables,
  vmId: string,
  move: { from: MachineState[]; to: MachineState; sessionId?: string; readyAt?: Date },
): Promise<boolean> {
  const row = await tables
    .tables<FleetTables>()
    .updateTable('machines')
    .set({
      state: move.to,
      ...(move.sessionId === undefined ? {} : { session_id: move.sessionId }),
      ...(move.readyAt === undefined ? {} : { ready_at: move.readyAt }),
    })
    .where('vm_id', '=', vmId)
    .where('state', 'in', move.from)
    .returning('vm_id')
    .executeTakeFirst();
  return row !== undefined;
}

export async function markOutdated(tables: Tables, vmIds: readonly string[], outdated: boolean): Promise<void> {
  if (vmIds.length === 0) return;
  await tables.tables<FleetTables>().updateTable('machines').set({ outdated }).where('vm_id', 'in', vmIds).execute();
}

export async function deleteMachine(tables: Tables, vmId: string): Promise<void> {
  await tables.tables<FleetTables>().deleteFrom('machines').where('vm_id', '=', vmId).execute();
}

export async function listMachineIds(tables: Tables, workerId: string): Promise<string[]> {
  const rows = await tables.tables<FleetTables>().selectFrom('machines').select('vm_id').where('worker_id', '=', workerId).execute();
  return rows.map((row) => row.vm_id);
}

/** The machines of a region, oldest first. */
export async function listMachines(tables: Tables, region: string): Promise<ListedMachine[]> {
  const rows = await tables
    .tables<FleetTables>()
    .selectFrom('machines as m')
    .leftJoin('lost_workers as lost', 'lost.worker_id', 'm.worker_id')
    .select(['m.vm_id', 'm.worker_id', 'm.kind', 'm.state', 'm.session_id', 'm.created_at', 'm.ready_at', 'm.runtime', 'm.outdated'])
    .select(sql<boolean>`lost.worker_id is not null`.as('is_lost'))
    .where('m.region', '=', region)
    .orderBy('m.created_at')
    .orderBy('m.vm_id')
    .execute();
  return rows.map((row) => ({
    vmId: row.vm_id,
    workerId: row.worker_id,
    kind: row.kind,
    state: row.state,
    sessionId: row.session_id,
    createdAt: row.created_at,
    readyAt: row.ready_at,
    runtime: row.runtime,
    outdated: row.outdated,
    isLost: row.is_lost,
  }));
}

/**
 * Deletes rows of machines whose worker was lost after a heartbeat that is older than this.
 * A worker that returns finds its machines on its host, not in these rows.
 */
export async function deleteLostMachines(tables: Tables, workerId: string, afterSeconds: number): Promise<void> {
  const limit = sql<Date>`now() - make_interval(secs => ${afterSeconds})`;
  const old = tables.tables<FleetTables>().selectFrom('workers').select('worker_id').where('heartbeat_at', '<', limit);
  const lost = tables.tables<FleetTables>().selectFrom('lost_workers').select('worker_id').where('worker_id', 'in', old);
  await tables.tables<FleetTables>().deleteFrom('machines').where('worker_id', '!=', workerId).where('worker_id', 'in', lost).execute();
}

/** What a worker reports with its heartbeat. */
export interface WorkerReport {
  workerId: string;
  region: string;
  url: string;
  /** `host:port` of its internal listener; null: it has none. */
  fleetAddress: string | null;
  startedAt: Date;
  version: string;
  /** Kinds of machines that it can start. */
  kinds: readonly PoolKind[];
  /** Sessions that it runs or starts, machines of fetches included. */
  sessions: number;
  sessionsMax: number;
  machinesLeft: number | null;
  admitting: boolean;
  processorsBusy: boolean;
  warm: Record<PoolKind, number>;
  /** Whether it is about to stop. */
  isStopping: boolean;
  /** Version of its file of regions. */
  registryVersion: string;
}

/** What a heartbeat reads back. */
export interface HeartbeatReply {
  /** The operator's decision about this worker. */
  state: WorkerState;
  /** Seconds until a draining worker's sessions are ended; null: they may go on. Computed by the database: no clock is compared. */
  drainSecondsLeft: number | null;
  /** Whether another worker shares the database. */
  hasPeers: boolean;
}

/** The other workers that have an internal listener. */
export async function listPeers(tables: Tables, workerId: string): Promise<{ workerId: string; address: string; isSilent: boolean }[]> {
  const rows = await tables
    .tables<FleetTables>()
    .selectFrom('workers')
    .select(['worker_id', 'fleet_address'])
    .select(sql<boolean>`coalesce(heartbeat_at = lost_heartbeat, false)`.as('is_silent'))
    .where('worker_id', '!=', workerId)
    .where('fleet_address', 'is not', null)
    .execute();
  return rows.map((row) => ({ workerId: row.worker_id, address: row.fleet_address ?? '', isSilent: row.is_silent }));
}

/** Workers of a region that are not lost and take new work. */
export async function liveWorkers(tables: Tables, region: string): Promise<string[]> {
  const rows = await tables
    .tables<FleetTables>()
    .selectFrom('workers')
    .select('worker_id')
    .where('region', '=', region)
    .where('state', '=', 'active')
    .where('stopping', '=', false)
    .where('heartbeat_at', 'is distinct from', sql<Date>`lost_heartbeat`)
    .execute();
  return rows.map((row) => row.worker_id);
}

export async function readTargets(tables: Tables, region: string): Promise<TargetRecord[]> {
  const rows = await tables.tables<FleetTables>().selectFrom('pool_targets').selectAll().where('region', '=', region).execute();
  return rows.map((row) => ({ kind: row.kind, target: row.target, updatedAt: row.updated_at, updatedBy: row.updated_by }));
}

export async function writeTarget(tables: Tables, region: string, { kind, target, updatedAt, updatedBy }: TargetRecord): Promise<void> {
  const values = { target, updated_at: updatedAt, updated_by: updatedBy };
  await tables
    .tables<FleetTables>()
    .insertInto('pool_targets')
    .values({ region, kind, ...values })
    .onConflict((on) => on.columns(['region', 'kind']).doUpdateSet(values))
    .execute();
}

export interface WorkerRecord {
  workerId: string;
  region: string;
  url: string;
  startedAt: Date;
  heartbeatAt: Date;
  /** It is not lost. */
  isAlive: boolean;
}

/** The workers of all regions. */
export async function listWorkers(tables: Tables): Promise<WorkerRecord[]> {
  const rows = await tables
    .tables<FleetTables>()
    .selectFrom('workers')
    .selectAll()
    .select(sql<boolean>`heartbeat_at is distinct from lost_heartbeat`.as('is_alive'))
    .orderBy('region')
    .orderBy('worker_id')
    .execute();
  return rows.map((row) => ({
    workerId: row.worker_id,
    region: row.region,
    url: row.url,
    startedAt: row.started_at,
    heartbeatAt: row.heartbeat_at,
    isAlive: row.is_alive,
  }));
}

/** Machines of a region that other workers run, by state. Those of lost workers have failed. */
export async function countOtherMachines(
  tables: Tables,
  { region, workerId }: { region: string; workerId: string },
): Promise<{ state: MachineState | 'failed'; count: number }[]> {
  return tables
    .tables<FleetTables>()
    .selectFrom('machines as m')
    .leftJoin('lost_workers as lost', 'lost.worker_id', 'm.worker_id')
    .select(sql<MachineState | 'failed'>`case when lost.worker_id is not null then 'failed' else m.state end`.as('state'))
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('m.region', '=', region)
    .where('m.worker_id', '!=', workerId)
    .groupBy(sql`1`)
    .execute();
}

/* The leases of workers: each statement that changes one compares what it replaces. */

/** A worker watches this many others, the next by id: each is watched by as many, and a heartbeat costs the same in any fleet. */
export const watchedMax = 8;

/** What a worker writes about itself. */
export interface LeaseHolder extends WorkerReport {
  /** Identifies the process. */
  holder: string;
  /** Identifies host and data folder; null where the database is in it. */
  dataFolder: string | null;
  leaseMs: number;
}

/** A worker's row as its next holder finds it. */
export interface StoredLease extends SeenLease {
  holder: string | null;
  dataFolder: string | null;
  url: string;
  isLost: boolean;
}

interface LeaseRow {
  worker_id: string;
  epoch: number;
  beat: string;
  lease_ms: number;
}

const beatOf = sql<string>`extract(epoch from heartbeat_at)::text`;
const live = sql`heartbeat_at is distinct from lost_heartbeat`;

export async function readLease(tables: Tables, workerId: string): Promise<StoredLease | undefined> {
  const { rows } = await sql<LeaseRow & { lease_holder: string | null; data_folder: string | null; url: string; is_live: boolean }>`
    select worker_id, lease_epoch as epoch, ${beatOf} as beat, lease_ms, lease_holder, data_folder, url, ${live} as is_live
    from workers where worker_id = ${workerId}`.execute(tables.tables());
  const [row] = rows;
  return row && { ...toLease(row), holder: row.lease_holder, dataFolder: row.data_folder, url: row.url, isLost: !row.is_live };
}

const toColumns = (own: LeaseHolder) => ({
  region: own.region,
  url: own.url,
  fleet_address: own.fleetAddress,
  started_at: own.startedAt,
  version: own.version,
  kinds: [...own.kinds],
  sessions: own.sessions,
  sessions_max: own.sessionsMax,
  machines_left: own.machinesLeft,
  admitting: own.admitting,
  processors_busy: own.processorsBusy,
  warm: own.warm,
  stopping: own.isStopping,
  registry_version: own.registryVersion,
  heartbeat_at: sql<Date>`clock_timestamp()`,
  lease_ms: own.leaseMs,
  lease_holder: own.holder,
  data_folder: own.dataFolder,
  lost_heartbeat: null,
});

/** Takes a worker's own lease: a new row, or the next epoch of the stored one. Returns the epoch; null when another process was faster. */
export async function holdLease(tables: Tables, own: LeaseHolder, stored: StoredLease | undefined): Promise<number | null> {
  const db = tables.tables<FleetTables>();
  const row = stored
    ? await db
        .updateTable('workers')
        .set({ ...toColumns(own), lease_epoch: stored.epoch + 1 })
        .where('worker_id', '=', own.workerId)
        .where('lease_epoch', '=', stored.epoch)
        .where(beatOf, '=', stored.beat)
        .returning('lease_epoch')
        .executeTakeFirst()
    : await db
        .insertInto('workers')
        .values({ worker_id: own.workerId, ...toColumns(own), lease_epoch: 1 })
        .onConflict((on) => on.doNothing())
        .returning('lease_epoch')
        .executeTakeFirst();
  return row?.lease_epoch ?? null;
}

/** The answer to a heartbeat. */
export interface Beat {
  /** What the operator decided; null where the lease is no longer held: the epoch and the process are not those of the row. */
  reply: HeartbeatReply | null;
  /** Other live workers, as many as one watches. */
  others: SeenLease[];
  /** The version of the file of regions of each of them; null where it does not say. */
  registryVersions: Map<string, string | null>;
  /** The database's clock. */
  databaseNow: Date;
}

/**
 * One statement writes the heartbeat with the report, and reads the operator's decision and the heartbeats of the
 * watched workers. What was reserved before the last heartbeat is in the report by now, or was not used.
 */
export async function writeBeat(tables: Tables, own: LeaseHolder, epoch: number): Promise<Beat> {
  const { workerId, holder } = own;
  const beat = tables
    .tables<FleetTables>()
    .updateTable('workers')
    .set({ ...toColumns(own), reserved_before: sql<number>`reserved_now`, reserved_now: 0 })
    .where('worker_id', '=', workerId)
    .where('lease_epoch', '=', epoch)
    .where('lease_holder', '=', holder)
    .returning(['state', sql<number | null>`extract(epoch from drain_until - now())::float8`.as('left')]);
  const columns = sql`worker_id, lease_epoch as epoch, ${beatOf} as beat, lease_ms, registry_version`;
  const { rows } = await sql<{
    state: WorkerState | null;
    left: number | null;
    others: (LeaseRow & { registry_version: string | null })[] | null;
    now: Date;
  }>`
    with beat as (${beat}), others as (
      (select ${columns} from workers where worker_id > ${workerId} and ${live} order by worker_id limit ${watchedMax})
      union all (select ${columns} from workers where worker_id < ${workerId} and ${live} order by worker_id limit ${watchedMax})
    )
    select beat.state, beat.left, clock_timestamp() as now, (select json_agg(others) from others) as others
    from (values (1)) as one left join beat on true`.execute(tables.tables());
  const row = rows[0];
  if (!row) throw new Error('a left join of one row has one row');
  const watched = (row.others ?? []).slice(0, watchedMax);
  const others = watched.map(toLease);
  const registryVersions = new Map(watched.map((each) => [each.worker_id, each.registry_version]));
  const reply = row.state && { state: row.state, drainSecondsLeft: row.left, hasPeers: others.length > 0 };
  return { reply, others, registryVersions, databaseNow: row.now };
}

/** Takes the lease of a silent worker. False when it has written a heartbeat, or another worker was faster. */
export async function takeLease(tables: Tables, { workerId, epoch, beat }: SeenLease): Promise<boolean> {
  const { rows } = await sql`
    update workers set lease_epoch = lease_epoch + 1, lost_heartbeat = heartbeat_at
    where worker_id = ${workerId} and lease_epoch = ${epoch} and ${beatOf} = ${beat} and ${live} returning worker_id`.execute(
    tables.tables(),
  );
  return rows.length > 0;
}

/** Deletes the row of a worker that stops, unless its lease was taken. */
export async function dropLease(tables: Tables, workerId: string, epoch: number): Promise<void> {
  await sql`delete from workers where worker_id = ${workerId} and lease_epoch = ${epoch}`.execute(tables.tables());
}

/** Ids of workers whose lease was taken and who have not come back. */
export async function lostWorkers(tables: Tables): Promise<string[]> {
  const { rows } = await sql<{ worker_id: string }>`select worker_id from lost_workers`.execute(tables.tables());
  return rows.map((row) => row.worker_id);
}

/** Forgets workers that were lost long ago. Nothing is left of them but what names them. */
export async function deleteForgottenWorkers(tables: Tables, afterSeconds: number): Promise<void> {
  await sql`delete from workers where lost_heartbeat = heartbeat_at and heartbeat_at < now() - make_interval(secs => ${afterSeconds})`.execute(
    tables.tables(),
  );
}

const toLease = ({ worker_id: workerId, epoch, beat, lease_ms: leaseMs }: LeaseRow): SeenLease => ({ workerId, epoch, beat, leaseMs });
