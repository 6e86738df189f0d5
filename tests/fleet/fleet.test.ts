import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getSession, health, listSessions } from '@berth/contract';
import { BoundPort } from '../../packages/server/src/http/server/port.ts';
import { startFleet, type TestFleet } from './fleet.ts';

describe('a fleet', () => {
  let fleet: TestFleet;
  before(async () => {
    fleet = await startFleet({ workers: 2 });
  });
  after(() => fleet.close());

  it('the workers of a fleet have their own ids and ports on one database', async () => {
    assert.notEqual(fleet.workerId(0), fleet.workerId(1));
    assert.notEqual(fleet.worker(0).url, fleet.worker(1).url);
    const { session_id } = await fleet.worker(0).create();
    const { body } = await fleet.call(1, listSessions);
    assert.deepEqual(
      body.map((session) => session.session_id),
      [session_id],
    );
    assert.equal((await fleet.call(1, getSession, { params: { session_id } })).body.session_id, session_id);
  });

  it('all workers of a fleet accept one API key', async () => {
    const key = await fleet.worker(1).ownerKey('stranger');
    for (const index of [0, 1]) assert.equal((await fleet.call(index, listSessions, { key })).status, 200);
  });

  it('a worker of a fleet is found by the others from its first answer on', async () => {
    const port = await BoundPort.open({ host: '127.0.0.1', port: 0 });
    const handOver = port.handOver.bind(port);
    let peers: string[] = [];
    // From then on its clients are answered by the service.
    port.handOver = async (server) => {
      peers = (await fleet.worker(0).app.fleet.peers()).map(({ workerId }) => workerId);
      await handOver(server);
    };
    const { app } = await fleet.add({ port });
    assert.ok(peers.includes(app.fleet.deps.workerId));
  });

  it('a fleet goes on without a worker that stops, and takes a new one', async () => {
    await fleet.stop(0);
    assert.equal((await fleet.call(1, health)).status, 200);
    await fleet.add();
    assert.equal((await fleet.call(3, listSessions)).status, 200);
  });
});
