import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '@berth/contract';
import type { Guard } from '../http/call.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The guard of admin endpoints. Digests are compared, so that neither length nor prefix of the key shows in the time it takes. */
export function adminGuard(adminKey: string): Guard {
  const expected = digest(adminKey);
  const operator = { owner: null, keyId: null, requestsPerMinute: null, scope: 'operator' };
  return ({ adminKey: given }) => {
    if (!given) throw new ServiceError('missing_admin_key', 'Send the admin key in the header `x-admin-key`.');
    if (!timingSafeEqual(digest(given), expected)) throw new ServiceError('invalid_admin_key', 'This admin key is not valid.');
    return operator;
  };
}
