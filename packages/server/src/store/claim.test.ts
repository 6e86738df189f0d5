import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { silentLog } from '@berth/lib/log.ts';
import { testStore, type TestStore } from '../../testing/test-store.ts';
import { claimDataFolder, DataFolderConflictError } from './claim.ts';

describe('a claim on a data directory', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-claim-'));
  let store: TestStore;
  before(async () => {
    store = await testStore();
  });
  after(async () => {
    await store.drop();
    rmSync(dataDir, { recursive: true });
  });
  const claim = () => claimDataFolder({ dataDir, log: silentLog, connection: () => ({ connectionString: store.url }) });

  it('a claim on a data directory is made by a process that loads for longer than the claim may take', async () => {
    const claimed = new Promise<Awaited<ReturnType<typeof claim>>>((resolve, reject) => {
      setImmediate(() => {
        claim().then(resolve, reject);
        // As the modules of the service do on a busy machine, while the server has long answered.
        const since = performance.now();
        while (performance.now() - since < 3_500);
      });
    });
    await (await claimed).release();
  });

  it('a claim on a data directory that another process holds is refused', async () => {
    const held = await claim();
    await assert.rejects(claim(), DataFolderConflictError);
    await held.release();
  });
});
