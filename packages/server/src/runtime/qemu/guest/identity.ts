/** Who a machine is. Clones of a template are born alike in everything, so each is told who it is before anybody touches it. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Identity, IdentityTaken } from '@berth/contract/guest';

/** What sites make of the time, and certificates with it, is off by no more than this. */
const skewMsMax = 1000;

export const newIdentity = (nowMs: number): Identity => ({
  entropy: randomBytes(64).toString('base64'),
  time_ms: nowMs,
  machine_id: randomBytes(16).toString('hex'),
  boot_id: randomUUID(),
  hostname: `berth-${randomBytes(4).toString('hex')}`,
});

export const isTaken = (identity: Identity, taken: IdentityTaken): boolean =>
  taken.machine_id === identity.machine_id && taken.boot_id === identity.boot_id;

/** Whether the answer, which has just come, proves that the machine knows the time. One that was long on its way proves nothing. */
export const knowsTime = ({ time_ms: timeMs }: IdentityTaken, nowMs: number): boolean => Math.abs(timeMs - nowMs) <= skewMsMax;
