/** Inspections with a real browser, of the shop's trade desk, which uses an API in every way. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import type { Entry } from 'har-format';
import { createSession, inspect, listTabs, navigate, type InspectResponse } from '@berth/contract';
import { assertPrompt } from '../../yardstick.ts';
import type { Client } from '../../harness.ts';
import { ada } from '../../shop/pages/account.ts';
import { compareReport } from '../../shop/compare-report.ts';
import { bytes, html, redirect, startSite, type Site } from '../../fetch-site.ts';
import { startShop, type Shop } from '../../shop/shop.ts';
import { tradeKeys } from '../../shop/tokens.ts';
import { nightly } from '../../nightly.ts';
import { Service } from '../service.ts';

const signIn = [
  { type: 'fill', selectors: ['#desk-email'], value: ada.email },
  { type: 'fill', selectors: ['#desk-password'], value: ada.password },
  { type: 'click', selectors: ['#desk-login button'] },
  { type: 'wait', text: 'All loaded.', timeout_ms: 30_000 },
  { type: 'click', selectors: ['#harbour'] },
  { type: 'wait', text: `Harbour: ${ada.email}`, timeout_ms: 30_000 },
];

type CapturedEntry = Entry & { _eventSourceMessages?: unknown[] };

const entriesOf = ({ har }: InspectResponse): CapturedEntry[] => (har?.log as { entries?: CapturedEntry[] } | undefined)?.entries ?? [];
const named = (report: InspectResponse, method: string, path: string): CapturedEntry =>
  entriesOf(report).find(({ request }) => request.method === method && new URL(request.url).pathname === path) ??
  assert.fail(
    `no ${method} ${path} among ${entriesOf(report)
      .map(({ request }) => request.url)
      .join(' ')}`,
  );

/** What the shop gave a browser to sign in with, and what the browser sent. */
function secretsOf({ requests }: Shop): string[] {
  const sent = requests.flatMap(({ headers, body }) => [
    ...(headers.authorization?.split(' ').slice(1) ?? []),
    ...(headers.cookie ?? '').split('; ').map((pair) => pair.slice(pair.indexOf('=') + 1)),
    headers['x-csrf-token'],
    new URLSearchParams(body.toString('latin1')).get('code_verifier'),
  ]);
  const values = sent.filter((value): value is string => typeof value === 'string' && value.length >= 12);
  return [...new Set([ada.email, ada.password, encodeURIComponent(ada.email), ...Object.values(tradeKeys), ...values])];
}

