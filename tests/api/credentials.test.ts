/** Sends every kind of invalid credential to every endpoint. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  connectSession,
  createConnectToken,
  endpoints,
  errors,
  getSession,
  listKeys,
  listOwnKeys,
  listSessions,
  metrics,
  openLiveView,
  openVnc,
  readRecordingAsset,
  revokeConnectToken,
  revokeViewTokens,
  type Endpoint,
} from '@berth/contract';
import { nameOf, goodRequest } from '../contract/contract-table.ts';
import { adminKey, comparable, pathOf, startApp, type Reply, type TestApp } from '../harness.ts';
import { startIssuer, type Issuer } from '../services/issuer.ts';
import { refusedSocket, sendAsIs } from '../raw-http.ts';
import { cookieOf, open, tokenFor } from '../prepare/view-links.ts';
import {
  mistyped,
  wrongBearer,
  wrongCredentials,
  wrongLink,
  wrongLogins,
  type ValidCredentials,
  type InvalidCredential,
} from '../contract/wrong-credentials.ts';
import { ManualClock } from '@berth/lib/clock.ts';

const clock = new ManualClock();
const metricsToken = 'test-metrics-token-0123456789abcdef';
let served: TestApp;
let sessionId = '';
let issuer: Issuer;
let stranger: Issuer;
let valid: ValidCredentials;

before(async () => {
  // Failures are counted per address, and this table exceeds the limit: see the last test.
  const environment = { BERTH_TRUSTED_PROXIES: '127.0.0.1', BERTH_AUTH_FAILURES_PER_MINUTE_MAX: '120', BERTH_METRICS_TOKEN: metricsToken };
  [issuer, stranger] = await Promise.all([startIssuer(clock), startIssuer(clock)]);
  served = await startApp({ clock, environment, issuer });
  const mint = (expiresInDays: number | null) =>
    served.app.keys.create({ owner: 'local', name: null, expiresInDays, createdBy: 'test', actor: 'operator' });
  const { raw: expiredKey } = await mint(1);
  const connectTokenOf = async (key: string, body = {}) => {
    const { token_id, token } = (await served.call(createConnectToken, { key, body })).body;
    return { token_id, token: token ?? assert.fail() };
  };
  const expiring = await connectTokenOf(served.key, { expires_in_days: 1 });
  clock.advance(86_400_000);
  const lasting = { timeout_seconds: 86_400, idle_timeout_seconds: 86_400 };
  sessionId = (await served.create({ ...lasting, kind: 'full_browser' })).session_id;
  const otherId = (await served.create(lasting)).session_id;
  const tokenOf = async (id: string) => (await served.call(connectSession, { params: { session_id: id } })).body.token;
  const staleToken = await tokenOf(sessionId);
  const staleViewToken = await tokenFor(served, sessionId, 'control');
  const revokedViewToken = await tokenFor(served, sessionId, 'control');
  await served.call(revokeViewTokens, { params: { session_id: sessionId } });
  clock.advance(300_000);
  const [viewToken, otherViewToken] = [await tokenFor(served, sessionId), await tokenFor(served, otherId, 'control')];
  const cookieFor = async (id: string, linkToken: string) =>
    cookieOf(await open(`${served.url}/v1/session/${id}/live-view?token=${linkToken}`));
  const revoked = await mint(null);
  const [good, withdrawn, ofRevokedKey] = [
    await connectTokenOf(served.key),
    await connectTokenOf(served.key),
    await connectTokenOf(revoked.raw),
  ];
  await served.call(revokeConnectToken, { params: { token_id: withdrawn.token_id } });
  await served.app.keys.revoke({ keyId: revoked.key.keyId, owner: null, actor: 'operator' });
  valid = {
    apiKey: served.key,
    metricsToken,
    revokedKey: revoked.raw,
    expiredKey,
    token: await tokenOf(sessionId),
    otherToken: await tokenOf(otherId),
    staleToken,
    connectToken: good.token,
    wrongConnectTokens: {
      'that has expired': expiring.token,
      'that is revoked': withdrawn.token,
      'of a revoked API key': ofRevokedKey.token,
      'with a wrong checksum': mistyped(good.token),
    },
    viewToken,
    vncToken: await tokenFor(served, sessionId, 'vnc'),
    otherViewToken,
    staleViewToken,
    revokedViewToken,
    viewCookie: await cookieFor(sessionId, viewToken),
    otherViewCookie: await cookieFor(otherId, otherViewToken),
    logins: await wrongLogins({ issuer, stranger, clock }),
  };
});
after(async () => {
  await served.close();
  await Promise.all([issuer.close(), stranger.close()]);
});

let callers = 0;
/** Each request has its own client address. */
const anotherAddress = (): [string, string] => ['x-forwarded-for', `10.${++callers >> 16}.${(callers >> 8) & 255}.${callers & 255}`];

