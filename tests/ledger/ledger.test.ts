/**
 * Compares balances and usage with a model: see README.md.
 *
 *     BERTH_TEST_SCHEDULES=2000 node_modules/.bin/node --test tests/ledger/ledger.test.ts    random seeds
 *     BERTH_TEST_SEED=17 node_modules/.bin/node --test tests/ledger/ledger.test.ts           repeats one round
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { testStore, type TestStore } from '../../packages/server/testing/test-store.ts';
import { adminKey } from '../harness.ts';
import { LedgerReader } from './ledger-reader.ts';
import { ServiceRuns } from './worker/service-runs.ts';
import { ExternalServices } from './external-services.ts';
import { playRound } from './round.ts';
import { tiersFile } from './tiers.ts';
import { ServiceLog, type RoundContext } from './context.ts';

const schedulesInRound = 20;
/** Longer than the deadline of the clients. */
const roundMsMax = 300_000;
const { BERTH_TEST_SEED: seedGiven, BERTH_TEST_SCHEDULES: schedulesGiven } = process.env;

function seeds(): number[] {
  if (seedGiven && !schedulesGiven) return [Number(seedGiven)];
  const first = seedGiven ? Number(seedGiven) : schedulesGiven ? randomInt(1, 1_000_000_000) : 1;
  const rounds = Math.ceil(Number(schedulesGiven ?? 20) / schedulesInRound);
  return Array.from({ length: rounds }, (_, index) => first + index);
}

describe('balances and usage match a sequential model when workers are killed', () => {
  let store: TestStore | undefined;
  let context: RoundContext | undefined;
  let folder = '';

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-ledger-'));
    writeFileSync(join(folder, 'tiers.json'), JSON.stringify(tiersFile));
    const external = await ExternalServices.open();
    store = await testStore();
    const serviceLog = new ServiceLog();
    const environment = {
      BERTH_PORT: '0',
      BERTH_POOL_TARGET: '0',
      BERTH_DRAIN_SECONDS: '1',
      // Workers that are killed and never return are noticed soon, as where workers share a database.
      BERTH_LEASE_SECONDS: '8',
      BERTH_MAX_SESSIONS: '10000',
      BERTH_AUTH_FAILURES_PER_MINUTE_MAX: '1000000',
      // The checks look up charged sessions, so none may expire.
      BERTH_SESSION_RETENTION_HOURS: '8760',
      BERTH_CREDITS_ENFORCED: 'true',
      BERTH_TIERS_FILE: join(folder, 'tiers.json'),
      ...external.environment,
    };
    const runs = new ServiceRuns({ databaseUrl: store.url, adminKey, folder, environment, log: (text) => serviceLog.add(text) });
    context = { runs, external, reader: await LedgerReader.open(store.url), adminKey, serviceLog };
  });

  after(async () => {
    await context?.runs.close();
    await context?.reader.close();
    await context?.external.close();
    await store?.drop();
    rmSync(folder, { recursive: true });
  });

  for (const seed of seeds())
    it(
      `balances and usage match a sequential model when workers are killed, for ${schedulesInRound} schedules of seed ${seed}`,
      { timeout: roundMsMax },
      () => playRound(seed, schedulesInRound, context ?? assert.fail()),
    );
});
