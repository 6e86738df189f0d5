import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, getSession, listSessions } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../../harness.ts';
import { auditTrailOf, createUntil, machinesLeft, noMachine, whileNoMachineStarts } from '../../contract/session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const sum = ({
  status,
  ended_reason,
  tabs,
  warm,
}: {
  status: string;
  ended_reason: string | null;
  tabs: { open: number };
  warm: boolean;
}) => ({
  status,
  ended_reason,
  open: tabs.open,
  warm,
});

describe('201', () => {
  it('POST /v1/session creates a ready session from an empty body and returns every default', async () => {
    const session = await served.create();
    assert.deepEqual(sum(session), { status: 'ready', ended_reason: null, open: 1, warm: false });
    assert.match(session.session_id, /^ses_[0-9a-z]{24}$/);
    assert.deepEqual(
      [
        session.kind,
        session.region,
        session.timeout_seconds,
        session.idle_timeout_seconds,
        session.keep_alive,
        session.name,
        session.metadata,
        session.proxy,
      ],
      ['headless', 'local', 900, 300, true, null, {}, null],
    );
    assert.deepEqual(session.viewport, { width: 1280, height: 720, device_scale_factor: 1 });
    assert.deepEqual(
      [session.current_url, session.tabs.limit, session.connections, session.start_navigation],
      ['about:blank', 10, { cdp: 0, viewers: 0 }, null],
    );
    assert.deepEqual(session.recording, { enabled: false, rec_id: null, status: null });
    assert.equal(session.live_view_url, `${served.url}/v1/session/${session.session_id}/live-view`);
    const { browser_seconds: seconds, ...usage } = session.usage;
    assert.deepEqual(usage, { actions: 0, egress_bytes: 0, captcha_solves: 0, credits: 1 });
    assert.ok(Number.isInteger(seconds), String(seconds));
    assert.equal(Date.parse(session.expires_at) - Date.parse(session.created_at), 900_000);
    assert.ok(session.started_at !== null && session.ended_at === null);
  });

  it('POST /v1/session returns the requested settings', async () => {
    const requested = {
      timeout_seconds: 60,
      idle_timeout_seconds: 20,
      keep_alive: false,
      viewport: { width: 800, height: 600, device_scale_factor: 2 },
      user_agent: 'Tester/1.0',
      locale: 'de-DE',
      timezone: 'Europe/Berlin',
      name: 'the job',
      metadata: { job: 'prices', run: '7' },
      block_ads: true,
      allowed_domains: ['example.com', '*.example.org'],
    };
    const session = await served.create(requested);
    assert.deepEqual(session.captcha, { mode: 'detect', provider: null });
    assert.deepEqual(
      Object.fromEntries(Object.keys(requested).map((field) => [field, session[field as keyof typeof requested]])),
      requested,
    );
    // It would end by itself while later tests count what is left.
    await served.call(endSession, { params: { session_id: session.session_id } });
  });

  it('POST /v1/session takes allowed domains in any case, and returns them in lower case', async () => {
    const { allowed_domains: domains } = await served.create({ allowed_domains: ['Example.COM', '*.Example.org'] });
    assert.deepEqual(domains, ['example.com', '*.example.org']);
  });

  it('POST /v1/session accepts browser settings that the response does not repeat', async () => {
    const { status } = await served.create({
      extra_headers: { 'X-Trace': 'on' },
      block_resources: ['image', 'font'],
      accept_downloads: false,
      ignore_https_errors: true,
    });
    assert.equal(status, 'ready');
  });

  it('POST /v1/session returns the user agent that pages see, also after the end', async () => {
    const session = await served.create();
    assert.match(session.user_agent ?? '', /^Mozilla\/5\.0 .*Chrome\/\d+/);
    const params = { session_id: session.session_id };
    await served.call(endSession, { params });
    assert.equal((await served.call(getSession, { params })).body.user_agent, session.user_agent);
  });

  it('POST /v1/session restores a storage state of four megabytes', async () => {
    const localStorage = [{ name: 'cache', value: 'x'.repeat(4 * 1024 * 1024 - 200) }];
    const session = await served.create({ storage_state: { cookies: [], origins: [{ origin: 'http://site.test', localStorage }] } });
    assert.equal(session.status, 'ready');
  });

  it('POST /v1/session limits the default idle time to the session’s maximum', async () => {
    const { session_id, idle_timeout_seconds: idle } = await served.create({ timeout_seconds: 60 });
    assert.equal(idle, 60);
    await served.call(endSession, { params: { session_id } });
  });

  it('POST /v1/session answers `starting` at once with wait=false, and the session becomes ready later', async () => {
    const session = await served.create({}, { query: { wait: 'false' } });
    assert.deepEqual([session.status, session.started_at, session.tabs.open], ['starting', null, 0]);
    await served.app.sessions.live.get(session.session_id)?.started;
    assert.equal((await served.call(getSession, { params: { session_id: session.session_id } })).body.status, 'ready');
  });

  it('POST /v1/session starts a headful browser', async () => {
    const session = await served.create({ kind: 'full_browser' });
    assert.deepEqual([session.kind, session.tabs.limit, session.warm], ['full_browser', 16, false]);
  });

  it('POST /v1/session records the session when requested, with its own recording id', async () => {
    const { recording } = await served.create({ record: true });
    assert.deepEqual([recording.enabled, recording.status], [true, 'recording']);
    assert.match(recording.rec_id ?? '', /^rec_[0-9a-z]{24}$/);
  });

  it('POST /v1/session opens the start URL and reports the result', async () => {
    const session = await served.create({ start_url: 'http://status-404.test/page' });
    assert.equal(session.current_url, 'http://status-404.test/page');
    assert.deepEqual(session.start_navigation, {
      url: 'http://status-404.test/page',
      status: 'ok',
      status_code: 404,
      reason: null,
      net_error: null,
      message: null,
    });
  });

  it('POST /v1/session starts even when the start URL is unreachable', async () => {
    const session = await served.create({ start_url: 'http://fail-ERR_NAME_NOT_RESOLVED.test/' });
    assert.equal(session.status, 'ready');
    assert.deepEqual(
      [session.start_navigation?.status, session.start_navigation?.reason, session.start_navigation?.net_error],
      ['failed', 'dns_failed', 'net::ERR_NAME_NOT_RESOLVED'],
    );
    assert.match(session.start_navigation?.message ?? '', /could not be loaded/);
    assert.equal((await served.create({ start_url: 'http://download.test/' })).start_navigation?.reason, 'download');
  });

  it('POST /v1/session does not reveal proxy credentials', async () => {
    const proxy = {
      type: 'external',
      server: 'http://user:hunter2@proxy.example:3128',
      username: 'user',
      password: 'hunter2',
      bypass: ['example.com'],
    };
    const reply = await served.call(createSession, { body: { proxy } });
    assert.deepEqual(reply.body.proxy, {
      type: 'external',
      server: 'http://proxy.example:3128',
      country: null,
      rotate: 'on_request',
      bypass: ['example.com'],
    });
    const { text } = await served.call(getSession, { params: { session_id: reply.body.session_id } });
    assert.ok(!reply.text.includes('hunter2') && !text.includes('hunter2'));
  });

  it('POST /v1/session gives every session its own id and machine', async () => {
    const sessions = await Promise.all(Array.from({ length: 5 }, () => served.create()));
    assert.equal(new Set(sessions.map(({ session_id }) => session_id)).size, 5);
    assert.equal(new Set(sessions.map(({ session_id }) => served.app.sessions.live.get(session_id)?.machine?.id)).size, 5);
  });

  it('POST /v1/session carries a request id and is never cached', async () => {
    const { headers } = await served.call(createSession, { body: {}, headers: { 'x-request-id': 'mine-1' } });
    assert.deepEqual(
      [headers.get('x-request-id'), headers.get('cache-control'), headers.get('x-content-type-options')],
      ['mine-1', 'no-store', 'nosniff'],
    );
  });
});

