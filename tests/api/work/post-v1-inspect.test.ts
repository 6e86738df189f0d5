import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cancelJob, endSession, getJob, getSession, inspect, listTabs, metrics, type InspectResponse } from '@berth/contract';
import { bytes, startSite, type Site } from '../../fetch-site.ts';
import { comparable, eventually, startApp, type TestApp } from '../../harness.ts';
import {
  drivingOf,
  endedSession,
  hang,
  hangingUrl,
  jammedSession,
  machinesLeft,
  noMachine,
  startingSession,
  whileNoMachineStarts,
} from '../../contract/session-states.ts';
import { newId } from '@berth/lib/ids.ts';

let served: TestApp;
let site: Site;
before(async () => {
  site = await startSite();
  served = await startApp({ environment: { BERTH_EGRESS_ALLOW: '127.0.0.1' } });
});
after(async () => {
  await served.close();
  await site.close();
});

const quick = { settle_ms: 0 };
const untilDone = { wait_seconds: '25' };

async function inspected(body: Record<string, unknown>, request: { key?: string } = {}): Promise<InspectResponse> {
  const reply = await served.call(inspect, { ...request, body: { ...('har' in body ? {} : quick), ...body } });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

const entryOf = (url: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  startedDateTime: '2026-01-02T03:04:05.000Z',
  time: 12,
  request: { method: 'GET', url, httpVersion: 'HTTP/1.1', headers: [], cookies: [], queryString: [], headersSize: -1, bodySize: 0 },
  response: {
    status: 200,
    statusText: 'OK',
    httpVersion: 'HTTP/1.1',
    headers: [{ name: 'Content-Type', value: 'text/html' }],
    cookies: [],
    content: { size: 5, mimeType: 'text/html', text: '<p>a' },
    redirectURL: '',
    headersSize: -1,
    bodySize: 5,
  },
  cache: {},
  timings: { send: 0, wait: 10, receive: 2 },
  ...more,
});
const harOf = (...entries: unknown[]): Record<string, unknown> => ({
  log: {
    version: '1.2',
    creator: { name: 'test', version: '1' },
    pages: [{ id: 'p', title: 'A page', startedDateTime: '', pageTimings: {} }],
    entries,
  },
});

