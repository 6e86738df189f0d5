import type { Tables } from '../store/store.ts';

interface ViewTables {
  view_revocations: { session_id: string; revoked_at: Date };
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