describe('403 premium_egress_required', () => {
  it('POST /v1/session refuses managed and rotating proxies for a plan without them with 403 premium_egress_required, and creates nothing', async () => {
    const key = await served.ownerKey('frugal', 'free');
    const before = await machinesLeft(served);
    for (const type of ['managed', 'rotating'])
      await served.refuse(createSession, 'premium_egress_required', { key, body: { proxy: { type } } });
    assert.deepEqual(await machinesLeft(served), before);
  });

  it('POST /v1/session accepts the caller’s own proxy on every plan', async () => {
    const key = await served.ownerKey('frugal', 'free');
    const { status } = await served.call(createSession, {
      key,
      body: { proxy: { type: 'external', server: 'socks5://proxy.example:1080' } },
    });
    assert.equal(status, 201);
  });
});

describe('409 name_taken', () => {
  it('POST /v1/session answers 409 name_taken for a name of another live session of the owner', async () => {
    await served.create({ name: 'only one' });
    const { reply } = await served.refuse(createSession, 'name_taken', { body: { name: 'only one' } });
    assert.equal(reply.headers.get('x-should-retry'), 'false');
  });

  it('POST /v1/session accepts a name again when its session ends', async () => {
    const { session_id } = await served.create({ name: 'again' });
    await served.call(endSession, { params: { session_id } });
    await served.app.sessions.live.get(session_id)?.disposed;
    assert.equal((await served.create({ name: 'again' })).name, 'again');
  });
});