describe('an inspection', () => {
  let shop: Shop;
  let site: Site;
  let service: Service;
  let client: Client;
  before(async () => {
    [shop, site] = await Promise.all([startShop({ consent: false }), startSite()]);
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: `${shop.host},${shop.otherHost},${new URL(site.url).host}` } });
    ({ client } = service);
  });
  after(async () => {
    await service.close();
    await Promise.all([shop.close(), site.close()]);
  });

  const inspected = async (body: Record<string, unknown>): Promise<InspectResponse> => {
    const reply = await client.call(inspect, { body: { settle_ms: 500, ...body } });
    assert.equal(reply.status, 200, reply.text.slice(0, 1000));
    assert.equal(reply.body.status, 'ok', JSON.stringify([reply.body.error, reply.body.warnings, reply.body.actions]));
    return reply.body;
  };

  describe('of a site that its steps sign in to', () => {
    let report: InspectResponse;
    before(async () => {
      const include = ['site', 'api', 'auth', 'assets', 'third_parties', 'cookies', 'security', 'seo', 'automation', 'har', 'screenshot'];
      report = await inspected({ url: `${shop.url}/trade`, actions: signIn, include });
    });

    it('an inspection with sign-in steps has the requests of the steps, with bodies', () => {
      assert.deepEqual(
        report.actions.map(({ status }) => status),
        signIn.map(() => 'ok'),
      );
      const login = named(report, 'POST', '/api/v2/auth/login');
      assert.match(login.request.postData?.text ?? '', /"password":"\{\{password_\d+\}\}"/);
      assert.match(login.response.content.text ?? '', /\{\{(token|jwt)_\d+\}\}/);
      const me = named(report, 'GET', '/api/v2/me');
      // The desk also asks before it has a token.
      assert.match(JSON.stringify(entriesOf(report).map(({ request }) => request.headers)), /"Bearer \{\{\w+_\d+\}\}"/);
      assert.equal((me._initiator as { type?: string } | undefined)?.type, 'script');
      assert.match(named(report, 'GET', '/trade').response.content.text ?? '', /<h1>Trade desk<\/h1>/);
    });

    it('an inspection of the shop finds what its answer key has, and claims little else', () => {
      const { api, auth } = report;
      const scores = compareReport({ api: api ?? assert.fail('no api'), auth: auth ?? assert.fail('no auth') }, shop.host);
      assert.equal(scores.length, 7);
      for (const { claim, precision, recall, wrong, missing } of scores)
        assert.ok(precision >= 0.95 && recall >= 0.95, JSON.stringify({ claim, precision, recall, wrong, missing }, null, 1));
    });

    it('an inspection has the fields of an upload, without its file', () => {
      const upload = report.api?.endpoints.find(({ path_template: path }) => path.endsWith('/attachments')) ?? assert.fail('no upload');
      const schema = upload.request?.schema as { properties?: Record<string, unknown> } | undefined;
      assert.deepEqual(schema?.properties, { file: { type: 'string', format: 'binary' }, kind: { type: 'string' } });
      const sent = named(report, 'POST', '/api/v2/attachments').request.postData?.text ?? '';
      assert.match(sent, /filename="delivery[.]txt"/);
      assert.doesNotMatch(sent, /gate/);
    });

    it('an inspection has WebSocket messages and server-sent events', () => {
      const socket = entriesOf(report).find(({ _resourceType: type }) => type === 'websocket') ?? assert.fail('no socket');
      assert.equal(socket.response.status, 101);
      assert.deepEqual([...new Set(socket._webSocketMessages?.map(({ type }) => type))].toSorted(), ['receive', 'send']);
      const stream = named(report, 'GET', '/api/stock');
      assert.ok((stream._eventSourceMessages?.length ?? 0) > 0);
    });

    it('an inspection has no secret anywhere, and counts them', async () => {
      const page = await fetch(report.report_url ?? '');
      assert.equal(page.status, 200);
      const texts = [JSON.stringify({ ...report, screenshot: null, report_url: null, artifacts: null }), await page.text()];
      const secrets = secretsOf(shop);
      // Two tokens, one of Harbour, Basic credentials, the session and its CSRF token, the verifier.
      assert.ok(secrets.length >= 3 + Object.keys(tradeKeys).length + 6, secrets.join('\n'));
      for (const secret of secrets)
        for (const text of texts)
          assert.ok(!text.includes(secret), `${secret} in …${text.slice(text.indexOf(secret) - 200, text.indexOf(secret) + 50)}`);
      assert.ok(report.redactions.headers > 0 && report.redactions.body_keys > 0);
    });

    it('an inspection has what the page used, and how fast it was', () => {
      const { timings } = report.assets?.summary ?? assert.fail('no assets');
      assert.ok((timings.fcp_ms ?? 0) > 0 && (timings.load_ms ?? 0) > 0, JSON.stringify(timings));
      assert.ok((report.assets?.unused_bytes?.js ?? 0) > 0, JSON.stringify(report.assets?.unused_bytes));
      assert.ok((report.cookies?.length ?? 0) > 0);
      assert.ok((report.screenshot?.data_base64?.length ?? 0) > 1000);
      assert.ok((report.auth?.login_forms.length ?? 0) > 0);
    });
  });

  it('an inspection follows links within the origin', async () => {
    const report = await inspected({ url: `${shop.url}/`, depth: 1, max_pages: 3, settle_ms: 0, wait_until: 'load', include: ['har'] });
    assert.equal(report.pages.length, 3, JSON.stringify(report.pages));
    assert.equal(new Set(report.pages.map(({ url }) => url)).size, 3);
    assert.ok(report.pages.every(({ url, requests, status_code: status }) => url.startsWith(shop.url) && requests > 0 && status === 200));
    assert.equal(report.usage.actions, 3);
  });

  it('an inspection runs as the user of a session, and leaves its tab usable', async () => {
    const { session_id } = (await client.call(createSession, { body: {} })).body;
    await client.call(navigate, { params: { session_id }, body: { url: `${shop.url}/` } });
    const report = await inspected({ url: `${shop.url}/about`, session_id, settle_ms: 0, wait_until: 'load' });
    assert.equal(report.session_id, session_id);
    assert.equal((await client.call(listTabs, { params: { session_id } })).body.length, 1);
    const { status } = await client.call(navigate, { params: { session_id }, body: { url: `${shop.url}/` } });
    assert.equal(status, 200);
  });

  it('an inspection begins with a storage state', async () => {
    const cookies = [{ name: 'flavour', value: 'oat', domain: '127.0.0.1', path: '/', expires: -1, httpOnly: false, secure: false }];
    const origins = [{ origin: shop.url, localStorage: [{ name: 'note', value: 'hello' }] }];
    await inspected({ url: `${shop.url}/about`, storage_state: { cookies, origins }, settle_ms: 0, wait_until: 'load' });
    const request = shop.requests.findLast(({ path }) => path === '/about');
    assert.match(request?.headers.cookie ?? '', /flavour=oat/);
  });

  it('an inspection scrolls to what loads late, and sees what a service worker answers', async () => {
    site.on(
      '/lazy',
      html(`<title>Lazy</title><p id=state></p><div style="height:5000px"></div><p id=end>The end</p><script type=module>
      const seen = new Promise((resolve) => new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && resolve()).observe(end));
      await navigator.serviceWorker.register('/worker.js');
      await navigator.serviceWorker.ready;
      state.textContent = 'Served.';
      await seen;
      fetch('/late');
    </script>`),
    );
    site.on(
      '/worker.js',
      bytes('onfetch = (event) => event.respondWith(fetch(event.request)); onactivate = () => clients.claim();', 'text/javascript'),
    );
    site.on('/late', bytes('{"late":true}', 'application/json'));
    // A worker is ready some time after its page has loaded, and the page scrolls after the steps.
    const actions = [{ type: 'wait', text: 'Served.', timeout_ms: 30_000 }];
    const report = await inspected({ url: `${site.url}/lazy`, actions, scroll: true, settle_ms: 1500, include: ['site', 'har'] });
    assert.deepEqual([report.site?.service_worker, report.site?.ip], [true, '127.0.0.1']);
    assert.equal(named(report, 'GET', '/late').response.status, 200);
  });

  it('an inspection reports on a page with an event stream and a long poll, and on one that polls without end', async () => {
    const open = (response: ServerResponse) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    site.on('/stream', open);
    site.on('/never', () => {});
    site.on('/again', bytes('{"again":true}', 'application/json'));
    site.on('/waits', html('<title>Waits</title><script>new EventSource("/stream"); fetch("/stream"); fetch("/never")</script>'));
    site.on('/polls', html('<title>Polls</title><script>setInterval(() => fetch("/again?" + performance.now()), 200)</script>'));
    const waits = await inspected({ url: `${site.url}/waits`, include: ['site', 'har'] });
    assert.ok(!waits.warnings.includes('load_timed_out'), waits.warnings.join());
    named(waits, 'GET', '/never');
    const polls = await inspected({ url: `${site.url}/polls`, include: ['site', 'har'] });
    assert.ok(polls.warnings.includes('load_timed_out'), polls.warnings.join());
    assert.equal(named(polls, 'GET', '/again').response.status, 200);
  });

  it('an inspection leaves out a body of 100 MB, and has its size', async () => {
    const chunk = Buffer.alloc(1_000_000, 0x61);
    site.on('/large', (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      Readable.from(Array.from({ length: 100 }, () => chunk)).pipe(response);
    });
    site.on('/after', bytes('{"after":true}', 'application/json'));
    site.on(
      '/with-large',
      html(`<title>Large</title><script type=module>
      const { body } = await fetch('/large');
      let size = 0;
      for await (const part of body) size += part.length;
      await fetch('/after?' + size);
      document.body.textContent = 'All read.';
    </script>`),
    );
    const actions = [{ type: 'wait', text: 'All read.', timeout_ms: 30_000 }];
    const report = await inspected({ url: `${site.url}/with-large`, actions, timeout_ms: 90_000, include: ['assets', 'har'] });
    assert.ok(
      site.requests.some(({ path }) => path === '/after?100000000'),
      'the page has read all of it',
    );
    assert.ok(report.limits.dropped_bytes >= 100_000_000, JSON.stringify(report.limits));
    assert.equal(named(report, 'GET', '/large').response.content.text, undefined);
    assert.equal(report.assets?.requests.find(({ url }) => url.endsWith('/large'))?.resource_bytes, 100_000_000);
    assert.match(named(report, 'GET', '/after').response.content.text ?? '', /after/);
  });

  it('an inspection ends within bounds on a page that has too much of everything', nightly, async () => {
    site.on(
      '/hostile',
      html(`<title>Too much</title><script>
      for (let n = 0; n < 2500; n += 1) fetch('/many?' + n).catch(() => {});
      fetch('/large'); fetch('/endless'); fetch('/loop').catch(() => {}); fetch('/invalid');
      const log = new WebSocket('ws://' + location.host + '/nowhere');
      localStorage.setItem('__proto__', 'x'.repeat(100000));
      setInterval(() => console.error('again'), 1);
    </script>`),
    );
    site.on('/many', bytes('1', 'application/json'));
    site.on('/large', bytes(Buffer.alloc(30_000_000, 0x61), 'application/json'));
    site.on('/invalid', bytes('{"a":', 'application/json'));
    site.on('/loop', redirect('/loop'));
    site.on('/endless', (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const timer = setInterval(() => response.write(`data: ${'x'.repeat(1000)}\n\n`), 1);
      response.on('close', () => clearInterval(timer));
    });
    const startedMs = performance.now();
    const report = await inspected({ url: `${site.url}/hostile`, timeout_ms: 30_000, include: ['assets', 'har'] });
    // What is not bounded goes on for as long as the page sends.
    assertPrompt(startedMs, 90_000);
    assert.equal(report.limits.truncated, true);
    assert.match(report.limits.reason ?? '', /requests/);
    assert.ok(entriesOf(report).length <= 2100, String(entriesOf(report).length));
    assert.ok(JSON.stringify(report).length < 20_000_000);
  });
});
