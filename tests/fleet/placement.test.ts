/** Where three workers of one database run new work, and which limits they keep together. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  cordonWorker,
  createSession,
  drainWorker,
  endSession,
  getSession,
  health,
  listSessions,
  resizePool,
  uncordonWorker,
} from '@berth/contract';
import { eventually } from '../harness.ts';
import { startFleet, type TestFleet } from './fleet.ts';

/** All workers write and read a heartbeat, so that each knows the others. */
async function beat(fleet: TestFleet): Promise<void> {
  for (const { app } of fleet.workers) {
    app.fleet.heartbeat.nudge();
    await app.fleet.heartbeat.idle();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'berth-placement-'));
const tiersFile = join(folder, 'tiers.json');
const each = [0, 1, 2];
let fleet: TestFleet;
before(async () => {
  const tier = { max_session_seconds: 3600, tab_limit: null, premium_egress: false, requests_per_minute: null };
  writeFileSync(
    tiersFile,
    JSON.stringify({
      default_tier: 'open',
      tiers: {
        open: { ...tier, concurrency_limit: null, creates_per_minute: null },
        five: { ...tier, concurrency_limit: 5, creates_per_minute: null },
        slow: { ...tier, concurrency_limit: null, creates_per_minute: 6 },
        quiet: { ...tier, concurrency_limit: null, creates_per_minute: null, requests_per_minute: 30 },
      },
    }),
  );
  fleet = await startFleet({ workers: 3, environment: { BERTH_TIERS_FILE: tiersFile, BERTH_MAX_SESSIONS: '40' } });
  await beat(fleet);
});
after(async () => {
  await fleet.close();
  rmSync(folder, { recursive: true });
});

const place = async (index: number, region?: string): Promise<readonly string[]> =>
  (await fleet.worker(index).app.placement.candidates({ work: 'session', owner: 'local', kind: 'headless', region })).workerIds;

// Before there are sessions, whose start the pool gives way to.
describe('the warm pool of three workers', () => {
  it('the warm pool of three workers is filled by all of them at once, one machine at a time each, and by no more than its target', async () => {
    let most = 0;
    const peaks = each.map(() => 0);
    const sample = (): number => {
      each.forEach((index) => (peaks[index] = Math.max(peaks[index] ?? 0, fleet.worker(index).app.fleet.count('warming'))));
      const machines = each.reduce(
        (sum, index) => sum + fleet.worker(index).app.fleet.count('ready') + fleet.worker(index).app.fleet.count('warming'),
        0,
      );
      most = Math.max(most, machines);
      return machines;
    };
    for (const { runtime } of fleet.workers) runtime.delayBoot(5);
    await fleet.call(0, resizePool, { body: { target: 7 } });
    const isFull = (): boolean => sample() === 7 && each.every((index) => fleet.worker(index).app.fleet.count('ready') >= 2);
    await eventually('it is full', isFull, 30_000);
    assert.ok(most <= 7, `${most} machines`);
    assert.deepEqual(
      peaks.map((peak) => peak <= 1),
      [true, true, true],
      peaks.join(),
    );
    await fleet.call(0, resizePool, { body: { target: 0 } });
  });
});

describe('a burst of creates at three workers', () => {
  it('a burst of creates at three workers is divided among them', async () => {
    const firsts = await Promise.all(each.flatMap((index) => Array.from({ length: 20 }, async () => (await place(index))[0])));
    const counts = each.map((index) => firsts.filter((id) => id === fleet.workerId(index)).length);
    assert.equal(
      counts.reduce((sum, count) => sum + count),
      60,
    );
    assert.ok(Math.min(...counts) >= 5, counts.join());
  });
});

