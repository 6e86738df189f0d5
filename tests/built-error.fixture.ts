/** Preloaded into the service's process in its place: what is known of an error that the built code throws. */
import { join } from 'node:path';
import type { readConfig as configReader } from '../packages/server/src/config.ts';

const built = join(import.meta.dirname, '../packages/server/dist/server.config.js');
const { readConfig } = (await import(built)) as { readConfig: typeof configReader };
try {
  readConfig({ BERTH_PORT: 'none' });
} catch (error) {
  console.log((error as Error).stack);
}
process.exit();
