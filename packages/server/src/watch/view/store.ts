import { sql, type Generated } from 'kysely';
import type { Tables } from '../../store/store.ts';
import type { Link } from './grants.ts';

interface ViewTables {
  view_revocations: { session_id: string; revoked_at: Date };
  view_cookies: { digest: string; link: Link; used_at: Generated<Date> };
}

/** Keeps the latest time, whichever worker's clock it comes from. */
export async function writeRevocation(tables: Tables, sessionId: string, at: Date): Promise<void> {
  await tables
    .tables<ViewTables>()
    .insertInto('view_revocations')
    .values({ session_id: sessionId, revoked_at: at })
    .onConflict((conflict) =>
      conflict
        .column('session_id')
        .doUpdateSet((set) => ({ revoked_at: set.fn('greatest', ['view_revocations.revoked_at', 'excluded.revoked_at']) })),
    )
    .execute();
}

/** Returns when the links of each session were last revoked. Sessions without a revocation are absent. */
export async function revocationsOf(tables: Tables, sessionIds: string[]): Promise<Map<string, Date>> {
  if (sessionIds.length === 0) return new Map();
  const rows = await tables.tables<ViewTables>().selectFrom('view_revocations').selectAll().where('session_id', 'in', sessionIds).execute();
  return new Map(rows.map((row) => [row.session_id, row.revoked_at]));
}

export async function pruneRevocations(tables: Tables, before: Date): Promise<void> {
  await tables.tables<ViewTables>().deleteFrom('view_revocations').where('revoked_at', '<', before).execute();
}

export async function insertCookie(tables: Tables, digest: string, link: Link): Promise<void> {
  await tables.tables<ViewTables>().insertInto('view_cookies').values({ digest, link }).execute();
}

/** Returns the links of those cookies that were used within `idleMs`, by the database's clock. */
export async function findCookies(tables: Tables, digests: string[], idleMs: number): Promise<{ digest: string; link: Link }[]> {
  return tables
    .tables<ViewTables>()
    .selectFrom('view_cookies')
    .select(['digest', 'link'])
    .where('digest', '=', sql<string>`any(${digests})`)
    .where('used_at', '>', idleSince(idleMs))
    .execute();
}

export async function touchCookies(tables: Tables, digests: string[]): Promise<void> {
  await tables
    .tables<ViewTables>()
    .updateTable('view_cookies')
    .set({ used_at: sql<Date>`now()` })
    .where('digest', '=', sql<string>`any(${digests})`)
    .execute();
}

export async function pruneCookies(tables: Tables, idleMs: number): Promise<void> {
  await tables.tables<ViewTables>().deleteFrom('view_cookies').where('used_at', '<=', idleSince(idleMs)).execute();
}

const idleSince = (idleMs: number) => sql<Date>`now() - make_interval(secs => ${idleMs / 1000})`;
