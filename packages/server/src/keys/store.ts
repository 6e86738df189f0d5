import type { ExpressionBuilder, Generated, Selectable } from 'kysely';
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

const own = (tables: Tables) => tables.tables<KeyTables>();

/** False where the same key exists: then nothing is written. */
export async function insertKey(tables: Tables, key: ApiKey, digest: Buffer): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await own(tables)
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
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

export async function findKey(tables: Tables, digest: Buffer): Promise<{ key: ApiKey; digest: Buffer } | undefined> {
  const row = await own(tables).selectFrom('api_keys').selectAll().where('digest', '=', digest).executeTakeFirst();
  return row && { key: toApiKey(row), digest: row.digest };
}

/** A key by its id; with an owner, only if it is that owner's. */
export interface KeySelector {
  keyId: string;
  owner: string | null;
}

const at = (where: ExpressionBuilder<KeyTables, 'api_keys'>, { keyId, owner }: KeySelector) =>
  where.and([where('key_id', '=', keyId), ...(owner === null ? [] : [where('owner_id', '=', owner)])]);

/** Locks the row until the transaction ends. */
export async function lockKey(tx: Tables, selector: KeySelector): Promise<ApiKey | undefined> {
  const row = await own(tx)
    .selectFrom('api_keys')
    .selectAll()
    .where((where) => at(where, selector))
    .forUpdate()
    .executeTakeFirst();
  return row && toApiKey(row);
}

export async function listKeys(tables: Tables, owner: string | undefined): Promise<ApiKey[]> {
  let query = own(tables).selectFrom('api_keys').selectAll().orderBy('created_at', 'desc').orderBy('key_id');
  if (owner !== undefined) query = query.where('owner_id', '=', owner);
  return (await query.execute()).map(toApiKey);
}

/** Number of active keys of an owner. */
export async function countActive(tables: Tables, owner: string, now: Date): Promise<number> {
  const { count } = await own(tables)
    .selectFrom('api_keys')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('owner_id', '=', owner)
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .executeTakeFirstOrThrow();
  return count;
}

export async function updateKey(
  tables: Tables,
  keyId: string,
  { revokedAt, expiresAt }: Partial<Pick<ApiKey, 'revokedAt' | 'expiresAt'>>,
): Promise<void> {
  await own(tables).updateTable('api_keys').set({ revoked_at: revokedAt, expires_at: expiresAt }).where('key_id', '=', keyId).execute();
}

/** Which of these keys are revoked or expired. */
export async function findInactive(tables: Tables, keyIds: string[], now: Date): Promise<string[]> {
  const rows = await own(tables)
    .selectFrom('api_keys')
    .select('key_id')
    .where('key_id', 'in', keyIds)
    .where((where) => where.or([where('revoked_at', 'is not', null), where('expires_at', '<=', now)]))
    .execute();
  return rows.map((row) => row.key_id);
}

export async function touchKeys(tables: Tables, keyIds: string[], at: Date): Promise<void> {
  await own(tables).updateTable('api_keys').set({ last_used_at: at }).where('key_id', 'in', keyIds).execute();
}
