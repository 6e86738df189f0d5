import type { PoolConfig } from 'pg';
import type { Cleanup } from '@berth/lib/cleanup.ts';
import type { Log } from '@berth/lib/log.ts';
import { claimDataFolder } from '../claim.ts';
import { startEmbedded } from './embedded.ts';

/** Starts the embedded database, or adopts the running one, and claims its data directory until the cleanup. */
export async function openEmbedded({ dataDir, log }: { dataDir: string; log: Log }, cleanup: Cleanup): Promise<PoolConfig> {
  const embedded = await startEmbedded({ dataDir, log });
  // A server that another process has claimed must keep running.
  const claim = await claimDataFolder({ dataDir, log, connection: () => embedded.connection }).catch(async (error: unknown) => {
    await embedded.detach();
    throw error;
  });
  cleanup.push('embedded database', () => embedded.stop());
  cleanup.push('claim on the data folder', () => claim.release());
  return embedded.connection;
}
