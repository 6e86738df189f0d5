import { ServiceError } from '@berth/contract';
import { sql } from 'kysely';
import type { Store } from '../store/store.ts';

/** No body for a 204. */
export interface StoredResponse {
  status: number;
  reply: { headers: Record<string, string>; body?: unknown };
}

/** One worker's claim on a key. `claimedAt` distinguishes it from a later worker's. */
export interface KeyClaim {
  scope: string;
  key: string;
  requestHash: Buffer;
  claimedAt: Date;
}

interface IdempotencyTables {
  idempotency_keys: {
    scope: string;
    key: string;
    request_hash: Buffer;
    status: number | null;
    body: StoredResponse['reply'] | null;
    created_at: Date;
  };
}

const keys = (store: Store) => store.tables<IdempotencyTables>();

/** A row may be deleted between the insert and the read, but hardly this often. */
const claimAttemptsMax = 5;

/**
 * Claims the key (null), or returns the existing claim. Stale claims and expired responses are taken over.
 *
 * @throws ServiceError idempotency_in_progress
 */
export async function claimKey(
  store: Store,
  claim: KeyClaim,
  { staleBefore, expiredBefore }: { staleBefore: Date; expiredBefore: Date },
): Promise<{ requestHash: Buffer; stored: StoredResponse | null } | null> {
  const pending = { request_hash: claim.requestHash, status: null, body: null, created_at: claim.claimedAt };
  for (let attempt = 0; attempt < claimAttemptsMax; attempt++) {
    const taken = await keys(store)
      .insertInto('idempotency_keys')
      .values({ scope: claim.scope, key: claim.key, ...pending })
      .onConflict((conflict) =>
        conflict
          .columns(['scope', 'key'])
          .doUpdateSet(pending)
          .where((row) =>
            row.or([
              row('idempotency_keys.created_at', '<', expiredBefore),
              row.and([row('idempotency_keys.status', 'is', null), row('idempotency_keys.created_at', '<', staleBefore)]),
            ]),
          ),
      )
      .returning('scope')
      .executeTakeFirst();
    if (taken) return null;
    const row = await findKey(store, claim);
    if (row)
      return {
        requestHash: row.request_hash,
        stored: row.status === null || row.body === null ? null : { status: row.status, reply: row.body },
      };
  }
  throw new ServiceError('idempotency_in_progress', 'A request with this Idempotency-Key is still running. Try again later.', {
    retryAfterSeconds: 1,
  });
}

const findKey = (store: Store, { scope, key }: KeyClaim) =>
  keys(store).selectFrom('idempotency_keys').selectAll().where('scope', '=', scope).where('key', '=', key).executeTakeFirst();

/** Stores the response, as JSON, unless another worker has taken over the claim. */
export async function storeResponse(store: Store, claim: KeyClaim, stored: { status: number; text: string }): Promise<void> {
  await keys(store)
    .updateTable('idempotency_keys')
    .set({ status: stored.status, body: sql<StoredResponse['reply']>`${stored.text}::json` })
    .where('scope', '=', claim.scope)
    .where('key', '=', claim.key)
    .where('created_at', '=', claim.claimedAt)
    .execute();
}

/** Frees the key for another attempt, unless another worker has taken over the claim. */
export async function deleteClaim(store: Store, claim: KeyClaim): Promise<void> {
  await keys(store)
    .deleteFrom('idempotency_keys')
    .where('scope', '=', claim.scope)
    .where('key', '=', claim.key)
    .where('created_at', '=', claim.claimedAt)
    .execute();
}

/** Deletes the oldest responses of a scope until the others take at most `bytes` on the disk. */
export async function trimResponses(store: Store, scope: string, bytes: number): Promise<void> {
  const stored = keys(store)
    .selectFrom('idempotency_keys')
    .select(['scope', 'key', sql<number>`sum(pg_column_size(body)) over (order by created_at desc, scope, key)`.as('total')])
    .where(sql<boolean>`starts_with(scope, ${`${scope} `})`)
    .where('status', 'is not', null)
    .as('stored');
  await keys(store)
    .deleteFrom('idempotency_keys')
    .using(stored)
    .whereRef('idempotency_keys.scope', '=', 'stored.scope')
    .whereRef('idempotency_keys.key', '=', 'stored.key')
    .where('stored.total', '>', bytes)
    .execute();
}

export async function pruneKeys(store: Store, before: Date): Promise<number> {
  const { numDeletedRows } = await keys(store).deleteFrom('idempotency_keys').where('created_at', '<', before).executeTakeFirst();
  return Number(numDeletedRows);
}
