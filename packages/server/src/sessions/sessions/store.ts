import { sql, type Selectable, type SelectQueryBuilder } from 'kysely';
import type { EndedReason, RecordingStatus, SessionStatus } from '@berth/contract';
import type { Tables } from '../../store/store.ts';
import { statesBefore, type LastSeen, type SessionPurpose, type SessionRecord, type SessionSettings } from './session.ts';

interface SessionTable {
  session_id: string;
  owner_id: string;
  key_id: string | null;
  worker_id: string;
  status: SessionStatus;
  ended_reason: EndedReason | null;
  region: string;
  name: string | null;
  metadata: Record<string, string>;
  settings: SessionSettings;
  last_seen: LastSeen;
  timeout_seconds: number;
  idle_timeout_seconds: number;
  created_at: Date;
  started_at: Date | null;
  last_activity_at: Date;
  expires_at: Date;
  ended_at: Date | null;
  /** The profile that it saves at its end; null once it has. Locks the profile while the session is not over. */
  writes_profile_id: string | null;
}
interface SessionTables {
  sessions: SessionTable;
  lost_workers: { worker_id: string };
}

/** The index that keeps a name unique among an owner's live sessions. */
export const liveNameIndex = 'sessions_live_name';
/** The index that lets an address have one session at a time. */
export const liveAddressIndex = 'sessions_live_address';
/** The index that lets one session at a time save a profile. */
export const profileWriterIndex = 'sessions_profile_writer';

const toRecord = (row: Selectable<SessionTable>): SessionRecord => ({
  sessionId: row.session_id,
  owner: row.owner_id,
  keyId: row.key_id,
  workerId: row.worker_id,
  status: row.status,
  endedReason: row.ended_reason,
  region: row.region,
  name: row.name,
  metadata: row.metadata,
  settings: row.settings,
  lastSeen: row.last_seen,
  timeoutSeconds: row.timeout_seconds,
  idleTimeoutSeconds: row.idle_timeout_seconds,
  createdAt: row.created_at,
  startedAt: row.started_at,
  lastActivityAt: row.last_activity_at,
  expiresAt: row.expires_at,
  endedAt: row.ended_at,
});

const sessions = (tables: Tables) => tables.tables<SessionTables>();

export async function insertSession(tables: Tables, record: SessionRecord): Promise<void> {
  await sessions(tables)
    .insertInto('sessions')
    .values({
      session_id: record.sessionId,
      owner_id: record.owner,
      key_id: record.keyId,
      worker_id: record.workerId,
      status: record.status,
      ended_reason: record.endedReason,
      region: record.region,
      name: record.name,
      metadata: record.metadata,
      settings: record.settings,
      last_seen: record.lastSeen,
      timeout_seconds: record.timeoutSeconds,
      idle_timeout_seconds: record.idleTimeoutSeconds,
      created_at: record.createdAt,
      started_at: record.startedAt,
      last_activity_at: record.lastActivityAt,
      expires_at: record.expiresAt,
      ended_at: record.endedAt,
      writes_profile_id: record.settings.profile?.save_changes ? record.settings.profile.profile_id : null,
    })
    .execute();
}

/** Counts an owner's starting and ready sessions without the machines of its fetches: those that its concurrency limit covers. */
export async function countLive(tables: Tables, owner: string): Promise<number> {
  const row = await sessions(tables)
    .selectFrom('sessions')
    .select((select) => select.fn.countAll<number>().as('live'))
    .where('owner_id', '=', owner)
    .where('status', 'in', ['starting', 'ready'])
    .where(hasPurpose('session'))
    .executeTakeFirstOrThrow();
  return row.live;
}

/** An owner's starting and ready sessions by worker, machines of its fetches included. */
export async function countByWorker(tables: Tables, owner: string): Promise<Map<string, number>> {
  const rows = await sessions(tables)
    .selectFrom('sessions')
    .select('worker_id')
    .select((select) => select.fn.countAll<number>().as('live'))
    .where('owner_id', '=', owner)
    .where('status', 'in', ['starting', 'ready'])
    .groupBy('worker_id')
    .execute();
  return new Map(rows.map(({ worker_id, live }) => [worker_id, live]));
}

