import { ServiceError } from '@berth/contract';
import { sql } from 'kysely';
import type { Store } from '../../store/store.ts';
import type { Effect } from '../effects.ts';

export interface StoredResponse {
  status: number;
  headers: Record<string, string>;
  /** Body as JSON; null for a 204. */
  body: string | null;
}

/** A response as its row has it. */
interface StoredReply {
  headers: Record<string, string>;
  body?: unknown;
}

/** One process's claim on a key. Its holder and `claimedAt` distinguish it from later ones. */
export interface KeyClaim {
  scope: string;
  key: string;
  requestHash: Buffer;
  claimedAt: Date;
  claimant: Claimant;
}

/** The process that runs a request. */
export interface Claimant {
  workerId: string;
  /** Identifies it among all that serve as this worker, one after another. */
  holder: string;
}

/** A key that was claimed before. */
export interface ExistingClaim {
  requestHash: Buffer;
  stored: StoredResponse | null;
  /** What the request has done whose response was not stored in time; null: nothing, or it still runs. */
  lostEffect: Effect | null;
}

interface IdempotencyTables {
  idempotency_keys: {
    scope: string;
    key: string;
    request_hash: Buffer;
    status: number | null;
    body: StoredReply | null;
    created_at: Date;
    worker_id: string | null;
    holder: string | null;
    held_from: Date | null;
    effect: Effect | null;
  };
  lost_workers: { worker_id: string };
}

const keys = (store: Store) => store.tables<IdempotencyTables>();

/** A row may be deleted between the insert and the read, but hardly this often. */
const claimAttemptsMax = 5;

/**
 * Claims the key (null), or returns the existing claim. Expired responses are taken over, and stale
 * claims of requests that have done nothing.
 *
 * @throws ServiceError idempotency_in_progress
 */
export async function claimKey(
  store: Store,
  claim: KeyClaim,
  { staleBefore, expiredBefore }: { staleBefore: Date; expiredBefore: Date },
): Promise<ExistingClaim | null> {
  const { workerId, holder } = claim.claimant;
  const pending = {
    request_hash: claim.requestHash,
    status: null,
    body: null,
    created_at: claim.claimedAt,
    worker_id: workerId,
    holder,
    held_from: claim.claimedAt,
    effect: null,
  };
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
              row.and([
                row('idempotency_keys.status', 'is', null),
                row('idempotency_keys.created_at', '<', staleBefore),
                sql<boolean>`idempotency_keys.effect is null or idempotency_keys.held_from <> idempotency_keys.created_at`,
              ]),
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
        stored: row.status === null || row.headers === null ? null : { status: row.status, headers: row.headers, body: row.reply },
        lostEffect: row.status === null && row.created_at < staleBefore ? effectOf(row) : null,
      };
  }
  throw new ServiceError('idempotency_in_progress', 'A request with this Idempotency-Key is still running. Try again later.', {
    retryAfterSeconds: 1,
  });
}

/** The body as it was written, without parsing it. */
const findKey = (store: Store, { scope, key }: KeyClaim) =>
  keys(store)
    .selectFrom('idempotency_keys')
    .select(['request_hash', 'status', 'created_at', 'held_from', 'effect'])
    .select([sql<Record<string, string> | null>`body->'headers'`.as('headers'), sql<string | null>`(body->'body')::text`.as('reply')])
    .where('scope', '=', scope)
    .where('key', '=', key)
    .executeTakeFirst();

type ClaimRow = Pick<IdempotencyTables['idempotency_keys'], 'effect' | 'held_from' | 'created_at'>;
const effectOf = ({ effect, held_from: from, created_at: claimedAt }: ClaimRow): Effect | null =>
  from?.getTime() === claimedAt.getTime() ? effect : null;

