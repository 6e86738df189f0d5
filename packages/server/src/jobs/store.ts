import { sql, type Selectable } from 'kysely';
import type { JobStatus, WorkUsage } from '@berth/contract';
import type { Tables } from '../store/store.ts';
import type { StoredOutcome } from './outcome.ts';
import { noProgress, type JobKind, type JobProgress, type JobRecord } from './job.ts';

interface JobTable {
  job_id: string;
  owner_id: string;
  session_id: string;
  worker_id: string;
  kind: JobKind;
  status: JobStatus;
  subject: Buffer;
  progress: Buffer;
  result: Buffer | null;
  error: Buffer | null;
  usage: WorkUsage | null;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  overdue_at: Date;
  expires_at: Date | null;
  dropped_at: Date | null;
}
interface JobTables {
  jobs: JobTable;
}

const jobs = (tables: Tables) => tables.tables<JobTables>();

const toBytes = (document: JobProgress | JobRecord['subject']): Buffer => Buffer.from(JSON.stringify(document));
const fromBytes = (bytes: Buffer | null): unknown => (bytes ? JSON.parse(bytes.toString('utf8')) : null);

const toRecord = (row: Selectable<JobTable>): JobRecord => ({
  jobId: row.job_id,
  owner: row.owner_id,
  sessionId: row.session_id,
  workerId: row.worker_id,
  kind: row.kind,
  status: row.status,
  subject: fromBytes(row.subject) as JobRecord['subject'],
  progress: fromBytes(row.progress) as JobProgress,
  createdAt: row.created_at,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
  expiresAt: row.expires_at,
  result: fromBytes(row.result) as JobRecord['result'],
  error: fromBytes(row.error) as JobRecord['error'],
  usage: row.usage,
});

/** `overdueAt`: when any worker may end the job. */
export async function insertJob(tables: Tables, record: JobRecord, overdueAt: Date): Promise<void> {
  await jobs(tables)
    .insertInto('jobs')
    .values({
      job_id: record.jobId,
      owner_id: record.owner,
      session_id: record.sessionId,
      worker_id: record.workerId,
      kind: record.kind,
      status: record.status,
      subject: toBytes(record.subject),
      progress: toBytes(record.progress),
      created_at: record.createdAt,
      overdue_at: overdueAt,
    })
    .execute();
}

export async function findJob(tables: Tables, owner: string, jobId: string): Promise<JobRecord | undefined> {
  const row = await jobs(tables)
    .selectFrom('jobs')
    .selectAll()
    .where('job_id', '=', jobId)
    .where('owner_id', '=', owner)
    .executeTakeFirst();
  return row && toRecord(row);
}

/** False when the job has ended. */
export async function markStarted(tables: Tables, jobId: string, startedAt: Date): Promise<boolean> {
  const row = await jobs(tables)
    .updateTable('jobs')
    .set({ started_at: startedAt })
    .where('job_id', '=', jobId)
    .where('status', '=', 'pending')
    .returning('job_id')
    .executeTakeFirst();
  return row !== undefined;
}

export async function writeProgress(tables: Tables, jobId: string, progress: JobProgress): Promise<void> {
  await jobs(tables)
    .updateTable('jobs')
    .set({ progress: toBytes(progress) })
    .where('job_id', '=', jobId)
    .where('status', '=', 'pending')
    .execute();
}

interface FinishOptions extends StoredOutcome {
  finishedAt: Date;
  expiresAt: Date;
  /** Known only to the worker that ran the job. */
  ran?: { startedAt: Date | null; progress: JobProgress };
}

/** One compare-and-set. False when the job had ended before. */
export async function finishJob(tables: Tables, jobId: string, finish: FinishOptions): Promise<boolean> {
  const row = await jobs(tables)
    .updateTable('jobs')
    .set({
      status: finish.status,
      result: finish.result,
      error: finish.error,
      usage: finish.usage,
      finished_at: finish.finishedAt,
      expires_at: finish.expiresAt,
      ...(finish.ran ? { started_at: finish.ran.startedAt, progress: toBytes(finish.ran.progress) } : {}),
    })
    .where('job_id', '=', jobId)
    .where('status', '=', 'pending')
    .returning('job_id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Ids of a worker's pending jobs. */
export async function listPendingJobs(tables: Tables, workerId: string): Promise<string[]> {
  const rows = await jobs(tables)
    .selectFrom('jobs')
    .select('job_id')
    .where('worker_id', '=', workerId)
    .where('status', '=', 'pending')
    .execute();
  return rows.map((row) => row.job_id);
}

/** Up to 10 000 pending jobs of these workers, and overdue ones of any. */
export async function listStrandedJobs(tables: Tables, workerIds: string[], now: Date): Promise<string[]> {
  const rows = await jobs(tables)
    .selectFrom('jobs')
    .select('job_id')
    .where('status', '=', 'pending')
    .where((where) => where.or([where('worker_id', '=', sql<string>`any(${workerIds})`), where('overdue_at', '<', now)]))
    .limit(10_000)
    .execute();
  return rows.map((row) => row.job_id);
}

/** Drops an owner's oldest results until the others take at most `bytes`. */
export async function trimResults(tables: Tables, owner: string, { bytes, now }: { bytes: number; now: Date }): Promise<void> {
  const sized = jobs(tables)
    .selectFrom('jobs')
    .select(['job_id', sql<number>`sum(octet_length(result)) over (order by finished_at desc, job_id)`.as('total')])
    .where('owner_id', '=', owner)
    .where('result', 'is not', null)
    .as('sized');
  await jobs(tables)
    .updateTable('jobs')
    .from(sized)
    .set({ result: null, error: null, usage: null, progress: toBytes(noProgress), expires_at: now, dropped_at: now })
    .whereRef('jobs.job_id', '=', 'sized.job_id')
    .where('sized.total', '>', bytes)
    .execute();
}

/** Drops up to `limit` results that expired by `now`. Returns how many. */
export async function dropResults(tables: Tables, now: Date, limit: number): Promise<number> {
  const expired = jobs(tables)
    .selectFrom('jobs')
    .select('job_id')
    .where('expires_at', '<=', now)
    .where('dropped_at', 'is', null)
    .limit(limit);
  const rows = await jobs(tables)
    .updateTable('jobs')
    .set({ result: null, error: null, usage: null, progress: toBytes(noProgress), dropped_at: now })
    .where('job_id', 'in', expired)
    .returning('job_id')
    .execute();
  return rows.length;
}

/** Deletes up to `limit` jobs whose result was dropped before `before`. Returns how many. */
export async function deleteDropped(tables: Tables, before: Date, limit: number): Promise<number> {
  const old = jobs(tables).selectFrom('jobs').select('job_id').where('dropped_at', '<', before).limit(limit);
  const rows = await jobs(tables).deleteFrom('jobs').where('job_id', 'in', old).returning('job_id').execute();
  return rows.length;
}
