import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import {
  createConnectToken,
  discoverTargetsByPath,
  endAnySession,
  getSession,
  listSessions,
  openConnect,
  type ErrorCode,
  type SessionResponse,
} from '@berth/contract';
import WebSocket from 'ws';
import { ManualClock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { adminKey, eventually, startApp, type TestApp } from '../../harness.ts';
import { openSocket, refusedSocket } from '../../raw-http.ts';
import {
  assertError,
  auditTrailOf,
  createUntil,
  machineOf,
  machinesLeft,
  nothingLeft,
  whileNoMachineStarts,
} from '../../contract/session-states.ts';

/** Everything that the service writes to its log, at every level. */
const logged: string[] = [];
const write = (fields: object, message: string): void => void logged.push(`${message} ${inspect(fields, { depth: 9 })}`);
const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log };
const clock = new ManualClock();

let served: TestApp;
before(async () => {
  served = await startApp({ log, clock });
});
after(() => served.close());

const address = (query: Record<string, string> = {}): string =>
  `${served.url.replace('http', 'ws')}/v1/connect?${new URLSearchParams(query)}`;
const withKey = (key: string = served.key) => ({ authorization: `Bearer ${key}` });
const newToken = async (key: string = served.key) => (await served.call(createConnectToken, { key })).body;
const refuse = async (
  status: number,
  code: ErrorCode,
  { query = {}, headers = withKey() }: { query?: Record<string, string>; headers?: object } = {},
) => assertError(await refusedSocket(address(query), { ...headers }), status, code);

const read = async (session_id: string): Promise<SessionResponse> => (await served.call(getSession, { params: { session_id } })).body;
/** Newest first. */
const live = async (): Promise<SessionResponse[]> => (await served.call(listSessions, { query: { status: 'starting,ready' } })).body;
const newest = async (): Promise<SessionResponse> => (await live())[0] ?? assert.fail('there is no session');
const hasEnded = async (session_id: string): Promise<boolean> => (await read(session_id)).status === 'ended';
async function assertEnded(session_id: string): Promise<void> {
  await eventually('the session has ended', () => hasEnded(session_id));
  assert.equal((await read(session_id)).ended_reason, 'cdp_closed');
}

