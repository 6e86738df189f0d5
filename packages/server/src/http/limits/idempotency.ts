import { createHash } from 'node:crypto';
import { ServiceError, ValidationError, type Endpoint } from '@berth/contract';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { RetentionBudget, type Disk } from '../../disk/disk.ts';
import type { Store } from '../../store/store.ts';
import { withClaim, type Effect } from '../effects.ts';
import { toErrorResponse, type HttpResponse } from '../errors.ts';
import type { Exchange } from '../server/exchange.ts';
import {
  claimKey,
  deleteClaim,
  endClaims,
  lengthOf,
  lostHolders,
  pruneKeys,
  storeEffect,
  storeResponse,
  trimResponses,
  type Claimant,
  type ExistingClaim,
  type KeyClaim,
  type StoredResponse,
} from './store.ts';

export type { Claimant } from './store.ts';

const retentionMs = 24 * 3600 * 1000;
/** A request may take this much longer than its deadline; an older claim was left by a worker that could not end it. */
const claimMarginMs = 30_000;

/** Maximum bytes of one owner: the oldest responses make room for new ones. A page as JSON has some megabytes. */
const ownerBytesMax = 64 * 1024 ** 2;
/** A larger response is not stored: a repetition gets an error, and does nothing. */
export const responseCharsMax = 16 * 1024 ** 2;
/** Larger responses are not stored while the disk is low. */
const smallBytesMax = 64 * 1024;

interface IdempotencyDeps {
  store: Store;
  disk: Disk;
  clock: Clock;
  log: Log;
  /** This process. */
  claimant: Claimant;
}

/**
 * Lets a caller repeat a POST without repeating its effect.
 *
 * A row claims the key before the work starts, so of two equal requests at the
 * same time one runs and the other gets `idempotency_in_progress`. A claim whose
 * worker is lost ends with it: the request may run anew unless it was charged
 * or had submitted a job, which the row says before it is done. Responses
 * that a retry may improve (429, 5xx, retryable conflicts) are not stored.
 */
export class Idempotency {
  #options: IdempotencyDeps;
  readonly #budget: RetentionBudget;

  constructor(options: IdempotencyDeps) {
    this.#options = options;
    const { store, disk } = options;
    this.#budget = new RetentionBudget(disk, { bytesMax: ownerBytesMax, trim: (scope, bytes) => trimResponses(store, scope, bytes) });
  }

  /**
   * Runs the work once for its key; `raw` is the unparsed body.
   *
   * @throws ServiceError idempotency_conflict, idempotency_in_progress, answer_lost
   */
  async once(
    endpoint: Endpoint,
    exchange: Exchange,
    request: { key: string; raw: Buffer | undefined; deadlineMs: number },
    work: () => Promise<HttpResponse>,
  ): Promise<HttpResponse> {
    const claim = this.#claimOf(exchange, request);
    const match = await claimKey(this.#options.store, claim, {
      staleBefore: new Date(claim.claimedAt.getTime() - request.deadlineMs - claimMarginMs),
      expiredBefore: new Date(claim.claimedAt.getTime() - retentionMs),
    });
    if (match) return replay(match, claim, exchange.requestId);
    const { owner, scope } = exchange.principal;
    const outcomeOf = { claim, scope, owner: owner ?? scope };
    let answer: HttpResponse;
    const effects = this.#effectsOf(claim);
    try {
      answer = await withClaim(effects.begin, work).finally(effects.close);
    } catch (error) {
      await this.#storeOutcome(outcomeOf, isReplayable(error) ? toStoredResponse(toErrorResponse(error, exchange.requestId), []) : null);
      throw error;
    }
    await this.#storeOutcome(outcomeOf, toStoredResponse(answer, endpoint.secretReplyFields ?? []));
    return answer;
  }

  #claimOf(exchange: Exchange, { key, raw }: { key: string; raw: Buffer | undefined }): KeyClaim {
    const { claimant } = this.#options;
    const [path = '', query = ''] = exchange.target.split('?', 2);
    const requestHash = createHash('sha256')
      .update(`${query}\n`)
      .update(raw ?? '')
      .digest();
    return {
      scope: `${exchange.principal.scope} POST ${path.replace(/\/$/, '')}`,
      key,
      requestHash,
      claimedAt: this.#options.clock.now(),
      claimant,
    };
  }

  /** The first effect is stored. Work that goes on after the response, such as a job, is no longer part of the claim. */
  #effectsOf(claim: KeyClaim): { begin: (effect: Effect) => Promise<boolean>; close: () => void } {
    let begun: Promise<boolean> | null = null;
    const store = async (effect: Effect): Promise<boolean> => {
      try {
        return await storeEffect(this.#options.store, claim, effect);
      } catch (error) {
        // What was done cannot be undone, so it is charged as it would be without a key.
        this.#options.log.warn({ err: error, scope: claim.scope }, 'effect of an idempotent request not stored');
        return true;
      }
    };
    return { begin: (effect) => (begun ??= store(effect)), close: () => void (begun ??= Promise.resolve(true)) };
  }

  /** The caller gets the response of the work even if it cannot be stored. */
  async #storeOutcome({ claim, scope, owner }: OutcomeOf, stored: StoredResponse | null): Promise<void> {
    const { store, disk } = this.#options;
    try {
      if (stored === null || (disk.isLow && lengthOf(stored) > smallBytesMax)) return await deleteClaim(store, claim);
      const reply = lengthOf(stored) > responseCharsMax ? toStoredResponse(toErrorResponse(answerTooLarge(), ''), []) : stored;
      await storeResponse(store, claim, reply);
      await this.#budget.add(owner, lengthOf(reply), scope);
    } catch (error) {
      this.#options.log.warn({ err: error, scope: claim.scope }, 'idempotent response not stored');
    }
  }
}

