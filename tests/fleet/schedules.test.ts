/**
 * Three workers under faults: see README.md.
 *
 *     BERTH_TEST_FLEET_SCHEDULES=500 node_modules/.bin/node --test tests/fleet/schedules.test.ts    random seeds
 *     BERTH_TEST_FLEET_SEED=17 node_modules/.bin/node --test tests/fleet/schedules.test.ts          repeats one round
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { testStore, type TestStore } from '../../packages/server/testing/test-store.ts';
import { adminKey } from '../client.ts';
import { LedgerReader } from '../ledger/ledger-reader.ts';
import { usualFaults, workersInFleet } from './faults.ts';
import { FleetProcess } from './fleet-process.ts';
import { FleetLog, playRound, type RoundContext } from './round.ts';
import { sessionsMax } from './schedule.ts';

const { BERTH_TEST_FLEET_SEED: seedGiven, BERTH_TEST_FLEET_SCHEDULES: schedulesGiven } = process.env;
const isUsual = !seedGiven && !schedulesGiven;
/** Under the usual faults, whose times are fixed, eight owners keep all workers busy. */
const schedulesInRound = isUsual ? 8 : 20;

function seeds(): number[] {
  if (seedGiven && !schedulesGiven) return [Number(seedGiven)];
  const first = seedGiven ? Number(seedGiven) : isUsual ? 1 : randomInt(1, 1_000_000_000);
  const rounds = Math.ceil(Number(schedulesGiven ?? schedulesInRound) / schedulesInRound);
  return Array.from({ length: rounds }, (_, index) => first + index);
}

/** One plan: only the number of sessions is limited. */
const tiersFile = {
  default_tier: 'fleet',
  tiers: {
    fleet: {
      concurrency_limit: sessionsMax,
      creates_per_minute: null,
      requests_per_minute: null,
      max_session_seconds: 86_400,
      tab_limit: null,
      premium_egress: false,
    },
  },
};

describe('clients of three workers see one service when workers and their connections fail', () => {
  let store: TestStore | undefined;
  let reader: LedgerReader | undefined;
  let context: RoundContext | undefined;
  let folder = '';

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-fleet-'));
    writeFileSync(join(folder, 'tiers.json'), JSON.stringify(tiersFile));
    const { url } = (store = await testStore());
    const environment = {
      BERTH_PORT: '0',
      BERTH_POOL_TARGET: '0',
      BERTH_DRAIN_SECONDS: '1',
      BERTH_MAX_SESSIONS: '10000',
      BERTH_AUTH_FAILURES_PER_MINUTE_MAX: '1000000',
      BERTH_DEV_IDP: 'true',
      BERTH_CREDITS_ENFORCED: 'true',
      BERTH_TIERS_FILE: join(folder, 'tiers.json'),
    };
    const log = new FleetLog();
    const common = { databaseUrl: url, adminKey, folder, environment, log: (text: string) => log.add(text) };
    const open = (index: number) => FleetProcess.open({ ...common, index, onReport: (report) => log.take(report) });
    reader = await LedgerReader.open(url);
    const workers: FleetProcess[] = [];
    context = { workers, reader, adminKey, log };
    // One after another: the first leaves its compiled code to the others.
    for (let index = 0; index < workersInFleet; index += 1) {
      const worker = await open(index);
      workers.push(worker);
      await worker.start();
    }
  });

  after(async () => {
    await Promise.all(context?.workers.map((worker) => worker.close()) ?? []);
    await reader?.close();
    await store?.drop();
    rmSync(folder, { recursive: true });
  });

  for (const seed of seeds())
    it(`clients of three workers see one service when workers and their connections fail, for ${schedulesInRound} schedules of seed ${seed}`, async (test) =>
      test.diagnostic(
        await playRound(seed, schedulesInRound, { ...(context ?? assert.fail()), planned: isUsual ? usualFaults : undefined }),
      ));
});