describe('101', () => {
  it('GET /v1/connect creates a session for an API key in the header, which ends with its connection', async () => {
    const { socket, send } = await openSocket(address(), withKey());
    const { targetInfos } = await send('Target.getTargets');
    assert.equal((targetInfos as unknown[]).length, 1);
    const session = await newest();
    assert.deepEqual([session.status, session.keep_alive, session.connections.cdp, session.usage.credits], ['ready', false, 1, 1]);
    socket.close();
    await assertEnded(session.session_id);
    await eventually('nothing is left', async () => JSON.stringify(await machinesLeft(served)) === JSON.stringify(nothingLeft));
  });

  it('GET /v1/connect creates a session for a connect token in the URL or in the header, and records the token', async () => {
    const { token_id, token, cdp_url } = await newToken();
    for (const [url, headers] of [
      [cdp_url ?? '', {}],
      [address(), withKey(token ?? '')],
    ] as const) {
      const { socket, send } = await openSocket(url, headers);
      await send('Browser.getVersion');
      const { session_id } = await newest();
      socket.close();
      await assertEnded(session_id);
      const [created] = await auditTrailOf(served, session_id);
      assert.deepEqual(created?.slice(0, 2), [`connect_token:${token_id}`, 'session.created']);
    }
  });

  it('GET /v1/connect takes the options of POST /v1/session as query parameters', async () => {
    const query = {
      kind: 'full_browser',
      timeout_seconds: '600',
      idle_timeout_seconds: '60',
      keep_alive: 'true',
      start_url: 'http://site.test/?a=1&b=2',
      'viewport.width': '800',
      'viewport.height': '600',
      'viewport.device_scale_factor': '1.5',
      locale: 'de',
      timezone: 'Europe/Berlin',
      'proxy.type': 'external',
      'proxy.server': 'socks5://proxy.example:1080',
      'proxy.bypass': 'one.test,*.two.test',
      block_resources: 'image,font',
      accept_downloads: 'false',
      'extra_headers.x-a': 'b',
      'captcha.mode': 'detect',
      name: 'agent',
      'metadata.job': 'prices',
      'metadata.a.b': 'c',
    };
    const { socket } = await openSocket(address(query), withKey());
    const session = await newest();
    assert.deepEqual(
      [session.kind, session.timeout_seconds, session.idle_timeout_seconds, session.keep_alive, session.locale, session.timezone],
      ['full_browser', 600, 60, true, 'de', 'Europe/Berlin'],
    );
    assert.deepEqual(session.viewport, { width: 800, height: 600, device_scale_factor: 1.5 });
    assert.deepEqual([session.proxy?.server, session.proxy?.bypass], ['socks5://proxy.example:1080', ['one.test', '*.two.test']]);
    assert.deepEqual([session.name, session.metadata], ['agent', { job: 'prices', 'a.b': 'c' }]);
    assert.equal(session.start_navigation?.url, 'http://site.test/?a=1&b=2');
    socket.close();
    await eventually('the client has disconnected', async () => (await read(session.session_id)).connections.cdp === 0);
    assert.equal((await read(session.session_id)).status, 'ready');
    await served.call(endAnySession, { params: { session_id: session.session_id } });
  });

  it('GET /v1/connect takes a value with a question mark as it is pasted', async () => {
    const { socket } = await openSocket(`${address()}start_url=http://site.test/?a=1`, withKey());
    const { session_id, start_navigation } = await newest();
    assert.equal(start_navigation?.url, 'http://site.test/?a=1');
    socket.close();
    await assertEnded(session_id);
  });

  it('GET /v1/connect lets a token connect again to a session with keep_alive that it created, and to no other', async () => {
    const { token, cdp_url } = await newToken();
    const first = await openSocket(`${cdp_url}&keep_alive=true`);
    const { session_id } = await newest();
    first.socket.close();
    await first.closed;
    const [target] = (await served.call(discoverTargetsByPath, { params: { token: token ?? '' } })).body;
    const again = await openSocket(target?.webSocketDebuggerUrl ?? '');
    await again.send('Browser.getVersion');
    // The service may notice the end of the first connection after its client.
    await eventually('it is the only client', async () => (await read(session_id)).connections.cdp === 1);
    again.socket.terminate();
    const own = await served.create();
    const another = await newToken();
    for (const [id, secret] of [
      [own.session_id, token],
      [session_id, another.token],
    ] as const) {
      const url = `${served.url.replace('http', 'ws')}/v1/session/${id}/cdp?token=${secret}`;
      assertError(await refusedSocket(url), 404, 'session_not_found');
    }
    for (const id of [own.session_id, session_id]) await served.call(endAnySession, { params: { session_id: id } });
  });

  it('GET /v1/connect is closed with 4003 unauthorized when the API key that created its token is revoked', async () => {
    const { key, raw } = await served.app.keys.create({
      owner: 'local',
      name: null,
      expiresInDays: null,
      createdBy: 'test',
      actor: 'operator',
    });
    const { cdp_url } = await newToken(raw);
    const { closed } = await openSocket(cdp_url ?? '');
    const { session_id } = await newest();
    await served.app.keys.revoke({ keyId: key.keyId, owner: null, actor: 'operator' });
    assert.deepEqual(await closed, { code: 4003, reason: 'unauthorized' });
    await assertEnded(session_id);
    assertError(await refusedSocket(cdp_url ?? ''), 403, 'invalid_connect_token');
  });

  it('GET /v1/connect is closed with 4002 max_lifetime, and an attached client is never idle', async () => {
    const { closed } = await openSocket(address({ timeout_seconds: '120', idle_timeout_seconds: '10' }), withKey());
    const { session_id } = await newest();
    for (const seconds of [119, 1]) {
      assert.equal((await read(session_id)).status, 'ready');
      clock.advance(seconds * 1000);
      served.app.sessions.timers.nudge();
      await served.app.sessions.timers.idle();
    }
    assert.deepEqual(await closed, { code: 4002, reason: 'max_lifetime' });
  });

  it('GET /v1/connect closes with 4008 browser_crashed when the browser crashes', async () => {
    const { closed } = await openSocket(address(), withKey());
    machineOf(served, (await newest()).session_id).crash();
    assert.deepEqual(await closed, { code: 4008, reason: 'browser_crashed' });
  });

  it('GET /v1/connect leaves nothing behind when the client disconnects during the start', async () => {
    served.runtime.delayBoot(5000);
    const socket = new WebSocket(address(), { headers: withKey() });
    socket.on('error', () => undefined);
    await eventually('the session is starting', async () => (await live()).some(({ status }) => status === 'starting'));
    const { session_id } = await newest();
    socket.terminate();
    await eventually('the session is over', async () => ['ended', 'failed'].includes((await read(session_id)).status));
    served.runtime.delayBoot(0);
    await eventually('nothing is left', async () => JSON.stringify(await machinesLeft(served)) === JSON.stringify(nothingLeft));
  });

  it('GET /v1/connect writes neither keys nor tokens to the log', async () => {
    const { token, cdp_url, cdp_http_url } = await newToken();
    (await openSocket(`${cdp_url}&keep_alive=true`)).socket.close();
    await refusedSocket(`${cdp_url}&viewport.width=1`);
    await refusedSocket(`${served.url.replace('http', 'ws')}/c/${token}`).catch(() => undefined);
    for (const path of ['/json/version', '/json/list', '/json/version/?kind=none', '/nothing', ''])
      await (await fetch(cdp_http_url + path)).text();
    await (await fetch(`${served.url}/%63/${token}/json/version`)).text();
    await (await fetch(`${served.url}/json/version?token=${served.key}`)).text();
    await (await fetch(`${served.url}/c/${served.key}/json/version`)).text();
    await eventually('the requests are in the log', () => logged.filter((line) => line.includes('discoverVersionByPath')).length >= 3);
    const text = logged.join('\n');
    for (const secret of [token ?? assert.fail(), served.key, adminKey]) assert.ok(!text.includes(secret), 'a secret is in the log');
    assert.match(text, /\/c\/\[secret\]\/json\/version/);
    await served.call(endAnySession, { params: { session_id: (await newest()).session_id } });
  });
});

