/** Credits of one worker, on a real store. */
import assert from 'node:assert/strict';
import { ServiceError, type ErrorCode } from '@berth/contract';
import { Audit } from '../../src/accounts/audit/audit.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { loadTiers, Owners } from '../../src/accounts/owners/owners.ts';
import { Rates } from '../../src/rates/rates.ts';
import type { Store } from '../../src/store/store.ts';
import { Credits, type CreditsDeps } from '../../src/accounts/credits/credits.ts';

export const clock = new ManualClock();
export const minuteMs = 60_000;

export function openCredits(store: Store, deps: Partial<CreditsDeps> = {}): Credits {
  const audit = new Audit({ store, clock });
  const owners = new Owners({ store, tiers: loadTiers(null, { billing: false }), audit, clock });
  return new Credits({
    store,
    owners,
    audit,
    rates: new Rates({ store, workerId: 'wrk_one', hasPeers: () => false }),
    clock,
    log: silentLog,
    workerId: 'wrk_one',
    ...deps,
  });
}

export const refusedWith =
  (code: ErrorCode) =>
  (error: unknown): boolean =>
    error instanceof ServiceError && error.code === code;

/** Number of results refused with this code; all others must have succeeded. */
export function refusedOf(outcomes: PromiseSettledResult<unknown>[], code: ErrorCode): number {
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  for (const { reason } of refused) assert.ok(refusedWith(code)(reason), String(reason));
  return refused.length;
}

/** Runs one iteration of a loop and asserts that it succeeds. */
export async function turn(credits: Credits, name: string): Promise<void> {
  const loop = credits.loops.find((loop) => loop.name === name);
  assert.ok(loop);
  loop.nudge();
  await loop.idle();
  assert.equal(loop.status.lastError, null);
}

/** Collects the fields of error log lines. */
export function captureErrors(): { log: Log; errors: object[] } {
  const errors: object[] = [];
  return { errors, log: { ...silentLog, error: (fields) => errors.push(fields) } };
}
