/** A worker of a fleet that is stopped: its sessions know, its address answers until the proxy has seen it, and the others go on. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, getSession, health, listWorkers, livez, openCdp } from '@berth/contract';
import { adminKey } from '../client.ts';
import { openEvents } from '../event-stream.ts';
import { eventually, pathOf } from '../harness.ts';
import { openSocket } from '../raw-http.ts';
import { startFleet, type TestFleet } from './fleet.ts';

describe('a worker of a fleet that is stopped', () => {
  let fleet: TestFleet;
  before(async () => {
    fleet = await startFleet({ workers: 3, environment: { BERTH_DRAIN_SECONDS: '100' } });
  });
  after(() => fleet.close());

  const endAt = async (index: number, session_id: string): Promise<void> =>
    assert.equal((await fleet.call(index, endSession, { key: fleet.key, params: { session_id } })).status, 204);
  /** Sessions are spread. Those on other workers end: a worker that is stopped waits for its sessions. */
  const createAt = async (index: number): Promise<string> => {
    const elsewhere: string[] = [];
    while (elsewhere.length < 10) {
      const { body, headers } = await fleet.call(index, createSession, { key: fleet.key, body: {} });
      if (headers.get('x-berth-worker') !== fleet.workerId(index)) elsewhere.push(body.session_id);
      else {
        for (const id of elsewhere) await endAt(index, id);
        return body.session_id;
      }
    }
    return assert.fail('no session was placed on the worker');
  };

  it('a worker of a fleet that is stopped closes the sockets that it forwards with its restart as the reason, and their sessions go on', async () => {
    const session_id = await createAt(1);
    const url = fleet.worker(2).url.replace('http', 'ws') + pathOf(openCdp, { params: { session_id } });
    const { send, closed } = await openSocket(url, { authorization: `Bearer ${fleet.key}` });
    await send('Target.getTargets');
    await fleet.stop(2);
    assert.deepEqual(await closed, { code: 1012, reason: 'service_restart' });
    assert.equal((await fleet.call(0, getSession, { key: fleet.key, params: { session_id } })).body.status, 'ready');
    await endAt(0, session_id);
  });

  it('a worker of a fleet that is stopped answers for its sessions until they end, and then exits', async () => {
    const session_id = await createAt(1);
    const events = await openEvents(fleet.worker(1).url, session_id, { key: fleet.key });
    const stopped = fleet.worker(1).app.stop();
    assert.equal((await events.nextOf('session.expiring')).data['reason'], 'drained');
    assert.equal((await fleet.call(1, health)).status, 503);
    const params = { session_id };
    assert.equal((await fleet.call(1, getSession, { key: fleet.key, params })).body.status, 'ready');
    assert.equal((await fleet.call(1, livez)).status, 200);
    assert.equal((await fleet.call(0, createSession, { key: fleet.key, body: {} })).status, 201);
    await eventually('the other workers know', async () => {
      const { body: workers } = await fleet.call(0, listWorkers, { key: adminKey });
      return workers.find(({ worker_id: id }) => id === fleet.workerId(1))?.state === 'draining';
    });
    await endAt(0, session_id);
    // Nothing is left to wait for.
    await stopped;
    assert.equal((await fleet.call(0, getSession, { key: fleet.key, params })).body.ended_reason, 'requested');
    assert.equal((await fleet.call(0, health)).status, 200);
  });
});
