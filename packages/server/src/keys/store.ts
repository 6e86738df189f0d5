import type { Generated, Selectable } from 'kysely';
import type { Tables } from '../store/store.ts';
import type { ApiKey } from './api-key.ts';

interface KeyTables {
  api_keys: {
    key_id: string;
    owner_id: string;
    name: string | null;
    digest: Buffer;
    last4: string;
    created_at: Date;
    created_by: string;
    last_used_at: Generated<Date | null>;
    expires_at: Date | null;
    revoked_at: Generated<Date | null>;
  };
  owners: { owner_id: string; tier: string };
}

const toApiKey = (row: Selectable<KeyTables['api_keys']>): ApiKey => ({
  keyId: row.key_id,
  owner: row.owner_id,
  name: row.name,
  last4: row.last4,
  createdAt: row.created_at,
  createdBy: row.created_by,
  lastUsedAt: row.last_used_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
});

/** Inserts a key; nothing happens where the same key is there already. */
export async function insertKey(tables: Tables, key: ApiKey, digest: Buffer): Promise<void> {
  await tables
    .tables<KeyTables>()
    .insertInto('api_keys')
    .values({
      key_id: key.keyId,
      owner_id: key.owner,
      name: key.name,
      digest,
      last4: key.last4,
      created_at: key.createdAt,
      created_by: key.createdBy,
      expires_at: key.expiresAt,
    })
    .onConflict((on) => on.column('digest').doNothing())
    .execute();
}

export async function findKey(tables: Tables, digest: Buffer): Promise<{ key: ApiKey; digest: Buffer; tier: string } | undefined> {
  const row = await tables
    .tables<KeyTables>()
    .selectFrom('api_keys')
    .innerJoin('owners', 'owners.owner_id', 'api_keys.owner_id')
    .selectAll('api_keys')
    .select('owners.tier')
    .where('digest', '=', digest)
    .executeTakeFirst();
  return row && { key: toApiKey(row), digest: row.digest, tier: row.tier };
}

export async function listKeys(tables: Tables, owner: string | undefined): Promise<ApiKey[]> {
  let query = tables.tables<KeyTables>().selectFrom('api_keys').selectAll().orderBy('created_at', 'desc').orderBy('key_id');
  if (owner !== undefined) query = query.where('owner_id', '=', owner);
  return (await query.execute()).map(toApiKey);
}

/** False where there is no such key. A key that is revoked already keeps its first time. */
export async function revokeKey(tables: Tables, keyId: string, at: Date): Promise<boolean> {
  const row = await tables
    .tables<KeyTables>()
    .updateTable('api_keys')
    .set((set) => ({ revoked_at: set.fn.coalesce('revoked_at', set.val(at)) }))
    .where('key_id', '=', keyId)
    .returning('key_id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Which of these keys are good no more. */
export async function deadAmong(tables: Tables, keyIds: string[], now: Date): Promise<string[]> {
  const rows = await tables
    .tables<KeyTables>()
    .selectFrom('api_keys')
    .select('key_id')
    .where('key_id', 'in', keyIds)
    .where((where) => where.or([where('revoked_at', 'is not', null), where('expires_at', '<=', now)]))
    .execute();
  return rows.map((row) => row.key_id);
}

export async function touchKeys(tables: Tables, keyIds: string[], at: Date): Promise<void> {
  await tables.tables<KeyTables>().updateTable('api_keys').set({ last_used_at: at }).where('key_id', 'in', keyIds).execute();
}
