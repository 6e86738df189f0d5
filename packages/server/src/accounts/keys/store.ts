import { sql, type ExpressionBuilder, type Generated, type Selectable } from 'kysely';
import type { Tables } from '../../store/store.ts';
import { signInLinkCreator, type ApiKey } from './api-key.ts';
import type { ConnectToken } from './connect-token.ts';

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
  connect_tokens: {
    token_id: string;
    owner_id: string;
    key_id: string;
    name: string | null;
    digest: Buffer;
    last4: string;
    created_at: Date;
    last_used_at: Generated<Date | null>;
    expires_at: Date | null;
    reconnect_seconds: Generated<number>;
  };
  sign_in_links: {
    digest: Buffer;
    owner_id: string;
    actor: string;
    created_at: Date;
    expires_at: Date;
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

export interface KeyFilter {
  owner?: string | undefined;
  last4?: string | undefined;
  /** The last key of the page before. */
  after?: { createdAt: Date; keyId: string };
  limit: number;
}

/** Newest first. */
export async function listKeys(tables: Tables, { owner, last4, after, limit }: KeyFilter): Promise<ApiKey[]> {
  let query = own(tables).selectFrom('api_keys').selectAll().orderBy('created_at', 'desc').orderBy('key_id', 'desc').limit(limit);
  if (owner !== undefined) query = query.where('owner_id', '=', owner);
  if (last4 !== undefined) query = query.where('last4', '=', last4);
  if (after) query = query.where(sql<boolean>`(created_at, key_id) < (${after.createdAt}, ${after.keyId})`);
  return (await query.execute()).map(toApiKey);
}

const isActive = (where: ExpressionBuilder<KeyTables, 'api_keys'>, owner: string, now: Date) =>
  where.and([
    where('owner_id', '=', owner),
    where('revoked_at', 'is', null),
    where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]),
  ]);

/** Number of active keys of an owner, without those of sign-in links. */
export async function countActive(tables: Tables, owner: string, now: Date): Promise<number> {
  const { count } = await own(tables)
    .selectFrom('api_keys')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where((where) => isActive(where, owner, now))
    .where('created_by', '!=', signInLinkCreator)
    .executeTakeFirstOrThrow();
  return count;
}

