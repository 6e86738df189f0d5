import { createKey, listKeys, revokeKey, type Key } from '@berth/contract';
import type { Routes } from '../http/call.ts';
import type { Clock } from '../lib/clock.ts';
import { keyPrefix, keyStatus, type ApiKey, type Keys } from './keys.ts';

export function mountKeyAdmin(routes: Routes, keys: Keys, clock: Clock): void {
  const toKey = (key: ApiKey): Key => ({
    key_id: key.keyId,
    name: key.name,
    prefix: keyPrefix,
    last4: key.last4,
    owner: key.owner,
    created_at: key.createdAt.toISOString(),
    created_by: key.createdBy,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    status: keyStatus(key, clock.now()),
  });

  routes.on(listKeys, async ({ query }) => (await keys.list(query.owner)).map(toKey));
  routes.on(createKey, async ({ body }) => {
    const { key, raw } = await keys.mint({ owner: body.owner, name: body.name, tier: body.tier, expiresInDays: body.expires_in_days, createdBy: 'admin' });
    return { ...toKey(key), key: raw };
  });
  routes.on(revokeKey, ({ params }) => keys.revoke(params.key_id).then(() => undefined));
}
