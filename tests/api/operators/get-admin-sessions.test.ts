import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, listAllSessions } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
const keys: Record<string, string> = {};
const made: [string, string][] = [];
before(async () => {
  served = await startApp();
  for (const owner of ['anna', 'ben', 'anna']) {
    keys[owner] ??= await served.ownerKey(owner);
    made.unshift([(await served.create({}, { key: keys[owner] })).session_id, owner]);
  }
  const ended = made[1]?.[0] ?? '';
  await served.call(endSession, { key: keys['ben'] ?? '', params: { session_id: ended } });
  await served.app.sessions.live.get(ended)?.disposed;
});
after(() => served.close());

describe('200', () => {
  it('GET /admin/sessions lists the sessions of all owners with owner and worker, newest first', async () => {
    const { body } = await served.call(listAllSessions);
    assert.deepEqual(
      body.map(({ session_id, owner }) => [session_id, owner]),
      made,
    );
    assert.ok(
      body.every(({ worker_id, key_id, vm_id }) => worker_id.startsWith('wrk_') && key_id?.startsWith('key_') && vm_id?.startsWith('vm_')),
    );
  });

  it('GET /admin/sessions filters by owner and status', async () => {
    const ids = async (query: Record<string, string>) =>
      (await served.call(listAllSessions, { query })).body.map(({ session_id }) => session_id);
    assert.deepEqual(await ids({ owner: 'anna' }), [made[0]?.[0], made[2]?.[0]]);
    assert.deepEqual(await ids({ status: 'ended' }), [made[1]?.[0]]);
    assert.deepEqual(await ids({ owner: 'anna', status: 'ended' }), []);
  });

  it('GET /admin/sessions returns pages', async () => {
    const first = await served.call(listAllSessions, { query: { limit: '2' } });
    assert.equal(first.headers.get('x-has-more'), 'true');
    const second = await served.call(listAllSessions, { query: { limit: '2', cursor: first.headers.get('x-next-cursor') ?? '' } });
    assert.equal(second.headers.get('x-has-more'), 'false');
    assert.deepEqual(
      [...first.body, ...second.body].map(({ session_id }) => session_id),
      made.map(([id]) => id),
    );
  });
});

describe('422', () => {
  it('GET /admin/sessions refuses an unknown status with 422', async () => {
    const [issue] = await served.issues(listAllSessions, { query: { status: 'alive' } });
    assert.deepEqual([issue?.loc.slice(0, 2), issue?.type], [['query', 'status'], 'literal_error']);
  });
});
