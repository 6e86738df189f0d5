import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig, DatabaseError } from 'pg';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';

export class DataFolderConflictError extends Error {
  constructor(dataDir: string) {
    super(`another Berth process uses the data directory ${dataDir}. Stop it, or set BERTH_DATA_DIR to another directory.`);
    this.name = 'DataFolderConflictError';
  }
}

/** The server notices within milliseconds that the last holder was killed; a server restart takes under a second. */
const claimTimeoutMs = 3_000;
const retryMs = 50;

interface Claim {
  release(): Promise<void>;
}

interface ClaimOptions {
  dataDir: string;
  /** Called for each attempt: a restarted embedded server may have another socket. */
  connection: () => ClientConfig;
  log: Log;
}

/**
 * Claims a data directory for the lifetime of this process, by an advisory lock
 * on a dedicated connection: the lock ends with the process, even after SIGKILL.
 * It is acquired again after a restart of the server.
 *
 * @throws DataFolderConflictError
 */
export async function claimDataFolder(options: ClaimOptions): Promise<Claim> {
  let holder = await acquireLock(options);
  const renewal = new Loop('data-folder-claim', 1_000, async () => {
    if (holder.lost) holder = await acquireLock(options);
  });
  renewal.onError((err) => options.log.error({ err }, 'data directory claim lost'));
  renewal.start();
  return {
    release: async () => {
      await renewal.stop();
      await holder.client.end().catch(() => {});
    },
  };
}

interface LockHolder {
  client: Client;
  lost: boolean;
}

/**
 * Retries failed connections until the timeout: the server may be stopping or starting. The last attempt begins after it: while
 * a process loads its modules, no answer is read, and on a busy machine that takes longer than the timeout.
 */
async function acquireLock({ dataDir, connection }: ClaimOptions): Promise<LockHolder> {
  const key = dataFolderKey(dataDir);
  const deadline = performance.now() + claimTimeoutMs;
  for (;;) {
    const isLast = performance.now() > deadline;
    try {
      const holder = await tryAcquireLock(connection(), key);
      if (holder) return holder;
      if (isLast) throw new DataFolderConflictError(dataDir);
    } catch (error) {
      if (isLast || isPermanent(error)) throw error;
    }
    await sleep(retryMs);
  }
}

/** SQLSTATE classes of invalid credentials and of a missing database: a retry cannot help. */
const isPermanent = (error: unknown): boolean => error instanceof DatabaseError && /^(28|3D)/.test(error.code ?? '');

async function tryAcquireLock(connection: ClientConfig, key: string): Promise<LockHolder | null> {
  const client = new Client({ ...connection, connectionTimeoutMillis: 2_000, application_name: 'berth-claim' });
  const holder = { client, lost: false };
  client.on('error', () => {});
  client.on('end', () => (holder.lost = true));
  try {
    await client.connect();
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1::bigint) as held', [key]);
    if (rows[0]?.held) return holder;
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  await client.end();
  return null;
}

/** One key for each directory of each host: on a shared database every worker claims its own. */
export function dataFolderKey(dataDir: string): string {
  const digest = createHash('sha256')
    .update(`berth data folder\0${hostname()}\0${realpathSync(dataDir)}`)
    .digest();
  return digest.readBigInt64BE(0).toString();
}
