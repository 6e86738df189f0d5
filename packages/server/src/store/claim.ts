import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, type ClientConfig, DatabaseError } from 'pg';
import type { Log } from '../lib/log.ts';
import { Loop } from '../lib/loop.ts';

export class DataFolderInUse extends Error {
  constructor(dataDir: string) {
    super(`another Berth is running on the data folder ${dataDir}: stop it first, or set BERTH_DATA_DIR to another folder`);
    this.name = 'DataFolderInUse';
  }
}

/** The server notices within milliseconds that the last holder was killed; one that is shut down by it is back within a second. */
const claimTimeoutMs = 3_000;
const retryMs = 50;

export interface Claim {
  release(): Promise<void>;
}

export interface ClaimOptions {
  dataDir: string;
  /** Asked each time: an embedded server that was restarted may be elsewhere. */
  connection: () => ClientConfig;
  log: Log;
}

/**
 * Claims a data folder for this process for as long as it lives, by a lock on
 * a connection of its own: it ends with the process, however that dies. Taken
 * again when the server was restarted.
 *
 * @throws DataFolderInUse
 */
export async function claimDataFolder(options: ClaimOptions): Promise<Claim> {
  let holder = await hold(options);
  const renewal = new Loop('data-folder-claim', 1_000, async () => {
    if (holder.lost) holder = await hold(options);
  });
  renewal.onError((error) => options.log.error({ error }, 'the claim on the data folder is lost for now'));
  renewal.start();
  return {
    release: async () => {
      await renewal.stop();
      await holder.client.end().catch(() => {});
    },
  };
}

interface Holder {
  client: Client;
  lost: boolean;
}

/** A connection that fails is tried again until the time is up: the server may be on its way down or up. */
async function hold({ dataDir, connection }: ClaimOptions): Promise<Holder> {
  const key = lockKeyOf(dataDir);
  const deadline = performance.now() + claimTimeoutMs;
  for (;;) {
    try {
      const holder = await tryHold(connection(), key);
      if (holder) return holder;
      if (performance.now() > deadline) throw new DataFolderInUse(dataDir);
    } catch (error) {
      if (performance.now() > deadline || isRefusal(error)) throw error;
    }
    await wait(retryMs);
  }
}

/** SQLSTATE classes of a wrong user or password and of a database that is not there: asking again changes nothing. */
const isRefusal = (error: unknown): boolean => error instanceof DatabaseError && /^(28|3D)/.test(error.code ?? '');

async function tryHold(connection: ClientConfig, key: string): Promise<Holder | null> {
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

/** One number for each folder of each host: on a shared database every worker claims its own. */
function lockKeyOf(dataDir: string): string {
  const digest = createHash('sha256')
    .update(`berth data folder\0${hostname()}\0${realpathSync(dataDir)}`)
    .digest();
  return digest.readBigInt64BE(0).toString();
}