/** Rows older than the field are sessions. */
const hasPurpose = (purpose: SessionPurpose) => sql<boolean>`(coalesce(settings->>'purpose', 'session') = ${purpose})`;

export interface SessionTransition {
  to: SessionStatus;
  startedAt?: Date;
  ended?: { reason: EndedReason; at: Date };
  lastSeen?: LastSeen;
  /** Instead of `lastSeen`, of which others write the rest: a recording ends when its session has. */
  usage?: LastSeen['usage'];
  lastActivityAt?: Date;
}

/** One compare-and-set by the table of transitions. False when another transition came first. */
export async function moveSession(tables: Tables, sessionId: string, move: SessionTransition): Promise<boolean> {
  const row = await sessions(tables)
    .updateTable('sessions')
    .set({
      status: move.to,
      ...(move.startedAt ? { started_at: move.startedAt } : {}),
      ...(move.ended ? { ended_at: move.ended.at, ended_reason: move.ended.reason } : {}),
      ...(move.lastSeen ? { last_seen: move.lastSeen } : move.usage ? { last_seen: withUsage(move.usage) } : {}),
      ...(move.lastActivityAt ? { last_activity_at: move.lastActivityAt } : {}),
    })
    .where('session_id', '=', sessionId)
    .where('status', 'in', statesBefore(move.to))
    .returning('session_id')
    .executeTakeFirst();
  return row !== undefined;
}

export interface SessionUpdate {
  name: string | null;
  metadata: Record<string, string>;
  timeoutSeconds: number;
  idleTimeoutSeconds: number;
  expiresAt: Date;
}

/** False when the session has ended. */
export async function updateSession(tables: Tables, sessionId: string, change: SessionUpdate): Promise<boolean> {
  const row = await sessions(tables)
    .updateTable('sessions')
    .set({
      name: change.name,
      metadata: change.metadata,
      timeout_seconds: change.timeoutSeconds,
      idle_timeout_seconds: change.idleTimeoutSeconds,
      expires_at: change.expiresAt,
    })
    .where('session_id', '=', sessionId)
    .where('status', 'in', ['starting', 'ready'])
    .returning('session_id')
    .executeTakeFirst();
  return row !== undefined;
}

export async function writeRecordingStatus(tables: Tables, sessionId: string, status: RecordingStatus): Promise<void> {
  await sessions(tables)
    .updateTable('sessions')
    .set({ last_seen: sql`jsonb_set(last_seen, '{recording}', ${JSON.stringify(status)}::jsonb)` })
    .where('session_id', '=', sessionId)
    .execute();
}

/** The session has saved its profile. False when it has lost the lock: its worker was taken for lost. */
export async function unlockProfile(tx: Tables, sessionId: string, profileId: string): Promise<boolean> {
  const row = await sessions(tx)
    .updateTable('sessions')
    .set({ writes_profile_id: null, last_seen: sql`jsonb_set(last_seen, '{profile_save}', '"saved"')` })
    .where('session_id', '=', sessionId)
    .where('writes_profile_id', '=', profileId)
    .where('status', '=', 'ending')
    .returning('session_id')
    .executeTakeFirst();
  return row !== undefined;
}

const withUsage = (usage: LastSeen['usage']) => sql<LastSeen>`jsonb_set(last_seen, '{usage}', ${JSON.stringify(usage)}::jsonb)`;

export async function writeUsage(tables: Tables, sessionId: string, usage: LastSeen['usage']): Promise<void> {
  await sessions(tables)
    .updateTable('sessions')
    .set({ last_seen: withUsage(usage) })
    .where('session_id', '=', sessionId)
    .execute();
}

export async function findSession(tables: Tables, sessionId: string): Promise<SessionRecord | undefined> {
  const row = await sessions(tables).selectFrom('sessions').selectAll().where('session_id', '=', sessionId).executeTakeFirst();
  return row && toRecord(row);
}

