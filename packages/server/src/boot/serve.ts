/** Binds the port, builds the app, serves, and stops on a signal. */
import { randomBytes } from 'node:crypto';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { App, buildApp } from './app.ts';
import type { Config } from '../config.ts';
import { openDataDir, readWorkerId } from './data-dir.ts';
import { assertRoomForDatabase, clockAdvice, browserWarning, certificateWarning, clockFault, diskWarning } from './host-faults.ts';
import { openDisk } from './open-disk.ts';
import { assertStrongSecrets, secretWarnings } from './settings/exposure.ts';
import { BoundPort } from '../http/server/port.ts';
import { TlsFiles } from '../http/server/tls.ts';
import { adminKeyPrefix } from '@berth/lib/secrets/credential-prefixes.ts';
import { canRun } from '@berth/lib/can-run.ts';
import { systemClock } from '@berth/lib/clock.ts';
import { createLog, openTerminal, silentLog, type Log } from '@berth/lib/log.ts';
import { readOrCreateSecret } from '@berth/lib/secrets/secret-file.ts';
import { chooseRuntime, protectService, requireChromium, createVideoEncoders, type Runtime } from '@berth/machines';
import { withBrowserPrograms } from './settings/browser-programs.ts';
import { machineSettings, tlsFilePaths } from './settings/setting-rules.ts';
import { allDone, Startup } from './startup.ts';
import { openStore, type Store } from '../store/store.ts';
import { ShownKeys, welcome } from './welcome.ts';

/** What a stop releases. */
interface Running {
  port?: BoundPort;
  store?: Store;
  app?: App;
}

const newAdminKey = (): string => `${adminKeyPrefix}${randomBytes(32).toString('hex')}`;
const print = (lines: readonly string[]): boolean => process.stdout.write(lines.map((line) => `${line}\n`).join(''));

async function start(settings: Config, running: Running): Promise<void> {
  const config = withBrowserPrograms(settings);
  const { dataDir, databaseUrl, databaseDirectUrl: directUrl, host } = config;
  const log = createLog(config.logLevel, process.stderr.isTTY ? { destination: await openTerminal() } : {});
  const startup = new Startup(log);
  assertStrongSecrets(config);
  const tls = await openTls(config);
  running.port = await BoundPort.open({ host, port: config.port, tls, note: () => startup.note });
  log.info({ host, port: running.port.port }, 'port bound');
  openDataDir(dataDir);
  await assertRoomForDatabase(config);
  if (config.runtime !== 'qemu') requireChromium(config.chromium);
  // Before the database starts, which inherits it.
  if (!protectService()) log.info({}, 'service not protected when memory runs out: started without CAP_SYS_RESOURCE');
  const admin = config.adminKey ?? readOrCreateSecret(join(dataDir, 'admin-key'), newAdminKey).secret;
  const [store, encoders, runtime, create] = await allDone([
    startup.step('opening the database', async () => (running.store = await openStore({ databaseUrl, directUrl, dataDir, log }))),
    startup.step('checking the video encoder', () => createVideoEncoders({ log, ffmpegPath: config.ffmpeg })),
    startup.step('checking the isolation of browsers', () => openRuntime(config, log)),
    startup.step('loading the service', loadApp),
  ]);
  const deps = { tls, config, store, clock: systemClock, log, adminKey: admin, encoders, port: running.port };
  const app = (running.app = await startup.step('building the service', () =>
    create({ ...deps, runtime: () => Promise.resolve(runtime) }),
  ));
  const api = await app.keys.bootstrap({ file: join(dataDir, 'api-key'), configured: config.bootstrapApiKey });
  const address = await app.listen();
  startup.finish();
  const warnings = [
    ...secretWarnings(config),
    ...(await hostWarnings(config, runtime)),
    ...certificateWarnings(tls),
    ...runtime.warnings,
    ...(encoders?.warnings ?? []),
  ];
  await greet({ config, app, address, admin, api: api.secret, warnings });
  // At once: a process that is killed would leave nothing for the next start.
  flushCompileCache();
}

