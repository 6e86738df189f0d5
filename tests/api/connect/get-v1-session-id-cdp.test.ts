import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connectSession, endSession, getSession, openCdp, type ErrorCode } from '@berth/contract';
import { chromium } from 'playwright-core';
import { assertSoon, eventually, startApp, type TestApp } from '../../harness.ts';
import { openSocket, refusedSocket } from '../../raw-http.ts';
import { assertError, endedSession, machineOf, startingSession } from '../../contract/session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const addressOf = (sessionId: string): string => `${served.url.replace('http', 'ws')}/v1/session/${sessionId}/cdp`;
const withKey = () => ({ authorization: `Bearer ${served.key}` });
const refuse = async (sessionId: string, status: number, code: ErrorCode, headers = {}) =>
  assertError(await refusedSocket(addressOf(sessionId), { ...withKey(), ...headers }), status, code);
const connectionsOf = async (session_id: string) => (await served.call(getSession, { params: { session_id } })).body.connections.cdp;

describe('101', () => {
  it('GET /v1/session/{session_id}/cdp opens a DevTools socket for an API key in the header', async () => {
    const { session_id } = await served.create();
    const { socket, send } = await openSocket(addressOf(session_id), withKey());
    const { targetInfos } = await send('Target.getTargets');
    assert.equal((targetInfos as unknown[]).length, 1);
    assert.equal(await connectionsOf(session_id), 1);
    socket.close();
    await eventually('the connection is not counted', async () => (await connectionsOf(session_id)) === 0);
  });

  it('GET /v1/session/{session_id}/cdp opens several sockets of one session with separate attachments', async () => {
    const { session_id } = await served.create();
    const clients = await Promise.all([1, 2, 3].map(() => openSocket(addressOf(session_id), withKey())));
    const overheard: string[][] = clients.map(({ socket }) => {
      const lines: string[] = [];
      socket.on('message', (data: Buffer) => lines.push(data.toString()));
      return lines;
    });
    const attached = await Promise.all(
      clients.map(async ({ send }) => {
        const { targetInfos } = (await send('Target.getTargets')) as { targetInfos: { targetId: string }[] };
        return String((await send('Target.attachToTarget', { targetId: targetInfos[0]?.targetId, flatten: true }))['sessionId']);
      }),
    );
    assert.equal(new Set(attached).size, 3);
    for (const [index, sessionId] of attached.entries())
      for (const [other, lines] of overheard.entries())
        if (other !== index)
          assert.ok(
            lines.every((line) => !line.includes(sessionId)),
            `client ${other} overhears client ${index}`,
          );
    // A CDP session is only valid on its own socket.
    await assert.rejects(clients[1]?.send('Page.getFrameTree', {}, attached[0]) ?? Promise.resolve());
    for (const { socket } of clients) socket.terminate();
  });

  it('GET /v1/session/{session_id}/cdp stays open after its token expires, and a token opens several sockets', async () => {
    const { session_id } = await served.create();
    const { cdp_url } = (await served.call(connectSession, { params: { session_id } })).body;
    const [first, second] = await Promise.all([openSocket(cdp_url), openSocket(cdp_url)]);
    await first.send('Browser.getVersion');
    await second.send('Browser.getVersion');
    first.socket.terminate();
    second.socket.terminate();
  });

  it('GET /v1/session/{session_id}/cdp is closed with 4000 session_ended when the session ends', async () => {
    const { session_id } = await served.create();
    const { closed } = await openSocket(addressOf(session_id), withKey());
    await served.call(endSession, { params: { session_id } });
    assert.deepEqual(await closed, { code: 4000, reason: 'session_ended' });
  });

  it('GET /v1/session/{session_id}/cdp is closed with 4008 browser_crashed when the browser crashes', async () => {
    const { session_id } = await served.create();
    const { closed } = await openSocket(addressOf(session_id), withKey());
    machineOf(served, session_id).crash();
    assert.deepEqual(await closed, { code: 4008, reason: 'browser_crashed' });
  });

  it('GET /v1/session/{session_id}/cdp is closed with 4003 unauthorized soon after its key is revoked', async () => {
    const { session_id } = await served.create();
    const { key, raw } = await served.app.keys.create({
      owner: 'local',
      name: null,
      expiresInDays: null,
      createdBy: 'test',
      actor: 'operator',
    });
    const mine = await openSocket(addressOf(session_id), { authorization: `Bearer ${raw}` });
    const { cdp_url } = (await served.call(connectSession, { key: raw, params: { session_id } })).body;
    const byToken = await openSocket(cdp_url);
    const other = await openSocket(addressOf(session_id), withKey());
    const startMs = performance.now();
    await served.app.keys.revoke({ keyId: key.keyId, owner: null, actor: 'operator' });
    assert.deepEqual(await mine.closed, { code: 4003, reason: 'unauthorized' });
    assert.deepEqual(await byToken.closed, { code: 4003, reason: 'unauthorized' });
    assertSoon(startMs, 5000);
    await other.send('Browser.getVersion');
    other.socket.terminate();
  });

  it('GET /v1/session/{session_id}/cdp is closed with 4009 limit when too many are open', async () => {
    const { session_id } = await served.create();
    const open = await Promise.all(Array.from({ length: 32 }, () => openSocket(addressOf(session_id), withKey())));
    const { closed } = await openSocket(addressOf(session_id), withKey());
    assert.deepEqual(await closed, { code: 4009, reason: 'limit' });
    for (const { socket } of open) socket.terminate();
  });

  it('GET /v1/session/{session_id}/cdp disconnects only the client that calls Browser.close', async () => {
    const { session_id } = await served.create();
    const leaving = await openSocket(addressOf(session_id), withKey());
    const staying = await openSocket(addressOf(session_id), withKey());
    await leaving.send('Browser.close');
    assert.equal((await leaving.closed).code, 1000);
    await staying.send('Browser.getVersion');
    assert.equal((await served.call(getSession, { params: { session_id } })).body.status, 'ready');
    staying.socket.terminate();
  });

  it('GET /v1/session/{session_id}/cdp answers forbidden methods with a protocol error', async () => {
    const { session_id } = await served.create();
    const { socket, send } = await openSocket(addressOf(session_id), withKey());
    const { targetInfos } = (await send('Target.getTargets')) as { targetInfos: { targetId: string }[] };
    const page = String((await send('Target.attachToTarget', { targetId: targetInfos[0]?.targetId, flatten: true }))['sessionId']);
    for (const url of ['file:///etc/passwd', 'chrome://version', 'view-source:file:///etc/passwd', 'FILE:///etc/passwd']) {
      await assert.rejects(send('Page.navigate', { url }, page), url);
      await assert.rejects(send('Target.createTarget', { url }), url);
    }
    await send('Page.navigate', { url: 'http://site.test/' }, page);
    socket.terminate();
  });

  it('GET /v1/session/{session_id}/cdp makes a client wait that sends more than its browser reads, and loses nothing of it', async () => {
    const { session_id } = await served.create();
    const { socket, send } = await openSocket(addressOf(session_id), withKey());
    const { browser, cdp } = machineOf(served, session_id);
    browser.freeze();
    const text = 'x'.repeat(1024 * 1024);
    const answers = Array.from({ length: 60 }, () => send('Browser.getVersion', { text }));
    await eventually('the browser is behind', () => cdp.writableLength > text.length);
    await served.call(getSession, { params: { session_id } });
    assert.ok(cdp.writableLength < 5 * text.length, `${cdp.writableLength} bytes are queued`);
    browser.thaw();
    assert.equal((await Promise.all(answers)).length, 60);
    socket.terminate();
  });

  it('GET /v1/session/{session_id}/cdp is closed with 1009 at the head of a message over 80 MiB', async () => {
    const { session_id } = await served.create();
    const { socket, closed } = await openSocket(addressOf(session_id), withKey());
    socket.on('error', () => {});
    socket.send(Buffer.alloc(80 * 1024 * 1024 + 1), { binary: false });
    assert.equal((await closed).code, 1009);
    assert.equal((await served.call(getSession, { params: { session_id } })).body.status, 'ready');
  });

  it('GET /v1/session/{session_id}/cdp closes a client that sends no valid protocol messages and keeps the session', async () => {
    const { session_id } = await served.create();
    for (const text of ['not json', '[]', '{"id":"x"}', `{"id":1,"method":"${'x'.repeat(100)}`]) {
      const { socket, closed } = await openSocket(addressOf(session_id), withKey());
      socket.send(text);
      const outcome = await Promise.race([closed, new Promise<'answered'>((resolve) => socket.once('message', () => resolve('answered')))]);
      assert.ok(outcome === 'answered' || outcome.code === 1002, JSON.stringify(outcome));
      socket.terminate();
    }
    assert.equal((await served.call(getSession, { params: { session_id } })).body.status, 'ready');
  });
});