/** Stores what a request is about to do. False when its claim was taken over, or ended. */
export async function storeEffect(store: Store, claim: KeyClaim, effect: Effect): Promise<boolean> {
  const row = await keys(store)
    .updateTable('idempotency_keys')
    .set({ effect: sql<Effect>`${JSON.stringify(effect)}::jsonb` })
    .where('scope', '=', claim.scope)
    .where('key', '=', claim.key)
    .where('created_at', '=', claim.claimedAt)
    .where('holder', '=', claim.claimant.holder)
    .where('held_from', '=', claim.claimedAt)
    .where('status', 'is', null)
    .returning('scope')
    .executeTakeFirst();
  return row !== undefined;
}

const running = (store: Store) =>
  keys(store)
    .selectFrom('idempotency_keys')
    .where('status', 'is', null)
    .where('held_from', '=', sql<Date>`created_at`);

/** Processes that are gone and have left claims: those before this one under its worker's id, and those of lost workers. */
export async function lostHolders(store: Store, { workerId, holder }: Claimant): Promise<string[]> {
  const rows = await running(store)
    .select('holder')
    .distinct()
    .where('holder', '!=', holder)
    .where((where) =>
      where.or([where('worker_id', '=', workerId), where('worker_id', 'in', where.selectFrom('lost_workers').select('worker_id'))]),
    )
    .execute();
  return rows.flatMap((row) => row.holder ?? []);
}

/** Ends the claims that these processes have left: frees the key, or stores what `responseTo` says of what was done. */
export async function endClaims(store: Store, holders: readonly string[], responseTo: (effect: Effect) => StoredResponse): Promise<number> {
  const left = await running(store).selectAll().where('holder', 'in', holders).execute();
  for (const row of left) {
    const claimant = { workerId: row.worker_id ?? '', holder: row.holder ?? '' };
    const claim = { scope: row.scope, key: row.key, requestHash: row.request_hash, claimedAt: row.created_at, claimant };
    await (row.effect ? storeLostResponse(store, claim, responseTo(row.effect)) : deleteUntouched(store, claim));
  }
  return left.length;
}

/** A process that was only frozen may begin something in this moment. */
async function deleteUntouched(store: Store, claim: KeyClaim): Promise<void> {
  await keys(store)
    .deleteFrom('idempotency_keys')
    .where('scope', '=', claim.scope)
    .where('key', '=', claim.key)
    .where('created_at', '=', claim.claimedAt)
    .where('holder', '=', claim.claimant.holder)
    .where('status', 'is', null)
    .where('effect', 'is', null)
    .execute();
}

/** Length of a response's JSON in its row, apart from some names. */
export const lengthOf = ({ headers, body }: StoredResponse): number => JSON.stringify(headers).length + (body?.length ?? 0);

/** Joined, not parsed: a reply may have megabytes. */
const toReplyText = ({ headers, body }: StoredResponse): string =>
  `{"headers":${JSON.stringify(headers)}${body === null ? '' : `,"body":${body}`}}`;

const responseUpdate = (store: Store, { scope, key, claimedAt, claimant }: KeyClaim, stored: StoredResponse) =>
  keys(store)
    .updateTable('idempotency_keys')
    .set({ status: stored.status, body: sql<StoredReply>`${toReplyText(stored)}::json` })
    .where('scope', '=', scope)
    .where('key', '=', key)
    .where('created_at', '=', claimedAt)
    .where('holder', '=', claimant.holder);

/**
 * Stores the response, as JSON, unless another worker has taken over the claim. It replaces what was stored for a worker
 * that was taken for lost.
 */
export async function storeResponse(store: Store, claim: KeyClaim, stored: StoredResponse): Promise<void> {
  await responseUpdate(store, claim, stored).execute();
}

async function storeLostResponse(store: Store, claim: KeyClaim, stored: StoredResponse): Promise<void> {
  await responseUpdate(store, claim, stored).where('status', 'is', null).execute();
}

/** Frees the key for another attempt, unless another worker has taken over the claim. */
export async function deleteClaim(store: Store, claim: KeyClaim): Promise<void> {
  await keys(store)
    .deleteFrom('idempotency_keys')
    .where('scope', '=', claim.scope)
    .where('key', '=', claim.key)
    .where('created_at', '=', claim.claimedAt)
    .where('holder', '=', claim.claimant.holder)
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
