import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  cordonWorker,
  createSession,
  fetchPage,
  getOwner,
  listAudit,
  listOwners,
  listWorkers,
  pinOwner,
  uncordonWorker,
  unpinOwner,
} from '@berth/contract';
import { startFleet, type TestFleet } from '../../fleet/fleet.ts';
import { eventually, jobIdOf, startApp } from '../../harness.ts';
import { hangingUrl } from '../../contract/session-states.ts';

let fleet: TestFleet;
before(async () => {
  fleet = await startFleet({ workers: 2, environment: { BERTH_MAX_SESSIONS: '4', BERTH_JOBS_RUNNING_MAX: '1' } });
});
after(() => fleet.close());

const both = [0, 1];
const pinTo = (owner: string, index: number) => fleet.call(0, pinOwner, { params: { owner }, body: { worker_id: fleet.workerId(index) } });
/** Other workers read the pin with the plan, which they cache for a second. */
const untilKnown = (owner: string, index: number | null) =>
  eventually('both workers know', async () => {
    const pins = await Promise.all(both.map((at) => fleet.worker(at).app.accounts.owners.pinOf(owner)));
    return pins.every((pin) => pin === (index === null ? null : fleet.workerId(index)));
  });
const createAt = (index: number, key: string) => fleet.call(index, createSession, { key, body: {} });

describe('200', () => {
  it('POST /admin/owners/{owner}/pin places new sessions, fetches and jobs on the worker, whichever worker they reach, and what runs goes on', async () => {
    const key = await fleet.worker(0).ownerKey('pinned');
    const earlier = (await createAt(0, key)).body.session_id;
    const at = fleet.whereIs(earlier) === 0 ? 1 : 0;
    const { body } = await pinTo('pinned', at);
    assert.deepEqual([body.owner, body.pinned_worker_id], ['pinned', fleet.workerId(at)]);
    await untilKnown('pinned', at);
    for (const index of both) assert.equal(fleet.whereIs((await createAt(index, key)).body.session_id), at);
    for (const index of both) {
      const reply = await fleet.call(index, fetchPage, { key, body: { url: 'http://status-204.test/' } });
      assert.equal(reply.headers.get('x-berth-worker'), fleet.workerId(at));
    }
    assert.notEqual(fleet.whereIs(earlier), at);
  });

  it('POST /admin/owners/{owner}/pin shows the pin with the owner and the worker, and adds one audit entry', async () => {
    await fleet.worker(0).ownerKey('listed');
    const worker_id = fleet.workerId(1);
    for (let count = 0; count < 2; count += 1) await pinTo('listed', 1);
    assert.equal((await fleet.call(0, getOwner, { params: { owner: 'listed' } })).body.pinned_worker_id, worker_id);
    const listed = (await fleet.call(0, listOwners, { query: { pinned_worker_id: worker_id } })).body;
    assert.ok(listed.some(({ owner }) => owner === 'listed'));
    assert.ok(listed.every(({ pinned_worker_id: pin }) => pin === worker_id));
    const workers = (await fleet.call(0, listWorkers)).body;
    assert.equal(workers.find((each) => each.worker_id === worker_id)?.pinned_owners, listed.length);
    const entries = (await fleet.call(0, listAudit, { query: { action: 'owner.pinned', owner: 'listed' } })).body;
    assert.deepEqual(
      entries.map(({ actor, subject, details }) => [actor, subject, details]),
      [['operator', 'listed', { from: null, to: worker_id }]],
    );
  });

  it('POST /admin/owners/{owner}/pin leaves jobs that wait on the pinned worker to no other worker, though that has a free slot', async () => {
    const key = await fleet.worker(0).ownerKey('waiting');
    await pinTo('waiting', 1);
    await untilKnown('waiting', 1);
    const ids: string[] = [];
    for (const index of both) {
      const body = { url: hangingUrl, async: true, timeout_ms: 60_000 };
      ids.push(jobIdOf((await fleet.call(index, fetchPage, { key, body })).body));
    }
    const rows = await fleet
      .worker(0)
      .app.fleet.deps.store.tables<{ jobs: { job_id: string; worker_id: string; request: Buffer | null } }>()
      .selectFrom('jobs')
      .select(['worker_id', 'request'])
      .where('job_id', 'in', ids)
      .execute();
    // Without a stored request no other worker can take it.
    assert.deepEqual(
      rows.map(({ worker_id, request }) => [worker_id, request]),
      ids.map(() => [fleet.workerId(1), null]),
    );
  });

  it('POST /admin/owners/{owner}/pin refuses new work while the pinned worker is cordoned, full or stopped, and takes it again', async () => {
    const third = await fleet.add();
    const index = fleet.workers.indexOf(third);
    const key = await fleet.worker(0).ownerKey('refused');
    await pinTo('refused', index);
    await eventually('all know', async () => (await fleet.worker(1).app.accounts.owners.pinOf('refused')) === fleet.workerId(index));
    const create = { key, body: {} };
    const params = { worker_id: fleet.workerId(index) };
    await fleet.call(0, cordonWorker, { params });
    assert.match((await fleet.worker(0).refuse(createSession, 'draining', create)).message, /is cordoned.*owners\/refused\/unpin/);
    await fleet.call(0, uncordonWorker, { params });
    // It may have read in a heartbeat in between that it is cordoned.
    third.app.fleet.heartbeat.nudge();
    await third.app.fleet.heartbeat.idle();
    for (let count = 0; count < 4; count += 1) {
      const reply = await createAt(count % 2, key);
      assert.equal(reply.status, 201, reply.text);
    }
    await fleet.worker(0).refuse(createSession, 'no_capacity', create);
    await fleet.stop(index);
    const { message, reply } = await fleet.worker(0).refuse(createSession, 'no_capacity', create);
    assert.match(message, /does not run now.*owners\/refused\/unpin/);
    assert.ok(Number(reply.headers.get('retry-after')) > 0);
    await fleet.call(0, unpinOwner, { params: { owner: 'refused' } });
    assert.equal((await createAt(0, key)).status, 201);
  });
});

