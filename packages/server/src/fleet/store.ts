import { sql } from 'kysely';
import type { Tables } from '../store/store.ts';
import type { MachineState } from './machine.ts';

interface FleetTables {
  machines: {
    vm_id: string;
    worker_id: string;
    region: string;
    kind: string;
    state: MachineState | 'failed';
    session_id: string | null;
    created_at: Date;
    ready_at: Date | null;
  };
  workers: { worker_id: string; region: string; url: string; started_at: Date; heartbeat_at: Date };
}

export interface MachineRow {
  vmId: string;
  workerId: string;
  region: string;
  kind: string;
  sessionId: string | null;
  createdAt: Date;
}

/** The anchor: there before the machine's first process. */
export async function insertMachine(tables: Tables, row: MachineRow): Promise<void> {
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
    })
    .execute();
}

/** True where the machine was in `from`: false means that somebody else moved it first. */
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

/** The last thing that goes of a machine. */
export async function deleteMachine(tables: Tables, vmId: string): Promise<void> {
  await tables.tables<FleetTables>().deleteFrom('machines').where('vm_id', '=', vmId).execute();
}

export async function machineIdsOf(tables: Tables, workerId: string): Promise<string[]> {
  const rows = await tables.tables<FleetTables>().selectFrom('machines').select('vm_id').where('worker_id', '=', workerId).execute();
  return rows.map((row) => row.vm_id);
}

export async function beat(tables: Tables, worker: { workerId: string; region: string; url: string; startedAt: Date }): Promise<void> {
  const heartbeat_at = sql<Date>`now()`;
  await tables
    .tables<FleetTables>()
    .insertInto('workers')
    .values({ worker_id: worker.workerId, region: worker.region, url: worker.url, started_at: worker.startedAt, heartbeat_at })
    .onConflict((on) => on.column('worker_id').doUpdateSet({ region: worker.region, url: worker.url, started_at: worker.startedAt, heartbeat_at }))
    .execute();
}

/** Workers whose heart has not beaten for `seconds`, by the database's own clock like the beats themselves, so that nobody's clock need be right. */
export async function silentWorkers(tables: Tables, seconds: number): Promise<string[]> {
  const rows = await tables
    .tables<FleetTables>()
    .selectFrom('workers')
    .select('worker_id')
    .where('heartbeat_at', '<', sql<Date>`now() - make_interval(secs => ${seconds})`)
    .execute();
  return rows.map((row) => row.worker_id);
}

export async function forgetWorker(tables: Tables, workerId: string): Promise<void> {
  await tables.tables<FleetTables>().deleteFrom('workers').where('worker_id', '=', workerId).execute();
}
