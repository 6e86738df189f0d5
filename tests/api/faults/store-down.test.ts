/** Responses while the database is unreachable, and recovery afterwards. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  createKey,
  endpoints,
  errorsOf,
  getSession,
  livez,
  listRegions,
  navigate,
  revokeKey,
  type Auth,
  type Endpoint,
} from '@berth/contract';
import { newRawKey } from '../../../packages/server/src/accounts/keys/keys.ts';
import { goodRequest, nameOf } from '../../contract/contract-table.ts';
import { assertSoon, Client, eventually } from '../../harness.ts';
import { machineOf, machinesLeft } from '../../contract/session-states.ts';
import { tokenFor } from '../../prepare/view-links.ts';
import { startProxiedApp, type ProxiedApp } from '../../services/database-proxy.ts';

let served: ProxiedApp;
let sessionId = '';
/** Credentials of endpoints that take no API key. */
const tokens: Partial<Record<Auth, string>> = {};
before(async () => {
  served = await startProxiedApp();
  sessionId = (await served.create({ kind: 'full_browser' })).session_id;
  for (const auth of ['view', 'vnc'] as const) tokens[auth] = await tokenFor(served, sessionId, auth);
  await served.proxy.cut();
});
after(() => served.close());

const fromStore = endpoints.filter((endpoint) => errorsOf(endpoint).includes('store_unavailable') && endpoint.replyKind !== 'websocket');

/** Endpoints that use the database only for authentication are served while the key is cached. */
const remembered = new Set(['listRegions', 'getUsage', 'getCredits', 'discoverVersion', 'discoverTargets', 'listTemplates', 'listTasks']);

async function unseenBy({ id, auth }: Endpoint): Promise<{ key?: string }> {
  if (auth === 'login') return { key: await served.login('never-seen') };
  return remembered.has(id) ? { key: newRawKey() } : {};
}

describe('while the database is unavailable', () => {
  for (const endpoint of fromStore)
    it(`${nameOf(endpoint)} answers store_unavailable immediately with retry_after while the database is unavailable`, async () => {
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
      assertSoon(startMs, 5000);
      assert.ok(!/ECONN|127\.0\.0\.1|postgres/i.test(reply.text), 'the database address is not revealed');
    });

  it('a key that was valid before goes on driving a running session while the database is unavailable', async () => {
    // Longer than a key is valid without being read again.
    await setTimeout(1100);
    const params = { session_id: sessionId };
    const page = await served.call(navigate, { params, body: { url: 'http://site.test/' } });
    assert.equal(page.status, 200, page.text);
    assert.equal((await served.call(getSession, { params })).body.status, 'ready');
    await served.refuse(getSession, 'store_unavailable', { key: newRawKey(), params });
  });

  it('a malformed key is still refused while the database is unavailable', async () => {
    await served.refuse(getSession, 'invalid_api_key', { key: 'not-a-key', params: { session_id: sessionId } });
  });

  it('the process responds while the database is unavailable', async () => {
    assert.equal((await served.call(livez)).status, 200);
  });

  it('no session and no machine is created while the database is unavailable', async () => {
    assert.deepEqual(await machinesLeft(served), { onHost: 1, berths: 1, live: 1 });
  });
});

describe('when the database is available again', () => {
  it('the same key and session work without a restart when the database is available again', async () => {
    await served.proxy.restore();
    const { body } = await served.call(getSession, { params: { session_id: sessionId } });
    assert.equal(body.status, 'ready');
    assert.equal((await served.call(listRegions)).status, 200);
  });

  it('a request refused without the database succeeds later with the same Idempotency-Key', async () => {
    const create = endpoints.find(({ id }) => id === 'createSession') ?? assert.fail();
    const reply = await new Client(served.url, served.key).call(create, { body: {}, headers: { 'idempotency-key': 'down-createSession' } });
    assert.equal(reply.status, 201);
  });

  it('a key that was revoked before the database was cut off is not accepted when it is back', async () => {
    const { body } = await served.call(createKey, { body: { owner: 'local' } });
    const params = { session_id: sessionId };
    assert.equal((await served.call(getSession, { key: body.key, params })).status, 200);
    await served.call(revokeKey, { params: { key_id: body.key_id } });
    await served.proxy.cut();
    await served.refuse(getSession, 'store_unavailable', { key: body.key, params });
    await served.proxy.restore();
  });

  it('a session whose browser crashed while the database was away is recorded as lost', async () => {
    const { session_id } = await served.create();
    const session = served.app.sessions.live.get(session_id) ?? assert.fail();
    await served.proxy.cut();
    machineOf(served, session_id).crash();
    await eventually('its end could not be stored', () => session.end.state === 'due');
    await served.proxy.restore();
    served.app.sessions.timers.nudge();
    await served.app.sessions.timers.idle();
    const { body } = await served.call(getSession, { params: { session_id } });
    assert.equal(body.status, 'failed');
    assert.ok(body.ended_reason === 'vm_lost' || body.ended_reason === 'browser_crashed', String(body.ended_reason));
  });
});