describe('404 owner_not_found', () => {
  it('POST /admin/owners/{owner}/pin answers 404 owner_not_found for an unknown owner, and creates none', async () => {
    for (let count = 0; count < 2; count += 1)
      await fleet.worker(0).refuse(pinOwner, 'owner_not_found', { params: { owner: 'nobody' }, body: { worker_id: fleet.workerId(1) } });
  });
});

describe('404 worker_not_found', () => {
  it('POST /admin/owners/{owner}/pin answers 404 worker_not_found for an unknown id, and text that is no id', async () => {
    for (const worker_id of ['wrk_000000000000000000000000', 'x', "wrk_' or 1=1"])
      await fleet.worker(0).refuse(pinOwner, 'worker_not_found', { params: { owner: 'local' }, body: { worker_id } });
  });
});

describe('422', () => {
  it('POST /admin/owners/{owner}/pin refuses a body without a worker with 422', async () => {
    for (const body of [{}, { worker_id: '' }, { worker_id: 1 }, { worker_id: fleet.workerId(0), colour: 'red' }])
      assert.ok((await fleet.worker(0).issues(pinOwner, { params: { owner: 'local' }, body })).length > 0);
  });

  it('POST /admin/owners/{owner}/pin refuses a pin with 422 where a worker cannot forward requests', async () => {
    const alone = await startApp();
    try {
      const pin = { params: { owner: 'local' }, body: { worker_id: alone.app.fleet.deps.workerId } };
      assert.equal((await alone.call(pinOwner, pin)).status, 200);
      const deaf = await startApp({ beside: alone });
      await eventually('both are listed', async () => (await alone.call(listWorkers)).body.length === 2);
      const [issue] = await alone.issues(pinOwner, pin);
      assert.deepEqual(issue?.loc, ['body', 'worker_id']);
      assert.match(issue?.msg ?? '', /BERTH_FLEET_LISTEN/);
      await deaf.close();
    } finally {
      await alone.close();
    }
  });
});
