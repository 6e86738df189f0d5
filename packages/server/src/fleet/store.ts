import type { PoolKind } from '@berth/contract';
import { sql, type Generated } from 'kysely';
import type { Tables } from '../store/store.ts';

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
  workers: { worker_id: string; region: string; url: string; started_at: Date; heartbeat_at: Date };
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
  /** Its worker has no recent heartbeat. */
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

/** The machines of a region, oldest first. A worker without a heartbeat for `silentSeconds` is lost. */
export async function listMachines(tables: Tables, region: string, silentSeconds: number): Promise<ListedMachine[]> {
  const rows = await tables
    .tables<FleetTables>()
    .selectFrom('machines as m')
    .leftJoin('workers as w', 'w.worker_id', 'm.worker_id')
    .select(['m.vm_id', 'm.worker_id', 'm.kind', 'm.state', 'm.session_id', 'm.created_at', 'm.ready_at', 'm.runtime', 'm.outdated'])
    .select(sql<boolean>`coalesce(w.heartbeat_at < now() - make_interval(secs => ${silentSeconds}), false)`.as('is_lost'))
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
 * Deletes rows of machines whose worker had no heartbeat for `silentSeconds`.
 * A worker that returns finds its machines on its host, not in these rows.
 */
export async function deleteLostMachines(tables: Tables, workerId: string, silentSeconds: number): Promise<void> {
  const limit = sql<Date>`now() - make_interval(secs => ${silentSeconds})`;
  const lost = tables.tables<FleetTables>().selectFrom('workers').select('worker_id').where('heartbeat_at', '<', limit);
  await tables.tables<FleetTables>().deleteFrom('machines').where('worker_id', '!=', workerId).where('worker_id', 'in', lost).execute();
}

export async function upsertHeartbeat(
  tables: Tables,
  worker: { workerId: string; region: string; url: string; startedAt: Date },
): Promise<void> {
  const heartbeat_at = sql<Date>`now()`;
  await tables
    .tables<FleetTables>()
    .insertInto('workers')
    .values({ worker_id: worker.workerId, region: worker.region, url: worker.url, started_at: worker.startedAt, heartbeat_at })
    .onConflict((on) =>
      on.column('worker_id').doUpdateSet({ region: worker.region, url: worker.url, started_at: worker.startedAt, heartbeat_at }),
    )
    .execute();
}

/** Workers without a heartbeat for `seconds`, by the database's clock, which also writes the heartbeats. */
export async function silentWorkers(tables: Tables, seconds: number): Promise<string[]> {
  const rows = await tables
    .tables<FleetTables>()
    .selectFrom('workers')
    .select('worker_id')
    .where('heartbeat_at', '<', sql<Date>`now() - make_interval(secs => ${seconds})`)
    .execute();
  return rows.map((row) => row.worker_id);
}

/** Workers of a region with a heartbeat within `seconds`. */
export async function liveWorkers(tables: Tables, region: string, seconds: number): Promise<string[]> {
  const rows = await tables
    .tables<FleetTables>()
    .selectFrom('workers')
    .select('worker_id')
    .where('region', '=', region)
    .where('heartbeat_at', '>=', sql<Date>`now() - make_interval(secs => ${seconds})`)
    .execute();
  return rows.map((row) => row.worker_id);
}

export async function deleteWorker(tables: Tables, workerId: string): Promise<void> {
  await tables.tables<FleetTables>().deleteFrom('workers').where('worker_id', '=', workerId).execute();
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