/** @throws CertificateUnusableError, ConfigError */
async function openTls(config: Config): Promise<TlsFiles | undefined> {
  const paths = tlsFilePaths(config);
  return paths === null ? undefined : await TlsFiles.open(paths);
}

async function hostWarnings(config: Config, runtime: Runtime): Promise<string[]> {
  const disk = openDisk(config, silentLog, { hasReserve: false });
  await disk.refresh();
  const clock = clockFault(config.dataDir);
  const age = browserWarning(runtime.browser, Date.now());
  return [diskWarning(config, disk.state), age, clock === null ? null : `The clock of this host is wrong: ${clock}. ${clockAdvice}`].filter(
    (text) => text !== null,
  );
}

function certificateWarnings(tls: TlsFiles | undefined): string[] {
  const warning = tls && certificateWarning(tls.expiresAt, Date.now());
  return warning ? [`The certificate of BERTH_TLS_CERT ${warning}`] : [];
}

/** Loads the greater part of the code while the processes that the other steps have started do their work. */
async function loadApp(): Promise<typeof buildApp> {
  await setImmediate();
  return (await import('./app.ts')).buildApp;
}

function openRuntime(config: Config, log: Log): Promise<Runtime> {
  const { fetchChromium } = config;
  const shellPath = canRun(fetchChromium) ? fetchChromium : undefined;
  if (!shellPath) log.info({ path: fetchChromium }, 'headless shell not found: fetches use BERTH_CHROMIUM');
  const browsers = { shellPath, log, memoryMbMax: config.browserMemoryMbMax };
  return chooseRuntime({ ...machineSettings(config), ...browsers, workerId: readWorkerId(config.dataDir) });
}

interface Greeting {
  config: Config;
  app: App;
  address: string;
  admin: string;
  api: string;
  warnings: readonly string[];
}

async function greet({ config, app, address: bound, admin, api, warnings }: Greeting): Promise<void> {
  const { dataDir, adminKey, bootstrapApiKey, publicUrl, devIdp: signIn } = config;
  const shown = new ShownKeys(join(dataDir, 'shown-keys'));
  const keys = [
    ...(bootstrapApiKey === null ? [{ name: 'API key (owner local)', secret: api }] : []),
    ...(adminKey === null ? [{ name: 'Admin key', secret: admin }] : []),
  ].filter(({ secret }) => !shown.has(secret));
  const keyFile = bootstrapApiKey === null ? join(dataDir, 'api-key') : null;
  const address = publicUrl ?? bound;
  const signInLink = isForPerson(config, keys.length > 0) ? await createLink(app, address) : null;
  print([...welcome({ address, keys, keyFile, signIn, signInLink, warnings }), `Berth is ready: ${bound}`]);
  shown.add(keys.map(({ secret }) => secret));
}

const linkMinutes = 10;

/**
 * Whether a start prints a link that signs in: where the service has made its own key, and a person reads along. A log that
 * is kept gets one link, at the first start, as it gets the keys themselves.
 */
const isForPerson = ({ bootstrapApiKey }: Config, isFirstStart: boolean): boolean =>
  bootstrapApiKey === null && (isFirstStart || process.stdout.isTTY);

async function createLink(app: App, origin: string): Promise<{ url: string; minutes: number }> {
  const { url } = await app.accounts.signInLinks.create({ owner: 'local', ttlSeconds: linkMinutes * 60, origin, actor: 'service' });
  return { url, minutes: linkMinutes };
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

/** Serves until a stop signal. @throws Error that says why the service cannot start */
export async function serve(config: Config): Promise<void> {
  const running: Running = {};
  const stopped = stopSignal();
  try {
    await Promise.race([start(config, running), stopped]);
    await stopped;
    print([running.app ? `Berth is stopping: running calls have ${config.drainSeconds} s to finish.` : 'Berth is stopping.']);
  } finally {
    await running.app?.stop();
    running.port?.close();
    await running.store?.close();
    if (running.app) print(['Berth has stopped.']);
  }
}