describe('400 bad_request', () => {
  it('GET /v1/connect answers 400 bad_request for a request without an upgrade, and creates nothing', async () => {
    const { message } = await served.refuse(openConnect, 'bad_request');
    assert.match(message, /Upgrade: websocket/);
  });
});

describe('403 premium_egress_required', () => {
  it('GET /v1/connect refuses managed proxies for a plan without them with 403 premium_egress_required', async () => {
    const key = await served.ownerKey('frugal', 'free');
    await refuse(403, 'premium_egress_required', { query: { 'proxy.type': 'managed' }, headers: withKey(key) });
  });
});

describe('403 origin_not_allowed', () => {
  it('GET /v1/connect refuses pages of other origins with 403 origin_not_allowed, and creates nothing', async () => {
    const { token } = await newToken();
    const before = served.runtime.counts.booted;
    await refuse(403, 'origin_not_allowed', { query: { token: token ?? '' }, headers: { origin: 'https://evil.example' } });
    assert.equal(served.runtime.counts.booted, before);
  });
});

describe('403 invalid_connect_token', () => {
  it('GET /v1/connect refuses an API key in the URL with 403 invalid_connect_token and says so, whether it is valid or not', async () => {
    for (const key of [served.key, `brt_live_${'x'.repeat(49)}`]) {
      const reply = await refusedSocket(address({ token: key }));
      assertError(reply, 403, 'invalid_connect_token');
      assert.match(reply.text, /API keys are not accepted in URLs.*POST \/v1\/connect-tokens/);
      assert.ok(!reply.text.includes(key));
    }
  });
});

