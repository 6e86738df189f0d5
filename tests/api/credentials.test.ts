/** Every endpoint, every kind of wrong credential. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  connectSession,
  endpoints,
  errors,
  getSession,
  listSessions,
  openLiveView,
  openVnc,
  readRecordingAsset,
  revokeViewTokens,
  type Auth,
  type Endpoint,
  type ErrorCode,
} from '@berth/contract';
import { nameOf, goodRequest } from '../contract-table.ts';
import { adminKey, comparable, pathOf, startApp, type Reply, type TestApp } from '../harness.ts';
import { refusedSocket, sendAsIs } from '../raw-http.ts';
import { cookieOf, open, tokenFor } from '../view-links.ts';
import { ManualClock } from '../../packages/server/src/lib/clock.ts';
import { newRawKey } from '../../packages/server/src/keys/keys.ts';

type Headers = [string, string][];
interface Wrong {
  what: string;
  code: ErrorCode;
  headers: () => Headers;
  query?: () => string;
}

const clock = new ManualClock();
let served: TestApp;
let sessionId = '';
let otherSessionId = '';
let token = '';
let otherToken = '';
let staleToken = '';
/** Of links. */
let viewToken = '';
let vncToken = '';
let otherViewToken = '';
let staleViewToken = '';
let takenBackToken = '';
let viewCookie = '';
let otherViewCookie = '';
let revokedKey = '';
let expiredKey = '';

before(async () => {
  // Failures are counted for each address, and a table of wrong credentials is a flood of them: see the last test.
  served = await startApp({ clock, environment: { BERTH_TRUSTED_PROXIES: '127.0.0.1', BERTH_AUTH_FAILURES_PER_MINUTE: '120' } });
  expiredKey = (await served.app.keys.mint({ owner: 'local', name: null, expiresInDays: 1, createdBy: 'test' })).raw;
  clock.advance(86_400_000);
  const lasting = { timeout_seconds: 86_400, idle_timeout_seconds: 86_400 };
  sessionId = (await served.create({ ...lasting, kind: 'full_browser' })).session_id;
  otherSessionId = (await served.create(lasting)).session_id;
  const tokenOf = async (id: string) => (await served.call(connectSession, { params: { session_id: id } })).body.token;
  staleToken = await tokenOf(sessionId);
  staleViewToken = await tokenFor(served, sessionId, 'control');
  takenBackToken = await tokenFor(served, sessionId, 'control');
  await served.call(revokeViewTokens, { params: { session_id: sessionId } });
  clock.advance(300_000);
  token = await tokenOf(sessionId);
  otherToken = await tokenOf(otherSessionId);
  viewToken = await tokenFor(served, sessionId);
  vncToken = await tokenFor(served, sessionId, 'vnc');
  otherViewToken = await tokenFor(served, otherSessionId, 'control');
  const cookieFor = async (id: string, linkToken: string) => cookieOf(await open(`${served.url}/v1/session/${id}/live-view?token=${linkToken}`));
  [viewCookie, otherViewCookie] = [await cookieFor(sessionId, viewToken), await cookieFor(otherSessionId, otherViewToken)];
  const revoked = await served.app.keys.mint({ owner: 'local', name: null, expiresInDays: null, createdBy: 'test' });
  await served.app.keys.revoke(revoked.key.keyId);
  revokedKey = revoked.raw;
});
after(() => served.close());

const bearer = (key: string): Headers => [['authorization', `Bearer ${key}`]];
/** The same key with another last character, so that its checksum is wrong. */
const mistyped = (key: string): string => key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');

