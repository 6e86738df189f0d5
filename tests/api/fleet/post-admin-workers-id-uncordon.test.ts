import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cordonWorker, drainWorker, listAudit, uncordonWorker } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('POST /admin/workers/{worker_id}/uncordon ends a cordon and a drain, and is idempotent', async () => {
    const params = { worker_id: served.app.fleet.deps.workerId };
    await served.call(cordonWorker, { params });
    assert.equal((await served.call(uncordonWorker, { params })).body.state, 'active');
    await served.create();
    await served.call(drainWorker, { params, body: { limit_seconds: 3600 } });
    const { body } = await served.call(uncordonWorker, { params });
    assert.deepEqual([body.state, body.drain_until], ['active', null]);
    assert.equal((await served.call(uncordonWorker, { params })).body.state, 'active');
    await served.create();
    assert.equal((await served.call(listAudit, { query: { action: 'worker.uncordoned' } })).body.length, 3);
  });
});

describe('404 worker_not_found', () => {
  it('POST /admin/workers/{worker_id}/uncordon answers 404 worker_not_found for an unknown id', async () => {
    await served.refuse(uncordonWorker, 'worker_not_found', { params: { worker_id: 'wrk_000000000000000000000000' } });
  });
});