describe('409 session_ended', () => {
  it('POST /v1/session answers 409 session_ended when another call ends the session while it starts', async () => {
    served.runtime.delayBoot(30_000);
    const refused = served.refuse(createSession, 'session_ended', { body: { name: 'ends early' } });
    const starting = async () => (await served.call(listSessions, { query: { name: 'ends early', status: 'starting' } })).body;
    await eventually('the session starts', async () => (await starting()).length === 1);
    const [session] = await starting();
    await served.call(endSession, { params: { session_id: session?.session_id ?? '' } });
    await refused;
    // Not before: its row is there before its machine begins to boot.
    served.runtime.delayBoot(0);
  });
});

describe('422', () => {
  it('POST /v1/session answers 422 with the plan’s maximum session time when it is below the schema’s', async () => {
    const key = await served.ownerKey('small', 'free');
    const [issue, ...more] = await served.issues(createSession, { key, body: { timeout_seconds: 901 } });
    assert.deepEqual(
      [issue?.loc, issue?.type, issue?.ctx, issue?.input, more],
      [['body', 'timeout_seconds'], 'less_than_equal', { le: 900 }, 901, []],
    );
  });

  it('POST /v1/session answers 422 for an unknown region with the available ones', async () => {
    const [issue] = await served.issues(createSession, { body: { region: '../../x' } });
    assert.deepEqual(
      [issue?.loc, issue?.type, issue?.ctx, issue?.input],
      [['body', 'region'], 'literal_error', { expected: "'local'" }, '../../x'],
    );
  });

  it('POST /v1/session refuses an idle time above the session’s maximum with 422', async () => {
    const [issue] = await served.issues(createSession, { body: { timeout_seconds: 30, idle_timeout_seconds: 31 } });
    assert.deepEqual([issue?.loc, issue?.type, issue?.ctx], [['body', 'idle_timeout_seconds'], 'less_than_equal', { le: 30 }]);
  });

  const wrong: [string, Record<string, unknown>, string, string][] = [
    ['a viewport that is too small', { viewport: { width: 319, height: 240 } }, 'body.viewport.width', 'greater_than_equal'],
    ['a viewport without a height', { viewport: { width: 800 } }, 'body.viewport.height', 'missing'],
    ['a language that is none', { locale: 'no such language' }, 'body.locale', 'locale'],
    ['a time zone that is none', { timezone: 'Mars/Olympus' }, 'body.timezone', 'timezone'],
    ['an offset as time zone', { timezone: '+01:00' }, 'body.timezone', 'timezone'],
    ['a header of the connection', { extra_headers: { Connection: 'close' } }, 'body.extra_headers.Connection.[key]', 'header_not_allowed'],
    ['a header with a line break', { extra_headers: { 'X-A': 'a\r\nHost: evil' } }, 'body.extra_headers.X-A', 'string_pattern_mismatch'],
    [
      'too many headers',
      { extra_headers: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`X-${n}`, '1'])) },
      'body.extra_headers',
      'too_long',
    ],
    [
      'too much metadata',
      { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, '1'])) },
      'body.metadata',
      'too_long',
    ],
    ['a metadata value that is no text', { metadata: { a: 1 } }, 'body.metadata.a', 'string_type'],
    ['a metadata value too long', { metadata: { a: 'x'.repeat(513) } }, 'body.metadata.a', 'string_too_long'],
    ['a user agent with a line break', { user_agent: 'a\nb' }, 'body.user_agent', 'string_pattern_mismatch'],
    ['an external proxy without a server', { proxy: { type: 'external' } }, 'body.proxy.server', 'missing'],
    ['a server for a managed proxy', { proxy: { type: 'managed', server: 'http://proxy.example:1' } }, 'body.proxy.server', 'value_error'],
    [
      'a proxy that speaks no proxy protocol',
      { proxy: { type: 'external', server: 'ftp://proxy.example:1' } },
      'body.proxy.server',
      'url_scheme',
    ],
    ['a proxy that is no URL', { proxy: { type: 'external', server: 'proxy.example' } }, 'body.proxy.server', 'url_parsing'],
    ['an empty list of allowed domains', { allowed_domains: [] }, 'body.allowed_domains', 'too_short'],
    ['an allowed domain with a path', { allowed_domains: ['example.com/a'] }, 'body.allowed_domains.0', 'string_pattern_mismatch'],
    ['a resource type that is none', { block_resources: ['image', 'script'] }, 'body.block_resources.1', 'literal_error'],
    ['a kind that is none', { kind: 'tablet' }, 'body.kind', 'literal_error'],
  ];
  for (const [what, body, loc, type] of wrong)
    it(`POST /v1/session refuses ${what} with 422`, async () => {
      const issues = await served.issues(createSession, { body });
      assert.deepEqual(
        issues.map((issue) => [issue.loc.join('.'), issue.type]),
        [[loc, type]],
      );
    });

  const plain = { name: 'a', value: 'b', domain: 'site.test', path: '/', expires: -1, httpOnly: false, secure: false };
  const refusedCookies: [field: string, change: object][] = [
    ['value', { value: 'a\u0000' }],
    ['value', { value: 'a\ud800' }],
    ['name', { name: 'a\n' }],
    ['path', { path: 'a' }],
    ['secure', { name: '__Secure-a' }],
    ['domain', { name: '__Host-a', secure: true, domain: '.site.test' }],
    ['value', { name: '', value: '' }],
    ['value', { value: 'x'.repeat(4096) }],
    ['partitionKey', { partitionKey: 'nonsense', secure: true }],
  ];
  for (const [field, change] of refusedCookies)
    it(`POST /v1/session refuses a cookie with ${JSON.stringify(change).slice(0, 60)} by its place with 422, and starts no browser`, async () => {
      const { booted } = served.runtime.counts;
      const issues = await served.issues(createSession, { body: { storage_state: { cookies: [plain, { ...plain, ...change }] } } });
      assert.deepEqual(
        issues.map(({ loc }) => loc.join('.')),
        [`body.storage_state.cookies.1.${field}`],
      );
      assert.equal(served.runtime.counts.booted, booted);
    });

  it('POST /v1/session answers 422 with the place of a cookie that only the browser refuses, and leaves no machine', async () => {
    const before = await machinesLeft(served);
    const cookies = [plain, plain, { ...plain, domain: 'refused.test' }, plain];
    const [issue, ...more] = await served.issues(createSession, { body: { storage_state: { cookies } } });
    assert.deepEqual([issue?.loc, more], [['body', 'storage_state', 'cookies', '2'], []]);
    assert.deepEqual(await machinesLeft(served), before);
  });

  it('POST /v1/session accepts NUL and half characters in the local storage of a storage state, and nowhere else', async () => {
    const localStorage = [{ name: '\ud800', value: 'a\u0000\udc00' }];
    const storage_state = { origins: [{ origin: 'http://site.test', localStorage }] };
    assert.equal((await served.create({ storage_state })).status, 'ready');
    const [issue] = await served.issues(createSession, { body: { storage_state, name: 'a\ud800' } });
    assert.deepEqual(issue?.loc, ['body']);
  });

  it('POST /v1/session answers 422 and leaves no session and no machine', async () => {
    const before = await machinesLeft(served);
    await served.issues(createSession, { body: { timeout_seconds: 1, region: 'nowhere' } });
    assert.deepEqual(await machinesLeft(served), before);
  });
});

