/** Reads the configuration, builds the app, listens, and stops on a signal. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildApp, type App } from './app.ts';
import { readConfig, type Config } from './config.ts';
import { canRun } from './lib/can-run.ts';
import { systemClock } from './lib/clock.ts';
import { createLog } from './lib/log.ts';
import { readOrCreateSecret } from './lib/secret-file.ts';
import { chooseRuntime, protectService } from './runtime/choose.ts';
import { createVideoEncoders } from './runtime/encoder/encoder.ts';
import { openStore, type Store } from './store/store.ts';
import { welcome } from './welcome.ts';

const newAdminKey = (): string => `brt_admin_${randomBytes(32).toString('hex')}`;

/** Checked at start: without it every session would fail later. */
function requireProgram(path: string): void {
  if (!canRun(path)) throw new Error(`no executable Chromium at ${path}. Install Chromium or set BERTH_CHROMIUM.`);
}

async function serve(config: Config, running: { store?: Store; app?: App }): Promise<void> {
  if (config.runtime !== 'qemu') requireProgram(config.chromium);
  mkdirSync(config.dataDir, { recursive: true, mode: 0o711 });
  const { dataDir, databaseUrl } = config;
  const log = createLog(config.logLevel);
  // Before the database starts, which inherits it.
  if (!protectService()) log.info({}, 'service not protected when memory runs out: started without CAP_SYS_RESOURCE');
  const admin = config.adminKey ? { secret: config.adminKey, created: false } : readOrCreateSecret(join(dataDir, 'admin-key'), newAdminKey);
  const [store, encoders] = await Promise.all([
    openStore({ databaseUrl, dataDir, log }).then((opened) => (running.store = opened)),
    createVideoEncoders({ log, ffmpegPath: config.ffmpeg }),
  ]);
  const shellPath = canRun(config.fetchChromium) ? config.fetchChromium : undefined;
  if (!shellPath) log.info({ path: config.fetchChromium }, 'headless shell not found: fetches use BERTH_CHROMIUM');
  const memoryMbMax = config.browserMemoryMbMax;
  const browsers = { chromiumPath: config.chromium, shellPath, dataDir, log, memoryMbMax };
  const machines = {
    imagesDir: config.imagesDir ?? join(dataDir, 'images'),
    qemuPath: config.qemu,
    memoryMb: config.vmMemoryMb,
    cpus: config.vmCpus,
  };
  const runtime = (worker: { workerId: string }) => chooseRuntime({ wanted: config.runtime, ...browsers, ...machines, ...worker });
  const app = (running.app = await buildApp({ config, store, clock: systemClock, log, adminKey: admin.secret, runtime, encoders }));
  const keyFile = config.bootstrapApiKey === null ? join(dataDir, 'api-key') : null;
  const api = await app.keys.bootstrap({ file: join(dataDir, 'api-key'), configured: config.bootstrapApiKey });
  const address = await app.listen();
  const warnings = [...app.fleet.deps.runtime.warnings, ...(encoders?.warnings ?? [])];
  for (const line of [
    ...welcome({ address: config.publicUrl ?? address, api, admin, keyFile, signIn: config.devIdp, warnings }),
    `Berth is ready: ${address}`,
  ])
    process.stdout.write(`${line}\n`);
}

/** npm forwards a signal that the terminal has sent as well, so only a later one is a second signal. */
const echoMs = 1000;

/** Resolves at the first stop signal. A second one ends the process at once; the next start cleans up. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let firstMs: number | null = null;
    const onSignal = (): void => {
      firstMs ??= performance.now();
      if (performance.now() - firstMs > echoMs) process.exit(1);
      resolve();
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
  });
}

async function main(): Promise<number> {
  const running: { store?: Store; app?: App } = {};
  const stopped = stopSignal();
  try {
    await Promise.race([serve(readConfig(), running), stopped]);
    await stopped;
    return 0;
  } catch (error) {
    process.stderr.write(`Berth cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    await running.app?.stop();
    await running.store?.close();
  }
}

process.exit(await main());
