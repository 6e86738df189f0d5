import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ErrorBody, getSession, listDownloads, listTabs, navigate, openTab } from '@berth/contract';
import { assertSoon, eventually, startApp, type Reply, type TestApp } from '../../harness.ts';
import {
  assertError,
  callWhileBrowserDies,
  drivingOf,
  hang,
  hangingUrl,
  jammedSession,
  machineOf,
  muteUrl,
} from '../../contract/session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  sessionId = (await served.create()).session_id;
});
after(() => served.close());

const body = { url: 'http://site.test/' };

describe('200', () => {
  it('POST /v1/session/{session_id}/navigate returns the tab’s final address', async () => {
    const reply = await served.call(navigate, { params: { session_id: sessionId }, body: { url: 'http://site.test/a?b=c' } });
    const { duration_ms, tab_id, ...rest } = reply.body;
    assert.deepEqual(rest, {
      session_id: sessionId,
      final_url: 'http://site.test/a?b=c',
      title: 'site.test',
      status: 'ok',
      status_code: 200,
      block: null,
      captcha: { present: false, vendor: null, visible: false },
      warnings: [],
    });
    assert.ok(duration_ms >= 0 && tab_id.length > 0);
  });

  it('POST /v1/session/{session_id}/navigate repeats a navigation that one of the page before replaces', async () => {
    const url = 'http://overtaken.test/';
    const reply = await served.call(navigate, { params: { session_id: sessionId }, body: { url, timeout_ms: 30_000 } });
    assert.deepEqual([reply.status, reply.body.final_url, reply.body.title], [200, url, 'overtaken.test']);
  });

  for (const code of [404, 500, 403])
    it(`POST /v1/session/{session_id}/navigate succeeds when the page answers ${code}`, async () => {
      const reply = await served.call(navigate, { params: { session_id: sessionId }, body: { url: `http://status-${code}.test/` } });
      assert.deepEqual([reply.status, reply.body.status, reply.body.status_code], [200, 'ok', code]);
    });

  it('POST /v1/session/{session_id}/navigate has no status code without HTTP', async () => {
    const reply = await served.call(navigate, { params: { session_id: sessionId }, body: { url: 'about:blank' } });
    assert.deepEqual([reply.body.final_url, reply.body.status_code], ['about:blank', null]);
  });

  for (const wait_until of ['load', 'domcontentloaded', 'networkidle', 'commit'])
    it(`POST /v1/session/{session_id}/navigate answers when the page has reached ${wait_until}`, async () => {
      const reply = await served.call(navigate, {
        params: { session_id: sessionId },
        body: { url: `http://${wait_until}.test/`, wait_until, timeout_ms: 30_000 },
      });
      assert.equal(reply.body.status_code, 200);
    });

  it('POST /v1/session/{session_id}/navigate reports a block page with its evidence', async () => {
    const { body: done } = await served.call(navigate, { params: { session_id: sessionId }, body: { url: 'http://status-429.test/' } });
    assert.deepEqual([done.status, done.status_code, done.block?.blocked, done.block?.type], ['ok', 429, true, 'rate_limited']);
    assert.deepEqual([done.block?.challenge_waited_ms, done.block?.retry_after_seconds], [0, null]);
    assert.ok(done.block?.signatures_version !== '' && (done.block?.evidence.length ?? 0) > 0);
  });

  it('POST /v1/session/{session_id}/navigate reports no block when detection is off', async () => {
    const { body: done } = await served.call(navigate, {
      params: { session_id: sessionId },
      body: { url: 'http://status-429.test/', block_detection: 'off' },
    });
    assert.deepEqual([done.block, done.captcha, done.warnings], [null, { present: false, vendor: null, visible: null }, []]);
  });

  it('POST /v1/session/{session_id}/navigate answers when the page is unresponsive', async () => {
    const { session_id } = await served.create();
    const startMs = performance.now();
    const { body: done } = await served.call(navigate, { params: { session_id }, body: { url: muteUrl } });
    assert.deepEqual([done.block, done.warnings], [null, []]);
    assertSoon(startMs);
  });

  it('POST /v1/session/{session_id}/navigate navigates only the given tab', async () => {
    const { session_id } = await served.create();
    const params = { session_id };
    const second = (await served.call(openTab, { params, body: { active: false } })).body.tab_id;
    const reply = await served.call(navigate, { params, body: { url: 'http://second.test/', tab_id: second } });
    assert.equal(reply.body.tab_id, second);
    const tabs = await served.call(listTabs, { params });
    assert.deepEqual(
      tabs.body.map(({ url }) => url),
      ['about:blank', 'http://second.test/'],
    );
  });

  it('POST /v1/session/{session_id}/navigate executes calls in their order of arrival', async () => {
    const { session_id } = await served.create();
    const params = { session_id };
    const urls = Array.from({ length: 8 }, (_, n) => `http://site.test/${n}`);
    // All wait behind a call that ends on command, and each is sent when the one before has arrived.
    const release = machineOf(served, session_id).browser.delayTabs();
    const calls: Promise<Reply>[] = [served.call(openTab, { params, body: { active: false } })];
    for (const url of urls) {
      await eventually('the call before has arrived', () => drivingOf(served, session_id) === calls.length);
      calls.push(served.call(navigate, { params, body: { url } }));
    }
    release();
    for (const { status, text } of await Promise.all(calls)) assert.ok(status < 300, text);
    const events = served.app.sessions.live.get(session_id)?.events.after(0) ?? [];
    const visited = events.filter(({ type }) => type === 'navigation').map(({ data }) => data['url']);
    assert.deepEqual(
      visited.filter((url) => url !== 'about:blank'),
      urls,
    );
    const read = await served.call(getSession, { params });
    assert.deepEqual([read.body.usage.actions, read.body.current_url], [9, urls.at(-1)]);
  });
});

