/** Workers of two regions on one database: work runs where it is asked to, and the regions do not need each other. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSession, fetchPage, getSession, listSessions } from '@berth/contract';
import { html, startSite, type Site } from '../fetch-site.ts';
import { eventually } from '../harness.ts';
import { startFleet, type TestFleet } from './fleet.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-fleet-regions-'));
let fleet: TestFleet;
let site: Site;
before(async () => {
  site = await startSite();
  const file = join(folder, 'regions.json');
  const regions = [
    { code: 'home', name: 'Home', country: 'DE' },
    { code: 'far', name: 'Far', country: 'SE' },
    { code: 'empty', name: 'Empty', country: 'FR' },
  ];
  writeFileSync(file, JSON.stringify({ regions }));
  fleet = await startFleet({
    workers: 3,
    environment: { BERTH_REGIONS_FILE: file, BERTH_EGRESS_ALLOW: '127.0.0.1', BERTH_REGION: 'home' },
    each: (index) => (index === 2 ? { environment: { BERTH_REGION: 'far' } } : {}),
  });
  await beat();
});
after(async () => {
  await fleet.close();
  await site.close();
  rmSync(folder, { recursive: true });
});

async function beat(): Promise<void> {
  for (const { app } of fleet.workers.slice(0, 3)) {
    app.fleet.heartbeat.nudge();
    await app.fleet.heartbeat.idle();
  }
}
const runsAt = (session_id: string) => [0, 1, 2].filter((index) => fleet.worker(index).app.sessions.live.has(session_id));

describe('workers of two regions', () => {
  it('workers of two regions run a session in the region that it names, whichever worker is asked', async () => {
    for (const index of [0, 1, 2]) {
      const far = await fleet.worker(index).create({ region: 'far' });
      assert.deepEqual([far.region, runsAt(far.session_id)], ['far', [2]]);
      const home = await fleet.worker(index).create({ region: 'home' });
      assert.equal(home.region, 'home');
      assert.ok(!runsAt(home.session_id).includes(2));
      assert.equal((await fleet.call(index, getSession, { params: { session_id: far.session_id } })).body.status, 'ready');
    }
    const here = await fleet.worker(2).create();
    assert.deepEqual([here.region, runsAt(here.session_id)], ['far', [2]], 'without a region: that of the worker');
  });

  it('workers of two regions fetch from the region that is named', async () => {
    const url = site.sequence('/page', html('<title>Here</title><p>Here.</p>'));
    for (const [index, region, country] of [
      [0, 'far', 'SE'],
      [2, 'home', 'DE'],
    ] as const) {
      const { body, text } = await fleet.call(index, fetchPage, { body: { url, mode: 'http', region } });
      assert.deepEqual(body.attempts[0]?.egress, { type: 'direct', country }, text);
    }
  });

  it('workers of two regions say why nothing leaves from a region where no worker lives', async () => {
    await fleet.worker(0).refuse(createSession, 'region_unavailable', { body: { region: 'empty' } });
    await fleet.worker(0).refuse(fetchPage, 'region_unavailable', { body: { url: 'http://site.test/', region: 'empty' } });
  });

  it('workers of two regions go on without the other region, whose own work is refused with that reason', async () => {
    const { session_id } = await fleet.worker(0).create({ region: 'home' });
    await fleet.stop(2);
    await beat();
    await eventually('the region is known to be away', async () => {
      const { status } = await fleet.call(0, createSession, { body: { region: 'far' } });
      return status === 503;
    });
    await fleet.worker(1).refuse(createSession, 'region_unavailable', { body: { region: 'far' } });
    assert.equal((await fleet.call(1, getSession, { params: { session_id } })).body.status, 'ready');
    await fleet.worker(1).create();
    assert.equal((await fleet.call(1, listSessions)).status, 200);
  });
});
