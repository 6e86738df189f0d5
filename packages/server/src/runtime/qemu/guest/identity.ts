/** The identity of a machine. Clones of a template start identical, so each gets its own before it is used. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Identity, IdentityResult } from '@berth/contract/guest';

/** Maximum error of the guest's clock, which sites and certificate checks see. */
const skewMsMax = 1000;

export const newIdentity = (nowMs: number): Identity => ({
  entropy: randomBytes(64).toString('base64'),
  time_ms: nowMs,
  machine_id: randomBytes(16).toString('hex'),
  boot_id: randomUUID(),
  hostname: `berth-${randomBytes(4).toString('hex')}`,
});

export const isIdentityTaken = (identity: Identity, taken: IdentityResult): boolean =>
  taken.machine_id === identity.machine_id && taken.boot_id === identity.boot_id;

/** Whether a response that has just arrived proves that the guest's clock is correct. A late one proves nothing. */
export const isClockCorrect = ({ time_ms: timeMs }: IdentityResult, nowMs: number): boolean => Math.abs(timeMs - nowMs) <= skewMsMax;