/** Revokes an owner's oldest active keys of sign-in links above a number. Returns their ids. */
export async function revokeSpareLinkKeys(
  tx: Tables,
  { owner, keysMax, now }: { owner: string; keysMax: number; now: Date },
): Promise<string[]> {
  const spare = own(tx)
    .selectFrom('api_keys')
    .select('key_id')
    .where((where) => isActive(where, owner, now))
    .where('created_by', '=', signInLinkCreator)
    .orderBy('created_at', 'desc')
    .orderBy('key_id', 'desc')
    .offset(keysMax);
  const rows = await own(tx).updateTable('api_keys').set({ revoked_at: now }).where('key_id', 'in', spare).returning('key_id').execute();
  return rows.map((row) => row.key_id);
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

/** Connect tokens with the state of the API key on which each depends. */
const connectTokens = (tables: Tables) =>
  own(tables)
    .selectFrom('connect_tokens')
    .innerJoin('api_keys', 'api_keys.key_id', 'connect_tokens.key_id')
    .selectAll('connect_tokens')
    .select(['api_keys.revoked_at as key_revoked_at', 'api_keys.expires_at as key_expires_at']);

type ConnectTokenRow = Awaited<ReturnType<ReturnType<typeof connectTokens>['executeTakeFirstOrThrow']>>;

const toConnectToken = (row: ConnectTokenRow): ConnectToken => ({
  tokenId: row.token_id,
  owner: row.owner_id,
  keyId: row.key_id,
  name: row.name,
  last4: row.last4,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  expiresAt: row.expires_at,
  reconnectSeconds: row.reconnect_seconds,
  key: { revokedAt: row.key_revoked_at, expiresAt: row.key_expires_at },
});

export async function insertConnectToken(tx: Tables, token: ConnectToken, digest: Buffer): Promise<void> {
  await own(tx)
    .insertInto('connect_tokens')
    .values({
      token_id: token.tokenId,
      owner_id: token.owner,
      key_id: token.keyId,
      name: token.name,
      digest,
      last4: token.last4,
      created_at: token.createdAt,
      expires_at: token.expiresAt,
      reconnect_seconds: token.reconnectSeconds,
    })
    .execute();
}

export async function findConnectToken(tables: Tables, digest: Buffer): Promise<ConnectToken | undefined> {
  const row = await connectTokens(tables).where('connect_tokens.digest', '=', digest).executeTakeFirst();
  return row && toConnectToken(row);
}

/** Newest first. */
export async function listConnectTokens(tables: Tables, owner: string): Promise<ConnectToken[]> {
  const rows = await connectTokens(tables)
    .where('connect_tokens.owner_id', '=', owner)
    .orderBy('connect_tokens.created_at', 'desc')
    .orderBy('connect_tokens.token_id')
    .execute();
  return rows.map(toConnectToken);
}

/** Deletes tokens of this owner only. Returns the ids of those that existed. */
export async function deleteConnectTokens(tx: Tables, tokenIds: string[], owner: string): Promise<string[]> {
  if (tokenIds.length === 0) return [];
  const rows = await own(tx)
    .deleteFrom('connect_tokens')
    .where('token_id', 'in', tokenIds)
    .where('owner_id', '=', owner)
    .returning('token_id')
    .execute();
  return rows.map((row) => row.token_id);
}

export async function listConnectTokensById(tables: Tables, tokenIds: string[]): Promise<ConnectToken[]> {
  return (await connectTokens(tables).where('connect_tokens.token_id', 'in', tokenIds).execute()).map(toConnectToken);
}

export async function touchConnectToken(tables: Tables, tokenId: string, at: Date): Promise<void> {
  await own(tables).updateTable('connect_tokens').set({ last_used_at: at }).where('token_id', '=', tokenId).execute();
}

interface SignInLinkRecord {
  digest: Buffer;
  owner: string;
  actor: string;
  createdAt: Date;
  expiresAt: Date;
}

export async function insertSignInLink(tx: Tables, { digest, owner, actor, createdAt, expiresAt }: SignInLinkRecord): Promise<void> {
  const row = { digest, owner_id: owner, actor, created_at: createdAt, expires_at: expiresAt };
  await own(tx).insertInto('sign_in_links').values(row).execute();
}

/** Deletes the link and returns whose it was; of two calls at the same time one gets undefined. */
export async function takeSignInLink(tx: Tables, digest: Buffer, now: Date): Promise<{ owner: string; actor: string } | undefined> {
  const row = await own(tx)
    .deleteFrom('sign_in_links')
    .where('digest', '=', digest)
    .where('expires_at', '>', now)
    .returning(['owner_id', 'actor'])
    .executeTakeFirst();
  return row && { owner: row.owner_id, actor: row.actor };
}

/**
 * Deletes the owner's links that have expired, and the oldest above a number. One that is being used is passed over: its
 * transaction waits for the owner's lock, which this one has.
 */
export async function deleteSpareSignInLinks(
  tx: Tables,
  { owner, linksMax, now }: { owner: string; linksMax: number; now: Date },
): Promise<void> {
  const newest = own(tx)
    .selectFrom('sign_in_links')
    .select('digest')
    .where('owner_id', '=', owner)
    .orderBy('created_at', 'desc')
    .limit(linksMax);
  const spare = own(tx)
    .selectFrom('sign_in_links')
    .select('digest')
    .where('owner_id', '=', owner)
    .where((row) => row.or([row('expires_at', '<=', now), row('digest', 'not in', newest)]))
    .forUpdate()
    .skipLocked();
  await own(tx).deleteFrom('sign_in_links').where('digest', 'in', spare).execute();
}
