/** Browsers that crash, hang or lose a page: only their callers are affected, and get an answer at once. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage, getSession, listTabs, navigate, openTab } from '@berth/contract';
import { assertSoon, eventually, startApp, type TestApp } from '../../harness.ts';
import { openSocket } from '../../raw-http.ts';
import { auditTrailOf, assertError, hang, hangingUrl, machineOf, machinesLeft, nothingLeft } from '../../contract/session-states.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const nothingIsLeft = () =>
  eventually('nothing is left', async () => JSON.stringify(await machinesLeft(served)) === JSON.stringify(nothingLeft));
const read = async (session_id: string) => (await served.call(getSession, { params: { session_id } })).body;

describe('a browser that crashes', () => {
  it('a browser that crashes during a navigation answers the call with session_lost at once', async () => {
    const { session_id } = await served.create();
    const [hanging] = await hang(served, session_id);
    const startMs = performance.now();
    machineOf(served, session_id).crash();
    assertError((await hanging) ?? assert.fail(), 502, 'session_lost');
    assertSoon(startMs);
  });

  for (const [crash, endedReason] of [
    ['exited', 'browser_crashed'],
    ['out_of_memory', 'out_of_memory'],
  ] as const)
    it(`a call whose browser is lost says why: ${endedReason}`, async () => {
      const { session_id } = await served.create();
      const [hanging] = await hang(served, session_id);
      machineOf(served, session_id).crash(crash);
      const reply = (await hanging) ?? assert.fail();
      assertError(reply, 502, 'session_lost');
      assert.deepEqual((reply.body as { error: { details: unknown } }).error.details, { ended_reason: endedReason });
    });

  it('a browser that crashes leaves a failed session with a reason and no machine', async () => {
    await nothingIsLeft();
    const { session_id } = await served.create();
    const session = served.app.sessions.live.get(session_id);
    machineOf(served, session_id).crash();
    await eventually('the session has failed', async () => (await read(session_id)).status === 'failed');
    await session?.disposed;
    assert.deepEqual(await machinesLeft(served), nothingLeft);
    await served.refuse(navigate, 'session_ended', { params: { session_id }, body: { url: 'about:blank' } });
    assert.equal((await served.call(endSession, { params: { session_id } })).status, 204);
    assert.equal((await read(session_id)).status, 'failed');
    assert.deepEqual((await auditTrailOf(served, session_id)).slice(1), [['service', 'session.ended', 'browser_crashed']]);
  });

  it('a browser that crashes does not affect other sessions', async () => {
    const [dying, living] = await Promise.all([served.create(), served.create()]);
    const { send, socket } = await openSocket(`${served.url.replace('http', 'ws')}/v1/session/${living.session_id}/cdp`, {
      authorization: `Bearer ${served.key}`,
    });
    machineOf(served, dying.session_id).crash();
    await send('Browser.getVersion');
    assert.equal(
      (await served.call(navigate, { params: { session_id: living.session_id }, body: { url: 'http://site.test/' } })).status,
      200,
    );
    socket.terminate();
    await served.call(endSession, { params: { session_id: living.session_id } });
  });

  it('a create whose browser crashes during the start is answered no_capacity and leaves nothing', async () => {
    await nothingIsLeft();
    const { runtime } = served;
    const boot = runtime.boot.bind(runtime);
    runtime.boot = async (request, options) => {
      const vm = await boot(request, options);
      runtime.machines.get(vm.id)?.crash();
      return vm;
    };
    try {
      await served.refuse(createSession, 'no_capacity', { body: {} });
    } finally {
      runtime.boot = boot;
    }
    await nothingIsLeft();
  });
});

describe('a page that crashes', () => {
  it('a page that crashes affects neither the other tabs nor the session', async () => {
    const { session_id } = await served.create();
    const { body: opened } = await served.call(openTab, { params: { session_id }, body: { url: 'http://doomed.test/x' } });
    machineOf(served, session_id).browser.crashPage(opened.tab_id);
    await eventually('the tab is reported as crashed', async () =>
      (await served.call(listTabs, { params: { session_id } })).body.some(({ status }) => status === 'crashed'),
    );
    const [first] = (await served.call(listTabs, { params: { session_id } })).body;
    assert.equal(
      (await served.call(navigate, { params: { session_id }, body: { url: 'http://site.test/', tab_id: first?.tab_id ?? '' } })).status,
      200,
    );
    assert.equal((await read(session_id)).status, 'ready');
  });
});

describe('a browser that opens no tab in place of its last', () => {
  it('a browser that opens no tab in place of its last holds a fetch up no longer than its timeout', async () => {
    const { session_id } = await served.create({ keep_alive: true });
    const { send, socket } = await openSocket(`${served.url.replace('http', 'ws')}/v1/session/${session_id}/cdp`, {
      authorization: `Bearer ${served.key}`,
    });
    const [last] = (await served.call(listTabs, { params: { session_id } })).body;
    const release = machineOf(served, session_id).browser.delayTabs();
    await send('Target.closeTarget', { targetId: last?.tab_id });
    socket.terminate();
    const startMs = performance.now();
    const { body } = await served.call(fetchPage, { body: { url: 'http://site.test/', session_id, timeout_ms: 1000 } });
    assert.deepEqual([body.status, body.error?.code], ['error', 'timeout']);
    assertSoon(startMs);
    release();
    await served.call(endSession, { params: { session_id } });
  });
});

describe('a frozen browser', () => {
  it('a frozen browser is detected after a call timed out, and can be ended', async () => {
    const [watched, ended] = await Promise.all([served.create(), served.create()]);
    machineOf(served, ended.session_id).freeze();
    const startMs = performance.now();
    assert.equal((await served.call(endSession, { params: { session_id: ended.session_id } })).status, 204);
    assertSoon(startMs, 5000);

    machineOf(served, watched.session_id).freeze();
    const reply = await served.call(navigate, { params: { session_id: watched.session_id }, body: { url: hangingUrl, timeout_ms: 1000 } });
    assert.equal(reply.status, 502, reply.text);
    assertSoon(startMs);
    await eventually('the browser is marked as lost', async () => (await read(watched.session_id)).status === 'failed', 20_000);
    assert.equal((await read(watched.session_id)).ended_reason, 'browser_unresponsive');
  });
});
