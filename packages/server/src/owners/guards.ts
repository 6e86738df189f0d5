import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '@berth/contract';
import type { Guard, Principal } from '../http/call.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Compares digests in constant time, so that timing reveals neither length nor prefix of the secret. */
function createSecretComparer(secret: string): (credential: string) => boolean {
  const expected = digest(secret);
  return (credential) => timingSafeEqual(digest(credential), expected);
}

const operator: Principal = { owner: null, keyId: null, requestsPerMinute: null, scope: 'operator' };

/** The guard of admin endpoints. */
export function adminGuard(adminKey: string): Guard {
  const isValid = createSecretComparer(adminKey);
  return ({ adminKey: credential }) => {
    if (!credential) throw new ServiceError('missing_admin_key', 'Send the admin key in the header `x-admin-key`.');
    if (!isValid(credential)) throw new ServiceError('invalid_admin_key', 'This admin key is not valid.');
    return operator;
  };
}

/** The guard of `/metrics`: its own token where one is configured, else the admin key. */
export function metricsGuard({ metricsToken, adminKey }: { metricsToken: string | null; adminKey: string }): Guard {
  if (metricsToken === null) return adminGuard(adminKey);
  const isValid = createSecretComparer(metricsToken);
  return ({ authorization }) => {
    const [, credential] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
    if (!credential) throw new ServiceError('missing_metrics_token', 'Send the metrics token as `Authorization: Bearer TOKEN`.');
    if (!isValid(credential)) throw new ServiceError('invalid_metrics_token', 'This metrics token is not valid.');
    return operator;
  };
}
