import { createKey, createSignInLink, listKeys, revokeKey } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { actorOf } from '../principals/principals.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { toKey } from './api-key.ts';
import type { Keys } from './keys.ts';
import type { SignInLinks } from './sign-in-links.ts';
import { toKeyFilter, toKeyPage } from './key-pages.ts';

export function mountKeyAdmin(routes: Routes, keys: Keys, clock: Clock): void {
  routes.on(listKeys, async (call) => {
    const { query } = call;
    return toKeyPage(call, await keys.list({ ...toKeyFilter(query.owner, query), last4: query.last4 }), query.limit, clock.now());
  });
  routes.on(createKey, async ({ body, principal }) => {
    const { expires_in_days: expiresInDays, ...options } = body;
    const { key, raw } = await keys.create({ ...options, expiresInDays, createdBy: 'admin', actor: actorOf(principal) });
    return { ...toKey(key, clock.now()), key: raw };
  });
  routes.on(revokeKey, async ({ params, principal }) => {
    await keys.revoke({ keyId: params.key_id, owner: null, actor: actorOf(principal) });
    return undefined;
  });
}

export function mountSignInLinkAdmin(routes: Routes, links: SignInLinks): void {
  routes.on(createSignInLink, async ({ body, principal, origin }) => {
    const { owner, ttl_seconds: ttlSeconds } = body;
    const { url, expiresAt } = await links.create({ owner, ttlSeconds, origin, actor: actorOf(principal) });
    return { owner, url, expires_at: expiresAt.toISOString() };
  });
}
