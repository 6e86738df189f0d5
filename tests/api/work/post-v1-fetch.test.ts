import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, fetchPage, getSession, listTabs, navigate, type FetchResponse } from '@berth/contract';
import { bytes, html, redirect, startSite, type Site } from '../../fetch-site.ts';
import { comparable, eventually, startApp, type TestApp } from '../../harness.ts';
import {
  assertError,
  drivingOf,
  endedSession,
  hang,
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

const article = `<p>${'The harbour office keeps a ledger for every quay. '.repeat(12)}</p>`;
const page = (body: string, head = ''): string =>
  `<!doctype html><html lang="en"><head><title>Tides &amp; times</title>${head}</head><body>${body}</body></html>`;

async function fetched(body: Record<string, unknown>, request: { key?: string } = {}): Promise<FetchResponse> {
  const reply = await served.call(fetchPage, { ...request, body });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}
/** An empty page of the fake browser. */
const emptyPage = 'http://status-204.test/';

/** Fetches a page without a browser. */
const plainly = (url: string, body: Record<string, unknown> = {}): Promise<FetchResponse> => fetched({ url, mode: 'http', ...body });
const withBrowser = (url: string, body: Record<string, unknown> = {}): Promise<FetchResponse> => fetched({ url, ...body });

describe('200', () => {
  it('POST /v1/fetch returns a page without a browser, with all its fields', async () => {
    const url = site.sequence('/page', html(page('<h1>Tides</h1>'), { headers: { 'x-served': 'yes', 'set-cookie': 'id=secret' } }));
    const reply = await plainly(url, { metadata: { job: 'tides' } });
    assert.deepEqual(
      [reply.status, reply.url, reply.final_url, reply.status_code, reply.content_type, reply.title],
      ['ok', url, url, 200, 'text/html; charset=utf-8', 'Tides & times'],
    );
    assert.equal(reply.html, page('<h1>Tides</h1>'));
    assert.deepEqual([reply.headers['x-served'], reply.headers['set-cookie']], ['yes', undefined]);
    assert.deepEqual(
      [reply.session_id, reply.poll_url, reply.error, reply.block, reply.resolved_by],
      [null, null, null, null, { mode: 'http', strategy: 'direct', reason: null }],
    );
    assert.deepEqual([reply.page?.title, reply.page?.language], ['Tides & times', 'en']);
    assert.deepEqual(reply.metadata, { job: 'tides' });
    assert.deepEqual(
      reply.attempts.map(({ n, strategy, mode, status, status_code, egress }) => ({ n, strategy, mode, status, status_code, egress })),
      [{ n: 1, strategy: 'direct', mode: 'http', status: 'ok', status_code: 200, egress: { type: 'direct', country: null } }],
    );
    assert.equal(reply.job_id, null, 'nothing can be polled');
    assert.ok(reply.bytes.in > 0 && reply.usage.egress_bytes === reply.bytes.in + reply.bytes.out && reply.usage.actions === 1);
    assert.ok(Date.parse(reply.finished_at ?? '') >= Date.parse(reply.created_at) && reply.timings.ttfb_ms !== null);
  });

  it('POST /v1/fetch returns the site’s status, whatever it is', async () => {
    for (const status of [201, 400, 404, 410]) {
      const reply = await plainly(site.sequence(`/status-${status}`, html('<p>As it is.</p>', { status })));
      assert.deepEqual([reply.status, reply.status_code, reply.html, reply.error], ['ok', status, '<p>As it is.</p>', null]);
    }
  });

  it('POST /v1/fetch returns each redirect and the final address', async () => {
    site.on('/old', redirect('/newer', 301));
    site.on('/newer', redirect(`${site.url}/newest?q=1#part`, 307));
    site.on('/newest', html(page('Here')));
    const reply = await plainly(`${site.url}/old`);
    assert.deepEqual(reply.redirects, [
      { url: `${site.url}/old`, status_code: 301 },
      { url: `${site.url}/newer`, status_code: 307 },
    ]);
    assert.deepEqual([reply.status_code, reply.final_url], [200, `${site.url}/newest?q=1#part`]);
  });

  it('POST /v1/fetch sends the given method, body, headers and cookies', async () => {
    const url = site.sequence('/form', bytes('{"taken":true}', 'application/json'));
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const reply = await plainly(url, {
        method,
        body: 'a=1&b=ü',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Trace': 'on', 'User-Agent': 'Mine/1' },
        cookies: [
          { name: 'id', value: '7' },
          { name: 'deep', value: 'x', path: '/elsewhere' },
        ],
      });
      assert.deepEqual(reply.json, { taken: true });
      const received = site.requests.at(-1);
      assert.deepEqual([received?.method, received?.body], [method, 'a=1&b=ü']);
      const { cookie, 'x-trace': trace, 'user-agent': agent, 'content-type': type } = received?.headers ?? {};
      assert.deepEqual([cookie, trace, agent, type], ['id=7', 'on', 'Mine/1', 'application/x-www-form-urlencoded']);
    }
  });

  it('POST /v1/fetch sends its default user agent unless another is given', async () => {
    await plainly(site.sequence('/agent', html('x')));
    assert.match(site.requests.at(-1)?.headers['user-agent'] ?? '', /Berth\//);
  });

  it('POST /v1/fetch isolates the settings of each fetch', async () => {
    const url = site.sequence('/jar', html('x', { headers: { 'set-cookie': 'left=behind' } }));
    await plainly(url, { cookies: [{ name: 'mine', value: '1' }], headers: { 'X-Mine': '1' } });
    await plainly(url);
    const { cookie, 'x-mine': mine } = site.requests.at(-1)?.headers ?? {};
    assert.deepEqual([cookie, mine], [undefined, undefined]);
  });

  it('POST /v1/fetch serves concurrent fetches, each with its own page', async () => {
    const urls = Array.from({ length: 20 }, (_, n) => site.sequence(`/many-${n}`, html(page(`<p>${n}</p>`))));
    const replies = await Promise.all(urls.map((url) => plainly(url)));
    assert.deepEqual(
      replies.map(({ final_url }) => final_url),
      urls,
    );
  });

  it('POST /v1/fetch returns a page from a browser with its machine', async () => {
    const reply = await withBrowser('http://status-404.test/page', {
      formats: ['html', 'text', 'markdown', 'links', 'metadata', 'screenshot', 'snapshot', 'pdf', 'har'],
    });
    assert.deepEqual(
      [reply.status, reply.status_code, reply.final_url, reply.title, reply.resolved_by],
      ['ok', 404, 'http://status-404.test/page', 'status-404.test', { mode: 'browser', strategy: 'direct', reason: null }],
    );
    assert.match(reply.html ?? '', /<h1>status-404\.test<\/h1>/);
    assert.match(reply.markdown ?? '', /# status-404\.test/);
    assert.equal(reply.snapshot, '- heading "status-404.test" [level=1]\n- link "Next"');
    assert.deepEqual([reply.links?.length, reply.page?.title], [1, 'status-404.test']);
    assert.deepEqual([reply.screenshot?.content_type, reply.pdf?.content_type], ['image/png', 'application/pdf']);
    assert.equal((reply.har?.log as { version?: string } | undefined)?.version, '1.2');
    assert.equal(reply.attempts[0]?.mode, 'browser');
    assert.ok(served.app.sessions.live.has(reply.session_id ?? ''));
  });

  it('POST /v1/fetch reports why a browser could not load the page', async () => {
    const reply = await withBrowser('http://fail-ERR_NAME_NOT_RESOLVED.test/', { retry: { max_attempts: 1 } });
    assert.deepEqual([reply.status, reply.error?.code, reply.error?.retryable], ['error', 'navigation_failed', false]);
    assert.deepEqual(reply.error?.details, { reason: 'dns_failed', net_error: 'net::ERR_NAME_NOT_RESOLVED' });
    assert.deepEqual([reply.attempts[0]?.status, reply.attempts[0]?.error_code, reply.resolved_by], ['error', 'navigation_failed', null]);
  });

  it('POST /v1/fetch returns the available content of an unresponsive page', async () => {
    const reply = await withBrowser('http://mute.test/', { timeout_ms: 4000, retry: { max_attempts: 1 } });
    assert.deepEqual([reply.status, reply.status_code, reply.html], ['ok', 200, null]);
    assert.ok(reply.warnings.includes('page_did_not_answer'), reply.warnings.join());
  });

  it('POST /v1/fetch runs steps in the page and returns their results', async () => {
    const reply = await withBrowser('http://site.test/', {
      actions: [
        { type: 'wait', ms: 1 },
        { type: 'navigate', url: 'http://elsewhere.test/' },
      ],
    });
    assert.deepEqual(
      reply.actions.map(({ status }) => status),
      ['ok', 'ok'],
    );
    assert.deepEqual([reply.final_url, reply.title, reply.usage.actions], ['http://elsewhere.test/', 'elsewhere.test', 3]);
  });

  it('POST /v1/fetch names the caller’s timeout when the steps ran out of time', async () => {
    const reply = await withBrowser('http://site.test/', {
      // The page has to be there before.
      timeout_ms: 4000,
      actions: [{ type: 'wait', selectors: ['#never'], timeout_ms: 30_000 }],
    });
    const { error } = reply.actions[0] ?? assert.fail('no step ran');
    assert.deepEqual([error?.code, error?.message.match(/\d+ ms/g)], ['timeout', ['4000 ms']], JSON.stringify(error));
  });

  it('POST /v1/fetch uses no browser in auto mode when none is needed', async () => {
    const reply = await fetched({ url: site.sequence('/auto', html(page(article))), mode: 'auto' });
    assert.deepEqual(
      [reply.status, reply.resolved_by, reply.session_id],
      ['ok', { mode: 'http', strategy: 'direct', reason: 'no_browser_needed' }, null],
    );
  });

  it('POST /v1/fetch uses a browser in auto mode when the page needs one, with the reason', async () => {
    const needs: [string, string, Record<string, unknown>, string][] = [
      ['/app', page('<div id="root"></div><script src="/app.js"></script>'), {}, 'needs_script'],
      ['/refresh', page(article, '<meta http-equiv="refresh" content="1;url=/next">'), {}, 'meta_refresh'],
      ['/picture', page(article), { formats: ['screenshot'] }, 'needs_format'],
      ['/tree', page(article), { formats: ['snapshot'] }, 'needs_format'],
      ['/steps', page(article), { actions: [{ type: 'wait', ms: 1 }] }, 'needs_actions'],
      ['/wait', page(article), { wait_for: { ms: 1 } }, 'needs_actions'],
    ];
    for (const [path, body, stepNames, why] of needs) {
      const reply = await fetched({ url: site.sequence(path, html(body)), mode: 'auto', ...stepNames });
      assert.deepEqual([reply.resolved_by, reply.attempts.length], [{ mode: 'browser', strategy: 'direct', reason: why }, 1], path);
      assert.ok(reply.session_id);
      assert.equal(
        site.count(path),
        why.startsWith('needs_f') || why.startsWith('needs_a') ? 0 : 1,
        'what plain HTTP cannot give is not asked for by it',
      );
    }
  });

  it('POST /v1/fetch fetches in the session’s tab and keeps the page open', async () => {
    const { session_id } = await served.create();
    const tabs = (await served.call(listTabs, { params: { session_id } })).body.length;
    const reply = await withBrowser(`${emptyPage}in-session`, { session_id });
    assert.deepEqual(
      [reply.status, reply.session_id, reply.resolved_by],
      ['ok', session_id, { mode: 'browser', strategy: 'direct', reason: null }],
    );
    const { body } = await served.call(getSession, { params: { session_id } });
    assert.deepEqual([body.current_url, body.usage.actions, body.tabs.open], [`${emptyPage}in-session`, 1, tabs]);
    assert.equal((await served.call(navigate, { params: { session_id }, body: { url: 'http://site.test/after' } })).status, 200);
    await served.call(endSession, { params: { session_id } });
  });

  it('POST /v1/fetch needs none of the plan’s sessions', async () => {
    const key = await served.ownerKey('three', 'free');
    await Promise.all([1, 2, 3].map(() => served.create({}, { key })));
    assert.equal((await fetched({ url: emptyPage }, { key })).status, 'ok');
  });

  it('POST /v1/fetch queues behind other calls of the session', async () => {
    const { session_id } = await served.create();
    const [hanging] = await hang(served, session_id);
    const waiting = served.call(fetchPage, { body: { url: 'http://site.test/', session_id } });
    await eventually('the fetch is queued', () => drivingOf(served, session_id) === 2);
    await served.call(endSession, { params: { session_id } });
    assertError(await (hanging ?? assert.fail()), 409, 'session_ended');
    const { body } = await waiting;
    assert.deepEqual([body.status, body.error?.code, body.error?.retryable, body.attempts.length], ['error', 'session_lost', false, 1]);
  });

  it('POST /v1/fetch answers `pending` with the poll address for an asynchronous fetch', async () => {
    const url = site.sequence('/later', html(page('Later')));
    const reply = await served.call(fetchPage, { body: { url, mode: 'http', async: true, metadata: { job: 'x' } } });
    const { job_id, status, poll_url, final_url, finished_at, metadata } = reply.body;
    assert.match(job_id ?? '', /^ses_[0-9a-z]{24}\.[0-9a-f-]{36}$/);
    assert.deepEqual(
      [status, poll_url, final_url, finished_at, metadata],
      ['pending', `${served.url}/v1/fetch/job/${job_id}`, null, null, { job: 'x' }],
    );
    assert.deepEqual([reply.headers.get('location'), reply.headers.get('retry-after')], [`${served.url}/v1/fetch/job/${job_id}`, '1']);
  });
});

describe('403 premium_egress_required', () => {
  it('POST /v1/fetch refuses managed and rotating proxies for a plan without them with 403 premium_egress_required, with a browser and without', async () => {
    const key = await served.ownerKey('frugal', 'free');
    for (const mode of ['browser', 'http', 'auto'])
      for (const type of ['managed', 'rotating'])
        for (const isAsync of [false, true])
          await served.refuse(fetchPage, 'premium_egress_required', {
            key,
            body: { url: site.url, mode, proxy: { type }, async: isAsync },
          });
  });
});

describe('404 session_not_found', () => {
  it('POST /v1/fetch answers 404 session_not_found for unknown, malformed and foreign sessions identically', async () => {
    const key = await served.ownerKey('victim');
    const { session_id } = await served.create({}, { key });
    const fetchIn = async (id: string) =>
      comparable((await served.refuse(fetchPage, 'session_not_found', { body: { url: 'http://site.test/', session_id: id } })).reply);
    const expected = await fetchIn(newId('ses'));
    for (const id of [session_id, 'nothing', '', 'ses_', '../x', 'constructor', '💥']) assert.equal(await fetchIn(id), expected, id);
    const { body } = await served.call(getSession, { key, params: { session_id } });
    assert.deepEqual([body.current_url, body.usage.actions], ['about:blank', 0]);
  });
});

describe('409 session_not_ready', () => {
  it('POST /v1/fetch answers 409 session_not_ready while the session starts', async () => {
    const { sessionId, release } = await startingSession(served);
    const { reply } = await served.refuse(fetchPage, 'session_not_ready', { body: { url: 'http://site.test/', session_id: sessionId } });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    await release();
  });
});

describe('409 session_ended', () => {
  it('POST /v1/fetch answers 409 session_ended after the session has ended', async () => {
    const session_id = await endedSession(served);
    for (const isAsync of [false, true])
      await served.refuse(fetchPage, 'session_ended', { body: { url: 'http://site.test/', session_id, async: isAsync } });
  });
});

describe('409 session_busy', () => {
  it('POST /v1/fetch answers 409 session_busy when the session’s queue is full', async () => {
    const { sessionId, release } = await jammedSession(served);
    const { reply } = await served.refuse(fetchPage, 'session_busy', { body: { url: 'http://site.test/', session_id: sessionId } });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    await release();
  });
});

/** A profile is that of a session, which counts as one of the owner's. */
const withProfile = { url: 'http://site.test/', profile: { name: 'mine', save_changes: true } };

describe('429 concurrency_limit', () => {
  it('POST /v1/fetch answers 429 concurrency_limit when a session with a profile would be one too many', async () => {
    const key = await served.ownerKey('three-with-profile', 'free');
    await Promise.all([1, 2, 3].map(() => served.create({}, { key })));
    const { details } = await served.refuse(fetchPage, 'concurrency_limit', { key, body: withProfile });
    assert.deepEqual(details, { limit: 3, active: 3 });
  });
});

describe('429 create_rate_limit', () => {
  it('POST /v1/fetch answers 429 create_rate_limit when sessions with profiles are created too fast', async () => {
    const key = await served.ownerKey('hasty-with-profile', 'free');
    for (let n = 0; n < 5; n += 1) {
      const { session_id } = await served.create({}, { key });
      await served.call(endSession, { key, params: { session_id } });
    }
    await served.refuse(fetchPage, 'create_rate_limit', { key, body: withProfile });
  });
});

describe('503 no_capacity', () => {
  it('POST /v1/fetch answers 503 no_capacity when no browser can be started, and leaves nothing of it', async () => {
    const key = await served.ownerKey('unlucky');
    // Sessions of other tests may still be ending.
    await eventually('nothing is ending', async () => {
      const { onHost, live } = await machinesLeft(served);
      return onHost === live;
    });
    const before = await machinesLeft(served);
    const refused = () => served.refuse(fetchPage, 'no_capacity', { key, body: { url: 'http://site.test/' } });
    const { reply, message } = await whileNoMachineStarts(served, refused);
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    assert.ok(!message.includes(noMachine), 'what went wrong inside is for the log');
    assert.deepEqual(await machinesLeft(served), before);
    assert.equal((await fetched({ url: emptyPage }, { key })).status, 'ok', 'the next one gets another');
  });
});

describe('503 draining', () => {
  it('POST /v1/fetch refuses fetches that need a new machine or job with 503 draining and retry_after', async () => {
    const going = await startApp();
    await Promise.all([going.app.sessions.drain(0), going.app.jobs.drain(0)]);
    for (const body of [{}, { async: true }, { mode: 'http', async: true }]) {
      const { reply } = await going.refuse(fetchPage, 'draining', { body: { url: 'http://site.test/', ...body } });
      assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    }
    await going.close();
  });
});

describe('422', () => {
  const url = 'http://site.test/';
  const nested = (field: Record<string, unknown>) => ({ extract: { fields: { price: field } } });
  const wrong: [string, Record<string, unknown>, string, string][] = [
    ['the empty page', { url: 'about:blank' }, 'body.url', 'url_scheme'],
    ['a method other than GET with a browser', { method: 'POST' }, 'body.method', 'value_error'],
    ['a method other than GET with `auto`', { mode: 'auto', method: 'PUT' }, 'body.method', 'value_error'],
    ['a body with GET', { mode: 'http', body: 'x' }, 'body.body', 'value_error'],
    ['a body with HEAD', { mode: 'http', method: 'HEAD', body: 'x' }, 'body.body', 'value_error'],
    ['a session without a browser', { mode: 'http', session_id: 'x' }, 'body.session_id', 'value_error'],
    ['a session for `auto`', { mode: 'auto', session_id: 'x' }, 'body.session_id', 'value_error'],
    ['a region beside a session', { session_id: 'x', region: 'local' }, 'body.region', 'value_error'],
    ['a proxy beside a session', { session_id: 'x', proxy: { type: 'none' } }, 'body.proxy', 'value_error'],
    ['steps without a browser', { mode: 'http', actions: [{ type: 'wait', ms: 1 }] }, 'body.actions', 'value_error'],
    ['a tree without a browser', { mode: 'http', formats: ['snapshot'] }, 'body.formats', 'value_error'],
    ['a picture without a browser', { mode: 'http', formats: ['screenshot'] }, 'body.formats', 'value_error'],
    ['a PDF without a browser', { mode: 'http', formats: ['pdf'] }, 'body.formats', 'value_error'],
    ['a format that is none', { formats: ['html', 'docx'] }, 'body.formats.1', 'literal_error'],
    ['a step that is none', { actions: [{ type: 'dance' }] }, 'body.actions.0.type', 'literal_error'],
    ['a step without what it needs', { actions: [{ type: 'click' }] }, 'body.actions.0.selectors', 'missing'],
    ['a cookie whose name is none', { cookies: [{ name: 'a b', value: '' }] }, 'body.cookies.0.name', 'string_pattern_mismatch'],
    ['a cookie whose value ends it', { cookies: [{ name: 'a', value: 'x;y' }] }, 'body.cookies.0.value', 'string_pattern_mismatch'],
    [
      'a cookie path that is none',
      { cookies: [{ name: 'a', value: 'x', path: 'here' }] },
      'body.cookies.0.path',
      'string_pattern_mismatch',
    ],
    ['a header of the connection', { headers: { Host: 'x' } }, 'body.headers.Host.[key]', 'header_not_allowed'],
    ['too long a wait', { wait_for: { ms: 30_001 } }, 'body.wait_for.ms', 'less_than_equal'],
    ['too many attempts', { retry: { max_attempts: 6 } }, 'body.retry.max_attempts', 'less_than_equal'],
    ['no attempt', { retry: { max_attempts: 0 } }, 'body.retry.max_attempts', 'greater_than_equal'],
    ['a reason to try again that is none', { retry: { on: ['4xx'] } }, 'body.retry.on.0', 'literal_error'],
    ['a field of an unknown type', nested({ selector: 'b', type: 'money' }), 'body.extract.fields.price.type', 'literal_error'],
    ['a field without a selector', nested({}), 'body.extract.fields.price.selector', 'missing'],
    ['a field whose selector is none', nested({ selector: 'b[' }), 'body.extract.fields.price.selector', 'value_error'],
    ['a selector to include that is none', { include_selectors: ['b', ':nope('] }, 'body.include_selectors.1', 'value_error'],
    ['a selector to exclude that is none', { exclude_selectors: ['b['] }, 'body.exclude_selectors.0', 'value_error'],
    ['a region that is none', { region: 'nowhere' }, 'body.region', 'literal_error'],
    [
      'too much metadata',
      { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, '1'])) },
      'body.metadata',
      'too_long',
    ],
    ['a proxy without a server', { proxy: { type: 'external' } }, 'body.proxy.server', 'missing'],
    ['a type of proxy that the region has none of', { mode: 'http', proxy: { type: 'managed' } }, 'body.proxy.type', 'value_error'],
  ];
  for (const [what, body, loc, type] of wrong)
    it(`POST /v1/fetch refuses ${what} with 422`, async () => {
      for (const isAsync of [false, true]) {
        const issues = await served.issues(fetchPage, { body: { url, ...body, async: isAsync } });
        assert.deepEqual(
          issues.map((issue) => [issue.loc.join('.'), issue.type]),
          [[loc, type]],
        );
      }
    });

  it('POST /v1/fetch answers 422 with every option that a browser does not support', async () => {
    const issues = await served.issues(fetchPage, { body: { url, mode: 'auto', method: 'POST', body: 'x', session_id: 'x' } });
    assert.deepEqual(new Set(issues.map(({ loc }) => loc[1])), new Set(['body', 'method', 'session_id']));
  });

  it('POST /v1/fetch answers 422 and leaves no machine and no job', async () => {
    const before = [await machinesLeft(served), served.app.jobs.load];
    await served.issues(fetchPage, { body: { url, region: 'nowhere', exclude_selectors: ['b['], async: true } });
    assert.deepEqual([await machinesLeft(served), served.app.jobs.load], before);
  });

  it('POST /v1/fetch answers 422 without a cookie and a password of the request', async () => {
    const reply = await served.call(fetchPage, {
      body: {
        url: 'ftp://user:hunter2@site.test/',
        cookies: [{ name: 'id', value: 'hunter2;' }],
        proxy: { type: 'none', server: 'http://u:hunter2@p:1' },
      },
    });
    assert.equal(reply.status, 422);
    assert.ok(!reply.text.includes('hunter2'), reply.text);
  });
});
