import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { listAudit, pinOwner, unpinOwner } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('POST /admin/owners/{owner}/unpin removes the pin, adds an audit entry, and does nothing where there is none', async () => {
    const worker_id = served.app.fleet.deps.workerId;
    const params = { owner: 'local' };
    assert.equal((await served.call(pinOwner, { params, body: { worker_id } })).body.pinned_worker_id, worker_id);
    await served.create();
    for (let count = 0; count < 2; count += 1) {
      const reply = await served.call(unpinOwner, { params });
      assert.deepEqual([reply.status, reply.body.pinned_worker_id], [200, null]);
    }
    const entries = (await served.call(listAudit, { query: { action: 'owner.unpinned' } })).body;
    assert.deepEqual(
      entries.map(({ actor, owner, details }) => [actor, owner, details]),
      [['operator', 'local', { from: worker_id, to: null }]],
    );
  });
});

describe('404 owner_not_found', () => {
  it('POST /admin/owners/{owner}/unpin answers 404 owner_not_found for an unknown owner', async () => {
    for (const owner of ['nobody', 'No Such!', 'x'.repeat(500)]) await served.refuse(unpinOwner, 'owner_not_found', { params: { owner } });
  });
});
