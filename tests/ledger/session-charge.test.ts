/** A session that was acknowledged is charged, although its worker is killed right after its response. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createKey, createSession, grantCredits } from '@berth/contract';
import { testStore, type TestStore } from '../../packages/server/testing/test-store.ts';
import { Client, adminKey } from '../harness.ts';
import { LedgerReader } from './ledger-reader.ts';
import { WorkerProcess } from './worker/worker-process.ts';
import { tiersFile } from './tiers.ts';

let store: TestStore;
let folder = '';
before(async () => {
  store = await testStore();
  folder = mkdtempSync(join(tmpdir(), 'berth-charge-'));
  writeFileSync(join(folder, 'tiers.json'), JSON.stringify(tiersFile));
});
after(async () => {
  await store.drop();
  rmSync(folder, { recursive: true });
});

/** Creates sessions of new owners at once, and kills the worker when the last response has come. */
async function createAndKill(
  owners: { owner: string; tier: string; credits: number }[],
  environment: Record<string, string>,
): Promise<void> {
  const worker = new WorkerProcess({ cache: join(folder, 'compiled') });
  const settings = { BERTH_PORT: '0', BERTH_POOL_TARGET: '0', BERTH_TIERS_FILE: join(folder, 'tiers.json'), ...environment };
  const dataDir = join(folder, owners[0]?.owner ?? '');
  try {
    await worker.start(
      {
        environment: { ...settings, BERTH_DATA_DIR: dataDir },
        databaseUrl: store.url,
        adminKey,
        skewMs: 0,
        faults: [],
        isReliable: true,
      },
      () => {},
    );
    const client = new Client(worker.url, '');
    const keys: string[] = [];
    for (const { owner, tier, credits } of owners) {
      const { body } = await client.call(createKey, { body: { owner, tier } });
      keys.push(body.key ?? assert.fail('a new key has a secret'));
      if (credits > 0) await client.call(grantCredits, { body: { owner, amount: credits } });
    }
    const replies = await Promise.all(keys.map((key) => client.call(createSession, { key, body: {} })));
    assert.deepEqual(
      replies.map(({ status }) => status),
      keys.map(() => 201),
    );
  } finally {
    await worker.kill();
  }
}

/** What the journal has of each owner's sessions, in credits, and the owner's wallet. */
async function chargesOf(owners: readonly string[]): Promise<Record<string, { charged: number[]; balance: number }>> {
  const reader = await LedgerReader.open(store.url);
  try {
    const { journal, wallets } = await reader.readLedger('');
    return Object.fromEntries(
      owners.map((owner) => {
        const entries = journal.filter((entry) => entry.owner === owner && entry.to === 'revenue:session');
        return [owner, { charged: entries.map(({ amount }) => amount / 1e6), balance: (wallets.get(owner)?.balance ?? 0) / 1e6 }];
      }),
    );
  } finally {
    await reader.close();
  }
}

describe('a session whose worker is killed right after the 201', () => {
  it('a session whose worker is killed right after the 201 is charged where credits are only counted, as far as the wallet goes', async () => {
    await createAndKill(
      [
        { owner: 'counted', tier: 'basic', credits: 5 },
        { owner: 'short', tier: 'basic', credits: 0.25 },
        { owner: 'empty', tier: 'basic', credits: 0 },
        { owner: 'overage', tier: 'postpaid', credits: 0.5 },
      ],
      {},
    );
    assert.deepEqual(await chargesOf(['counted', 'short', 'empty', 'overage']), {
      counted: { charged: [1], balance: 4 },
      short: { charged: [0.25], balance: 0 },
      empty: { charged: [0], balance: 0 },
      overage: { charged: [0.5], balance: 0 },
    });
  });

  it('a session whose worker is killed right after the 201 is charged where credits are enforced, on credit where the plan allows it', async () => {
    await createAndKill(
      [
        { owner: 'prepaid', tier: 'prepaid', credits: 5 },
        { owner: 'exact', tier: 'prepaid', credits: 1 },
        { owner: 'owing', tier: 'postpaid', credits: 0.5 },
      ],
      { BERTH_CREDITS_ENFORCED: 'true' },
    );
    assert.deepEqual(await chargesOf(['prepaid', 'exact', 'owing']), {
      prepaid: { charged: [1], balance: 4 },
      exact: { charged: [1], balance: 0 },
      owing: { charged: [1], balance: -0.5 },
    });
  });
});
