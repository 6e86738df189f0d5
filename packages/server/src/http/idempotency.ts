import { createHash } from 'node:crypto';
import { ServiceError, ValidationError } from '@berth/contract';
import type { Endpoint } from '@berth/contract';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import { answerOf } from './errors.ts';
import type { Answer } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { claimKey, dropClaim, keepAnswer, pruneKeys } from './store.ts';
import type { KeptAnswer, KeyClaim } from './store.ts';

/** How long an answer is kept for a repetition of its request. */
const keptMs = 24 * 3600 * 1000;
/** After its deadline a request may still be told about; a claim older than that is a dead worker's. */
const claimMarginMs = 30_000;

export interface IdempotencyOptions {
  store: Store;
  clock: Clock;
  log: Log;
}

/**
 * Lets a caller repeat a POST without its effect happening twice.
 *
 * The key is claimed by a row before the work starts, so of two equal requests
 * at the same time one works and the other is told so. Answers that a repetition
 * could change for the better (429, 5xx, retryable conflicts) are not kept.
 */
export class Idempotency {
  #options: IdempotencyOptions;

  constructor(options: IdempotencyOptions) {
    this.#options = options;
  }

  /** Does the work once for its key; `raw` is the body as it came. */
  async once(
    endpoint: Endpoint,
    exchange: Exchange,
    request: { key: string; raw: Buffer | undefined; deadlineMs: number },
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    const claim = this.#claimOf(exchange, request);
    const found = await claimKey(this.#options.store, claim, {
      staleBefore: new Date(claim.claimedAt.getTime() - request.deadlineMs - claimMarginMs),
      expiredBefore: new Date(claim.claimedAt.getTime() - keptMs),
    });
    if (found) return replay(found, claim, exchange.requestId);
    let answer: Answer;
    try {
      answer = await work();
    } catch (error) {
      await this.#settle(claim, isWorthKeeping(error) ? toKept(answerOf(error, exchange.requestId), []) : null);
      throw error;
    }
    await this.#settle(claim, toKept(answer, endpoint.secretReplyFields ?? []));
    return answer;
  }

  #claimOf(exchange: Exchange, { key, raw }: { key: string; raw: Buffer | undefined }): KeyClaim {
    const [path = '', query = ''] = exchange.target.split('?', 2);
    const requestHash = createHash('sha256')
      .update(`${query}\n`)
      .update(raw ?? '')
      .digest();
    return { scope: `${exchange.principal.scope} POST ${path.replace(/\/$/, '')}`, key, requestHash, claimedAt: this.#options.clock.now() };
  }

  /** The work is done and its caller is told so even where its answer cannot be kept. */
  async #settle(claim: KeyClaim, kept: KeptAnswer | null): Promise<void> {
    try {
      if (kept) await keepAnswer(this.#options.store, claim, kept);
      else await dropClaim(this.#options.store, claim);
    } catch (error) {
      this.#options.log.warn({ err: error, scope: claim.scope }, 'the outcome of an idempotent request was not kept');
    }
  }
}

/** Forgets answers that are older than 24 hours. One turn of a Loop; tells how many there were. */
export const pruneIdempotencyKeys = (store: Store, clock: Clock): Promise<number> =>
  pruneKeys(store, new Date(clock.now().getTime() - keptMs));

function isWorthKeeping(error: unknown): boolean {
  if (error instanceof ValidationError) return true;
  return error instanceof ServiceError && error.status < 500 && error.status !== 429 && !error.retryable;
}

function toKept({ status, headers, body }: Answer, secretFields: readonly string[]): KeptAnswer {
  const value: unknown = body === '' ? undefined : JSON.parse(body);
  if (typeof value === 'object' && value !== null)
    for (const field of secretFields) if (Object.hasOwn(value, field)) Object.assign(value, { [field]: null });
  return { status, reply: value === undefined ? { headers } : { headers, body: value } };
}

/** What a repetition is told. */
function replay(found: { requestHash: Buffer; kept: KeptAnswer | null }, claim: KeyClaim, requestId: string): Answer {
  if (!found.requestHash.equals(claim.requestHash))
    throw new ServiceError('idempotency_conflict', 'This Idempotency-Key was used for another request. Use a new key for a new request.');
  if (!found.kept)
    throw new ServiceError('idempotency_in_progress', 'A request with this Idempotency-Key is still running.', { retryAfterSeconds: 1 });
  const { status, reply } = found.kept;
  const headers = { ...reply.headers, 'idempotent-replayed': 'true' };
  return { status, headers, body: reply.body === undefined ? '' : JSON.stringify(withRequestId(reply.body, requestId)) };
}

/** An error names the request that it answers, which is this one. */
function withRequestId(body: unknown, requestId: string): unknown {
  if (typeof body !== 'object' || body === null || !('error' in body)) return body;
  const { error } = body;
  return typeof error === 'object' && error !== null && 'request_id' in error
    ? { ...body, error: { ...error, request_id: requestId } }
    : body;
}
