import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import {
  createMachineFolder,
  createSharedFolders,
  hostDisplayPath,
  hostDownloadsPath,
  hostUploadsPath,
  openMachinesFolder,
} from './machine-folder.ts';
import { isRoot, newUid } from './users.ts';

describe('the folders that a machine shares with its browser', () => {
  const root = mkdtempSync(join(tmpdir(), 'berth-folders-'));
  after(() => rmSync(root, { recursive: true }));

  it('the folders that a machine shares with its browser belong to the machine’s user and are closed to all others', async () => {
    const { dataDir } = await openMachinesFolder(root);
    const uid = isRoot() ? newUid() : (process.getuid?.() ?? 0);
    const marker = { id: 'vm_1', workerId: 'w', bootId: 'b', uid, pid: null, startTime: null, workPath: null };
    await createMachineFolder(dataDir, marker);
    await createSharedFolders(dataDir, marker);
    for (const pathOf of [hostDownloadsPath, hostUploadsPath, hostDisplayPath]) {
      const { mode, uid: owner } = statSync(pathOf(dataDir, 'vm_1'));
      assert.deepEqual([mode & 0o777, owner], [0o700, uid], pathOf(dataDir, 'vm_1'));
    }
  });
});
