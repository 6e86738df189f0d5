/** Finds the embedded server that runs for a data directory, whichever process has started it. */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { unprivilegedAccount, type Account } from './postgres-files.ts';
import { identifyServer, isResponding, readPostmaster, type ServerProcess } from './postmaster.ts';
import { ownSocketDir, type SocketHome } from './socket-dir.ts';

export interface ClusterFiles extends SocketHome {
  /** Path of the data directory, without symbolic links. */
  cluster: string;
}

export const clusterIn = (home: string, account: Account): ClusterFiles => ({
  home,
  cluster: join(home, 'cluster'),
  account,
  uid: account?.uid ?? process.getuid?.() ?? 0,
});

/** Files of the embedded database in a data directory; undefined where there is none yet. */
export function findCluster(dataDir: string): ClusterFiles | undefined {
  const entry = join(dataDir, 'postgres');
  const files = existsSync(entry) ? clusterIn(realpathSync(entry), unprivilegedAccount()) : undefined;
  return files && existsSync(files.cluster) ? files : undefined;
}

/** Settings of a connection for `pg`. No password: other users cannot enter the directory of the socket. */
export const connectionAt = (socketDir: string): { host: string; user: string; database: string } => ({
  host: socketDir,
  user: 'berth',
  database: 'postgres',
});

/** The server, if it runs and responds. */
export async function findRunning(files: ClusterFiles): Promise<(ServerProcess & { socketDir: string }) | undefined> {
  const postmaster = readPostmaster(files.cluster);
  const socketDir = ownSocketDir(files, postmaster?.socketDir);
  const running = postmaster?.ready && socketDir !== undefined ? identifyServer(postmaster.pid, files) : undefined;
  return running && socketDir !== undefined && (await isResponding(socketDir, files.cluster)) ? { ...running, socketDir } : undefined;
}