/** Of these, nothing is a credential at all. */
const noBearer: Wrong[] = [
  { what: 'no credential', code: 'missing_api_key', headers: () => [] },
  {
    what: 'Basic instead of Bearer',
    code: 'missing_api_key',
    headers: () => [['authorization', `Basic ${Buffer.from(`user:${served.key}`).toString('base64')}`]],
  },
  { what: 'a bearer without a key', code: 'missing_api_key', headers: () => [['authorization', 'Bearer ']] },
  { what: 'a key without the word Bearer', code: 'missing_api_key', headers: () => [['authorization', served.key]] },
  { what: 'two Authorization headers', code: 'missing_api_key', headers: () => [...bearer(served.key), ...bearer(served.key)] },
  { what: 'the API key in ?api_key=', code: 'missing_api_key', headers: () => [], query: () => `api_key=${served.key}` },
  {
    what: 'the API key in a cookie',
    code: 'missing_api_key',
    headers: () => [['cookie', `api_key=${served.key}; token=${served.key}; authorization=Bearer ${served.key}`]],
  },
  { what: 'the API key in x-api-key', code: 'missing_api_key', headers: () => [['x-api-key', served.key]] },
  { what: 'the admin key where admins send it', code: 'missing_api_key', headers: () => [['x-admin-key', adminKey]] },
];

/** Of these, each looks like a key and opens nothing. */
const wrongBearer: Wrong[] = [
  { what: 'an unknown key', code: 'invalid_api_key', headers: () => bearer(newRawKey()) },
  { what: 'a key with a wrong checksum', code: 'invalid_api_key', headers: () => bearer(mistyped(served.key)) },
  { what: 'a text that is no key', code: 'invalid_api_key', headers: () => bearer('not-a-key') },
  { what: 'a very long text', code: 'invalid_api_key', headers: () => bearer('x'.repeat(8000)) },
  { what: 'a revoked key', code: 'invalid_api_key', headers: () => bearer(revokedKey) },
  { what: 'an expired key', code: 'invalid_api_key', headers: () => bearer(expiredKey) },
  { what: 'the admin key as bearer', code: 'invalid_api_key', headers: () => bearer(adminKey) },
  { what: 'a connect token as bearer', code: 'invalid_api_key', headers: () => bearer(token) },
];

/** Of these, nothing is a link. */
const noLink: Wrong[] = [
  { what: 'no credential', code: 'missing_view_token', headers: () => [] },
  { what: 'an empty ?token=', code: 'missing_view_token', headers: () => [], query: () => 'token=' },
  { what: 'two tokens', code: 'missing_view_token', headers: () => [], query: () => `token=${viewToken}&token=${viewToken}` },
  { what: 'the API key in ?api_key=', code: 'missing_view_token', headers: () => [], query: () => `api_key=${served.key}` },
  { what: 'a token in a cookie of another name', code: 'missing_view_token', headers: () => [['cookie', `token=${viewToken}; berth_view=${viewToken}`]] },
  { what: 'a cookie without a value', code: 'missing_view_token', headers: () => [['cookie', 'berth-view=']] },
  { what: 'the cookie of an address with TLS', code: 'missing_view_token', headers: () => [['cookie', `__Secure-${viewCookie}`]] },
  { what: 'Basic', code: 'missing_view_token', headers: () => [['authorization', `Basic ${Buffer.from(`user:${served.key}`).toString('base64')}`]] },
  { what: 'the admin key where admins send it', code: 'missing_view_token', headers: () => [['x-admin-key', adminKey]] },
];

