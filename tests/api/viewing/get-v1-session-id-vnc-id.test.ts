import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openVnc } from '@berth/contract';
import { comparable, startApp, type Reply, type TestApp } from '../../harness.ts';
import { sendAsIs } from '../../raw-http.ts';
import { assertError } from '../../contract/session-states.ts';
import { cookieOf, open, tokenFor } from '../../prepare/view-links.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const pathOf = (sessionId: string, file = 'vnc.html'): string => `${served.url}/v1/session/${sessionId}/vnc/${file}`;
const byToken = (sessionId: string, token: string): Promise<Reply> => open(`${pathOf(sessionId)}?token=${token}`);
const create = async (): Promise<string> => (await served.create({ kind: 'full_browser' })).session_id;

describe('200', () => {
  it('GET /v1/session/{session_id}/vnc/{path} serves the window’s page under a strict policy', async () => {
    const sessionId = await create();
    const token = await tokenFor(served, sessionId, 'vnc');
    const { status, headers, text } = await byToken(sessionId, token);
    assert.equal(status, 200, text);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(headers.get('content-disposition') ?? '', /^inline/);
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.ok(policy.includes(`connect-src 'self' ${served.url.replace('http', 'ws')};`), policy);
    assert.ok(!text.includes(sessionId) && !text.includes(token));
  });

  it('GET /v1/session/{session_id}/vnc/{path} exchanges the token for a cookie that is limited to the window’s path', async () => {
    const sessionId = await create();
    const first = await byToken(sessionId, await tokenFor(served, sessionId, 'vnc'));
    const [cookie = ''] = first.headers.getSetCookie();
    assert.match(cookie, new RegExp(`^berth-view=[\\w-]{40,}; Path=/v1/session/${sessionId}/vnc; HttpOnly; SameSite=Lax$`));
    const again = await open(pathOf(sessionId), { cookie: cookieOf(first) });
    assert.equal(again.status, 200);
    assert.deepEqual(again.headers.getSetCookie(), []);
    assertError(await open(`${served.url}/v1/session/${sessionId}/live-view`, { cookie: cookieOf(first) }), 403, 'invalid_view_token');
  });
});

describe('the folder', () => {
  it('the folder of GET /v1/session/{session_id}/vnc/{path} serves the same page, with and without the slash', async () => {
    const sessionId = await create();
    const token = await tokenFor(served, sessionId, 'vnc');
    const { text } = await byToken(sessionId, token);
    for (const folder of ['vnc/', 'vnc']) {
      const reply = await open(`${served.url}/v1/session/${sessionId}/${folder}?token=${token}`);
      assert.deepEqual([reply.status, reply.text], [200, text]);
      assert.match(reply.headers.getSetCookie()[0] ?? '', new RegExp(`; Path=/v1/session/${sessionId}/vnc;`));
    }
  });
});

describe('404 asset_not_found', () => {
  it('GET /v1/session/{session_id}/vnc/{path} answers 404 asset_not_found for nested names', async () => {
    const sessionId = await create();
    const token = await tokenFor(served, sessionId, 'vnc');
    for (const name of ['core/rfb.js', 'a/b/c', 'vnc.html/x'])
      assertError(await open(`${pathOf(sessionId, name)}?token=${token}`), 404, 'asset_not_found');
    assertError(await open(pathOf(sessionId, 'core/rfb.js')), 401, 'missing_view_token');
  });

  it('GET /v1/session/{session_id}/vnc/{path} answers 404 asset_not_found for every other name', async () => {
    const sessionId = await create();
    const cookie = cookieOf(await byToken(sessionId, await tokenFor(served, sessionId, 'vnc')));
    const names = [
      'index.html',
      'VNC.html',
      'vnc.html.js',
      'vnc.html%00',
      'vnc%2ehtml.',
      '%2f..',
      '..%2fvnc.html',
      '..%5cvnc.html',
      '%252e%252e',
      'x'.repeat(5000),
    ];
    for (const name of names) {
      const reply = await sendAsIs(served.url, {
        method: 'GET',
        path: new URL(pathOf(sessionId)).pathname.replace('vnc.html', name),
        headers: [['cookie', cookie]],
      });
      assertError(reply, 404, 'asset_not_found');
      assert.deepEqual(reply.headers.getSetCookie(), []);
    }
  });

  it('GET /v1/session/{session_id}/vnc/{path} never redirects to another site, however the address is written', async () => {
    const sessionId = await create();
    const cookie = cookieOf(await byToken(sessionId, await tokenFor(served, sessionId, 'vnc')));
    for (const rest of [
      '',
      '/',
      '//evil.test/%2f..',
      '/%2fevil.test',
      '/../vnc.html',
      '/a/../vnc.html',
      '/%2e%2e/live-view',
      '/\\evil.test',
      '/vnc.html//evil.test',
    ]) {
      const path = `/v1/session/${sessionId}/vnc${rest}`;
      const reply = await sendAsIs(served.url, { method: 'GET', path, headers: [['cookie', cookie]] });
      assert.equal(reply.status, rest === '' || rest === '/' ? 200 : 404, path);
      assert.equal(reply.headers.get('location'), null);
    }
  });
});

describe('401 missing_view_token', () => {
  it('GET /v1/session/{session_id}/vnc/{path} answers 401 missing_view_token for a request without a link, also with an API key', async () => {
    await served.refuse(openVnc, 'missing_view_token', { params: { session_id: await create(), path: 'vnc.html' } });
  });
});

describe('403 invalid_view_token', () => {
  it('GET /v1/session/{session_id}/vnc/{path} answers 403 invalid_view_token for every invalid link identically', async () => {
    const [mine, other] = [await create(), await create()];
    const token = await tokenFor(served, mine, 'vnc');
    const replies = [
      await byToken(other, token),
      await byToken('ses_none', token),
      await byToken(mine, await tokenFor(served, mine, 'view')),
      await byToken(mine, await tokenFor(served, mine, 'control')),
      await open(pathOf(other), { cookie: cookieOf(await byToken(mine, token)) }),
    ];
    for (const reply of replies) {
      assertError(reply, 403, 'invalid_view_token');
      assert.equal(comparable(reply), comparable(replies[0] ?? assert.fail()));
    }
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/vnc/{path} refuses two tokens with 422', async () => {
    const sessionId = await create();
    const cookie = cookieOf(await byToken(sessionId, await tokenFor(served, sessionId, 'vnc')));
    const reply = await open(`${pathOf(sessionId)}?token=a&token=b`, { cookie });
    assert.equal(reply.status, 422);
    assert.match(reply.text, /"type":"string_type"/);
  });
});