describe('400 bad_request', () => {
  it('GET /v1/session/{session_id}/cdp answers 400 bad_request for a request without an upgrade', async () => {
    const { session_id } = await served.create();
    const { message } = await served.refuse(openCdp, 'bad_request', { params: { session_id } });
    assert.match(message, /Upgrade: websocket/);
  });

  it('GET /v1/session/{session_id}/cdp refuses a client of Playwright servers with 400 bad_request before the handshake, and says what to use instead', async () => {
    const { session_id } = await served.create();
    const { cdp_url } = (await served.call(connectSession, { params: { session_id } })).body;
    const connectAddress = `${served.url.replace('http', 'ws')}/v1/connect`;
    for (const [address, headers] of [
      [cdp_url, {}] as const,
      [addressOf(session_id), withKey()] as const,
      [connectAddress, withKey()] as const,
    ])
      await assert.rejects(
        chromium.connect(address, { headers, timeout: 15_000 }),
        /400 Bad Request[^]*Use chromium\.connectOverCDP\(url\)/,
      );
    assert.equal(await connectionsOf(session_id), 0);
  });
});

describe('403 origin_not_allowed', () => {
  it('GET /v1/session/{session_id}/cdp refuses other origins with 403 origin_not_allowed before the handshake, even with a valid key', async () => {
    const { session_id } = await served.create();
    for (const origin of ['https://evil.example', 'null', `${served.url}.evil.example`])
      await refuse(session_id, 403, 'origin_not_allowed', { origin });
    const { socket } = await openSocket(addressOf(session_id), { ...withKey(), origin: served.url });
    socket.terminate();
  });
});

describe('409 session_not_ready', () => {
  it('GET /v1/session/{session_id}/cdp answers 409 session_not_ready before the handshake while the browser starts', async () => {
    const { sessionId, release } = await startingSession(served);
    await refuse(sessionId, 409, 'session_not_ready');
    await release();
  });
});

describe('409 session_ended', () => {
  it('GET /v1/session/{session_id}/cdp answers 409 session_ended before the handshake after the browser has exited', async () => {
    await refuse(await endedSession(served), 409, 'session_ended');
  });
});

describe('422', () => {
  it('GET /v1/session/{session_id}/cdp refuses a token above the length limit with 422', async () => {
    const { session_id } = await served.create();
    const reply = await refusedSocket(`${addressOf(session_id)}?token=${'x'.repeat(2049)}`, withKey());
    assert.equal(reply.status, 422);
    assert.match(reply.text, /"type":"string_too_long"/);
    assert.ok(!reply.text.includes('xxxx'), 'a token is never repeated');
  });
});
