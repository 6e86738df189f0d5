/** The trade desk's tokens, and an authorization server (code flow with PKCE) that approves at once. */
import { createHash, createHmac } from 'node:crypto';
import { json, redirect, type Call, type Reply, type Routes } from './wire.ts';

// Not secrets: they are the same in every run.
const made = (name: string): string => createHmac('sha256', 'harbour').update(name).digest('base64url');

export const tradeKeys = {
  refresh: `rt_${made('refresh')}`,
  rates: `qk_live_${made('rates').slice(0, 32)}`,
  maps: `AIza${made('maps').slice(0, 35)}`,
  exportPassword: `Kiel-${made('export').slice(0, 14)}`,
  code: made('code').slice(0, 32),
  harbourAccess: `ha_${made('harbour access')}`,
  harbourRefresh: `hr_${made('harbour refresh')}`,
};

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A JWT of the desk's own API. */
export function tokenOf({ state, url }: Call, jti: string): string {
  const now = Math.floor(state.now() / 1000);
  const head = base64({ alg: 'HS256', typ: 'JWT', kid: 'desk-1' });
  const claims = base64({
    iss: `${url.origin}/api/v2`,
    aud: 'trade-desk',
    sub: '4711',
    scope: 'orders notes',
    jti,
    iat: now,
    exp: now + 900,
  });
  return `${head}.${claims}.${made(`${head}.${claims}`)}`;
}

function isGood(token: string): boolean {
  const [head, claims, signature] = token.split('.');
  return signature === made(`${head}.${claims}`);
}

export function withToken(route: (call: Call) => Reply): (call: Call) => Reply {
  return (call) => {
    const [, token] = /^Bearer (.+)$/.exec(call.headers.authorization ?? '') ?? [];
    if (token !== undefined && isGood(token)) return route(call);
    const reply = json({ error: { code: 'unauthorized', message: 'Send an access token.' } }, 401);
    return { ...reply, headers: { ...reply.headers, 'www-authenticate': 'Bearer realm="desk"' } };
  };
}

const clientId = 'trade-desk';

export const harbourRoutes: Routes = {
  'GET /idp/.well-known/openid-configuration': discovery,
  'GET /idp/authorize': authorize,
  'POST /idp/token': exchange,
  'GET /idp/userinfo': userinfo,
  'GET /idp/jwks': () => json({ keys: [] }),
};

function discovery({ url }: Call): Reply {
  const issuer = `${url.origin}/idp`;
  return json({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    scopes_supported: ['openid', 'email'],
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  });
}

/** Challenges by code; a shop has one code at a time. */
const challenges = new WeakMap<object, string>();

function authorize({ url, state }: Call): Reply {
  const { searchParams: query } = url;
  const back = new URL(query.get('redirect_uri') ?? '/', url);
  const isOurs = back.hostname === '127.0.0.1' || back.hostname === 'localhost';
  if (query.get('client_id') !== clientId || query.get('code_challenge_method') !== 'S256' || !isOurs)
    return json({ error: 'invalid_request' }, 400);
  challenges.set(state, query.get('code_challenge') ?? '');
  back.searchParams.set('code', tradeKeys.code);
  back.searchParams.set('state', query.get('state') ?? '');
  return redirect(back.href, 302);
}

function exchange({ body, state, url }: Call): Reply {
  const form = new URLSearchParams(body.toString('utf8'));
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  if (form.get('code') !== tradeKeys.code || challenges.get(state) !== challenge) return json({ error: 'invalid_grant' }, 400);
  const claims = base64({ iss: `${url.origin}/idp`, aud: clientId, sub: 'harbour|7', email: 'ada@example.com' });
  const idToken = `${base64({ alg: 'RS256', kid: 'h1' })}.${claims}.${made(claims)}`;
  return json({
    access_token: tradeKeys.harbourAccess,
    refresh_token: tradeKeys.harbourRefresh,
    id_token: idToken,
    token_type: 'Bearer',
    expires_in: 3600,
    scope: 'openid email',
  });
}

function userinfo({ headers }: Call): Reply {
  if (headers.authorization !== `Bearer ${tradeKeys.harbourAccess}`) return json({ error: 'invalid_token' }, 401);
  return json({ sub: 'harbour|7', email: 'ada@example.com', email_verified: true });
}
