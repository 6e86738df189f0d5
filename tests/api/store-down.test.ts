/** What callers are told while the database cannot be reached, and that all is well afterwards. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endpoints, errorsOf, getSession, livez, listRegions, type Auth, type Endpoint } from '@berth/contract';
import { newRawKey } from '../../packages/server/src/keys/keys.ts';
import { goodRequest, nameOf } from '../contract-table.ts';
import { Client, eventually } from '../harness.ts';
import { machineOf, machinesLeft } from '../session-states.ts';
import { tokenFor } from '../view-links.ts';
import { startWiredApp, type WiredApp } from '../wire.ts';

let served: WiredApp;
let sessionId = '';
/** What opens endpoints that take no key. */
const tokens: Partial<Record<Auth, string>> = {};
before(async () => {
  served = await startWiredApp();
  sessionId = (await served.create({ kind: 'full_browser' })).session_id;
  for (const auth of ['view', 'vnc'] as const) tokens[auth] = await tokenFor(served, sessionId, auth);
  await served.wire.cut();
});
after(() => served.close());

const fromStore = endpoints.filter((endpoint) => errorsOf(endpoint).includes('store_unavailable') && endpoint.replyKind !== 'websocket');

/** Endpoints that ask the database for nothing but who calls are served while that is still remembered. */
const remembered = new Set(['listRegions', 'getUsage', 'getCredits']);

async function unseenBy({ id, auth }: Endpoint): Promise<{ key?: string }> {
  if (auth === 'login') return { key: await served.login('never-seen') };
  return remembered.has(id) ? { key: newRawKey() } : {};
}

describe('while the database is away', () => {
  for (const endpoint of fromStore)
    it(`${nameOf(endpoint)} answers store_unavailable at once and tells when to try again`, async () => {
      const startMs = performance.now();
      const request = goodRequest(endpoint, { session_id: 'ses_000000000000000000000000' });
      const unseen = await unseenBy(endpoint);
      const token = tokens[endpoint.auth];
      const byLink = token === undefined ? {} : { params: { ...request.params, session_id: sessionId }, query: { token } };
      const { reply } = await served.refuse(endpoint, 'store_unavailable', {
        ...request,
        ...unseen,
        ...byLink,
        headers: endpoint.method === 'POST' ? { 'idempotency-key': `down-${endpoint.id}` } : {},
      });
      assert.ok(Number(reply.headers.get('retry-after')) >= 1);
      assert.equal(reply.headers.get('x-should-retry'), 'true');
      assert.ok(performance.now() - startMs < 2000);
      assert.ok(!/ECONN|127\.0\.0\.1|postgres/i.test(reply.text), 'where the database is, is nobody’s business');
    });

  it('a wrong key is refused as long as it is wrong by itself', async () => {
    await served.refuse(getSession, 'invalid_api_key', { key: 'not-a-key', params: { session_id: sessionId } });
  });

  it('the process responds', async () => {
    assert.equal((await served.call(livez)).status, 200);
  });

  it('no session and no machine is made', async () => {
    assert.deepEqual(await machinesLeft(served), { onHost: 1, berths: 1, live: 1 });
  });
});

describe('when the database is back', () => {
  it('the same key and the same session work, without a restart', async () => {
    await served.wire.mend();
    const { body } = await served.call(getSession, { params: { session_id: sessionId } });
    assert.equal(body.status, 'ready');
    assert.equal((await served.call(listRegions)).status, 200);
  });

  it('a request that was refused meanwhile succeeds under its Idempotency-Key', async () => {
    const create = endpoints.find(({ id }) => id === 'createSession') ?? assert.fail();
    const reply = await new Client(served.url, served.key).call(create, { body: {}, headers: { 'idempotency-key': 'down-createSession' } });
    assert.equal(reply.status, 201);
  });

  it('a session whose browser died meanwhile is written down as lost', async () => {
    const { session_id } = await served.create();
    await served.wire.cut();
    machineOf(served, session_id).crash();
    await eventually('the loss is known', () => served.app.sessions.live.get(session_id)?.overdue !== null);
    await served.wire.mend();
    served.app.sessions.timers.nudge();
    await served.app.sessions.timers.idle();
    const { body } = await served.call(getSession, { params: { session_id } });
    assert.equal(body.status, 'failed');
    assert.ok(body.ended_reason === 'vm_lost' || body.ended_reason === 'browser_crashed', String(body.ended_reason));
  });
});