describe('limits of a plan at three workers', () => {
  it('limits of a plan at three workers are exact for sessions at once', async () => {
    const key = await fleet.worker(0).ownerKey('five', 'five');
    for (let round = 0; round < 2; round += 1) {
      const replies = await Promise.all(
        each.flatMap((index) => Array.from({ length: 5 }, () => fleet.call(index, createSession, { key, body: {} }))),
      );
      const statuses = replies.map(({ status }) => status).toSorted((one, other) => one - other);
      assert.deepEqual(statuses, [...Array<number>(5).fill(201), ...Array<number>(10).fill(429)]);
      const { body } = await fleet.call(0, listSessions, { key, query: { status: 'ready' } });
      assert.equal(body.length, 5);
      await Promise.all(body.map(({ session_id }) => fleet.call(0, endSession, { key, params: { session_id } })));
      await eventually(
        'none is left',
        async () => (await fleet.call(0, listSessions, { key, query: { status: 'ready' } })).body.length === 0,
      );
    }
  });

  it('limits of a plan at three workers hold for creates and requests per minute, once the workers have exchanged their counts', async () => {
    const exchange = async (): Promise<void> => {
      // Each writes and then reads what the others wrote, and the first turn may be one that had begun before the calls.
      for (const { app } of [...fleet.workers, ...fleet.workers, ...fleet.workers]) {
        app.rates.exchange.nudge();
        await app.rates.exchange.idle();
      }
    };
    const slow = await fleet.worker(0).ownerKey('slow', 'slow');
    // A worker that runs or refuses the first session of an owner in a minute knows nothing of the others until the exchange.
    const informed = new Set<string>();
    let created = 0;
    for (let round = 0; round < 7; round += 1) {
      const [known, asked] = [created, new Set<string>()];
      for (const index of each) {
        const { status, headers } = await fleet.call(index, createSession, { key: slow, body: {} });
        const worker = headers.get('x-berth-worker') ?? assert.fail('no worker answered');
        asked.add(worker);
        if (status !== 201) continue;
        created += 1;
        assert.ok(known < 6 || !informed.has(worker), `${created} created, the last at a worker that knew of ${known}`);
      }
      await exchange();
      for (const worker of asked) informed.add(worker);
    }
    assert.ok(created >= 6, `${created} created`);

    const quiet = await fleet.worker(0).ownerKey('quiet', 'quiet');
    const listAt = async (index: number) => (await fleet.call(index, listSessions, { key: quiet })).status;
    for (let n = 0; n < 10; n += 1) for (const index of each) assert.equal(await listAt(index), 200);
    await exchange();
    for (const index of each) assert.equal(await listAt(index), 429);
  });
});

describe('a worker that its operator cordons or drains', () => {
  const runsAt = (session_id: string) => each.filter((index) => fleet.worker(index).app.sessions.live.has(session_id));

  it('a worker that its operator cordons or drains gets no session, not even of callers that reach it, and what it runs goes on', async () => {
    const params = { worker_id: fleet.workerId(1) };
    let its = '';
    // What others reserved of its room, as a burst has, counts until it reports: the first sessions may run elsewhere.
    await eventually('it runs a session', async () => {
      await beat(fleet);
      const { session_id } = await fleet.worker(1).create();
      if (runsAt(session_id).includes(1)) its = session_id;
      return its !== '';
    });
    for (const change of [cordonWorker, drainWorker] as const) {
      assert.equal((await fleet.call(0, change, { params })).status, 200);
      await beat(fleet);
      await eventually('the others know', async () => !(await place(0)).includes(fleet.workerId(1)));
      const after = await Promise.all(each.flatMap((index) => Array.from({ length: 3 }, () => fleet.worker(index).create())));
      for (const { session_id } of after) assert.ok(!runsAt(session_id).includes(1));
      assert.equal((await fleet.call(0, getSession, { params: { session_id: its } })).body.status, 'ready');
    }
    assert.deepEqual([(await fleet.call(1, health)).status, (await fleet.call(0, health)).status], [503, 200]);
    await fleet.call(2, uncordonWorker, { params });
    await beat(fleet);
    assert.equal((await fleet.call(1, health)).status, 200);
    await eventually('it gets sessions again', async () => (await place(0)).includes(fleet.workerId(1)));
  });
});