describe('200', () => {
  it('POST /v1/inspect reports on a page that a browser has loaded', async () => {
    const report = await inspected({ url: 'http://status-404.test/page?q=1', metadata: { for: 'me' } });
    assert.deepEqual([report.status, report.error, report.block, report.warnings], ['ok', null, null, []]);
    assert.deepEqual(
      report.pages.map(({ page_id, title, status_code, requests }) => ({ page_id, title, status_code, requests })),
      [{ page_id: 'page_1', title: 'status-404.test', status_code: 404, requests: 1 }],
    );
    assert.match(report.final_url ?? '', /^http:\/\/status-404\.test\/page/);
    assert.deepEqual([report.report_version, report.metadata, report.usage.actions], [1, { for: 'me' }, 1]);
    assert.match(report.inspect_id, /^ins_[0-9a-z]{24}$/);
    assert.ok(served.app.sessions.live.has(report.session_id ?? ''));
  });

  it('POST /v1/inspect is the result of a job, and each reader gets links of their own to the report', async () => {
    const { job_id, report_url, artifacts: _, ...report } = await inspected({ url: 'http://site.test/' });
    const link = new RegExp(`^${served.url}/v1/inspect/${job_id}/report\\.html\\?token=`);
    assert.match(report_url ?? '', link);
    const { body } = await served.call(getJob, { params: { job_id } });
    assert.deepEqual([body.kind, body.status, body.stage, body.usage], ['inspect', 'ok', 'done', report.usage]);
    const polled = body.result as unknown as InspectResponse;
    assert.match(polled.report_url ?? '', link);
    assert.equal((await fetch(polled.report_url ?? '')).status, 200);
    assert.deepEqual(polled, { ...report, job_id, report_url: polled.report_url, artifacts: polled.artifacts });
    assert.deepEqual((await served.call(cancelJob, { params: { job_id } })).body.status, 'ok');
  });

  it('POST /v1/inspect answers `pending` with the poll address for an asynchronous inspection', async () => {
    const reply = await served.call(inspect, { body: { ...quick, url: 'http://site.test/', async: true, metadata: { job: 'x' } } });
    const { job_id, status, poll_url, report_url, metadata, pages } = reply.body;
    const address = `${served.url}/v1/job/${job_id}`;
    assert.deepEqual([status, poll_url, report_url, metadata, pages], ['pending', address, null, { job: 'x' }, []]);
    assert.deepEqual([reply.headers.get('location'), reply.headers.get('retry-after')], [address, '1']);
    const { body } = await served.call(getJob, { params: { job_id }, query: untilDone });
    assert.deepEqual([body.status, (body.result as InspectResponse | null)?.status], ['ok', 'ok']);
  });

  it('POST /v1/inspect inspects in the session’s tab and keeps the page open', async () => {
    const { session_id } = await served.create();
    const report = await inspected({ url: 'http://site.test/in-session', session_id });
    assert.deepEqual([report.status, report.session_id], ['ok', session_id]);
    const { body } = await served.call(getSession, { params: { session_id } });
    assert.deepEqual([body.current_url, body.usage.actions], ['http://site.test/in-session', 1]);
    assert.equal((await served.call(listTabs, { params: { session_id } })).body.length, 1);
    await served.call(endSession, { params: { session_id } });
  });

  it('POST /v1/inspect runs steps first, and returns their results without their outputs', async () => {
    const report = await inspected({
      url: 'http://site.test/',
      actions: [
        { type: 'navigate', url: 'http://elsewhere.test/' },
        { type: 'wait', selectors: ['#never'], timeout_ms: 100 },
      ],
    });
    assert.deepEqual(
      report.actions.map(({ index, type, status, error_code }) => [index, type, status, error_code]),
      [
        [0, 'navigate', 'ok', null],
        [1, 'wait', 'error', 'not_found'],
      ],
    );
    assert.deepEqual([report.status, report.usage.actions, report.warnings], ['ok', 3, ['action_failed']]);
  });

  it('POST /v1/inspect requests robots.txt and security.txt always, and other files when asked to', async () => {
    site.on('/inspected', bytes('<title>x</title>', 'text/html'));
    for (const probe of [false, true]) {
      site.requests.length = 0;
      await inspected({ url: `${site.url}/inspected`, probe });
      const polite = ['/.well-known/security.txt', '/robots.txt'];
      const probed = site.requests.map(({ path }) => path).toSorted();
      if (probe) assert.ok(probed.includes('/openapi.json') && probed.length === 9, probed.join());
      else assert.deepEqual(probed, polite);
      assert.ok(site.requests.every(({ method }) => method === 'GET'));
    }
  });

  it('POST /v1/inspect reports why a page could not be loaded', async () => {
    const report = await inspected({ url: 'http://fail-ERR_NAME_NOT_RESOLVED.test/' });
    assert.deepEqual([report.status, report.error?.code, report.error?.retryable], ['error', 'navigation_failed', false]);
    assert.deepEqual([report.pages, report.report_url, report.artifacts, report.usage.actions], [[], null, null, 1]);
  });

  it('POST /v1/inspect ends at its timeout', async () => {
    const report = await inspected({ url: hangingUrl, timeout_ms: 1000 });
    assert.deepEqual([report.status, report.error?.code], ['error', 'timeout']);
  });

  it('POST /v1/inspect reports on an uploaded HAR, as an object or as text, without a browser', async () => {
    const har = harOf(entryOf('http://shop.test/a?token=secret-1', { pageref: 'p' }), entryOf('http://shop.test/b', { pageref: 'p' }));
    for (const upload of [har, JSON.stringify(har), `\ufeff${JSON.stringify(har)}`]) {
      const report = await inspected({ har: upload });
      assert.deepEqual([report.status, report.session_id, report.started_at], ['ok', null, '2026-01-02T03:04:05.000Z']);
      assert.deepEqual([report.pages.length, report.pages[0]?.requests, report.usage.actions], [1, 2, 1]);
      assert.ok(!JSON.stringify(report).includes('secret-1'));
    }
  });

  it('POST /v1/inspect says what is wrong with a HAR that it cannot read', async () => {
    for (const har of ['no json', '[]', '{"log":{}}', '{"log":{"entries":[{}]}}', { log: { entries: 'many' } }]) {
      const report = await inspected({ har });
      assert.deepEqual([report.status, report.error?.code, report.error?.retryable], ['error', 'invalid_har', false], JSON.stringify(har));
    }
  });

  it('POST /v1/inspect is counted in the metrics by its end', async () => {
    const counted = async (): Promise<(number | undefined)[]> => {
      const { text } = await served.call(metrics);
      const read = (series: string): number | undefined =>
        Number(
          text
            .split('\n')
            .find((line) => line.startsWith(`${series} `))
            ?.split(' ')[1],
        );
      return [read('berth_inspections_total{status="ok"}'), read('berth_inspection_report_seconds_count')];
    };
    const [ok = NaN, reports = NaN] = await counted();
    await inspected({ har: harOf(entryOf('http://shop.test/')) });
    await inspected({ har: 'no json' });
    assert.deepEqual(await counted(), [ok + 1, reports + 2]);
  });

  it('POST /v1/inspect is cancelled like any job, and then has no report', async () => {
    const { body } = await served.call(inspect, { body: { ...quick, url: hangingUrl, async: true } });
    const { job_id } = body;
    await eventually('it runs', async () => (await served.call(getJob, { params: { job_id } })).body.stage === 'running');
    const { body: cancelled } = await served.call(cancelJob, { params: { job_id } });
    assert.deepEqual([cancelled.status, cancelled.error?.code, cancelled.result], ['error', 'cancelled', null]);
    await eventually('its browser is free', () => served.app.jobs.load.slots === 0);
  });

  it('POST /v1/inspect stops when its caller leaves', async () => {
    const leaving = new AbortController();
    const call = served.call(inspect, { body: { ...quick, url: hangingUrl }, signal: leaving.signal }).catch(() => null);
    await eventually('it runs', () => served.app.jobs.load.slots === 1);
    leaving.abort();
    await call;
    await eventually('it has stopped', () => served.app.jobs.load.slots === 0 && served.app.jobs.load.pending === 0);
  });

  it('POST /v1/inspect queues behind other calls of the session, and ends with it', async () => {
    const { session_id } = await served.create();
    const [hanging] = await hang(served, session_id);
    const waiting = inspected({ url: 'http://site.test/', session_id });
    await eventually('the inspection is queued', () => drivingOf(served, session_id) === 2);
    await served.call(endSession, { params: { session_id } });
    await hanging;
    const report = await waiting;
    assert.deepEqual([report.status, report.error?.code], ['error', 'session_lost']);
  });
});