/** The owner's live session of that name, else the one that was created last. */
export async function findSessionIdByName(tables: Tables, owner: string, name: string): Promise<string | undefined> {
  const row = await sessions(tables)
    .selectFrom('sessions')
    .select('session_id')
    .where('owner_id', '=', owner)
    .where('name', '=', name)
    .orderBy(sql`status in ('starting', 'ready')`, 'desc')
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.session_id;
}

/** The live session of an address; undefined for none. */
export async function findSessionIdByAddress(tables: Tables, owner: string, address: string): Promise<string | undefined> {
  const row = await sessions(tables)
    .selectFrom('sessions')
    .select('session_id')
    .where('owner_id', '=', owner)
    // As the index has it, which finds no row otherwise.
    .where(sql<boolean>`settings -> 'reconnect' IS NOT NULL`)
    .where(sql<string>`settings -> 'reconnect' ->> 'address'`, '=', address)
    .where('status', 'in', ['starting', 'ready'])
    .executeTakeFirst();
  return row?.session_id;
}

export interface ListFilter {
  owner?: string | undefined;
  statuses?: SessionStatus[] | undefined;
  purpose?: SessionPurpose | undefined;
  name?: string | undefined;
  metadata?: Record<string, string>;
  /** The last row of the page before. */
  after?: { createdAt: Date; sessionId: string } | undefined;
  limit: number;
}

/** Newest first. Returns `limit + 1` rows when another page follows. */
export async function listSessions(tables: Tables, filter: ListFilter): Promise<SessionRecord[]> {
  const query = applyFilter(sessions(tables).selectFrom('sessions').selectAll(), filter);
  const rows = await query
    .orderBy('created_at', 'desc')
    .orderBy('session_id', 'desc')
    .limit(filter.limit + 1)
    .execute();
  return rows.map(toRecord);
}

function applyFilter<O>(
  query: SelectQueryBuilder<SessionTables, 'sessions', O>,
  filter: ListFilter,
): SelectQueryBuilder<SessionTables, 'sessions', O> {
  const { owner, statuses, purpose, name, metadata = {}, after } = filter;
  let narrowed = query;
  if (owner !== undefined) narrowed = narrowed.where('owner_id', '=', owner);
  if (statuses) narrowed = narrowed.where('status', 'in', statuses);
  if (purpose) narrowed = narrowed.where(hasPurpose(purpose));
  if (name !== undefined) narrowed = narrowed.where('name', '=', name);
  if (Object.keys(metadata).length > 0) narrowed = narrowed.where(sql<boolean>`metadata @> ${JSON.stringify(metadata)}::jsonb`);
  if (after) narrowed = narrowed.where(sql<boolean>`(created_at, session_id) < (${after.createdAt}, ${after.sessionId})`);
  return narrowed;
}

/** Unfinished sessions of these workers. */
export async function listStrandedSessions(tables: Tables, workerId: string): Promise<SessionRecord[]> {
  const rows = await sessions(tables)
    .selectFrom('sessions')
    .selectAll()
    .where((where) =>
      where.or([where('worker_id', '=', workerId), where('worker_id', 'in', where.selectFrom('lost_workers').select('worker_id'))]),
    )
    .where('status', 'in', ['starting', 'ready', 'ending'])
    .execute();
  return rows.map(toRecord);
}

/** Deletes up to 1000 sessions that ended before `before`. */
export async function deleteEndedSessions(tables: Tables, before: Date): Promise<void> {
  const old = sessions(tables).selectFrom('sessions').select('session_id').where('ended_at', '<', before).limit(1000);
  await sessions(tables).deleteFrom('sessions').where('session_id', 'in', old).execute();
}

/** All owners' sessions of all workers by status and purpose, also ended ones that are retained. */
export async function countByStatus(tables: Tables): Promise<{ status: SessionStatus; purpose: SessionPurpose; count: number }[]> {
  return sessions(tables)
    .selectFrom('sessions')
    .select(['status', sql<SessionPurpose>`coalesce(settings->>'purpose', 'session')`.as('purpose')])
    .select((select) => select.fn.countAll<number>().as('count'))
    .groupBy([sql`1`, sql`2`])
    .execute();
}