/** Of these, each looks like a link and opens nothing. */
const wrongLink: Wrong[] = [
  { what: 'the API key in ?token=', code: 'invalid_view_token', headers: () => [], query: () => `token=${served.key}` },
  { what: 'the admin key in ?token=', code: 'invalid_view_token', headers: () => [], query: () => `token=${adminKey}` },
  { what: 'a connect token', code: 'invalid_view_token', headers: () => [], query: () => `token=${token}` },
  { what: 'a link to another session', code: 'invalid_view_token', headers: () => [], query: () => `token=${otherViewToken}` },
  { what: 'an expired link', code: 'invalid_view_token', headers: () => [], query: () => `token=${staleViewToken}` },
  { what: 'a link that was taken back', code: 'invalid_view_token', headers: () => [], query: () => `token=${takenBackToken}` },
  { what: 'a link whose claims were changed', code: 'invalid_view_token', headers: () => [], query: () => `token=${forged(viewToken)}` },
  { what: 'a link without a signature', code: 'invalid_view_token', headers: () => [], query: () => `token=${viewToken.split('.')[0]}` },
  { what: 'a very long token', code: 'invalid_view_token', headers: () => [], query: () => `token=${'x'.repeat(5000)}` },
  { what: 'a token as cookie', code: 'invalid_view_token', headers: () => [['cookie', `berth-view=${viewToken}`]] },
  { what: 'the cookie of another session', code: 'invalid_view_token', headers: () => [['cookie', otherViewCookie]] },
  { what: 'a cookie that nobody set', code: 'invalid_view_token', headers: () => [['cookie', `berth-view=${'x'.repeat(43)}`]] },
  { what: 'a wrong token beside a good cookie', code: 'invalid_view_token', headers: () => [['cookie', viewCookie]], query: () => 'token=x' },
];

const keyIsNoLink: Wrong = { what: 'an API key as bearer', code: 'missing_view_token', headers: () => bearer(served.key) };

const byAuth: Record<Auth, Wrong[]> = {
  none: [],
  view: [
    ...noLink,
    ...wrongLink,
    keyIsNoLink,
    { what: 'a link to the window', code: 'invalid_view_token', headers: () => [], query: () => `token=${vncToken}` },
  ],
  vnc: [
    ...noLink,
    ...wrongLink,
    keyIsNoLink,
    { what: 'a link to the live view', code: 'invalid_view_token', headers: () => [], query: () => `token=${viewToken}` },
    { what: 'the cookie of the live view', code: 'invalid_view_token', headers: () => [['cookie', viewCookie]] },
  ],
  recording: [
    ...noLink,
    ...wrongLink,
    ...wrongBearer,
    { what: 'a key without the word Bearer', code: 'missing_view_token', headers: () => [['authorization', served.key]] },
    { what: 'two Authorization headers', code: 'missing_view_token', headers: () => [...bearer(served.key), ...bearer(served.key)] },
    { what: 'a link to the window', code: 'invalid_view_token', headers: () => [], query: () => `token=${vncToken}` },
    { what: 'a wrong key beside a cookie that is dead', code: 'invalid_api_key', headers: () => [['cookie', 'berth-view=x'], ...bearer('not-a-key')] },
  ],
  bearer: [
    ...noBearer,
    ...wrongBearer,
    { what: 'the API key in ?token=', code: 'missing_api_key', headers: () => [], query: () => `token=${served.key}` },
    { what: 'a connect token in ?token=', code: 'missing_api_key', headers: () => [], query: () => `token=${token}` },
  ],
  connect: [
    ...noBearer,
    ...wrongBearer,
    { what: 'an empty ?token=', code: 'missing_api_key', headers: () => [], query: () => 'token=' },
    { what: 'the API key in ?token=', code: 'invalid_connect_token', headers: () => [], query: () => `token=${served.key}` },
    { what: 'the token of another session', code: 'invalid_connect_token', headers: () => [], query: () => `token=${otherToken}` },
    { what: 'an expired token', code: 'invalid_connect_token', headers: () => [], query: () => `token=${staleToken}` },
    { what: 'a token whose claims were changed', code: 'invalid_connect_token', headers: () => [], query: () => `token=${forged(token)}` },
    { what: 'a token whose signature was changed', code: 'invalid_connect_token', headers: () => [], query: () => `token=${token.slice(0, -2)}AA` },
    { what: 'a token without a signature', code: 'invalid_connect_token', headers: () => [], query: () => `token=${token.split('.')[0]}` },
    { what: 'two tokens', code: 'missing_api_key', headers: () => [], query: () => `token=${token}&token=${token}` },
    { what: 'a wrong key beside a good token', code: 'invalid_api_key', headers: () => bearer('not-a-key'), query: () => `token=${token}` },
  ],
  admin: [
    { what: 'no credential', code: 'missing_admin_key', headers: () => [] },
    { what: 'an empty x-admin-key', code: 'missing_admin_key', headers: () => [['x-admin-key', '']] },
    { what: 'the admin key as bearer', code: 'missing_admin_key', headers: () => bearer(adminKey) },
    { what: 'an API key as bearer', code: 'missing_admin_key', headers: () => bearer(served.key) },
    { what: 'the admin key in the query', code: 'missing_admin_key', headers: () => [], query: () => `x-admin-key=${adminKey}&admin_key=${adminKey}` },
    { what: 'the admin key in a cookie', code: 'missing_admin_key', headers: () => [['cookie', `x-admin-key=${adminKey}`]] },
    { what: 'an API key as x-admin-key', code: 'invalid_admin_key', headers: () => [['x-admin-key', served.key]] },
    { what: 'a wrong x-admin-key', code: 'invalid_admin_key', headers: () => [['x-admin-key', mistyped(adminKey)]] },
    { what: 'a beginning of the admin key', code: 'invalid_admin_key', headers: () => [['x-admin-key', adminKey.slice(0, -1)]] },
    { what: 'a very long x-admin-key', code: 'invalid_admin_key', headers: () => [['x-admin-key', adminKey.repeat(200)]] },
    { what: 'a list as x-admin-key', code: 'invalid_admin_key', headers: () => [['x-admin-key', `["${adminKey}"]`]] },
    {
      what: 'two x-admin-key headers',
      code: 'invalid_admin_key',
      headers: () => [
        ['x-admin-key', adminKey],
        ['x-admin-key', adminKey],
      ],
    },
  ],
};

