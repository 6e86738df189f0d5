/**
 * Money against a model: see README.md beside it.
 *
 *     BERTH_TEST_SCHEDULES=2000 node_modules/.bin/node --test tests/ledger/ledger.test.ts    another seed each time
 *     BERTH_TEST_SEED=17 node_modules/.bin/node --test tests/ledger/ledger.test.ts           one round again
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { testStore, type TestStore } from '../../packages/server/src/store/test-store.ts';
import { adminKey } from '../harness.ts';
import { Reader } from './books.ts';
import { Lives } from './lives.ts';
import { Outside } from './outside.ts';
import { playRound } from './round.ts';
import { tiersFile } from './tiers.ts';
import { Told, type World } from './world.ts';

/** So many share a service and its deaths. */
const schedulesInRound = 20;
/** Its clients give up before. */
const roundMsMax = 300_000;
const { BERTH_TEST_SEED: seedGiven, BERTH_TEST_SCHEDULES: schedulesGiven } = process.env;

function seeds(): number[] {
  if (seedGiven && !schedulesGiven) return [Number(seedGiven)];
  const first = seedGiven ? Number(seedGiven) : schedulesGiven ? randomInt(1, 1_000_000_000) : 1;
  const rounds = Math.ceil(Number(schedulesGiven ?? 100) / schedulesInRound);
  return Array.from({ length: rounds }, (_, index) => first + index);
}

describe('money is what a model says it is, whatever dies in between', () => {
  let store: TestStore | undefined;
  let world: World | undefined;
  let folder = '';

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-ledger-'));
    writeFileSync(join(folder, 'tiers.json'), JSON.stringify(tiersFile));
    const outside = await Outside.open();
    store = await testStore();
    const told = new Told();
    const environment = {
      BERTH_PORT: '0',
      BERTH_POOL_TARGET: '0',
      BERTH_DRAIN_SECONDS: '1',
      BERTH_MAX_SESSIONS: '10000',
      BERTH_AUTH_FAILURES_PER_MINUTE: '1000000',
      // Who looks for a session that was charged must find it.
      BERTH_SESSION_RETENTION_HOURS: '8760',
      BERTH_CREDITS_ENFORCED: 'true',
      BERTH_TIERS_FILE: join(folder, 'tiers.json'),
      ...outside.environment,
    };
    const lives = new Lives({ databaseUrl: store.url, adminKey, folder, environment, tell: (text) => told.add(text) });
    world = { lives, outside, reader: await Reader.open(store.url), adminKey, told };
  });

  after(async () => {
    await world?.lives.close();
    await world?.reader.close();
    await world?.outside.close();
    await store?.drop();
    rmSync(folder, { recursive: true });
  });

  for (const seed of seeds())
    it(`in ${schedulesInRound} schedules of seed ${seed}`, { timeout: roundMsMax }, () =>
      playRound(seed, schedulesInRound, world ?? assert.fail()),
    );
});
