import { sql, type Selectable } from 'kysely';
import type { RecordingStatus, RecordingVideo } from '@berth/contract';
import type { Tables } from '../../store/store.ts';
import type { RecordingOutcome, RecordingRecord } from './recording.ts';

interface RecordingTable {
  rec_id: string;
  session_id: string;
  owner_id: string;
  worker_id: string;
  status: RecordingStatus;
  video: RecordingVideo | null;
  started_at: Date;
  ended_at: Date | null;
  duration_ms: number;
  size_bytes: number;
  truncated: boolean;
  expires_at: Date | null;
  uploaded_at: Date | null;
}
interface RecordingTables {
  recordings: RecordingTable;
  lost_workers: { worker_id: string };
}

const recordings = (tables: Tables) => tables.tables<RecordingTables>();

const toRecord = (row: Selectable<RecordingTable>): RecordingRecord => ({
  recId: row.rec_id,
  sessionId: row.session_id,
  owner: row.owner_id,
  workerId: row.worker_id,
  status: row.status,
  video: row.video,
  startedAt: row.started_at,
  endedAt: row.ended_at,
  durationMs: row.duration_ms,
  sizeBytes: row.size_bytes,
  truncated: row.truncated,
  expiresAt: row.expires_at,
  uploadedAt: row.uploaded_at,
});

export async function insertRecording(tables: Tables, record: RecordingRecord): Promise<void> {
  await recordings(tables)
    .insertInto('recordings')
    .values({
      rec_id: record.recId,
      session_id: record.sessionId,
      owner_id: record.owner,
      worker_id: record.workerId,
      status: record.status,
      video: record.video,
      started_at: record.startedAt,
      ended_at: record.endedAt,
      duration_ms: record.durationMs,
      size_bytes: record.sizeBytes,
      truncated: record.truncated,
      expires_at: record.expiresAt,
      uploaded_at: record.uploadedAt,
    })
    .onConflict((on) => on.column('rec_id').doNothing())
    .execute();
}

/**
 * Ends a recording by compare-and-set. Returns false if it has already ended. A recording that another worker ended
 * without its files may still be ended by the worker that has them.
 */
export async function finishRecording(tables: Tables, recId: string, outcome: RecordingOutcome & { expiresAt: Date }): Promise<boolean> {
  const row = await recordings(tables)
    .updateTable('recordings')
    .set({
      status: outcome.status,
      video: outcome.video,
      ended_at: outcome.endedAt,
      duration_ms: outcome.durationMs,
      size_bytes: outcome.sizeBytes,
      truncated: outcome.truncated,
      expires_at: outcome.expiresAt,
    })
    .where('rec_id', '=', recId)
    .where((where) =>
      where.or([where('status', '=', 'recording'), where.and([where('status', '=', 'incomplete'), where('video', 'is', null)])]),
    )
    .returning('rec_id')
    .executeTakeFirst();
  return row !== undefined;
}

/** The bytes of the finished recordings on a worker's disk, by owner. */
export async function sizesByOwner(tables: Tables, workerId: string): Promise<Map<string, number>> {
  const rows = await recordings(tables)
    .selectFrom('recordings')
    .select(['owner_id', sql<number>`sum(size_bytes)::int8`.as('bytes')])
    .where('worker_id', '=', workerId)
    .where('status', '!=', 'recording')
    .where('uploaded_at', 'is', null)
    .groupBy('owner_id')
    .execute();
  return new Map(rows.map((row) => [row.owner_id, row.bytes]));
}

/** Returns an owner's recordings of a session, oldest first. */
export async function recordingsOf(tables: Tables, owner: string, sessionId: string): Promise<RecordingRecord[]> {
  const rows = await recordings(tables)
    .selectFrom('recordings')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('owner_id', '=', owner)
    .orderBy('started_at')
    .execute();
  return rows.map(toRecord);
}

