import { ServiceError } from '@berth/contract';
import { sql } from 'kysely';
import type { Store } from '../store/store.ts';

/** An answer as it is kept: no body for a 204. */
export interface KeptAnswer {
  status: number;
  reply: { headers: Record<string, string>; body?: unknown };
}

/** One worker's right to do the work of a key. `claimedAt` tells it from a later worker's. */
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
    body: KeptAnswer['reply'] | null;
    created_at: Date;
  };
}

/** A row may vanish between our insert and our look at it, but hardly this often. */
const claimTries = 5;

/** Takes the key (null), or tells what stands in the way. Claims and answers past their time are taken over. */
export async function claimKey(
  store: Store,
  claim: KeyClaim,
  { staleBefore, expiredBefore }: { staleBefore: Date; expiredBefore: Date },
): Promise<{ requestHash: Buffer; kept: KeptAnswer | null } | null> {
  for (let tries = 0; tries < claimTries; tries++) {
    const taken = await store
      .tables<IdempotencyTables>()
      .insertInto('idempotency_keys')
      .values({
        scope: claim.scope,
        key: claim.key,
        request_hash: claim.requestHash,
        status: null,
        body: null,
        created_at: claim.claimedAt,
      })
      .onConflict((conflict) =>
        conflict
          .columns(['scope', 'key'])
          .doUpdateSet({ request_hash: claim.requestHash, status: null, body: null, created_at: claim.claimedAt })
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
        kept: row.status === null || row.body === null ? null : { status: row.status, reply: row.body },
      };
  }
  throw new ServiceError('idempotency_in_progress', 'A request with this Idempotency-Key is still running.', { retryAfterSeconds: 1 });
}

const findKey = (store: Store, { scope, key }: KeyClaim): Promise<IdempotencyTables['idempotency_keys'] | undefined> =>
  store
    .tables<IdempotencyTables>()
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('scope', '=', scope)
    .where('key', '=', key)
    .executeTakeFirst();

/** Keeps the answer, unless somebody has taken the claim over. */
export async function keepAnswer(store: Store, claim: KeyClaim, kept: KeptAnswer): Promise<void> {
  await store
    .tables<IdempotencyTables>()
    .updateTable('idempotency_keys')
    .set({ status: kept.status, body: sql<KeptAnswer['reply']>`${JSON.stringify(kept.reply)}::json` })
    .where('scope', '=', claim.scope)
    .where('key', '=', claim.key)
    .where('created_at', '=', claim.claimedAt)
    .execute();
}

/** Frees the key for another try, unless somebody has taken the claim over. */
export async function dropClaim(store: Store, claim: KeyClaim): Promise<void> {
  await store
    .tables<IdempotencyTables>()
    .deleteFrom('idempotency_keys')
    .where('scope', '=', claim.scope)
    .where('key', '=', claim.key)
    .where('created_at', '=', claim.claimedAt)
    .execute();
}

export async function pruneKeys(store: Store, before: Date): Promise<number> {
  const { numDeletedRows } = await store
    .tables<IdempotencyTables>()
    .deleteFrom('idempotency_keys')
    .where('created_at', '<', before)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