describe('409 name_taken', () => {
  it('GET /v1/connect answers 409 name_taken before the handshake', async () => {
    const { session_id } = await served.create({ name: 'taken' });
    await refuse(409, 'name_taken', { query: { name: 'taken' } });
    await served.call(endAnySession, { params: { session_id } });
  });
});

describe('409 session_ended', () => {
  it('GET /v1/connect answers 409 session_ended when the session is ended while it starts', async () => {
    served.runtime.delayBoot(60_000);
    const refused = refusedSocket(address(), withKey());
    await eventually('the session is starting', async () => (await live()).some(({ status }) => status === 'starting'));
    await served.call(endAnySession, { params: { session_id: (await newest()).session_id } });
    assertError(await refused, 409, 'session_ended');
    served.runtime.delayBoot(0);
  });
});

describe('429 concurrency_limit', () => {
  it('GET /v1/connect counts its sessions for 429 concurrency_limit like all others', async () => {
    const key = await served.ownerKey('three', 'free');
    const open = await Promise.all([1, 2, 3].map(() => openSocket(address(), withKey(key))));
    await refuse(429, 'concurrency_limit', { headers: withKey(key) });
    for (const { socket } of open) socket.terminate();
  });
});

describe('429 create_rate_limit', () => {
  it('GET /v1/connect counts its creates for 429 create_rate_limit like all others', async () => {
    const key = await served.ownerKey('hasty', 'free');
    await createUntil(served, key, 'create_rate_limit', 10);
    await refuse(429, 'create_rate_limit', { headers: withKey(key) });
  });
});

describe('503 no_capacity', () => {
  it('GET /v1/connect answers 503 no_capacity before the handshake when no machine starts', async () => {
    await whileNoMachineStarts(served, () => refuse(503, 'no_capacity'));
  });
});

describe('422', () => {
  const wrong: [what: string, query: Record<string, string>, loc: string, type: string][] = [
    ['an unknown option', { timeout: '30' }, 'query.timeout', 'extra_forbidden'],
    [
      'an unknown option of an object',
      { 'viewport.height': '600', 'viewport.width': '800', 'viewport.depth': '1' },
      'query.viewport.depth',
      'extra_forbidden',
    ],
    ['a number that is none', { timeout_seconds: 'long' }, 'query.timeout_seconds', 'int_parsing'],
    ['a boolean that is none', { keep_alive: 'maybe' }, 'query.keep_alive', 'bool_parsing'],
    ['a kind that is none', { kind: 'tablet' }, 'query.kind', 'literal_error'],
    ['half a viewport', { 'viewport.width': '800' }, 'query.viewport.height', 'missing'],
    ['an item of a list', { block_resources: 'image,script' }, 'query.block_resources.1', 'literal_error'],
    ['more than the plan allows', { timeout_seconds: '901' }, 'query.timeout_seconds', 'less_than_equal'],
    ['a region that is none', { region: 'nowhere' }, 'query.region', 'literal_error'],
  ];
  for (const [what, query, loc, type] of wrong)
    it(`GET /v1/connect refuses ${what} with 422 before the handshake, and creates nothing`, async () => {
      const key = await served.ownerKey('wrong', 'free');
      const before = served.runtime.counts.booted;
      const { status, body } = await refusedSocket(address(query), withKey(key));
      assert.equal(status, 422);
      const { detail } = body as { detail: { loc: string[]; type: string }[] };
      assert.deepEqual(
        detail.map((issue) => [issue.loc.join('.'), issue.type]),
        [[loc, type]],
      );
      assert.equal(served.runtime.counts.booted, before);
    });

  it('GET /v1/connect answers 422 without a secret of the query', async () => {
    const secret = 'hunter2hunter2';
    const proxy = { 'proxy.username': secret.repeat(30), 'proxy.password': secret.repeat(100), 'proxy.server': `http://a:${secret}@x y` };
    for (const query of [proxy, { token: secret.repeat(200) }]) {
      const { status, text } = await refusedSocket(address(query), withKey());
      assert.equal(status, 422);
      assert.ok(!text.includes(secret), text);
    }
  });
});
