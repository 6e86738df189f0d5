import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { apiVersion, listWorkers } from '@berth/contract';
import { eventually } from '../../harness.ts';
import { startFleet, type TestFleet } from '../../fleet/fleet.ts';

let fleet: TestFleet;
before(async () => {
  fleet = await startFleet({ workers: 2, environment: { BERTH_MAX_SESSIONS: '7' } });
});
after(() => fleet.close());

describe('200', () => {
  it('GET /admin/workers lists the workers of the database with their room', async () => {
    const { session_id } = await fleet.worker(1).create();
    const index = fleet.workers.findIndex(({ app }) => app.sessions.live.has(session_id));
    fleet.worker(index).app.fleet.heartbeat.nudge();
    await fleet.worker(index).app.fleet.heartbeat.idle();
    const { body } = await fleet.call(0, listWorkers);
    assert.deepEqual(
      body.map(({ worker_id }) => worker_id),
      [fleet.workerId(0), fleet.workerId(1)].toSorted(),
    );
    const busy = body.find(({ worker_id }) => worker_id === fleet.workerId(index)) ?? assert.fail();
    assert.deepEqual(
      [busy.region, busy.version, busy.alive, busy.state, busy.state_by, busy.drain_until, busy.kinds, busy.sessions, busy.sessions_max],
      ['local', apiVersion, true, 'active', null, null, ['headless', 'full_browser'], 1, 7],
    );
  });

  it('GET /admin/workers lists only kinds that a worker can start', async () => {
    const { app, runtime } = fleet.worker(0);
    const listed = async () => {
      app.fleet.heartbeat.nudge();
      await app.fleet.heartbeat.idle();
      return (await fleet.call(1, listWorkers)).body.find(({ worker_id }) => worker_id === fleet.workerId(0))?.kinds;
    };
    const { kinds } = runtime;
    runtime.kinds = kinds.filter((kind) => kind !== 'full_browser');
    assert.deepEqual(await listed(), ['headless']);
    runtime.kinds = kinds;
    assert.deepEqual(await listed(), ['headless', 'full_browser']);
  });

  it('GET /admin/workers has no worker that was stopped', async () => {
    const third = await fleet.add();
    await eventually('it is listed', async () => (await fleet.call(0, listWorkers)).body.length === 3);
    assert.ok(third.app.fleet.lastHeartbeat.hasPeers);
    await fleet.stop(2);
    assert.equal((await fleet.call(0, listWorkers)).body.length, 2);
  });
});
