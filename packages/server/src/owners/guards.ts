import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '@berth/contract';
import type { Guard, Principal } from '../http/call.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Digests are compared, so that neither length nor prefix of the secret shows in the time it takes. */
function comparison(secret: string): (given: string) => boolean {
  const expected = digest(secret);
  return (given) => timingSafeEqual(digest(given), expected);
}

const operator: Principal = { owner: null, keyId: null, requestsPerMinute: null, scope: 'operator' };

/** The guard of admin endpoints. */
export function adminGuard(adminKey: string): Guard {
  const isRight = comparison(adminKey);
  return ({ adminKey: given }) => {
    if (!given) throw new ServiceError('missing_admin_key', 'Send the admin key in the header `x-admin-key`.');
    if (!isRight(given)) throw new ServiceError('invalid_admin_key', 'This admin key is not valid.');
    return operator;
  };
}

/** The guard of `/metrics`: its own token where one is configured, so that who reads numbers need not hold the admin key; else that key. */
export function metricsGuard({ metricsToken, adminKey }: { metricsToken: string | null; adminKey: string }): Guard {
  if (metricsToken === null) return adminGuard(adminKey);
  const isRight = comparison(metricsToken);
  return ({ authorization }) => {
    const [, given] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
    if (!given) throw new ServiceError('missing_metrics_token', 'Send the metrics token as `Authorization: Bearer TOKEN`.');
    if (!isRight(given)) throw new ServiceError('invalid_metrics_token', 'This metrics token is not valid.');
    return operator;
  };
}
