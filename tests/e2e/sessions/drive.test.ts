import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  closeTab,
  createSession,
  endSession,
  getSession,
  listAllSessions,
  listTabs,
  navigate,
  openTab,
  type SessionResponse,
} from '@berth/contract';
import type { Client } from '../../harness.ts';
import { Service, eventually, pageMs } from '../service.ts';
import { startSite, type Site } from '../site.ts';

describe('driving a real browser over HTTP', () => {
  let site: Site;
  let service: Service;
  let client: Client;
  let session: SessionResponse;
  before(async () => {
    site = await startSite();
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } });
    client = service.client;
    session = (await client.call(createSession, { body: {} })).body;
  });
  after(async () => {
    await service.close();
    await site.close();
  });
  const params = () => ({ session_id: session.session_id });
  const go = (path: string, more: object = {}) => client.call(navigate, { params: params(), body: { url: site.url + path, ...more } });

  it('driving over HTTP starts a session that is ready on the empty page', () => {
    assert.equal(session.status, 'ready');
    assert.equal(session.current_url, 'about:blank');
    assert.equal(session.tabs.open, 1);
    assert.equal(session.warm, false);
  });

  it('driving over HTTP navigates to a page and returns the final address, title and status', async () => {
    const { body } = await go('/');
    assert.equal(body.final_url, `${site.url}/`);
    assert.equal(body.title, 'Home');
    assert.equal(body.status_code, 200);
    const seen = (await client.call(getSession, { params: params() })).body;
    assert.equal(seen.current_url, `${site.url}/`);
    assert.equal(seen.title, 'Home');
    assert.ok(seen.usage.egress_bytes > 0);
  });

  it('driving over HTTP succeeds for a page with status 404 or 500, with the real status', async () => {
    for (const status of [404, 500, 503]) assert.equal((await go(`/status/${status}`)).body.status_code, status);
  });

  it('driving over HTTP follows redirects', async () => {
    const { body } = await go('/redirect');
    assert.equal(body.final_url, `${site.url}/second`);
    assert.equal(body.status_code, 200);
  });

  for (const { what, path, url, reason, netError } of [
    { what: 'a redirect without end', path: '/loop', reason: 'too_many_redirects', netError: 'net::ERR_TOO_MANY_REDIRECTS' },
    { what: 'a connection cut by the site', path: '/reset', reason: 'connection_reset' },
    { what: 'a page that never answers', path: '/hang', reason: 'timeout' },
    { what: 'a page that never ends', path: '/endless', reason: 'timeout', netError: 'net::ERR_TIMED_OUT' },
    { what: 'a name that does not exist', url: 'http://no-such-host.invalid/', reason: 'dns_failed' },
    { what: 'a name that does not exist, over TLS', url: 'https://no-such-host.invalid/', reason: 'dns_failed' },
    { what: 'a private address', url: 'http://169.254.169.254/latest/meta-data', reason: 'blocked_by_policy' },
    { what: 'a private address, over TLS', url: 'https://10.0.0.1/', reason: 'blocked_by_policy' },
    { what: 'the service itself', url: 'self', reason: 'blocked_by_policy' },
  ])
    it(`driving over HTTP answers 502 with the reason ${reason} for ${what}, and the tab stays usable`, async () => {
      const target = url === 'self' ? `${service.url}/health` : (url ?? site.url + path);
      const { details } = await client.refuse(navigate, 'navigation_failed', {
        params: params(),
        body: { url: target, timeout_ms: pageMs(reason === 'timeout' ? 2000 : 20_000) },
      });
      assert.equal(details['reason'], reason);
      if (netError) assert.equal(details['net_error'], netError);
      assert.equal((await go('/')).body.title, 'Home');
    });

  it('driving over HTTP does not follow a redirect from a public page into the private network', async () => {
    const { details } = await client.refuse(navigate, 'navigation_failed', {
      params: params(),
      body: { url: `${site.url}/to?url=http://127.0.0.1:1/`, timeout_ms: pageMs(20_000) },
    });
    assert.equal(details['reason'], 'blocked_by_policy');
  });

  it('driving over HTTP is not blocked by dialogs or beforeunload handlers', async () => {
    assert.equal((await go('/dialogs')).status, 200);
    assert.equal((await go('/')).body.title, 'Home');
  });

  it('driving over HTTP opens tabs, lists them oldest first, and closes all but the last', async () => {
    const opened = (await client.call(openTab, { params: params(), body: { url: `${site.url}/second` } })).body;
    assert.equal(opened.title, 'Second');
    const tabs = (await client.call(listTabs, { params: params() })).body;
    assert.equal(tabs.length, 2);
    assert.equal(tabs[1]?.tab_id, opened.tab_id);
    assert.equal(tabs[1]?.active, true);
    assert.equal((await client.call(closeTab, { params: { ...params(), tab_id: opened.tab_id } })).status, 204);
    await client.refuse(closeTab, 'tab_not_found', { params: { ...params(), tab_id: opened.tab_id } });
    await client.refuse(closeTab, 'last_tab', { params: { ...params(), tab_id: tabs[0]?.tab_id ?? '' } });
  });

  it('driving over HTTP limits the tabs of a page that opens windows endlessly', async () => {
    await go('/popups');
    const { tabs } = (await client.call(getSession, { params: params() })).body;
    assert.ok(tabs.open <= tabs.limit, `${tabs.open} tabs are open`);
    // A headless browser may block windows without a click, so fewer tabs may be open.
    if (tabs.open === tabs.limit) await client.refuse(openTab, 'tab_limit_reached', { params: params(), body: {} });
  });

  it('driving over HTTP applies the requested viewport, language, time zone and headers', async () => {
    const dressed = (
      await client.call(createSession, {
        body: {
          viewport: { width: 800, height: 601 },
          locale: 'de-DE',
          timezone: 'Asia/Tokyo',
          user_agent: 'Berth-Test/1.0',
          extra_headers: { 'X-Berth': 'yes' },
        },
      })
    ).body;
    const { body } = await client.call(navigate, { params: { session_id: dressed.session_id }, body: { url: `${site.url}/headers` } });
    assert.equal(body.status_code, 200);
    await client.call(endSession, { params: { session_id: dressed.session_id } });
  });

  it('driving over HTTP opens the start URL and reports when it cannot', async () => {
    const good = (await client.call(createSession, { body: { start_url: `${site.url}/second` } })).body;
    const noError = { reason: null, net_error: null, message: null };
    assert.deepEqual(good.start_navigation, { url: `${site.url}/second`, status: 'ok', status_code: 200, ...noError });
    assert.equal(good.title, 'Second');
    const bad = (await client.call(createSession, { body: { start_url: 'http://no-such-host.invalid/' } })).body;
    assert.equal(bad.status, 'ready');
    assert.equal(bad.start_navigation?.reason, 'dns_failed');
    for (const each of [good, bad]) await client.call(endSession, { params: { session_id: each.session_id } });
  });

  it('driving over HTTP ends a session and its machine within two seconds', async () => {
    const extra = (await client.call(createSession, { body: {} })).body;
    const admin = (await client.call(listAllSessions, { query: { status: 'ready' } })).body.find(
      (each) => each.session_id === extra.session_id,
    );
    assert.ok(admin?.pid);
    const { pid } = admin;
    assert.equal((await client.call(endSession, { params: { session_id: extra.session_id } })).status, 204);
    // And what a busy machine explains; one that the end has missed is found by the reaper, every ten seconds.
    await eventually('the machine has exited', () => !isAlive(pid), 8000);
    const ended = await eventually('the session has ended', async () => {
      const { body } = await client.call(getSession, { params: { session_id: extra.session_id } });
      return body.status === 'ended' && body;
    });
    assert.equal(ended.ended_reason, 'requested');
    assert.equal((await client.call(endSession, { params: { session_id: extra.session_id } })).status, 204);
    await client.refuse(navigate, 'session_ended', { params: { session_id: extra.session_id }, body: { url: site.url } });
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