describe('403 premium_egress_required', () => {
  it('POST /v1/inspect refuses managed and rotating proxies for a plan without them with 403 premium_egress_required', async () => {
    const key = await served.ownerKey('frugal', 'free');
    for (const type of ['managed', 'rotating'])
      for (const isAsync of [false, true])
        await served.refuse(inspect, 'premium_egress_required', { key, body: { url: site.url, proxy: { type }, async: isAsync } });
  });
});

describe('404 session_not_found', () => {
  it('POST /v1/inspect answers 404 session_not_found for unknown, malformed and foreign sessions identically', async () => {
    const key = await served.ownerKey('victim');
    const { session_id } = await served.create({}, { key });
    const inspectIn = async (id: string) =>
      comparable((await served.refuse(inspect, 'session_not_found', { body: { url: 'http://site.test/', session_id: id } })).reply);
    const expected = await inspectIn(newId('ses'));
    for (const id of [session_id, 'nothing', '', '../x', 'constructor', '💥']) assert.equal(await inspectIn(id), expected, id);
  });
});

describe('409 session_not_ready', () => {
  it('POST /v1/inspect answers 409 session_not_ready while the session starts', async () => {
    const { sessionId, release } = await startingSession(served);
    const { reply } = await served.refuse(inspect, 'session_not_ready', { body: { url: 'http://site.test/', session_id: sessionId } });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    await release();
  });
});

describe('409 session_ended', () => {
  it('POST /v1/inspect answers 409 session_ended after the session has ended', async () => {
    const session_id = await endedSession(served);
    for (const isAsync of [false, true])
      await served.refuse(inspect, 'session_ended', { body: { url: 'http://site.test/', session_id, async: isAsync } });
  });
});

describe('409 session_busy', () => {
  it('POST /v1/inspect answers 409 session_busy when the session’s queue is full', async () => {
    const { sessionId, release } = await jammedSession(served);
    const { reply } = await served.refuse(inspect, 'session_busy', { body: { url: 'http://site.test/', session_id: sessionId } });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    await release();
  });
});

/** A profile is that of a session, which counts as one of the owner's. */
const withProfile = { url: 'http://site.test/', profile: { name: 'mine', save_changes: true } };

describe('429 concurrency_limit', () => {
  it('POST /v1/inspect answers 429 concurrency_limit when a session with a profile would be one too many', async () => {
    const key = await served.ownerKey('three-with-profile', 'free');
    await Promise.all([1, 2, 3].map(() => served.create({}, { key })));
    const { details } = await served.refuse(inspect, 'concurrency_limit', { key, body: withProfile });
    assert.deepEqual(details, { limit: 3, active: 3 });
  });
});

