/** Data folders of tests whose database is there already: to create one takes two thirds of a second of the processor. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { silentLog } from '@berth/lib/log.ts';
import { startEmbedded } from '../src/store/embedded/embedded.ts';

const folders: string[] = [];
let template: Promise<string> | undefined;

after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** An empty one, which the user of the database may enter. It is removed after the tests of the file. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-cluster-'));
  chmodSync(folder, 0o711);
  folders.push(folder);
  return folder;
}

export async function makeClusterFolder(): Promise<string> {
  template ??= createTemplate();
  const [from, folder] = [await template, makeFolder()];
  execFileSync('cp', ['-a', join(from, 'postgres'), folder]);
  return folder;
}

async function createTemplate(): Promise<string> {
  const folder = makeFolder();
  await (await startEmbedded({ dataDir: folder, log: silentLog })).stop();
  return folder;
}
