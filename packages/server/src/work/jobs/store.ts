import { sql, type Generated, type Selectable } from 'kysely';
import type { JobStatus, WorkUsage } from '@berth/contract';
import type { Tables } from '../../store/store.ts';
import { outlineOf, type JobOutline, type StoredOutcome } from './outcome.ts';
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
  result_bytes: number | null;
  error: Buffer | null;
  usage: WorkUsage | null;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  overdue_at: Date;
  expires_at: Date | null;
  dropped_at: Date | null;
  request: Buffer | null;
  attempts: Generated<number>;
  offered_at: Date | null;
  offer_rank: Generated<number>;
  touched_at: Date | null;
  queue_ms_max: number | null;
  released_at: Date | null;
  outline: Buffer | null;
}
/** States of a job as the overview counts them. */
export type JobState = Exclude<JobStatus, 'pending'> | 'queued' | 'running';

interface JobTables {
  jobs: JobTable;
}

const jobs = (tables: Tables) => tables.tables<JobTables>();

const toBytes = (document: JobProgress | JobOutline | JobRecord['subject']): Buffer => Buffer.from(JSON.stringify(document));
const fromBytes = (bytes: Buffer | null): unknown => (bytes ? JSON.parse(bytes.toString('utf8')) : null);

/** Columns of a job without what may be large. */
const smallColumns = [
  ...(['job_id', 'owner_id', 'session_id', 'worker_id', 'kind', 'status', 'subject', 'progress', 'usage'] as const),
  ...(['created_at', 'started_at', 'finished_at', 'expires_at'] as const),
] as const;
/** Columns of a job without its request, which is large and of use only to who runs the job. */
const recordColumns = [...smallColumns, 'result', 'error'] as const;

/** Converts a row without its result, which may have megabytes. */
const toRecord = (row: Pick<Selectable<JobTable>, (typeof smallColumns)[number] | 'error'>): JobRecord => ({
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
  result: null,
  error: fromBytes(row.error) as JobRecord['error'],
  usage: row.usage,
});

/** `overdueAt`: when any worker may end the job. `queueMsMax`: how long it may wait. `request`: sealed; null when only its worker can run it. */
export async function insertJob(
  tables: Tables,
  record: JobRecord,
  { overdueAt, queueMsMax, request }: { overdueAt: Date; queueMsMax: number; request: Buffer | null },
): Promise<void> {
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
      queue_ms_max: queueMsMax,
      ...(request ? { request } : {}),
    })
    .execute();
}

export async function findJob(
  tables: Tables,
  owner: string,
  jobId: string,
): Promise<{ record: JobRecord; result: Buffer | null; hasLargeResult: boolean } | undefined> {
  const row = await jobs(tables)
    .selectFrom('jobs')
    .select([...recordColumns, 'result_bytes'])
    .where('job_id', '=', jobId)
    .where('owner_id', '=', owner)
    .executeTakeFirst();
  return row && { record: toRecord(row), result: row.result, hasLargeResult: row.result_bytes !== null };
}

export interface JobFilter {
  owner: string;
  kind?: JobKind | undefined;
  statuses?: JobStatus[] | undefined;
  /** Created at that time or later. */
  since?: Date | undefined;
  /** Created before. */
  until?: Date | undefined;
  /** The last job of the page before. */
  after?: { createdAt: Date; jobId: string } | undefined;
  limit: number;
}

/** A job without its result. `outline` is null while it is pending and when its result is dropped. */
export type ListedJob = JobRecord & { outline: JobOutline | null; isDropped: boolean };

/** Newest first. */
export async function listJobs(tables: Tables, filter: JobFilter): Promise<ListedJob[]> {
  const { owner, kind, statuses, since, until, after, limit } = filter;
  // Versions before wrote no outline. The details of an error may be long.
  const error = sql<Buffer | null>`case when outline is null then error end`.as('error');
  let query = jobs(tables)
    .selectFrom('jobs')
    .select([...smallColumns, 'outline', 'dropped_at', error])
    .where('owner_id', '=', owner);
  if (kind) query = query.where('kind', '=', kind);
  if (statuses) query = query.where('status', 'in', statuses);
  if (since) query = query.where('created_at', '>=', since);
  if (until) query = query.where('created_at', '<', until);
  if (after) query = query.where(sql<boolean>`(created_at, job_id) < (${after.createdAt}, ${after.jobId})`);
  const rows = await query.orderBy('created_at', 'desc').orderBy('job_id', 'desc').limit(limit).execute();
  return rows.map((row) => {
    const record = toRecord(row);
    const written = fromBytes(row.outline) as JobOutline | null;
    const outline = written ?? (record.error && outlineOf(record));
    return { ...record, outline, isDropped: row.dropped_at !== null };
  });
}

