/**
 * Three workers and the database in network namespaces of this machine, whose cables are pulled: what clients see of each partition, and
 * some random rounds as in schedules.test.ts. As root: `npm run test:fleet:namespaces`. Nothing of it outlives its processes.
 *
 * BERTH_TEST_FLEET_ROUNDS=20    rounds (default 3)
 * BERTH_TEST_FLEET_SEED=17      seed of the first one
 */
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKey, createSession, endSession, ErrorBody, getSession, grantCredits, navigate } from '@berth/contract';
import { testDatabaseVariable, testStore, type TestStore } from '../../packages/server/testing/test-store.ts';
import { adminKey, Client } from '../client.ts';
import { eventually } from '../harness.ts';
import { LedgerReader } from '../ledger/ledger-reader.ts';
import { databaseCable, openCables, openNetworks, within } from './cables.ts';
import { kinds, workersInFleet, type Weights } from './faults.ts';
import { FleetProcess, type Links } from './fleet-process.ts';
import { nowMs } from './history.ts';
import { FleetLog, playRound, type RoundContext } from './round.ts';
import { sessionsMax } from './schedule.ts';

const startMsMax = { timeout: 280_000 };
const partitionMsMax = { timeout: 180_000 };
const outageMs = 20_000;
/** Statements give up earlier, so that the answer is seen; a busy machine answers within. */
const driveMsMax = 10_000;
/** A worker is noticed to be dead within ten seconds; this machine may be busy. */
const noticedMsMax = 14_000;
const schedulesInRound = 20;
/** There is one way to be slow less, no copies of a data directory, and a cable more. */
const weights: Weights = { ...kinds, slow: 0, copy: 0, 'copy of frozen': 0, 'copy of cut': 0, 'cut clients': 2 };
const { BERTH_TEST_FLEET_ROUNDS: roundsGiven = '3', BERTH_TEST_FLEET_SEED: seedGiven } = process.env;
const seeds = Array.from({ length: Number(roundsGiven) }, (_, n) => Number(seedGiven ?? randomInt(1, 1_000_000_000)) + (seedGiven ? n : 0));

const tier = { creates_per_minute: null, requests_per_minute: null, max_session_seconds: 86_400, tab_limit: null, premium_egress: false };
const tiers = { fleet: { ...tier, concurrency_limit: sessionsMax }, open: { ...tier, concurrency_limit: null } };

let database: ChildProcess;
let store: TestStore;
let reader: LedgerReader;
let context: RoundContext;
const cables: Links[] = [];
let key = '';

before(async () => {
  openNetworks();
  const [program = '', ...words] = within('db');
  database = fork(join(import.meta.dirname, 'namespaced-database.ts'), { execPath: program, execArgv: [...words, process.execPath] });
  [process.env[testDatabaseVariable]] = (await once(database, 'message')) as [string];
  store = await testStore();
  reader = await LedgerReader.open(store.url);
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  const tiersFile = join(folder, 'tiers.json');
  writeFileSync(tiersFile, JSON.stringify({ default_tier: 'fleet', tiers }));
  const environment = {
    BERTH_POOL_TARGET: '0',
    BERTH_DRAIN_SECONDS: '1',
    BERTH_MAX_SESSIONS: '10000',
    BERTH_AUTH_FAILURES_PER_MINUTE_MAX: '1000000',
    BERTH_CREDITS_ENFORCED: 'true',
    BERTH_TIERS_FILE: tiersFile,
  };
  const log = new FleetLog();
  const workers: FleetProcess[] = [];
  context = { workers, reader, adminKey, log };
  for (let index = 0; index < workersInFleet; index += 1) {
    const links = openCables(index, store.url);
    const common = { databaseUrl: store.url, adminKey, folder, environment, links, isReliable: true };
    const worker = await FleetProcess.open({ ...common, index, log: (text) => log.add(text), onReport: (report) => log.take(report) });
    cables.push(links);
    workers.push(worker);
    await worker.start();
  }
  const { body } = await clientOf(0).call(createKey, { body: { owner: 'partitions', tier: 'open' } });
  key = body.key ?? assert.fail();
  await clientOf(0).call(grantCredits, { body: { owner: 'partitions', amount: 100_000 } });
}, startMsMax);

after(async () => {
  await Promise.all(context.workers.map((worker) => worker.close()));
  await reader.close();
  await store.drop();
  database.disconnect();
});

const clientOf = (index: number): Client => new Client(workerAt(index).url, key, adminKey);
const workerAt = (index: number): FleetProcess => context.workers[index] ?? assert.fail();
const idOf = (index: number): string => workerAt(index).workerId ?? assert.fail();
const each = Array.from({ length: workersInFleet }, (_, index) => index);

const end = (session_id: string): Promise<unknown> => clientOf(1).call(endSession, { params: { session_id } });

