import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { cordonWorker, createSession, fetchPage, getSession, health, listAudit, uncordonWorker } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

describe('200', () => {
  it('POST /admin/workers/{worker_id}/cordon keeps new work from the worker, and what it runs goes on', async () => {
    const { session_id } = await served.create();
    const worker_id = served.app.fleet.deps.workerId;
    const { body } = await served.call(cordonWorker, { params: { worker_id } });
    assert.deepEqual([body.worker_id, body.state, body.state_by, body.drain_until], [worker_id, 'cordoned', 'operator', null]);
    const { message } = await served.refuse(createSession, 'draining', { body: {} });
    assert.match(message, /operator/);
    await served.refuse(fetchPage, 'draining', { body: { url: 'http://site.test/', mode: 'http' } });
    assert.equal((await served.call(getSession, { params: { session_id } })).body.status, 'ready');
    const { body: state } = await served.call(health);
    assert.deepEqual([state.status, state.checks['drain']?.note], ['ok', 'cordoned by its operator: no new work is taken']);
    const [entry] = (await served.call(listAudit, { query: { action: 'worker.cordoned' } })).body;
    assert.deepEqual([entry?.actor, entry?.owner, entry?.subject, entry?.details], ['operator', null, worker_id, {}]);
    await served.call(uncordonWorker, { params: { worker_id } });
    await served.create();
  });
});

describe('404 worker_not_found', () => {
  it('POST /admin/workers/{worker_id}/cordon answers 404 worker_not_found for an unknown id, and text that is no id', async () => {
    for (const worker_id of ['wrk_000000000000000000000000', 'x', "wrk_' or 1=1"])
      await served.refuse(cordonWorker, 'worker_not_found', { params: { worker_id } });
  });
});
