import type { AuditAction } from '@berth/contract';
import { sql, type Generated, type Selectable } from 'kysely';
import type { Tables } from '../../store/store.ts';

interface AuditTables {
  audit_log: {
    entry_id: Generated<number>;
    at: Date;
    actor: string;
    action: AuditAction;
    owner_id: string | null;
    subject: string | null;
    details: Record<string, unknown>;
  };
}

const own = (tables: Tables) => tables.tables<AuditTables>();

const toEntry = (row: Selectable<AuditTables['audit_log']>): AuditEntry => ({
  entryId: row.entry_id,
  at: row.at,
  actor: row.actor,
  action: row.action,
  owner: row.owner_id,
  subject: row.subject,
  details: row.details,
});

export async function insertEntries(tables: Tables, events: AuditEvent[], at: Date): Promise<void> {
  const rows = events.map(({ actor, action, owner, subject, details = {} }) => ({ at, actor, action, owner_id: owner, subject, details }));
  await own(tables).insertInto('audit_log').values(rows).execute();
}

export async function listEntries(
  tables: Tables,
  { owner, actor, subject, action, since, before, limit }: AuditFilter,
): Promise<AuditEntry[]> {
  let query = own(tables).selectFrom('audit_log').selectAll().orderBy('entry_id', 'desc').limit(limit);
  if (owner !== undefined) query = query.where('owner_id', '=', owner);
  if (actor !== undefined) query = query.where('actor', '=', actor);
  if (subject !== undefined) query = query.where('subject', '=', subject);
  if (action !== undefined) query = query.where('action', '=', action);
  if (since !== undefined) query = query.where('at', '>=', since);
  if (before !== undefined) query = query.where('entry_id', '<', before);
  return (await query.execute()).map(toEntry);
}

/**
 * Deletes the oldest entries, at most `limit`, and returns their number. A
 * trigger protects entries younger than a year by the database's clock, so
 * those are excluded here: a worker's clock may be wrong.
 */
export async function deleteEntries(tables: Tables, before: Date, limit: number): Promise<number> {
  const aged = own(tables)
    .selectFrom('audit_log')
    .select('entry_id')
    .where('at', '<', before)
    .where('at', '<=', sql<Date>`now() - interval '365 days'`)
    .orderBy('at')
    .limit(limit);
  const { numDeletedRows } = await own(tables).deleteFrom('audit_log').where('entry_id', 'in', aged).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** Must not contain secrets: only ids, plan names and amounts, never a key, code or token. */
export interface AuditEvent {
  /** `operator`, `key:KEY_ID`, `login:SUBJECT`, `payment_provider`, or `service`. */
  actor: string;
  action: AuditAction;
  /** Owner of the subject. */
  owner: string | null;
  /** Id of the changed object. */
  subject: string | null;
  details?: Record<string, unknown>;
}

export interface AuditEntry extends Required<AuditEvent> {
  /** Increases with each entry. */
  entryId: number;
  at: Date;
}

export interface AuditFilter {
  owner?: string | undefined;
  actor?: string | undefined;
  subject?: string | undefined;
  action?: AuditAction | undefined;
  since?: Date | undefined;
  /** Only entries before this one. */
  before?: number | undefined;
  limit: number;
}