/** The owner and the worker of a session's recordings that are on a disk; undefined where none is, as every worker reads the others. */
export async function findLocation(tables: Tables, sessionId: string): Promise<{ owner: string; workerId: string } | undefined> {
  const row = await recordings(tables)
    .selectFrom('recordings')
    .select(['owner_id', 'worker_id'])
    .where('session_id', '=', sessionId)
    .where('uploaded_at', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return row && { owner: row.owner_id, workerId: row.worker_id };
}

/**
 * Returns the recordings listed as running on this worker and on silent ones, and those of this worker that another
 * worker ended without their files. Limited per call.
 */
export async function orphanedRecordings(tables: Tables, workerId: string): Promise<RecordingRecord[]> {
  const rows = await recordings(tables)
    .selectFrom('recordings')
    .selectAll()
    .where((where) =>
      where.or([
        where.and([
          where('status', '=', 'recording'),
          where.or([where('worker_id', '=', workerId), where('worker_id', 'in', where.selectFrom('lost_workers').select('worker_id'))]),
        ]),
        where.and([where('status', '=', 'incomplete'), where('video', 'is', null), where('worker_id', '=', workerId)]),
      ]),
    )
    .limit(1000)
    .execute();
  return rows.map(toRecord);
}

/** Returns the ids of expired recordings on a worker's disk, or those in object storage, at most `limit`. */
export async function expiredRecordings(
  tables: Tables,
  of: { workerId: string } | 'uploaded',
  { now, limit }: { now: Date; limit: number },
): Promise<string[]> {
  const expired = recordings(tables).selectFrom('recordings').select('rec_id').where('expires_at', '<=', now).limit(limit);
  const rows = await (
    of === 'uploaded'
      ? expired.where('uploaded_at', 'is not', null)
      : expired.where('uploaded_at', 'is', null).where('worker_id', '=', of.workerId)
  ).execute();
  return rows.map((row) => row.rec_id);
}

/** Deletes recordings of any worker that expired before `before`. Returns how many. */
export async function deleteExpiredRecordings(tables: Tables, before: Date, limit: number): Promise<number> {
  const old = recordings(tables).selectFrom('recordings').select('rec_id').where('expires_at', '<=', before).limit(limit);
  const rows = await recordings(tables).deleteFrom('recordings').where('rec_id', 'in', old).returning('rec_id').execute();
  return rows.length;
}

/** Returns the ids of the recordings on a worker's disk after `after`, in order, at most `limit`. */
export async function recordingIdsOf(
  tables: Tables,
  workerId: string,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await recordings(tables)
    .selectFrom('recordings')
    .select('rec_id')
    .where('worker_id', '=', workerId)
    .where('status', '!=', 'recording')
    .where('uploaded_at', 'is', null)
    .where('rec_id', '>', after)
    .orderBy('rec_id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.rec_id);
}

/** Returns which of these ids exist, for any owner. */
export async function existingRecordings(tables: Tables, recIds: string[]): Promise<Set<string>> {
  const rows = await recordings(tables)
    .selectFrom('recordings')
    .select('rec_id')
    .where('rec_id', '=', sql<string>`any(${recIds})`)
    .execute();
  return new Set(rows.map((row) => row.rec_id));
}

export async function deleteRecordings(tables: Tables, recIds: string[]): Promise<void> {
  await recordings(tables)
    .deleteFrom('recordings')
    .where('rec_id', '=', sql<string>`any(${recIds})`)
    .execute();
}

/** Returns the ids of the finished recordings that are on a worker's disk alone, oldest first, at most `limit`. */
export async function pendingUploads(tables: Tables, workerId: string, limit: number): Promise<string[]> {
  const rows = await recordings(tables)
    .selectFrom('recordings')
    .select('rec_id')
    .where('worker_id', '=', workerId)
    .where('uploaded_at', 'is', null)
    .where('status', '!=', 'recording')
    // Another worker ended it; recovery repairs its files first.
    .where((where) => where.not(where.and([where('status', '=', 'incomplete'), where('video', 'is', null)])))
    .orderBy('ended_at')
    .limit(limit)
    .execute();
  return rows.map((row) => row.rec_id);
}

/** Marks recordings as uploaded: their files are read from object storage from now on. Does nothing for deleted ones. */
export async function markUploaded(tables: Tables, recIds: string[], at: Date): Promise<void> {
  await recordings(tables)
    .updateTable('recordings')
    .set({ uploaded_at: at })
    .where('rec_id', '=', sql<string>`any(${recIds})`)
    .where('uploaded_at', 'is', null)
    .execute();
}

/** Returns which of these recordings are in object storage, and which are on the disks of the workers named. */
export async function uploadsAmong(
  tables: Tables,
  recIds: string[],
  workerIds: string[],
): Promise<{ uploaded: Set<string>; unmarked: string[] }> {
  const rows = await recordings(tables)
    .selectFrom('recordings')
    .select(['rec_id', 'worker_id', 'uploaded_at'])
    .where('rec_id', '=', sql<string>`any(${recIds})`)
    .where('status', '!=', 'recording')
    .execute();
  const uploaded = rows.filter((row) => row.uploaded_at !== null).map((row) => row.rec_id);
  const unmarked = rows.filter((row) => row.uploaded_at === null && workerIds.includes(row.worker_id)).map((row) => row.rec_id);
  return { uploaded: new Set(uploaded), unmarked };
}