function send(endpoint: Endpoint, { headers, query, params: own = {} }: InvalidCredential): Promise<Reply> {
  const { params, body } = goodRequest(endpoint, { session_id: sessionId });
  const path = pathOf(endpoint, { params: { ...params, ...own } }) + (query ? `?${query}` : '');
  if (endpoint.replyKind === 'websocket')
    return refusedSocket(served.url.replace(/^http/, 'ws') + path, Object.fromEntries([...headers, anotherAddress()]));
  const json: [string, string][] = body ? [['content-type', 'application/json']] : [];
  return sendAsIs(served.url, {
    method: endpoint.method,
    path,
    headers: [...headers, anotherAddress(), ...json],
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}

/** A WebSocket client takes headers as an object, which cannot repeat a name. */
const canSend = (endpoint: Endpoint, { what }: InvalidCredential): boolean =>
  endpoint.replyKind !== 'websocket' || !what.startsWith('two Auth');

describe('a wrong credential', () => {
  for (const endpoint of endpoints.filter(({ auth }) => auth !== 'none'))
    it(`a wrong credential is refused by ${nameOf(endpoint)} for every kind of defect`, async () => {
      const { apiKey, token, connectToken, viewToken, vncToken, logins } = valid;
      const secrets = [apiKey, adminKey, metricsToken, token, connectToken, viewToken, vncToken, ...Object.values(logins)];
      for (const wrong of wrongCredentials(valid)[endpoint.auth].filter((candidate) => canSend(endpoint, candidate))) {
        const reply = await send(endpoint, wrong);
        const { status } = errors[wrong.code];
        assert.deepEqual(
          [reply.status, (reply.body as { code?: string } | undefined)?.code],
          [status, wrong.code],
          `${wrong.what}: ${reply.text}`,
        );
        assert.equal(
          reply.headers.has('www-authenticate'),
          status === 401,
          `${wrong.what}: a challenge goes with 401 and with nothing else`,
        );
        assert.ok(!secrets.some((secret) => reply.text.includes(secret)), `${wrong.what}: the answer repeats a secret`);
      }
    });

  it('unknown, malformed, revoked and expired keys get the same bytes', async () => {
    const answers = await Promise.all(wrongBearer(valid).map((wrong) => send(getSession, wrong)));
    assert.equal(new Set(answers.map(comparable)).size, 1);
  });

  it('every kind of invalid link gets the same bytes', async () => {
    for (const endpoint of [openLiveView, openVnc, readRecordingAsset]) {
      const answers = await Promise.all(wrongLink(valid).map((wrong) => send(endpoint, wrong)));
      assert.equal(new Set(answers.map(comparable)).size, 1, nameOf(endpoint));
    }
  });

  it('a wrong credential is refused before the body is parsed', async () => {
    for (const endpoint of endpoints.filter(({ auth, body, rawBody }) => auth !== 'none' && (body ?? rawBody))) {
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

  it('a request with a wrong credential has no effect', async () => {
    const { body } = await served.call(getSession, { params: { session_id: sessionId } });
    assert.deepEqual([body.status, body.metadata, body.usage.actions], ['ready', {}, 0]);
    assert.equal((await served.call(listSessions)).body.length, 2);
    assert.deepEqual((await served.call(listKeys)).body.map(({ created_by }) => created_by).toSorted(), ['bootstrap', 'test', 'test']);
  });

  it('a wrong credential is answered rate_limited when its address repeats it, while a valid key from there works', async () => {
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
  it('a revoked key is refused by the next request on the same connection', async () => {
    const { key, raw } = await served.app.keys.create({
      owner: 'local',
      name: null,
      expiresInDays: null,
      createdBy: 'test',
      actor: 'operator',
    });
    assert.equal((await served.call(getSession, { key: raw, params: { session_id: sessionId } })).status, 200);
    await served.app.keys.revoke({ keyId: key.keyId, owner: null, actor: 'operator' });
    await served.refuse(getSession, 'invalid_api_key', { key: raw, params: { session_id: sessionId } });
  });

  it('a revoked key invalidates the connect tokens that it created', async () => {
    const { key, raw } = await served.app.keys.create({
      owner: 'local',
      name: null,
      expiresInDays: null,
      createdBy: 'test',
      actor: 'operator',
    });
    const { body } = await served.call(connectSession, { key: raw, params: { session_id: sessionId } });
    await served.app.keys.revoke({ keyId: key.keyId, owner: null, actor: 'operator' });
    const reply = await refusedSocket(body.cdp_url);
    assert.equal((reply.body as { code: string }).code, 'invalid_connect_token');
  });
});

describe('a valid login token', () => {
  it('a valid login token grants access to account endpoints only', async () => {
    const key = await served.login();
    assert.equal((await served.call(listOwnKeys, { key })).status, 200);
    await served.refuse(getSession, 'invalid_api_key', { key, params: { session_id: sessionId } });
  });

  it('a login token is accepted within the clock tolerance', async () => {
    const seconds = Math.floor(clock.now().getTime() / 1000);
    for (const claims of [{ exp: seconds - 10 }, { nbf: seconds + 10 }])
      assert.equal((await served.call(listOwnKeys, { key: await issuer.token(claims) })).status, 200);
  });
});

describe('the metrics of a service without a metrics token', () => {
  it('the metrics of a service without a metrics token accept only the admin key', async () => {
    const plain = await startApp();
    try {
      assert.equal((await plain.call(metrics)).status, 200);
      await plain.refuse(metrics, 'missing_admin_key', { key: null });
      await plain.refuse(metrics, 'missing_admin_key', { key: null, headers: { authorization: `Bearer ${adminKey}` } });
      await plain.refuse(metrics, 'invalid_admin_key', { key: null, headers: { 'x-admin-key': mistyped(adminKey) } });
    } finally {
      await plain.close();
    }
  });
});

describe('an endpoint without authentication', () => {
  it('an endpoint without authentication ignores credentials', async () => {
    for (const endpoint of endpoints.filter(({ auth }) => auth === 'none')) {
      const reply = await sendAsIs(served.url, {
        method: endpoint.method,
        path: endpoint.path,
        headers: [['authorization', 'Bearer nonsense'], ['x-admin-key', 'nonsense'], anotherAddress()],
      });
      // The payment provider signs its requests, and a link has its secret in the body: these have neither.
      if (endpoint.rawBody || endpoint.body) assert.ok(![401, 403].includes(reply.status), reply.text);
      else assert.equal(reply.status, 200, nameOf(endpoint));
    }
  });
});