function forged(good: string): string {
  const [payload = '', signature] = good.split('.');
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return `${Buffer.from(JSON.stringify({ ...(claims as object), owner: 'somebody-else' })).toString('base64url')}.${signature}`;
}

let callers = 0;
/** Each request comes from an address of its own. */
const anotherAddress = (): [string, string] => ['x-forwarded-for', `10.${++callers >> 16}.${(callers >> 8) & 255}.${callers & 255}`];

function send(endpoint: Endpoint, { headers, query }: Wrong): Promise<Reply> {
  const { params, body } = goodRequest(endpoint, { session_id: sessionId });
  const path = pathOf(endpoint, { params }) + (query ? `?${query()}` : '');
  if (endpoint.replyKind === 'websocket') return refusedSocket(served.url.replace(/^http/, 'ws') + path, Object.fromEntries([...headers(), anotherAddress()]));
  const json: Headers = body ? [['content-type', 'application/json']] : [];
  return sendAsIs(served.url, {
    method: endpoint.method,
    path,
    headers: [...headers(), anotherAddress(), ...json],
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}

/** A WebSocket client takes headers as an object, which holds no name twice. */
const canSend = (endpoint: Endpoint, { what }: Wrong): boolean => endpoint.replyKind !== 'websocket' || !what.startsWith('two Auth');

describe('a wrong credential', () => {
  for (const endpoint of endpoints.filter(({ auth }) => auth !== 'none'))
    it(`is refused by ${nameOf(endpoint)}, whatever is wrong with it`, async () => {
      const secrets = [served.key, adminKey, token, viewToken, vncToken];
      for (const wrong of byAuth[endpoint.auth].filter((candidate) => canSend(endpoint, candidate))) {
        const reply = await send(endpoint, wrong);
        const { status } = errors[wrong.code];
        assert.deepEqual([reply.status, (reply.body as { code?: string } | undefined)?.code], [status, wrong.code], `${wrong.what}: ${reply.text}`);
        assert.equal(reply.headers.has('www-authenticate'), status === 401, `${wrong.what}: a challenge goes with 401 and with nothing else`);
        assert.ok(!secrets.some((secret) => reply.text.includes(secret)), `${wrong.what}: the answer repeats a secret`);
      }
    });

  it('is answered with the same bytes whether a key is unknown, malformed, revoked or expired', async () => {
    const answers = await Promise.all(wrongBearer.map((wrong) => send(getSession, wrong)));
    assert.equal(new Set(answers.map(comparable)).size, 1);
  });

  it('is answered with the same bytes whatever is wrong with a link', async () => {
    for (const endpoint of [openLiveView, openVnc, readRecordingAsset]) {
      const answers = await Promise.all(wrongLink.map((wrong) => send(endpoint, wrong)));
      assert.equal(new Set(answers.map(comparable)).size, 1, nameOf(endpoint));
    }
  });

  it('is refused before the body is looked at', async () => {
    for (const endpoint of endpoints.filter(({ auth, body }) => auth !== 'none' && body)) {
      const { params } = goodRequest(endpoint, { session_id: sessionId });
      const reply = await sendAsIs(served.url, {
        method: endpoint.method,
        path: pathOf(endpoint, { params }),
        headers: [anotherAddress(), ['content-type', 'application/json']],
        body: '{broken',
      });
      assert.equal(reply.status, 401, `${nameOf(endpoint)}: ${reply.text}`);
    }
  });

  it('has had no effect by the end of the table', async () => {
    const { body } = await served.call(getSession, { params: { session_id: sessionId } });
    assert.deepEqual([body.status, body.metadata, body.usage.actions], ['ready', {}, 0]);
    assert.equal((await served.call(listSessions)).body.length, 2);
  });

  it('is answered rate_limited from an address that keeps sending it, while a good key is let in from there', async () => {
    const from = ['x-forwarded-for', '192.0.2.7'] as const;
    const path = pathOf(getSession, { params: { session_id: sessionId } });
    const tries = await Promise.all(
      Array.from({ length: 200 }, () => sendAsIs(served.url, { method: 'GET', path, headers: [from, ['authorization', 'Bearer guess']] })),
    );
    const refused = tries.filter(({ status }) => status === errors.rate_limited.status);
    assert.ok(refused.length >= 80, `${refused.length} of 200 were rate_limited`);
    assert.ok(refused.every(({ headers }) => Number(headers.get('retry-after')) >= 1));
    const good = await sendAsIs(served.url, { method: 'GET', path, headers: [from, ['authorization', `Bearer ${served.key}`]] });
    assert.equal(good.status, 200);
  });
});

describe('a revoked key', () => {
  it('is refused by the very next request on the same open connection', async () => {
    const { key, raw } = await served.app.keys.mint({ owner: 'local', name: null, expiresInDays: null, createdBy: 'test' });
    assert.equal((await served.call(getSession, { key: raw, params: { session_id: sessionId } })).status, 200);
    await served.app.keys.revoke(key.keyId);
    await served.refuse(getSession, 'invalid_api_key', { key: raw, params: { session_id: sessionId } });
  });

  it('takes the connect tokens that were made with it along', async () => {
    const { key, raw } = await served.app.keys.mint({ owner: 'local', name: null, expiresInDays: null, createdBy: 'test' });
    const { body } = await served.call(connectSession, { key: raw, params: { session_id: sessionId } });
    await served.app.keys.revoke(key.keyId);
    const reply = await refusedSocket(body.cdp_url);
    assert.equal((reply.body as { code: string }).code, 'invalid_connect_token');
  });
});

describe('an endpoint that is open to all', () => {
  it('looks at no credential', async () => {
    for (const endpoint of endpoints.filter(({ auth }) => auth === 'none')) {
      const reply = await sendAsIs(served.url, {
        method: endpoint.method,
        path: endpoint.path,
        headers: [['authorization', 'Bearer nonsense'], ['x-admin-key', 'nonsense'], anotherAddress()],
      });
      assert.equal(reply.status, 200, nameOf(endpoint));
    }
  });
});
