/** A region that is cut off from the database: what works in it and in the others, until it is back. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSession, getSession, navigate } from '@berth/contract';
import { createDatabaseProxy, type DatabaseProxy } from '../services/database-proxy.ts';
import { eventually, startApp, type TestApp } from '../harness.ts';
import { openSocket } from '../raw-http.ts';

const waitMs = 40_000;

describe('a region whose workers lose the database while the others have it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-region-cut-'));
  let home: TestApp;
  let proxy: DatabaseProxy;
  const far: TestApp[] = [];
  before(async () => {
    const file = join(folder, 'regions.json');
    const regions = ['home', 'far'].map((code) => ({ code, name: code, country: null }));
    writeFileSync(file, JSON.stringify({ regions }));
    // Long enough for a busy machine to write its heartbeats in time, and to drive the cut region before it gives up.
    const common = { BERTH_REGIONS_FILE: file, BERTH_LEASE_SECONDS: '8' };
    home = await startApp({ isInFleet: true, environment: { ...common, BERTH_REGION: 'home' } });
    proxy = await createDatabaseProxy(home.databaseUrl);
    const beside = { databaseUrl: proxy.url, key: home.key };
    for (let n = 0; n < 2; n += 1) far.push(await startApp({ isInFleet: true, beside, environment: { ...common, BERTH_REGION: 'far' } }));
    await eventually('the workers know each other', async () => {
      for (const { app } of far) if (!(await home.app.forwarding?.canReach(app.fleet.deps.workerId))) return false;
      return true;
    });
  });
  after(async () => {
    for (const each of far) await each.close();
    await proxy.close();
    await home.close();
    rmSync(folder, { recursive: true });
  });

  it('a region without the database goes on with what runs as long as its leases last, then ends it; the others go on; and all is well when it is back', async () => {
    const create = async (region: string): Promise<string> => {
      let sessionId = '';
      await eventually(`a session of ${region}`, async () => {
        const { status, body } = await home.call(createSession, { body: { region } });
        sessionId = body.session_id;
        return status === 201;
      });
      return sessionId;
    };
    const theirs = await create('far');
    const ours = await create('home');
    const runner = far.find(({ app }) => app.sessions.live.has(theirs)) ?? assert.fail('it runs in its region');
    const { send, closed } = await openSocket(`${home.url.replace('http', 'ws')}/v1/session/${theirs}/cdp`, {
      authorization: `Bearer ${home.key}`,
    });
    await proxy.cut();

    // Its clients drive on, also through a worker of the other region; what has to be written is refused.
    await send('Target.getTargets');
    const drive = { params: { session_id: theirs }, body: { url: 'http://site.test/' } };
    const page = await home.call(navigate, drive);
    assert.equal(page.status, 200, page.text);
    await runner.refuse(createSession, 'store_unavailable', { body: {} });

    const reasonOf = async (session_id: string): Promise<unknown> =>
      (await home.call(getSession, { params: { session_id } })).body.ended_reason;
    await eventually('the region is given up', async () => (await reasonOf(theirs)) === 'worker_lost', waitMs);
    assert.deepEqual(await closed, { code: 4000, reason: 'session_ended' });
    assert.deepEqual(
      far.map(({ runtime }) => runtime.machines.size),
      [0, 0],
      'its browsers had ended before',
    );
    // Until then a worker that is asked has no database, and says so.
    await eventually(
      'both leases are taken',
      async () => (await home.call(createSession, { body: { region: 'far' } })).text.includes('"region_unavailable"'),
      waitMs,
    );
    await home.refuse(createSession, 'region_unavailable', { body: { region: 'far' } });
    const params = { session_id: ours };
    assert.equal((await home.call(navigate, { params, body: { url: 'http://site.test/' } })).status, 200);
    await create('home');

    await proxy.restore();
    await eventually('it has joined again', () => far.every(({ app }) => !app.fleet.lease.isFenced), waitMs);
    const again = await create('far');
    assert.ok(far.some(({ app }) => app.sessions.live.has(again)));
    assert.equal(await reasonOf(ours), null);
    await eventually('nothing is left of what was lost', () => !runner.app.sessions.live.has(theirs), waitMs);
  });
});
