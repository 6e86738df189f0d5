import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, openLiveView, revokeViewTokens } from '@berth/contract';
import { comparable, startApp, type Reply, type TestApp } from '../../harness.ts';
import { assertError, startingSession } from '../../contract/session-states.ts';
import { cookieOf, open, tokenFor } from '../../prepare/view-links.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const pathOf = (sessionId: string): string => `${served.url}/v1/session/${sessionId}/live-view`;
const byToken = (sessionId: string, token: string): Promise<Reply> => open(`${pathOf(sessionId)}?token=${token}`);
const create = async (): Promise<string> => (await served.create()).session_id;

describe('200', () => {
  it('GET /v1/session/{session_id}/live-view serves a page under a strict policy without caching', async () => {
    const sessionId = await create();
    const token = await tokenFor(served, sessionId);
    const { status, headers, text } = await byToken(sessionId, token);
    assert.equal(status, 200, text);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.ok(policy.includes(`connect-src 'self' ${served.url.replace('http', 'ws')};`), policy);
    assert.match(policy, /frame-ancestors 'none'; base-uri 'none'; form-action 'none'/);
    // The page is identical for all sessions: session data is never in the HTML.
    assert.ok(!text.includes(sessionId) && !text.includes(token));
    assert.ok(!/<script(?![^>]*\bsrc=)|<style|\bstyle=|\son\w+=/i.test(text), 'the page holds script or style of its own');
  });

  it('GET /v1/session/{session_id}/live-view loads only immutable files of this service', async () => {
    const sessionId = await create();
    const { text } = await byToken(sessionId, await tokenFor(served, sessionId));
    const paths = [...text.matchAll(/\b(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '');
    assert.ok(paths.some((path) => path.endsWith('.js')) && paths.some((path) => path.endsWith('.css')));
    for (const path of paths) {
      assert.match(path, /^\/static\/[\w.-]+$/);
      const file = await open(served.url + path);
      assert.equal(file.status, 200, path);
      assert.equal(file.headers.get('cache-control'), 'public, max-age=31536000, immutable');
      assert.equal(file.headers.get('x-content-type-options'), 'nosniff');
      if (path.endsWith('.js')) assert.equal(file.headers.get('content-type'), 'text/javascript; charset=utf-8');
    }
  });

  it('GET /v1/session/{session_id}/live-view exchanges the token for a new cookie that reopens the page', async () => {
    const sessionId = await create();
    const token = await tokenFor(served, sessionId);
    const first = await byToken(sessionId, token);
    const [cookie = ''] = first.headers.getSetCookie();
    assert.match(cookie, new RegExp(`^berth-view=[\\w-]{40,}; Path=/v1/session/${sessionId}/live-view; HttpOnly; SameSite=Lax$`));
    assert.ok(!cookie.includes(token));
    const again = await open(pathOf(sessionId), { cookie: cookieOf(first) });
    assert.equal(again.status, 200);
    assert.deepEqual(again.headers.getSetCookie(), []);
  });

  it('GET /v1/session/{session_id}/live-view opens while the session starts', async () => {
    const { sessionId, release } = await startingSession(served);
    assert.equal((await byToken(sessionId, await tokenFor(served, sessionId))).status, 200);
    await release();
  });

  it('GET /v1/session/{session_id}/live-view serves control links', async () => {
    const sessionId = await create();
    assert.equal((await byToken(sessionId, await tokenFor(served, sessionId, 'control'))).status, 200);
  });
});

describe('401 missing_view_token', () => {
  it('GET /v1/session/{session_id}/live-view answers 401 missing_view_token for a request without a link, also with an API key', async () => {
    const session_id = await create();
    await served.refuse(openLiveView, 'missing_view_token', { params: { session_id } });
    await served.refuse(openLiveView, 'missing_view_token', { params: { session_id }, key: null });
  });

  it('GET /v1/session/{session_id}/live-view answers browsers 401 missing_view_token with an HTML page that says how to get a link', async () => {
    const reply = await open(pathOf(await create()), { accept: 'text/html,application/xhtml+xml;q=0.9' });
    assert.equal(reply.status, 401);
    assert.equal(reply.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(reply.text, /<h1>A link is needed to see this<\/h1>/);
    assert.match(reply.text, /<a href="\/dashboard">sign in to the dashboard<\/a>/);
    assert.ok(!reply.text.includes('expired'), 'nothing has expired: there was no link');
    assert.ok(!reply.text.includes('<!--message-->'));
  });
});

describe('403 invalid_view_token', () => {
  it('GET /v1/session/{session_id}/live-view answers 403 invalid_view_token for every invalid link identically', async () => {
    const [mine, other] = [await create(), await create()];
    const window = (await served.create({ kind: 'full_browser' })).session_id;
    const ended = await create();
    const endedToken = await tokenFor(served, ended);
    await served.call(endSession, { params: { session_id: ended } });
    const revoked = await create();
    const revokedViewToken = await tokenFor(served, revoked);
    await served.call(revokeViewTokens, { params: { session_id: revoked } });
    const token = await tokenFor(served, mine);
    const replies = [
      await byToken(other, token),
      await byToken('ses_none', token),
      await byToken(window, await tokenFor(served, window, 'vnc')),
      await byToken(ended, endedToken),
      await byToken(revoked, revokedViewToken),
      await byToken(mine, `${token.slice(0, -4)}AAAA`),
      await byToken(mine, served.key),
      await open(pathOf(other), { cookie: cookieOf(await byToken(mine, token)) }),
      await open(pathOf(mine), { cookie: 'berth-view=x' }),
    ];
    for (const reply of replies) {
      assertError(reply, 403, 'invalid_view_token');
      assert.equal(comparable(reply), comparable(replies[0] ?? assert.fail()));
      assert.ok(!reply.text.includes(token));
    }
  });

  it('GET /v1/session/{session_id}/live-view answers browsers 403 invalid_view_token with an HTML page without scripts', async () => {
    const reply = await open(`${pathOf(await create())}?token=x`, { accept: 'text/html' });
    assert.equal(reply.status, 403);
    assert.match(reply.text, /This link is not valid/);
    assert.match(reply.headers.get('content-security-policy') ?? '', /^default-src 'none'/);
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/live-view refuses two tokens with 422', async () => {
    const sessionId = await create();
    const cookie = cookieOf(await byToken(sessionId, await tokenFor(served, sessionId)));
    const reply = await open(`${pathOf(sessionId)}?token=a&token=b`, { cookie });
    assert.equal(reply.status, 422);
    assert.match(reply.text, /"type":"string_type"/);
  });
});
