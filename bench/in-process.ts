import { buildApp, type App } from '../packages/server/src/boot/app.ts';
import { readConfig } from '../packages/server/src/config.ts';
import { systemClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { createFakeRuntime } from '@berth/machines/testing/fake/fake.ts';
import { openStore, type Store } from '../packages/server/src/store/store.ts';
import type { Stage } from './stage.ts';

export interface InProcess {
  app: App;
  store: Store;
  close(): Promise<void>;
}

/**
 * The service in this process, with its own embedded database and simulated
 * machines, for measurements without HTTP. It does not listen, and its loops
 * do not run.
 */
export async function buildInProcess(stage: Stage, environment: Record<string, string> = {}): Promise<InProcess> {
  const dataDir = stage.folder('doors');
  const store = await openStore({ databaseUrl: null, dataDir, log: silentLog });
  const config = readConfig({ BERTH_DATA_DIR: dataDir, BERTH_POOL_TARGET: '0', ...environment });
  const runtime = createFakeRuntime();
  const app = await buildApp({
    config,
    store,
    clock: systemClock,
    log: silentLog,
    adminKey: 'bench',
    runtime: () => Promise.resolve(runtime),
    encoders: null,
  });
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => (closing ??= app.stop().then(() => store.close()));
  stage.onEnd(close);
  return { app, store, close };
}