/** A session on each worker, by index: placement spreads them, if none ends meanwhile. */
async function place(): Promise<string[]> {
  const placed = new Map<string, string>();
  const rest: string[] = [];
  await eventually(
    'each worker runs a session',
    async () => {
      const reply = await clientOf(0).call(createSession, { body: { timeout_seconds: 600 } });
      const worker = reply.headers.get('x-berth-worker') ?? '';
      if (reply.status !== 201) return false;
      if (placed.has(worker)) rest.push(reply.body.session_id);
      else placed.set(worker, reply.body.session_id);
      return placed.size === workersInFleet;
    },
    60_000,
  );
  await Promise.all(rest.map(end));
  return each.map((index) => placed.get(idOf(index)) ?? assert.fail());
}

/** `ok`, the code of the refusal, or `none`: no answer, as far as a client knows. */
async function drive(via: number, session_id: string): Promise<string> {
  try {
    const request = { params: { session_id }, body: { url: 'http://act.test/' }, signal: AbortSignal.timeout(driveMsMax) };
    const { status, body } = await clientOf(via).send(navigate, request);
    return status < 400 ? 'ok' : ErrorBody.parse(body).error.code;
  } catch {
    return 'none';
  }
}

interface Outage {
  sessions: string[];
  /** What a client was answered that drove the session of worker `of` through worker `via`, after the first moments. */
  seen(via: number, of: number): string[];
  /** When the lease of a worker was taken, in ms since the beginning; null: it was not. */
  takenMs(index: number): number | null;
  /** When a worker had ended its last browser, in ms since the beginning; null: it has not. */
  endedMs(index: number): number | null;
  /** How long it took until all drove sessions of all again. */
  backMs: number;
}

/** Moments in which requests that were under way may still be answered, and the fault is not noticed. */
const firstMs = 4000;

