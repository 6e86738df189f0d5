/** Credits as a worker has them, on a real store. */
import assert from 'node:assert/strict';
import { ServiceError, type ErrorCode } from '@berth/contract';
import { Audit } from '../audit/audit.ts';
import { ManualClock } from '../lib/clock.ts';
import { silentLog, type Log } from '../lib/log.ts';
import { loadTiers, Owners } from '../owners/owners.ts';
import type { Store } from '../store/store.ts';
import { Credits, type CreditsDeps } from './credits.ts';

export const clock = new ManualClock();
export const minuteMs = 60_000;

export function openCredits(store: Store, deps: Partial<CreditsDeps> = {}): Credits {
  const audit = new Audit({ store, clock });
  const owners = new Owners({ store, tiers: loadTiers(null, { billing: false }), audit, clock });
  return new Credits({
    store,
    owners,
    audit,
    clock,
    log: silentLog,
    workerId: 'wrk_one',
    silentWorkers: () => Promise.resolve([]),
    ...deps,
  });
}

export const refusedWith =
  (code: ErrorCode) =>
  (error: unknown): boolean =>
    error instanceof ServiceError && error.code === code;

/** How many were refused with this code; all others must have succeeded. */
export function refusedOf(outcomes: PromiseSettledResult<unknown>[], code: ErrorCode): number {
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  for (const { reason } of refused) assert.ok(refusedWith(code)(reason), String(reason));
  return refused.length;
}

/** Takes a turn of a loop, and fails with what it failed with. */
export async function turn(credits: Credits, name: string): Promise<void> {
  const loop = credits.loops.find((loop) => loop.name === name);
  assert.ok(loop);
  loop.nudge();
  await loop.idle();
  assert.equal(loop.status.lastError, null);
}

/** Keeps what is logged as an error. */
export function hearing(): { log: Log; heard: object[] } {
  const heard: object[] = [];
  return { heard, log: { ...silentLog, error: (facts) => heard.push(facts) } };
}
