/**
 * What a request with an `Idempotency-Key` does and must not do twice: it is charged, or submits a job. That is stored
 * before it is done, because the worker may be lost before the response is stored. Whoever does it is deep below the
 * request, so the claim is found by the asynchronous context.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** What the caller can read, when the response is lost. */
export interface Effect {
  session_id?: string | undefined;
  job_id?: string | undefined;
}

type Begin = (effect: Effect) => Promise<boolean>;

const claims = new AsyncLocalStorage<Begin>();

/** Runs the work of a request that has claimed a key. `begin` stores an effect, and is false where the claim is lost. */
export const withClaim = <T>(begin: Begin, work: () => T): T => claims.run(begin, work);

/** Called before what must not be done twice. False: another request does it. Null: the present request has no key. */
export const beginEffect = (effect: Effect): Promise<boolean> | null => claims.getStore()?.(effect) ?? null;