describe('429 create_rate_limit', () => {
  it('POST /v1/inspect answers 429 create_rate_limit when sessions with profiles are created too fast', async () => {
    const key = await served.ownerKey('hasty-with-profile', 'free');
    for (let n = 0; n < 5; n += 1) {
      const { session_id } = await served.create({}, { key });
      await served.call(endSession, { key, params: { session_id } });
    }
    await served.refuse(inspect, 'create_rate_limit', { key, body: withProfile });
  });
});

describe('503 no_capacity', () => {
  it('POST /v1/inspect answers 503 no_capacity when no browser can be started, and leaves nothing of it', async () => {
    const unlucky = await startApp();
    const refused = () => unlucky.refuse(inspect, 'no_capacity', { body: { url: 'http://site.test/' } });
    const { reply, message } = await whileNoMachineStarts(unlucky, refused);
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    assert.ok(!message.includes(noMachine), 'what went wrong inside is for the log');
    assert.deepEqual(await machinesLeft(unlucky), { onHost: 0, berths: 0, live: 0 });
    const next = await unlucky.call(inspect, { body: { ...quick, url: 'http://site.test/' } });
    assert.equal(next.body.status, 'ok', 'the next one gets another');
    await unlucky.close();
  });
});

describe('503 draining', () => {
  it('POST /v1/inspect refuses new inspections with 503 draining and retry_after', async () => {
    const going = await startApp();
    await Promise.all([going.app.sessions.drain(0), going.app.jobs.drain(0)]);
    for (const body of [
      { url: 'http://site.test/' },
      { url: 'http://site.test/', async: true },
      { har: harOf(entryOf('http://shop.test/')) },
    ]) {
      const { reply } = await going.refuse(inspect, 'draining', { body });
      assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    }
    await going.close();
  });
});

describe('422', () => {
  const url = 'http://site.test/';
  const har = harOf(entryOf('http://shop.test/'));
  const wrong: [string, Record<string, unknown>, string, string][] = [
    ['neither a URL nor a HAR', {}, 'body.url', 'value_error'],
    ['both', { url, har }, 'body.har', 'value_error'],
    ...Object.entries({
      session_id: 'x',
      region: 'local',
      proxy: { type: 'none' },
      kind: 'full_browser',
      storage_state: { cookies: [] },
      actions: [{ type: 'wait', ms: 1 }],
      wait_until: 'load',
      settle_ms: 0,
      depth: 1,
      max_pages: 1,
      probe: true,
      scroll: true,
      block_detection: 'off',
      include: ['site', 'screenshot'],
    }).map(([field, value]): (typeof wrong)[number] => [`a HAR with ${field}`, { har, [field]: value }, `body.${field}`, 'value_error']),
    ['the empty page', { url: 'about:blank' }, 'body.url', 'url_scheme'],
    ['a region beside a session', { url, session_id: 'x', region: 'local' }, 'body.region', 'value_error'],
    ['a proxy beside a session', { url, session_id: 'x', proxy: { type: 'none' } }, 'body.proxy', 'value_error'],
    ['a storage state beside a session', { url, session_id: 'x', storage_state: {} }, 'body.storage_state', 'value_error'],
    ['a section that is none', { url, include: ['horoscope'] }, 'body.include.0', 'literal_error'],
    ['too deep a visit', { url, depth: 3 }, 'body.depth', 'less_than_equal'],
    ['too many pages', { url, max_pages: 11 }, 'body.max_pages', 'less_than_equal'],
    ['too long a wait', { url, settle_ms: 15_001 }, 'body.settle_ms', 'less_than_equal'],
    ['too large bodies', { url, max_body_bytes: 2_097_153 }, 'body.max_body_bytes', 'less_than_equal'],
    ['a region that is none', { url, region: 'nowhere' }, 'body.region', 'literal_error'],
    ['a step that is none', { url, actions: [{ type: 'dance' }] }, 'body.actions.0.type', 'literal_error'],
  ];
  for (const [what, body, loc, type] of wrong)
    it(`POST /v1/inspect refuses ${what} with 422`, async () => {
      for (const isAsync of [false, true]) {
        const issues = await served.issues(inspect, { body: { ...body, async: isAsync } });
        assert.deepEqual(
          issues.map((issue) => [issue.loc.join('.'), issue.type]),
          [[loc, type]],
        );
      }
    });

  it('POST /v1/inspect answers 422 and leaves no machine, no job and no memory', async () => {
    const before = [await machinesLeft(served), served.app.jobs.load];
    await served.issues(inspect, { body: { url, region: 'nowhere', async: true } });
    assert.deepEqual([await machinesLeft(served), served.app.jobs.load], before);
  });
});