interface Start {
  jobId: string;
  workerId: string;
  startedAt: Date;
}

/** False when the job has ended, or another worker has it. */
export async function markStarted(tables: Tables, { jobId, workerId, startedAt }: Start): Promise<boolean> {
  const row = await jobs(tables)
    .updateTable('jobs')
    .set({ started_at: startedAt, attempts: sql<number>`attempts + 1` })
    .where('job_id', '=', jobId)
    .where('worker_id', '=', workerId)
    .where('status', '=', 'pending')
    .returning('job_id')
    .executeTakeFirst();
  return row !== undefined;
}

/** A job is lost with its third worker: it may be what they died of. */
const attemptsMax = 3;

/** Takes the first job that waits at another worker, or at none, and starts it. Undefined when none does. `attempt`: which run this is. */
export async function claimJob(
  tables: Tables,
  { workerId, startedAt }: Omit<Start, 'jobId'>,
): Promise<{ record: JobRecord; request: Buffer; attempt: number } | undefined> {
  const next = jobs(tables)
    .selectFrom('jobs')
    .select('job_id')
    .where('status', '=', 'pending')
    .where('started_at', 'is', null)
    .where('offered_at', 'is not', null)
    .where('request', 'is not', null)
    .where('worker_id', '<>', workerId)
    .orderBy('offer_rank')
    .orderBy('offered_at')
    .orderBy('created_at')
    .limit(1)
    .forUpdate()
    // Several workers ask at once.
    .skipLocked();
  const row = await jobs(tables)
    .updateTable('jobs')
    .set({ worker_id: workerId, started_at: startedAt, attempts: sql<number>`attempts + 1` })
    .where('job_id', '=', next)
    .returning([...recordColumns, 'request', 'attempts'])
    .executeTakeFirst();
  return row?.request ? { record: toRecord(row), request: row.request, attempt: row.attempts } : undefined;
}

/**
 * Marks that a job is about to change a page, or to be charged. False when it is not this run's any more: the worker may
 * have lost the job and claimed it again since. `attempt`: of a claimed job; null: of one that its worker accepted.
 */
