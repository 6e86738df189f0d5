import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { createSession, drainWorker, getSession, health, listAudit, uncordonWorker } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
let params: { worker_id: string };
before(async () => {
  served = await startApp();
  params = { worker_id: served.app.fleet.deps.workerId };
});
after(() => served.close());
afterEach(() => served.call(uncordonWorker, { params }));

const statusOf = async (session_id: string) => {
  const { status, ended_reason } = (await served.call(getSession, { params: { session_id } })).body;
  return [status, ended_reason];
};

describe('200', () => {
  it('POST /admin/workers/{worker_id}/drain keeps new work from the worker, makes its health fail, and lets its sessions go on', async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(drainWorker, { params });
    assert.deepEqual([body.state, body.drain_until], ['draining', null]);
    await served.refuse(createSession, 'draining', { body: {} });
    const { status, body: state } = await served.call(health);
    assert.deepEqual([status, state.status, state.checks['drain']?.status], [503, 'degraded', 'degraded']);
    assert.deepEqual(await statusOf(session_id), ['ready', null]);
    const [entry] = (await served.call(listAudit, { query: { action: 'worker.drained' } })).body;
    assert.deepEqual([entry?.subject, entry?.details], [params.worker_id, { limit_seconds: null }]);
  });

  it("POST /admin/workers/{worker_id}/drain ends the worker's sessions as drained when the limit has passed", async () => {
    const { session_id } = await served.create();
    const { body } = await served.call(drainWorker, { params, body: { limit_seconds: 3600 } });
    const leftMs = new Date(body.drain_until ?? 0).getTime() - Date.now();
    assert.ok(leftMs > 3000_000 && leftMs < 4200_000, `${leftMs} ms`);
    assert.equal((await statusOf(session_id))[0], 'ready');
    await served.call(drainWorker, { params, body: { limit_seconds: 0 } });
    await eventually('it has ended', async () => (await statusOf(session_id))[0] === 'ended');
    assert.deepEqual(await statusOf(session_id), ['ended', 'drained']);
  });
});

describe('404 worker_not_found', () => {
  it('POST /admin/workers/{worker_id}/drain answers 404 worker_not_found for an unknown id', async () => {
    await served.refuse(drainWorker, 'worker_not_found', { params: { worker_id: 'wrk_000000000000000000000000' } });
  });
});

describe('422', () => {
  it('POST /admin/workers/{worker_id}/drain answers 422 for a limit that is no number of seconds up to a week', async () => {
    for (const limit_seconds of [-1, 604_801, 1.5, 'soon'])
      assert.deepEqual((await served.issues(drainWorker, { params, body: { limit_seconds } }))[0]?.loc, ['body', 'limit_seconds']);
  });
});