describe('429 concurrency_limit', () => {
  it('POST /v1/session answers 429 concurrency_limit with the limit and the live sessions, and accepts the next create after an end', async () => {
    const key = await served.ownerKey('three', 'free');
    const sessions = await Promise.all([1, 2, 3].map(() => served.create({}, { key })));
    const { reply, details } = await served.refuse(createSession, 'concurrency_limit', { key, body: {} });
    assert.deepEqual(details, { limit: 3, active: 3 });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    assert.equal(reply.headers.get('x-should-retry'), 'true');
    await served.call(endSession, { key, params: { session_id: sessions[0]?.session_id ?? '' } });
    assert.equal((await served.create({}, { key })).status, 'ready');
  });
});

describe('429 create_rate_limit', () => {
  it('POST /v1/session answers 429 create_rate_limit with the creates per minute and when to retry', async () => {
    const key = await served.ownerKey('hasty', 'free');
    const reply = await createUntil(served, key, 'create_rate_limit', 6);
    const seconds = Number(reply.headers.get('retry-after'));
    assert.ok(seconds >= 1 && seconds <= 60, `retry-after: ${seconds}`);
    assert.match(reply.text, /"limit":5/);
  });

  it('POST /v1/session counts no refused create for 429 create_rate_limit', async () => {
    const key = await served.ownerKey('eager', 'free');
    const sessions = await Promise.all([1, 2, 3].map(() => served.create({}, { key })));
    for (let n = 0; n < 10; n += 1) await served.refuse(createSession, 'concurrency_limit', { key, body: {} });
    for (const { session_id } of sessions.slice(1)) {
      await served.call(endSession, { key, params: { session_id } });
      assert.equal((await served.create({}, { key })).status, 'ready');
    }
    await served.refuse(createSession, 'create_rate_limit', { key, body: {} });
  });

  it('POST /v1/session succeeds for another owner when one has reached its create rate', async () => {
    const key = await served.ownerKey('calm', 'free');
    assert.equal((await served.create({}, { key })).status, 'ready');
  });
});

