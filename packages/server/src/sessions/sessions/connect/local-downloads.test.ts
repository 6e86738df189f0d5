import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { MachineFiles } from '@berth/guest';
import type { Machine } from '../../../fleet/pool/pool.ts';
import { copyDownload, isPlaywrightFolder } from './local-downloads.ts';

const made: string[] = [];
const makeFolder = async (prefix: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  made.push(folder);
  return folder;
};

let machine: Machine;
let folder: string;
before(async () => {
  const work = await makeFolder('berth-local-downloads-');
  await writeFile(join(work, 'the-guid'), 'a,b');
  const files = new MachineFiles({ downloads: work, uploads: work, uploadsInside: work });
  machine = { vm: { files } } as unknown as Machine;
});
beforeEach(async () => {
  folder = await makeFolder('playwright-artifacts-');
});
after(() => Promise.all(made.map((path) => rm(path, { recursive: true, force: true }))));

describe('a download of a client on this computer', () => {
  it('a download of a client on this computer is copied into the folder that Playwright has made, readable by its owner alone', async () => {
    await copyDownload(machine, 'the-guid', folder);
    const copy = join(folder, 'the-guid');
    assert.equal(await readFile(copy, 'utf8'), 'a,b');
    const { mode, uid } = await stat(copy);
    assert.deepEqual([mode & 0o777, uid], [0o600, (await stat(folder)).uid]);
  });

  it('a download of a client on this computer is not written anywhere else', async () => {
    const nested = join(folder, 'playwright-artifacts-abcdef');
    await mkdir(nested);
    for (const other of [nested, await makeFolder('other-'), '/etc', `${folder}/..`, `${folder}/.`, `${folder}x`, '']) {
      assert.equal(isPlaywrightFolder(other), false, other);
      await copyDownload(machine, 'the-guid', other);
    }
    assert.deepEqual(await readdir(nested), []);
  });

  it('copying a download of a client on this computer follows no link and replaces no file', async () => {
    const target = await makeFolder('other-');
    await rm(folder, { recursive: true });
    await symlink(target, folder);
    await assert.rejects(copyDownload(machine, 'the-guid', folder));
    assert.deepEqual(await readdir(target), []);

    const own = await makeFolder('playwright-artifacts-');
    await symlink(join(target, 'elsewhere'), join(own, 'the-guid'));
    await assert.rejects(copyDownload(machine, 'the-guid', own), { code: 'EEXIST' });
    assert.deepEqual(await readdir(target), []);
  });
});
