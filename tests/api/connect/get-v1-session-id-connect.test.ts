import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connectSession } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';
import { openSocket } from '../../raw-http.ts';
import { startingSession } from '../../contract/session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('GET /v1/session/{session_id}/connect returns an address with a token that opens the DevTools socket', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(connectSession, { params: { session_id } });
    assert.deepEqual([body.session_id, body.status, body.token_type, body.protocol], [session_id, 'ready', 'connect', '1.3']);
    assert.equal(body.cdp_url, `${served.url.replace('http', 'ws')}/v1/session/${session_id}/cdp?token=${body.token}`);
    assert.equal(body.cdp_http_url, `${served.url}/v1/session/${session_id}/cdp`);
    const { socket, send } = await openSocket(body.cdp_url);
    assert.match(String((await send('Browser.getVersion'))['product']), /Chrome\//);
    socket.terminate();
  });

  it('GET /v1/session/{session_id}/connect returns tokens that are valid for five minutes', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(connectSession, { params: { session_id } });
    const seconds = (Date.parse(body.expires_at) - Date.now()) / 1000;
    assert.ok(seconds > 297 && seconds <= 300, `${seconds} s`);
  });

  it('GET /v1/session/{session_id}/connect returns scripts that contain the address', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(connectSession, { params: { session_id } });
    for (const snippet of Object.values(body.snippets)) assert.ok(snippet.includes(body.cdp_url));
  });

  it("GET /v1/session/{session_id}/connect returns a script for Puppeteer that leaves the session's viewport alone", async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(connectSession, { params: { session_id } });
    assert.match(body.snippets.puppeteer, /defaultViewport: null/);
  });

  it('GET /v1/session/{session_id}/connect never contains the API key', async () => {
    const { session_id } = await served.create();
    const { text } = await served.call(connectSession, { params: { session_id } });
    assert.ok(!text.includes(served.key) && !Buffer.from(text, 'base64').includes(served.key));
  });
});

describe('409 session_not_ready', () => {
  it('GET /v1/session/{session_id}/connect answers 409 session_not_ready while the browser is starting', async () => {
    const { sessionId, release } = await startingSession(served);
    const { reply } = await served.refuse(connectSession, 'session_not_ready', { params: { session_id: sessionId } });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    await release();
  });
});
