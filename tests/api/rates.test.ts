/** Rate limits of plans and their headers, and the plan's part in a default. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  connectSession,
  createOwnKey,
  createSession,
  overview,
  health,
  inspect,
  listOwnKeys,
  listRegions,
  listSessions,
  metrics,
} from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';
import { open as openLink, tokenFor } from '../prepare/view-links.ts';

const open = {
  concurrency_limit: null,
  creates_per_minute: null,
  requests_per_minute: null,
  max_session_seconds: 900,
  tab_limit: null,
  premium_egress: true,
};
const folder = mkdtempSync(join(tmpdir(), 'berth-tiers-'));
const harEntry = {
  ...{ startedDateTime: '2026-03-01T12:00:00.000Z', time: 5, cache: {}, timings: { send: 0, wait: 5, receive: 0 } },
  request: { method: 'GET', url: 'http://shop.test/', httpVersion: 'h2', headers: [], queryString: [], cookies: [] },
  response: {
    status: 200,
    statusText: '',
    httpVersion: 'h2',
    headers: [],
    cookies: [],
    redirectURL: '',
    content: { size: 0, mimeType: '' },
  },
};
const metricsToken = 'metrics-token-0123456789abcdef012345';
let served: TestApp;
before(async () => {
  writeFileSync(
    join(folder, 'tiers.json'),
    JSON.stringify({
      default_tier: 'open',
      tiers: { open, slow: { ...open, requests_per_minute: 5, key_calls_per_minute: 3 }, brief: { ...open, max_session_seconds: 120 } },
    }),
  );
  served = await startApp({ environment: { BERTH_TIERS_FILE: join(folder, 'tiers.json') } });
});
after(async () => {
  await served.close();
  rmSync(folder, { recursive: true });
});

describe('a plan with short sessions', () => {
  it('the longest session of a plan is the default of the session and the idle time', async () => {
    const key = await served.ownerKey('brief-one', 'brief');
    const { timeout_seconds, idle_timeout_seconds } = await served.create({}, { key });
    assert.deepEqual([timeout_seconds, idle_timeout_seconds], [120, 120]);
    const [issue, ...more] = await served.issues(createSession, { key, body: { idle_timeout_seconds: 121 } });
    assert.deepEqual([issue?.loc, issue?.ctx, more], [['body', 'idle_timeout_seconds'], { le: 120 }, []]);
  });
});

describe('a plan with a rate', () => {
  it('a plan with a rate reports the remaining requests with every answer and answers rate_limited at zero', async () => {
    const key = await served.ownerKey('slow-one', 'slow');
    for (const left of [4, 3, 2, 1, 0]) {
      const { headers } = await served.call(listSessions, { key });
      assert.equal(headers.get('ratelimit-policy'), '"default";q=5;w=60');
      assert.match(headers.get('ratelimit') ?? '', new RegExp(`^"default";r=${left};t=\\d+$`));
      assert.deepEqual([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')], ['5', String(left)]);
      assert.ok(headers.has('x-ratelimit-reset'));
    }
    const { reply } = await served.refuse(listSessions, 'rate_limited', { key });
    const seconds = Number(reply.headers.get('retry-after'));
    assert.ok(seconds >= 1 && seconds <= 60);
    assert.equal(reply.headers.get('x-should-retry'), 'true');
    assert.equal(reply.headers.get('x-ratelimit-remaining'), '0');
  });

  it('the rate of a plan is shared by all keys of an owner', async () => {
    const keys = await Promise.all([1, 2].map(() => served.ownerKey('two-keys', 'slow')));
    const replies = await Promise.all([0, 1, 0, 1, 0, 1].map((which) => served.call(listRegions, { key: keys[which] ?? '' })));
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((one, other) => one - other),
      [200, 200, 200, 200, 200, 429],
    );
  });

  it('the rate of a plan does not affect other owners', async () => {
    const key = await served.ownerKey('fresh-one', 'slow');
    assert.equal((await served.call(listSessions, { key })).headers.get('x-ratelimit-remaining'), '4');
  });
});

describe('a token in place of a key', () => {
  it('a token that connects to a session counts as a request of its owner', async () => {
    const key = await served.ownerKey('connects', 'slow');
    const { session_id } = await served.create({}, { key });
    const { token } = (await served.call(connectSession, { key, params: { session_id } })).body;
    const ask = () => openLink(`${served.url}/v1/session/${session_id}/cdp/json/version?token=${token}`);
    for (const left of ['2', '1', '0']) assert.equal((await ask()).headers.get('x-ratelimit-remaining'), left);
    assert.equal((await ask()).status, 429);
    await served.refuse(listSessions, 'rate_limited', { key });
  });

  it('a link has the rate of the plan for itself, so that viewers do not use up the owner’s', async () => {
    const key = await served.ownerKey('watched', 'slow');
    const { session_id } = await served.create({}, { key });
    const [one, other] = [await tokenFor(served, session_id, 'view', key), await tokenFor(served, session_id, 'view', key)];
    const watch = (token: string) => openLink(`${served.url}/v1/session/${session_id}/live-view?token=${token}`);
    for (const left of ['4', '3', '2', '1', '0']) {
      const { status, headers } = await watch(one);
      assert.deepEqual([status, headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')], [200, '5', left]);
    }
    assert.equal((await watch(one)).status, 429);
    assert.equal((await watch(other)).headers.get('x-ratelimit-remaining'), '4');
    assert.equal((await served.call(listSessions, { key })).headers.get('x-ratelimit-remaining'), '1');
  });

  it("links of an owner's reports have the rate of the plan once more, whose readers use up neither", async () => {
    const key = await served.ownerKey('reported', 'slow');
    const har = { log: { version: '1.2', creator: { name: 'test', version: '1' }, entries: [harEntry] } };
    const links: string[] = [];
    for (let count = 0; count < 2; count += 1) {
      const { body, text } = await served.call(inspect, { key, body: { har } });
      links.push(body.report_url ?? assert.fail(text));
    }
    const read = (index: number) => openLink(links[index] ?? '', { accept: 'text/html' });
    for (const left of ['4', '3', '2', '1', '0']) {
      const { status, headers } = await read(Number(left) % 2);
      assert.deepEqual([status, headers.get('x-ratelimit-remaining')], [200, left], 'the links of an owner count together');
    }
    assert.equal((await read(0)).status, 429);
    assert.equal((await served.call(listSessions, { key })).headers.get('x-ratelimit-remaining'), '2');
  });
});

describe('the operator', () => {
  it('the operator has a rate of its own for calls, and another for the metrics', async () => {
    assert.equal((await served.call(overview)).headers.get('ratelimit-policy'), '"default";q=1200;w=60');
    const [first, second] = [await served.call(metrics), await served.call(metrics)];
    const left = (reply: { headers: Headers }): number => Number(reply.headers.get('x-ratelimit-remaining'));
    assert.deepEqual([first.headers.get('x-ratelimit-limit'), left(first) - left(second)], ['1200', 1]);
    const guarded = await startApp({ environment: { BERTH_METRICS_TOKEN: metricsToken } });
    try {
      const { status, headers } = await openLink(`${guarded.url}/metrics`, { authorization: `Bearer ${metricsToken}` });
      assert.deepEqual(
        [status, headers.get('ratelimit-policy'), headers.get('x-ratelimit-remaining')],
        [200, '"default";q=1200;w=60', '1199'],
      );
      assert.equal((await guarded.call(overview)).headers.get('x-ratelimit-remaining'), '1199');
    } finally {
      await guarded.close();
    }
  });
});

describe('a plan with a rate of key calls', () => {
  it('the rate of key calls is shared by all members of an organisation and reports the remaining calls', async () => {
    await served.ownerKey('few-calls', 'slow');
    const [ada, ben] = [await served.login('few-calls', 'ada@example.com'), await served.login('few-calls', 'ben@example.com')];
    for (const [key, left] of [
      [ada, 2],
      [ben, 1],
      [ada, 0],
    ] as const) {
      const { headers } = await served.call(listOwnKeys, { key });
      assert.deepEqual([headers.get('ratelimit-policy'), headers.get('x-ratelimit-remaining')], ['"default";q=3;w=60', String(left)]);
    }
    for (const key of [ada, ben]) {
      const { reply } = await served.refuse(createOwnKey, 'rate_limited', { key });
      assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    }
    await served.call(listOwnKeys, { key: await served.login('others') });
  });

  it("the rate of key calls is independent of the request rate of the organisation's API keys", async () => {
    const key = await served.ownerKey('both-ways', 'slow');
    for (let call = 0; call < 6; call += 1) await served.call(listSessions, { key });
    const login = await served.login('both-ways');
    for (let call = 0; call < 3; call += 1) assert.equal((await served.call(listOwnKeys, { key: login })).status, 200);
    await served.refuse(listOwnKeys, 'rate_limited', { key: login });
  });
});

describe('a plan without a rate', () => {
  it('a plan without a rate sends no rate limit headers', async () => {
    for (let call = 0; call < 20; call += 1) {
      const { headers } = await served.call(listSessions);
      assert.equal(headers.get('x-ratelimit-limit'), null);
    }
  });
});

describe('a public endpoint', () => {
  it('a public endpoint has no rate', async () => {
    const { headers } = await served.call(health, { key: null });
    assert.equal(headers.get('ratelimit'), null);
  });
});