describe('404 tab_not_found', () => {
  it('POST /v1/session/{session_id}/navigate answers 404 tab_not_found for an unknown tab', async () => {
    await served.refuse(navigate, 'tab_not_found', { params: { session_id: sessionId }, body: { ...body, tab_id: 'ABCDEF' } });
  });
});

describe('409 session_busy', () => {
  it('POST /v1/session/{session_id}/navigate refuses the eighteenth concurrent call immediately with 409 session_busy', async () => {
    const { sessionId: jammed, release } = await jammedSession(served);
    // The calls before it are still running or queued.
    await served.refuse(navigate, 'session_busy', { params: { session_id: jammed }, body });
    await release();
  });
});

describe('422', () => {
  it('POST /v1/session/{session_id}/navigate answers 422 without a URL', async () => {
    const [issue, ...more] = await served.issues(navigate, { params: { session_id: sessionId }, body: {} });
    assert.deepEqual([issue, more], [{ loc: ['body', 'url'], msg: 'Field required', type: 'missing', input: {}, ctx: {} }, []]);
  });

  it('POST /v1/session/{session_id}/navigate answers 422 before the session lookup', async () => {
    await served.issues(navigate, { params: { session_id: 'ses_none' }, body: { url: 'file:///etc/passwd' } });
  });
});

describe('502 navigation_failed', () => {
  const failures: [string, string][] = [
    ['ERR_NAME_NOT_RESOLVED', 'dns_failed'],
    ['ERR_CONNECTION_REFUSED', 'connection_refused'],
    ['ERR_CONNECTION_RESET', 'connection_reset'],
    ['ERR_EMPTY_RESPONSE', 'connection_reset'],
    ['ERR_CERT_AUTHORITY_INVALID', 'tls_error'],
    ['ERR_SSL_PROTOCOL_ERROR', 'tls_error'],
    ['ERR_PROXY_CONNECTION_FAILED', 'proxy_error'],
    ['ERR_TOO_MANY_REDIRECTS', 'too_many_redirects'],
    ['ERR_TIMED_OUT', 'timeout'],
    ['ERR_BLOCKED_BY_CLIENT', 'blocked_by_policy'],
  ];
  for (const [netError, reason] of failures)
    it(`POST /v1/session/{session_id}/navigate answers 502 navigation_failed with ${reason} for ${netError}, and the session continues`, async () => {
      const { details } = await served.refuse(navigate, 'navigation_failed', {
        params: { session_id: sessionId },
        body: { url: `http://fail-${netError}.test/` },
      });
      assert.deepEqual(details, { reason, net_error: `net::${netError}` });
      assert.equal((await served.call(navigate, { params: { session_id: sessionId }, body })).status, 200);
    });

  it('POST /v1/session/{session_id}/navigate answers 502 navigation_failed with the id of a download, and is not retryable', async () => {
    const { session_id } = await served.create();
    const params = { session_id };
    const { reply, details, message } = await served.refuse(navigate, 'navigation_failed', {
      params,
      body: { url: 'http://download.test/a' },
    });
    const [download, ...more] = (await served.call(listDownloads, { params })).body;
    assert.deepEqual([details, more], [{ reason: 'download', net_error: 'net::ERR_ABORTED', download_id: download?.download_id }, []]);
    assert.equal(ErrorBody.parse(reply.body).error.retryable, false);
    assert.match(message, /is a download/);
    assert.equal((await served.call(navigate, { params, body })).status, 200);
  });

  it('POST /v1/session/{session_id}/navigate answers 502 navigation_failed with timeout within the time limit for a server that never answers', async () => {
    const { session_id: other } = await served.create();
    const startMs = performance.now();
    const timesOut = (session_id: string, timeout_ms: number) =>
      served.refuse(navigate, 'navigation_failed', { params: { session_id }, body: { url: hangingUrl, timeout_ms } });
    // However busy the machine is: not before its limit, and before a call with a longer one.
    const calls = [timesOut(sessionId, 1000), timesOut(other, 2000)] as const;
    assert.equal(await Promise.race(calls), await calls[0]);
    assert.ok(performance.now() - startMs >= 950);
    for (const { details } of await Promise.all(calls)) assert.deepEqual(details, { reason: 'timeout', net_error: 'net::ERR_TIMED_OUT' });
    assert.equal((await served.call(navigate, { params: { session_id: sessionId }, body })).status, 200);
  });

  it('POST /v1/session/{session_id}/navigate answers 502 navigation_failed with page_crashed when the page crashes again and again', async () => {
    const { session_id } = await served.create();
    const [hanging] = await hang(served, session_id);
    const { body: tabs } = await served.call(listTabs, { params: { session_id } });
    let reply: Awaited<typeof hanging>;
    void hanging?.then((its) => (reply = its));
    // A page that crashes while it is left costs the navigation a repetition.
    await eventually('it gives up', () => {
      machineOf(served, session_id).browser.crashPage(tabs[0]?.tab_id ?? '');
      return reply !== undefined;
    });
    const details = assertError(reply ?? assert.fail(), 502, 'navigation_failed');
    assert.equal(details['reason'], 'page_crashed');
  });
});

describe('502 session_lost', () => {
  it('POST /v1/session/{session_id}/navigate answers 502 session_lost for the running call and the queued calls at once', async () => {
    const startMs = performance.now();
    const reply = await callWhileBrowserDies(served, (session_id) => served.call(navigate, { params: { session_id }, body }));
    assertError(reply, 502, 'session_lost');
    assertSoon(startMs);
  });
});