export async function markTouched(
  tables: Tables,
  { jobId, workerId, attempt, at }: { jobId: string; workerId: string; attempt: number | null; at: Date },
): Promise<boolean> {
  const row = await jobs(tables)
    .updateTable('jobs')
    .set({ touched_at: sql<Date>`coalesce(touched_at, ${at})` })
    .where('job_id', '=', jobId)
    .where('worker_id', '=', workerId)
    .where((row) => (attempt === null ? row('released_at', 'is', null) : row('attempts', '=', attempt)))
    .returning('job_id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Notified when jobs are offered. */
export const offersChannel = 'berth_jobs';

export async function notifyOfOffers(tables: Tables): Promise<void> {
  await sql`select pg_notify(${offersChannel}, '')`.execute(tables.tables());
}

/** An offer of a job: those with the smallest rank are taken first. */
export interface JobOffer {
  jobId: string;
  rank: number;
}

/** Lets other workers start jobs that wait on this one. */
export async function offerJobs(
  tables: Tables,
  offers: readonly JobOffer[],
  { workerId, at }: { workerId: string; at: Date },
): Promise<void> {
  const [ids, ranks] = [offers.map(({ jobId }) => jobId), offers.map(({ rank }) => rank)];
  const offer = sql<{ job_id: string; rank: number }>`unnest(${ids}::text[], ${ranks}::integer[])`;
  await jobs(tables)
    .updateTable('jobs')
    .from(offer.as<'offer'>(sql`offer (job_id, rank)`))
    .set((row) => ({ offered_at: at, offer_rank: row.ref('offer.rank') }))
    .whereRef('jobs.job_id', '=', 'offer.job_id')
    .where('worker_id', '=', workerId)
    .where('status', '=', 'pending')
    .where('started_at', 'is', null)
    .where('request', 'is not', null)
    .execute();
}

/** Leaves jobs of these workers to any other, before those that wait: those that can be described and have touched nothing. Returns which. */
export async function releaseJobs(
  tables: Tables,
  jobIds: string[],
  { workerIds, at }: { workerIds: string[]; at: Date },
): Promise<string[]> {
  const rows = await jobs(tables)
    .updateTable('jobs')
    .set({ worker_id: '', started_at: null, offered_at: at, offer_rank: 0, released_at: at, progress: toBytes(noProgress) })
    .where('job_id', '=', sql<string>`any(${jobIds})`)
    .where('worker_id', '=', sql<string>`any(${workerIds})`)
    .where('status', '=', 'pending')
    .where('request', 'is not', null)
    .where('touched_at', 'is', null)
    .where('attempts', '<', attemptsMax)
    .where('overdue_at', '>', at)
    .returning('job_id')
    .execute();
  return rows.map((row) => row.job_id);
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
  /** Whose job it must be; absent: anybody's. */
  workerId?: string | undefined;
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
      result_bytes: finish.largeResultBytes ?? null,
      error: finish.error,
      usage: finish.usage,
      outline: toBytes(finish.outline),
      finished_at: finish.finishedAt,
      expires_at: finish.expiresAt,
      request: null,
      ...(finish.ran ? { started_at: finish.ran.startedAt, progress: toBytes(finish.ran.progress) } : {}),
    })
    .where('job_id', '=', jobId)
    .where('status', '=', 'pending')
    .$if(finish.workerId !== undefined, (query) => query.where('worker_id', '=', finish.workerId ?? ''))
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

/** Up to a thousand jobs that were left by their worker, and have waited for as long as they may: since they came, or since they ran. */
export async function listUntakenJobs(tables: Tables, now: Date): Promise<string[]> {
  const rows = await jobs(tables)
    .selectFrom('jobs')
    .select('job_id')
    .where('status', '=', 'pending')
    .where('worker_id', '=', '')
    .where('started_at', 'is', null)
    .where(sql<Date>`case when attempts = 0 then created_at else released_at end + queue_ms_max * interval '1 millisecond'`, '<', now)
    .limit(1000)
    .execute();
  return rows.map((row) => row.job_id);
}

/** Drops an owner's oldest results until the others take at most `bytes`. Returns the jobs whose results were in object storage. */
export async function trimResults(tables: Tables, owner: string, { bytes, now }: { bytes: number; now: Date }): Promise<string[]> {
  const sized = jobs(tables)
    .selectFrom('jobs')
    .select(['job_id', sql<number>`sum(coalesce(octet_length(result), result_bytes)) over (order by finished_at desc, job_id)`.as('total')])
    .where('owner_id', '=', owner)
    .where('dropped_at', 'is', null)
    .where((where) => where.or([where('result', 'is not', null), where('result_bytes', 'is not', null)]))
    .as('sized');
  const rows = await jobs(tables)
    .updateTable('jobs')
    .from(sized)
    .set({ result: null, error: null, usage: null, outline: null, progress: toBytes(noProgress), expires_at: now, dropped_at: now })
    .whereRef('jobs.job_id', '=', 'sized.job_id')
    .where('sized.total', '>', bytes)
    .returning(['jobs.job_id', 'jobs.result_bytes'])
    .execute();
  return rows.flatMap(({ job_id, result_bytes }) => (result_bytes === null ? [] : [job_id]));
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
    .set({ result: null, error: null, usage: null, outline: null, progress: toBytes(noProgress), dropped_at: now })
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

/** All owners' jobs of all workers, also ended ones that are retained. A pending job is queued until it has started. */
export async function countJobs(tables: Tables): Promise<{ state: JobState; count: number }[]> {
  const state = sql<JobState>`case when status <> 'pending' then status when started_at is null then 'queued' else 'running' end`;
  return jobs(tables)
    .selectFrom('jobs')
    .select(state.as('state'))
    .select((select) => select.fn.countAll<number>().as('count'))
    .groupBy(sql`1`)
    .execute();
}
