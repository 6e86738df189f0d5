/** `npm run backup` and `npm run restore`: what they do, in lines for people. */
import { readdirSync, rmdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../config.ts';
import { openDataDir } from './data-dir.ts';
import { ownCommands } from './own-commands.ts';
import { createLog } from '@berth/lib/log.ts';
import { backUpDatabase, restoreDatabase } from '../store/store.ts';

const megabyte = 1024 ** 2;

/** @throws Error with one line that says what to do */
export async function backUp(config: Config, name: string): Promise<string[]> {
  const { dataDir, databaseUrl, diskFreeMbMin, logLevel } = config;
  const file = resolve(name);
  if (databaseUrl !== null)
    throw new Error(
      `the database is at ${new URL(databaseUrl).host} (BERTH_DATABASE_URL). Back it up with the tools of its PostgreSQL, such as ` +
        `pg_dump, and with it the files of ${dataDir}.`,
    );
  const startedMs = performance.now();
  const made = await backUpDatabase({ dataDir, file, freeBytesMin: diskFreeMbMin * megabyte, log: createLog(logLevel) });
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  return [
    `Written: ${file} (${(made.bytes / megabyte).toFixed(1)} MB in ${seconds} s, PostgreSQL ${made.postgres}).`,
    `In it: the database, and ${made.files.join(', ')}. Whoever has the file has these keys: protect it.`,
    `Not in it: ${[...recordingsIn(dataDir), 'images (npm run image builds them)', 'settings (BERTH_ variables and the files that they name)'].join(', ')}.`,
  ];
}

/** @throws Error with one line that says what to do */
export async function restore({ dataDir, databaseUrl, logLevel }: Config, name: string): Promise<string[]> {
  if (databaseUrl !== null) throw new Error('BERTH_DATABASE_URL is set, and a backup is of the embedded database. Unset it.');
  const isNew = openDataDir(dataDir);
  try {
    const { created_at: at, migrations } = await restoreDatabase({ dataDir, file: resolve(name), log: createLog(logLevel) });
    return [
      `Restored to ${dataDir}: the service as of ${at} (${migrations.at(-1) ?? 'no migrations'}). Start it with ${ownCommands.start}.`,
    ];
  } catch (error) {
    if (isNew) rmdirSync(dataDir);
    throw error;
  }
}

function recordingsIn(dataDir: string): string[] {
  const folder = join(dataDir, 'recordings');
  try {
    return readdirSync(folder).length === 0 ? [] : [`recordings (copy ${folder})`];
  } catch {
    return [];
  }
}
