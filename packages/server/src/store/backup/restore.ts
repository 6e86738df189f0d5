/** Restores a backup of the embedded database into a data directory that has none. */
import {
  chmodSync,
  copyFileSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { Cleanup } from '@berth/lib/cleanup.ts';
import type { Log } from '@berth/lib/log.ts';
import { baseName, descriptionName, tar, type Description } from './archive.ts';
import { assertUsable } from '../migrate.ts';
import { changeOwner, openHome, postgresMajor, unprivilegedAccount } from '../embedded/postgres-files.ts';
import { findCluster, findRunning } from '../embedded/running.ts';

/** Entries of a data directory that no backup contains, so they may be there before a restore. */
const besides = ['images', 'machines', 'recordings'];

/**
 * Restores the database and the small files of the data directory from `file`.
 *
 * @throws Error, with the data directory as it was
 */
export async function restoreDatabase({ dataDir, file, log }: { dataDir: string; file: string; log: Log }): Promise<Description> {
  await assertEmpty(dataDir);
  const { description, names } = await readDescription(file);
  const undo = new Cleanup();
  try {
    const account = unprivilegedAccount();
    undo.push('entry of the database', () => removeHome(dataDir));
    const home = openHome(dataDir, account);
    const staging = mkdtempSync(join(home, 'cluster-new-'));
    const cluster = join(staging, 'cluster');
    mkdirSync(cluster, { mode: 0o700 });
    await tar(['--extract', '--file', file, '--no-same-owner', '-C', staging, '--', ...names]);
    await tar(['--extract', '--gzip', '--file', join(staging, baseName), '--no-same-owner', '-C', cluster]);
    if (account) changeOwner(cluster, account);
    for (const name of names.filter((each) => each !== baseName && each !== descriptionName)) {
      undo.push(name, () => rmSync(join(dataDir, name), { force: true }));
      copyFileSync(join(staging, name), join(dataDir, name), constants.COPYFILE_EXCL);
      chmodSync(join(dataDir, name), 0o600);
    }
    // Last: a start makes a new database where there is none.
    renameSync(cluster, join(home, 'cluster'));
    undo.transfer();
    rmSync(staging, { recursive: true });
    return description;
  } finally {
    for (const err of await undo.run()) log.error({ err }, 'restore cleanup failed');
  }
}

async function assertEmpty(dataDir: string): Promise<void> {
  const cluster = findCluster(dataDir);
  const into = 'Set BERTH_DATA_DIR to an empty directory.';
  if (cluster && (await findRunning(cluster))) throw new Error(`a database runs in ${dataDir}. ${into}`);
  const others = readdirSync(dataDir).filter((name) => !besides.includes(name));
  if (others.length > 0) throw new Error(`${dataDir} is not empty (${others.slice(0, 3).join(', ')}). ${into}`);
}

async function readDescription(file: string): Promise<{ description: Description; names: string[] }> {
  if (!existsSync(file)) throw new Error(`${file} does not exist.`);
  const read = async (): Promise<[Description, string[]]> => [
    JSON.parse(await tar(['--extract', '--to-stdout', '--file', file, '--', descriptionName])) as Description,
    (await tar(['--list', '--file', file])).split('\n').filter(Boolean),
  ];
  const [description, names] = await read().catch((cause: unknown) => {
    throw new Error(`${file} is not a backup of Berth, or it is damaged.`, { cause });
  });
  if (description.format !== 1 || names.some((name) => name.includes('/')))
    throw new Error(`${file} is not a backup that this release can read.`);
  const major = description.postgres.split('.', 1)[0];
  if (major !== postgresMajor())
    throw new Error(
      `${file} is of PostgreSQL ${major}, and this release has ${postgresMajor()}. Restore it with the release that made it.`,
    );
  assertUsable(description.migrations);
  return { description, names };
}

/** Removes, on a failure, what `openHome` made. */
function removeHome(dataDir: string): void {
  const entry = join(dataDir, 'postgres');
  if (lstatSync(entry, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(realpathSync(entry), { recursive: true, force: true });
  rmSync(entry, { recursive: true, force: true });
}