/** Waits until all workers drive new sessions of all. */
async function recover(): Promise<void> {
  const sessions = await place();
  let codes: string[] = [];
  const areAll = async (): Promise<boolean> => {
    codes = await Promise.all(each.flatMap((via) => sessions.map((session) => drive(via, session))));
    return codes.every((code) => code === 'ok');
  };
  await eventually('all drive all', areAll, 60_000).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${codes.join()}`);
  });
  await Promise.all(sessions.map(end));
}

async function during(begin: () => unknown, restore: () => unknown): Promise<Outage> {
  const { log } = context;
  log.begin();
  const sessions = await place();
  const startedMs = nowMs();
  const samples: { via: number; of: number; sentMs: number; answeredMs: number; code: string }[] = [];
  const over = new AbortController();
  const watches = each.flatMap((via) =>
    each.map(async (of) => {
      for (; !over.signal.aborted; await sleep(300)) {
        const sentMs = nowMs() - startedMs;
        const code = await drive(via, sessions[of] ?? '');
        samples.push({ via, of, sentMs, answeredMs: nowMs() - startedMs, code });
      }
    }),
  );
  await begin();
  await sleep(outageMs);
  await restore();
  const endedMs = nowMs();
  over.abort();
  await Promise.all(watches);
  await recover().catch((error: unknown) => {
    throw new Error(`${String(error)}\nThe workers logged:\n  ${log.lines.join('\n  ')}`);
  });
  const own = ({ worker, fromMs }: { worker: string; fromMs: number }, index: number): boolean =>
    worker === idOf(index) && fromMs < startedMs;
  return {
    sessions,
    seen: (via, of) => [
      ...new Set(
        samples
          .filter((one) => one.via === via && one.of === of && one.answeredMs > firstMs && one.sentMs < outageMs - driveMsMax)
          .map(({ code }) => code),
      ),
    ],
    takenMs: (index) => {
      const taken = log.takings.find(({ worker }) => worker === idOf(index));
      return taken ? Math.round(taken.atMs - startedMs) : null;
    },
    endedMs: (index) => {
      const last = Math.max(...log.browsers.filter((one) => own(one, index)).map(({ toMs }) => toMs));
      return Number.isFinite(last) && last < endedMs ? Math.round(last - startedMs) : null;
    },
    backMs: Math.round(nowMs() - endedMs),
  };
}

/** Writes the row of a table to the test's output. */
function report(test: TestContext, { seen, takenMs, endedMs, backMs }: Outage): void {
  const matrix = each.map((via) => each.map((of) => `${via}→${of} ${seen(via, of).join('/')}`).join(', ')).join('; ');
  test.diagnostic(
    `${matrix}; browsers of 0 ended after ${endedMs(0)} ms, its lease was taken after ${takenMs(0)} ms; all were back after ${backMs} ms`,
  );
}

async function assertLost(outage: Outage): Promise<void> {
  const [ended, taken] = [outage.endedMs(0), outage.takenMs(0)];
  assert.ok(
    ended !== null && taken !== null && ended < taken,
    `its browsers ended after ${ended} ms, its lease was taken after ${taken} ms`,
  );
  assert.ok(taken < noticedMsMax, `its lease was taken after ${taken} ms`);
  await assertSessions(outage, ['worker_lost', null, null]);
}

/** `reasons`: why the session of each worker ended; null: it did not. */
async function assertSessions({ sessions }: Outage, reasons: readonly (string | null)[]): Promise<void> {
  for (const [index, session_id] of sessions.entries()) {
    const { body } = await clientOf(1).call(getSession, { params: { session_id } });
    await end(session_id);
    assert.deepEqual(
      [body.status, body.ended_reason],
      reasons[index] === null ? ['ready', null] : ['ended', reasons[index]],
      `worker ${index}`,
    );
  }
}

const untouched = [
  [1, 1],
  [1, 2],
  [2, 1],
  [2, 2],
] as const;
function assertGoOn({ seen }: Outage, pairs: readonly (readonly [via: number, of: number])[]): void {
  for (const [via, of] of pairs) assert.deepEqual(seen(via, of), ['ok'], `the session of worker ${of} through worker ${via}`);
}

describe('a partition', () => {
  const cablesOf = (index: number): Links => cables[index] ?? assert.fail();

  it(
    'a partition between a worker and the database costs the sessions of that worker, which ends their browsers itself',
    partitionMsMax,
    async (test) => {
      const outage = await during(
        () => cablesOf(0).database.cut(),
        () => cablesOf(0).database.restore(),
      );
      report(test, outage);
      assertGoOn(outage, untouched);
      await assertLost(outage);
    },
  );

  it('a partition in which only the answers of the database are lost costs the sessions of that worker', partitionMsMax, async (test) => {
    let restore = (): void => undefined;
    const outage = await during(
      () => (restore = cablesOf(0).database.silence()),
      () => restore(),
    );
    report(test, outage);
    assertGoOn(outage, untouched);
    await assertLost(outage);
  });

  it('a partition between a worker and the others ends no session, and calls say that it is unreachable', partitionMsMax, async (test) => {
    const outage = await during(
      () => cablesOf(0).fleet.cut(),
      () => cablesOf(0).fleet.restore(),
    );
    report(test, outage);
    assertGoOn(outage, [[0, 0], ...untouched]);
    for (const via of [1, 2]) assert.ok(outage.seen(via, 0).every((code) => code === 'worker_unreachable' || code === 'none'));
    await assertSessions(outage, [null, null, null]);
  });

  it(
    'a partition in which only what a worker sends to the others is lost ends no session, and calls say that it is unreachable',
    partitionMsMax,
    async (test) => {
      let restore = (): void => undefined;
      const outage = await during(
        () => (restore = cablesOf(0).fleet.silence()),
        () => restore(),
      );
      report(test, outage);
      assertGoOn(outage, [[0, 0], ...untouched]);
      for (const via of [1, 2]) assert.ok(!outage.seen(via, 0).includes('ok'));
      await assertSessions(outage, [null, null, null]);
    },
  );

  it('a partition between clients and a worker leaves its sessions to be driven through the others', partitionMsMax, async (test) => {
    const outage = await during(
      () => cablesOf(0).clients?.cut(),
      () => cablesOf(0).clients?.restore(),
    );
    report(test, outage);
    assertGoOn(outage, [[1, 0], [2, 0], ...untouched]);
    assert.deepEqual(outage.seen(0, 0), ['none']);
    await assertSessions(outage, [null, null, null]);
  });

  it(
    'a partition between all workers and the database ends no session, and refuses what has to be written',
    partitionMsMax,
    async (test) => {
      const outage = await during(
        () => databaseCable.cut(),
        () => databaseCable.restore(),
      );
      report(test, outage);
      for (const index of each) assert.equal(outage.takenMs(index), null);
      for (const via of each)
        for (const of of each) assert.ok(outage.seen(via, of).every((code) => code === 'store_unavailable' || code === 'none'));
      await assertSessions(outage, [null, null, null]);
    },
  );

  it('a partition of a worker from everything costs its sessions alone', partitionMsMax, async (test) => {
    const own = (): readonly { cut(): Promise<void>; restore(): Promise<void> }[] => {
      const { database: toDatabase, fleet, clients } = cablesOf(0);
      return [toDatabase, fleet, ...(clients ? [clients] : [])];
    };
    const outage = await during(
      () => Promise.all(own().map((one) => one.cut())),
      () => Promise.all(own().map((one) => one.restore())),
    );
    report(test, outage);
    assertGoOn(outage, untouched);
    await assertLost(outage);
  });

  it('a partition by a frozen worker costs its sessions, which it ends when it thaws', partitionMsMax, async (test) => {
    const { process: frozen } = workerAt(0);
    const outage = await during(
      () => frozen.freeze(),
      () => frozen.thaw(),
    );
    report(test, outage);
    assertGoOn(outage, untouched);
    const taken = outage.takenMs(0);
    assert.ok(taken !== null && taken < noticedMsMax, `its lease was taken after ${taken} ms`);
    await assertSessions(outage, ['worker_lost', null, null]);
  });
});

describe('clients of three workers in networks of their own see one service', () => {
  for (const seed of seeds)
    it(
      `clients of three workers in networks of their own see one service for ${schedulesInRound} schedules of seed ${seed}`,
      { timeout: 300_000 },
      async (test) => test.diagnostic(await playRound(seed, schedulesInRound, { ...context, weights })),
    );
});
