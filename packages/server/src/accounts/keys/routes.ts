import {
  createConnectToken,
  createOwnKey,
  endLinkSignIn,
  listConnectTokens,
  listOwnKeys,
  redeemSignInLink,
  revokeConnectToken,
  revokeOwnKey,
  rotateOwnKey,
} from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { ownerOf, callerOf } from '../principals/principals.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { toKey } from './api-key.ts';
import { toConnectToken, toConnectUrls } from './connect-token.ts';
import type { ConnectTokens } from './connect-tokens.ts';
import type { Keys } from './keys.ts';
import type { SignInLinks } from './sign-in-links.ts';
import { toKeyFilter, toKeyPage } from './key-pages.ts';

export function mountKeys(routes: Routes, keys: Keys, clock: Clock): void {
  routes.on(listOwnKeys, async (call) => {
    const { query, principal } = call;
    return toKeyPage(call, await keys.list(toKeyFilter(ownerOf(principal), query)), query.limit, clock.now());
  });
  routes.on(createOwnKey, async ({ body, principal }) => {
    const { key, raw } = await keys.createOwn({ ...callerOf(principal), name: body.name, expiresInDays: body.expires_in_days });
    return { ...toKey(key, clock.now()), key: raw };
  });
  routes.on(revokeOwnKey, async ({ params, principal }) => {
    const revokedAt = await keys.revoke({ ...callerOf(principal), keyId: params.key_id });
    return { key_id: params.key_id, status: 'revoked' as const, revoked_at: revokedAt.toISOString() };
  });
  routes.on(rotateOwnKey, async ({ params, body, principal }) => {
    const { key, raw } = await keys.rotate({ ...callerOf(principal), keyId: params.key_id, graceSeconds: body.grace_seconds });
    return { ...toKey(key, clock.now()), key: raw, replaces: params.key_id };
  });
}

export function mountConnectTokens(routes: Routes, tokens: ConnectTokens, clock: Clock): void {
  routes.on(createConnectToken, async ({ body, principal, origin }) => {
    const { name, expires_in_days: expiresInDays, reconnect_seconds: reconnectSeconds } = body;
    const { token, raw } = await tokens.create(principal, { name, expiresInDays, reconnectSeconds });
    return { ...toConnectToken(token, clock.now()), token: raw, ...toConnectUrls(origin, raw) };
  });
  routes.on(listConnectTokens, async ({ principal }) =>
    (await tokens.list(ownerOf(principal))).map((token) => toConnectToken(token, clock.now())),
  );
  routes.on(revokeConnectToken, ({ params, principal }) => tokens.revoke(principal, params.token_id).then(() => undefined));
}

export function mountSignInLinks(routes: Routes, { links, keys, clock }: { links: SignInLinks; keys: Keys; clock: Clock }): void {
  routes.on(redeemSignInLink, async ({ body }) => {
    const { key, raw } = await links.redeem(body.token);
    return { ...toKey(key, clock.now()), key: raw };
  });
  routes.on(endLinkSignIn, async ({ principal }) => {
    await keys.revokeOfLink({ ...callerOf(principal), keyId: principal.keyId ?? '' });
    return undefined;
  });
}