interface OutcomeOf {
  claim: KeyClaim;
  owner: string;
  scope: string;
}

/** Deletes responses older than 24 hours and returns their number. */
export const pruneIdempotencyKeys = (store: Store, clock: Clock): Promise<number> =>
  pruneKeys(store, new Date(clock.now().getTime() - retentionMs));

/** Ends claims of processes that are gone. In two steps: what they ran is ended in between, so that it is not in the way of a repetition. */
export async function findLostClaims(store: Store, claimant: Claimant): Promise<() => Promise<number>> {
  const holders = await lostHolders(store, claimant);
  return async () => (holders.length === 0 ? 0 : endClaims(store, holders, toLostAnswer));
}

/** A replay has the id of the request that it answers. */
const toLostAnswer = (effect: Effect): StoredResponse => toStoredResponse(toErrorResponse(answerLost(effect), ''), []);

const answerLost = (effect: Effect): ServiceError =>
  new ServiceError(
    'answer_lost',
    'The first request with this Idempotency-Key was charged or had submitted a job, and its worker was lost before it answered. ' +
      '`details` has what can be read of it. Use a new key to send the request again.',
    { details: { ...effect } },
  );

const answerTooLarge = (): ServiceError =>
  new ServiceError(
    'answer_lost',
    `The response to the first request with this Idempotency-Key had more than ${responseCharsMax} characters and was not stored. ` +
      'It was done, and is not repeated. Use a new key to send the request again.',
  );

function isReplayable(error: unknown): boolean {
  if (error instanceof ValidationError) return true;
  return error instanceof ServiceError && error.status < 500 && error.status !== 429 && !error.retryable;
}

/** Only replies with secrets are parsed; they are small. */
function toStoredResponse({ status, headers, body }: HttpResponse, secretFields: readonly string[]): StoredResponse {
  if (body === '') return { status, headers, body: null };
  if (secretFields.length === 0) return { status, headers, body };
  const value: unknown = JSON.parse(body);
  if (typeof value === 'object' && value !== null)
    for (const field of secretFields) if (Object.hasOwn(value, field)) Object.assign(value, { [field]: null });
  return { status, headers, body: JSON.stringify(value) };
}

/** The response to a repeated request. */
function replay(match: ExistingClaim, claim: KeyClaim, requestId: string): HttpResponse {
  if (!match.requestHash.equals(claim.requestHash))
    throw new ServiceError(
      'idempotency_conflict',
      'This Idempotency-Key was already used with another request. Use a new key for each new request.',
    );
  if (match.lostEffect) throw answerLost(match.lostEffect);
  if (!match.stored)
    throw new ServiceError('idempotency_in_progress', 'A request with this Idempotency-Key is still running. Try again later.', {
      retryAfterSeconds: 1,
    });
  const { status, body } = match.stored;
  const headers = { ...match.stored.headers, 'idempotent-replayed': 'true' };
  if (body === null) return { status, headers, body: '' };
  return { status, headers, body: status < 400 ? body : JSON.stringify(withRequestId(JSON.parse(body), requestId)) };
}

/** An error body names the current request, not the original one. */
function withRequestId(body: unknown, requestId: string): unknown {
  if (typeof body !== 'object' || body === null || !('error' in body)) return body;
  const { error } = body;
  return typeof error === 'object' && error !== null && 'request_id' in error
    ? { ...body, error: { ...error, request_id: requestId } }
    : body;
}