describe('503 no_capacity', () => {
  it('POST /v1/session answers 503 no_capacity when a machine does not start, and leaves nothing of it', async () => {
    const before = await machinesLeft(served);
    const refused = () => served.refuse(createSession, 'no_capacity', { body: { name: 'unlucky' } });
    const { reply, message } = await whileNoMachineStarts(served, refused);
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    assert.ok(!message.includes(noMachine), 'what went wrong inside is for the log');
    assert.deepEqual(await machinesLeft(served), before);
    assert.equal((await served.create({ name: 'unlucky' })).status, 'ready', 'its name is free again');
  });

  it('POST /v1/session with wait=false marks a session whose machine does not start as failed', async () => {
    const { session_id } = await whileNoMachineStarts(served, async () => {
      const session = await served.create({}, { query: { wait: 'false' } });
      await served.app.sessions.live.get(session.session_id)?.started;
      return session;
    });
    const { body } = await served.call(getSession, { params: { session_id } });
    assert.deepEqual([body.status, body.ended_reason, body.ended_at === null], ['failed', 'start_failed', false]);
    assert.deepEqual((await auditTrailOf(served, session_id)).slice(1), [['service', 'session.ended', 'start_failed']]);
  });
});

describe('503 draining', () => {
  it('POST /v1/session refuses new sessions with 503 draining and retry_after while live sessions continue', async () => {
    const { session_id } = await served.create();
    await served.app.sessions.drain(0);
    const { reply } = await served.refuse(createSession, 'draining', { body: {} });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    assert.equal((await served.call(getSession, { params: { session_id } })).body.status, 'ready');
  });
});
