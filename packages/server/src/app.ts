/** The one composition root: builds each folder's door once, in the order of the ladder, mounts the routes, lists the loops. */
import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { apiVersion, strategyNames, type CaptchaProviderName, type StrategyName } from '@berth/contract';
import { buildAccounts, type Accounts } from './accounts.ts';
import { mountAuditAdmin } from './audit/admin-routes.ts';
import { mountBillingAdmin } from './billing/admin-routes.ts';
import { mountBilling } from './billing/routes.ts';
import { ConfigError, type Config } from './config.ts';
import { Content } from './content/content.ts';
import { mountCreditsAdmin } from './credits/admin-routes.ts';
import { mountCredits } from './credits/routes.ts';
import { Drive } from './drive/drive.ts';
import { mountDrive } from './drive/routes.ts';
import { Captchas, type CaptchaConfig } from './captcha/captcha.ts';
import { Fetches } from './fetch/fetch.ts';
import { mountFetch } from './fetch/routes.ts';
import { Jobs } from './jobs/jobs.ts';
import { mountJobs } from './jobs/routes.ts';
import { mountSelfHealAdmin } from './selfheal/admin-routes.ts';
import { noteNavigations } from './selfheal/navigations.ts';
import { SelfHeal } from './selfheal/selfheal.ts';
import { builtinAdHosts, createEgressGate, loadAdHosts, parseAllowList, type EgressGate } from './egress/egress.ts';
import { mountFleetAdmin } from './fleet/admin-routes.ts';
import { Fleet } from './fleet/fleet.ts';
import { mountDocs } from './http/docs.ts';
import { pruneIdempotencyKeys } from './http/idempotency.ts';
import { createHttp, defaultLimits, type Http } from './http/server.ts';
import { mountKeyAdmin } from './keys/admin-routes.ts';
import { mountKeys } from './keys/routes.ts';
import { Cleanup } from './lib/cleanup.ts';
import type { Clock } from './lib/clock.ts';
import { newId } from './lib/ids.ts';
import type { Log } from './lib/log.ts';
import { Loop } from './lib/loop.ts';
import { readOrMakeSecret } from './lib/secret-file.ts';
import { mountDevIdp } from './login/login.ts';
import { mountMetering } from './metering/routes.ts';
import { Metrics } from './ops/metrics.ts';
import { Ops } from './ops/ops.ts';
import { mountMetrics, mountOps } from './ops/routes.ts';
import { adminGuard, metricsGuard } from './owners/owners.ts';
import { mountRecordings } from './recordings/routes.ts';
import { Recordings } from './recordings/recordings.ts';
import { loadRegions, type Regions } from './regions/regions.ts';
import { mountRegions } from './regions/routes.ts';
import type { HostReader, Runtime, VideoEncoders } from './runtime/runtime.ts';
import { mountSessionAdmin } from './sessions/admin-routes.ts';
import { Connects } from './sessions/connect.ts';
import { mountConnect, mountSessions } from './sessions/routes.ts';
import { Sessions } from './sessions/sessions.ts';
import type { Store } from './store/store.ts';
import { mountView } from './view/routes.ts';
import { Pages, View } from './view/view.ts';

export interface AppParts {
  config: Config;
  store: Store;
  clock: Clock;
  log: Log;
  adminKey: string;
  /** Made once its worker has an id. */
  runtime: (worker: { workerId: string }) => Promise<Runtime>;
  /** null: recordings hold single pictures. */
  encoders: VideoEncoders | null;
  /** What this host has left; read from the kernel when absent. */
  hostReader?: HostReader;
}

/** Where set-up builds the pages into. */
const pagesPath = resolve(import.meta.dirname, '../../web/dist');
const megabyte = 1024 ** 2;

const pruneMs = 3_600_000;
/** What is still under way when all sessions are over has little left to wait for. */
const closeMs = 1000;
/** Each holds a page and what is made of it. */
const contentThreadsMax = 2;
const adminRequestsPerMinute = 1200;
/** What plain requests say they are: the truth. */
const userAgent = `Mozilla/5.0 (compatible; Berth/${apiVersion})`;

const nobody = { owner: null, keyId: null, requestsPerMinute: null, scope: 'nobody' };

interface Doors extends Accounts {
  regions: Regions;
  gate: EgressGate;
  fleet: Fleet;
  sessions: Sessions;
  connects: Connects;
  content: Content;
  drive: Drive;
  view: View;
  recordings: Recordings;
  jobs: Jobs;
  selfHeal: SelfHeal;
  fetches: Fetches;
}

/** The whole service, built and not yet listening. Throws what is wrong with a file that the configuration names. */
export async function buildApp(parts: AppParts): Promise<App> {
  const own: { host: string; port: number }[] = publicAddress(parts.config.publicUrl);
  const doors = await buildDoors(parts, () => own);
  return new App(parts, doors, own);
}

async function buildDoors(
  { config, store, clock, log, encoders, runtime: makeRuntime, hostReader }: AppParts,
  ownAddresses: () => { host: string; port: number }[],
): Promise<Doors> {
  const { dataDir, region, tabLimit } = config;
  const workerId = readOrMakeSecret(join(dataDir, 'worker-id'), () => newId('wrk')).secret;
  const secret = Buffer.from(readOrMakeSecret(join(dataDir, 'token-key'), () => randomBytes(32).toString('hex')).secret, 'hex');

  const silentWorkers = (): Promise<string[]> => fleet.silentWorkers();
  const accounts = buildAccounts({ config, store, clock, log, workerId, silentWorkers });
  const { owners, keys, metering, audit } = accounts;
  const regions = loadRegions({ file: config.regionsFile, defaultCode: region });
  const adHosts = new Set([...builtinAdHosts, ...(config.adHostsFile ? loadAdHosts(config.adHostsFile) : [])]);
  const gate = createEgressGate({ allow: parseAllowList(config.egressAllow), log, clock, ownAddresses, adHosts });
  const runtime = await makeRuntime({ workerId });
  const memoryFreeBytesMin = config.memoryFreeMbMin * megabyte;
  const fleet = new Fleet({
    store,
    audit,
    runtime,
    gate,
    clock,
    log,
    workerId,
    region,
    poolTarget: config.poolTarget,
    memoryFreeBytesMin,
    hostReader,
  });
  const captchas = new Captchas({ config: captchaConfig(config), clock, log });
  const captchaProviders = captchas.configured;
  const tabLimits = { headless: tabLimit, full_browser: config.tabLimitFullBrowser };
  const limits = { tabLimits, captchaProviders, sessionsMax: config.maxSessions, retentionHours: config.sessionRetentionHours };
  const sessions = new Sessions({ store, owners, audit, metering, fleet, regions, clock, log, workerId, ...limits });
  const content = new Content({ threadsMax: contentThreadsMax, log });
  const { allowEvaluate } = config;
  const drive = new Drive({ sessions, metering, clock, content, captchas, allowEvaluate });
  const recordingLimits = { bytesMax: config.recordingMbMax * megabyte, freeBytesMin: config.recordingFreeMbMin * megabyte };
  const recordings = new Recordings({
    store,
    sessions,
    owners,
    clock,
    log,
    dataDir,
    workerId,
    encoders,
    silentWorkers,
    limits: recordingLimits,
  });
  const recordingOf = (owner: string, sessionId: string): Promise<string | null> => recordings.recordingOf(owner, sessionId);
  const view = new View({ keys, sessions, store, clock, secret, recordingOf, drive, pages: new Pages(pagesPath), log });
  const { jobsRunning: runningMax, jobsQueued: queuedMax, fetchPages: pagesMax, fetchMachines: machinesMax } = config;
  const jobs = new Jobs({ store, clock, log, workerId, silentWorkers, runningMax, queuedMax });
  const selfHeal = new SelfHeal({ store, clock, log, secret, enabled: strategiesFor(captchaProviders) });
  const work = { owners, metering, regions, sessions, gate, jobs, selfHeal, content, captchas, clock, log };
  const fetches = new Fetches({ ...work, allowEvaluate, pagesMax, machinesMax, userAgent });
  return {
    ...accounts,
    regions,
    gate,
    fleet,
    sessions,
    connects: new Connects({ sessions, keys, clock, secret }),
    content,
    drive,
    view,
    recordings,
    jobs,
    selfHeal,
    fetches,
  };
}

/** What can be tried at all: the rest needs somebody who is not here. */
const strategiesFor = (providers: readonly CaptchaProviderName[]): StrategyName[] =>
  strategyNames.filter((name) =>
    name === 'captcha_provider' ? providers.includes('http') : name !== 'human' || providers.includes('human'),
  );

function captchaConfig({
  captchaHttpUrl: url,
  captchaHttpSecret: secret,
  captchaHuman: human,
  captchaTimeoutSeconds,
}: Config): CaptchaConfig {
  if ((url === null) !== (secret === null))
    throw new ConfigError('BERTH_CAPTCHA_HTTP_URL and BERTH_CAPTCHA_HTTP_SECRET belong together: set both, or neither.');
  return { http: url !== null && secret !== null ? { url, secret } : null, human, timeoutMs: captchaTimeoutSeconds * 1000 };
}

export class App {
  readonly http: Http;
  readonly accounts: Accounts;
  readonly credits: Accounts['credits'];
  readonly metering: Accounts['metering'];
  readonly billing: Accounts['billing'];
  readonly keys: Accounts['keys'];
  readonly sessions: Sessions;
  readonly fleet: Fleet;
  readonly jobs: Jobs;
  readonly selfHeal: SelfHeal;
  readonly fetches: Fetches;
  readonly loops: readonly Loop[];
  readonly #metrics: Metrics;
  /** Loops that no door starts. */
  readonly #loose: readonly Loop[];
  readonly #parts: AppParts;
  readonly #doors: Doors;
  /** Where this service is reached itself: no browser of ours may go there. */
  readonly #own: { host: string; port: number }[];
  readonly #cleanup = new Cleanup();
  #draining = false;
  #stopping: Promise<void> | null = null;

  constructor(parts: AppParts, doors: Doors, own: { host: string; port: number }[]) {
    const { keys, audit, credits, metering, billing, fleet, sessions, connects, drive, view, recordings, jobs, selfHeal, fetches } = doors;
    const { store, clock, log } = parts;
    this.#parts = parts;
    this.#doors = doors;
    this.#own = own;
    this.accounts = doors;
    this.credits = credits;
    this.metering = metering;
    this.billing = billing;
    this.keys = keys;
    this.sessions = sessions;
    this.fleet = fleet;
    this.jobs = jobs;
    this.selfHeal = selfHeal;
    this.fetches = fetches;
    noteNavigations(drive, selfHeal);
    const pruning = new Loop('idempotency-pruning', pruneMs, async () => void (await pruneIdempotencyKeys(store, clock)));
    this.#loose = [audit.pruning, ...credits.loops, keys.usageLoop, billing.pruning, connects.revocations, ...view.loops, pruning];
    const machines = [fleet.heartbeat, fleet.pings, fleet.reaper, fleet.refill, sessions.timers, sessions.recovery, sessions.retention];
    this.loops = [...machines, ...recordings.loops, ...selfHeal.loops, ...jobs.loops, fetches.purging, metering.flushing, ...this.#loose];
    for (const loop of this.loops) loop.onError((error) => log.warn({ error, loop: loop.name }, 'a turn of a loop failed'));
    const facts = { version: apiVersion, credits, metering, billing, gate: doors.gate, fleet, sessions, jobs, loops: this.loops };
    this.#metrics = new Metrics(facts);
    for (const line of billing.warnings()) log.warn({}, line);
    this.http = this.#mount();
    this.#cleanup.push('runtime', () => fleet.deps.runtime.close());
    this.#cleanup.push('gate', () => doors.gate.close());
    this.#cleanup.push('content', () => doors.content.close());
    this.#cleanup.push('credits', () => credits.stop());
    this.#cleanup.push('metrics', () => this.#metrics.stop());
  }

  /** Starts the loops and takes calls. Resolves with the address. */
  async listen(): Promise<string> {
    const { config } = this.#parts;
    const { metering, fleet, recordings, sessions, selfHeal, fetches, jobs } = this.#doors;
    const { host, port } = await this.http.listen(config.host, config.port);
    this.#own.push({ host, port });
    this.#metrics.start();
    const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
    fleet.announce(config.publicUrl ?? address);
    // Work stops before the sessions that it is done in, those before what they leave is written down, and that before their machines.
    for (const [name, part] of Object.entries({ metering, fleet, recordings, sessions, selfHeal, fetches, jobs })) {
      part.start();
      this.#cleanup.push(name, () => part.stop());
    }
    for (const loop of this.#loose) {
      loop.start();
      this.#cleanup.push(loop.name, () => loop.stop());
    }
    return address;
  }

  /** Refuses new sessions and tells /health, lets calls under way finish, ends what is left. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const { config, log } = this.#parts;
    this.#draining = true;
    const graceMs = config.drainSeconds * 1000;
    await Promise.all([this.sessions.drain(graceMs), this.jobs.drain(graceMs)]);
    for (const failure of await this.#cleanup.run()) log.error({ failure }, 'a part did not stop cleanly');
    await this.http.close(closeMs);
  }

  #mount(): Http {
    const { config, store, clock, log, adminKey } = this.#parts;
    const { keys, logins, regions, fleet, sessions, connects, drive, view, recordings, jobs, selfHeal, fetches } = this.#doors;
    const { tokens, pages } = view;
    const isDraining = (): boolean => this.#draining;
    const http = createHttp({
      guards: {
        none: () => nobody,
        bearer: keys.authenticate,
        admin: adminGuard(adminKey),
        connect: connects.authenticate,
        view: tokens.authenticateView,
        vnc: tokens.authenticateVnc,
        recording: tokens.authenticateRecording,
        login: logins.authenticate,
        metrics: metricsGuard({ metricsToken: config.metricsToken, adminKey }),
      },
      errorPage: pages.errorPage,
      answered: this.#metrics.answered,
      log,
      store,
      clock,
      publicUrl: config.publicUrl,
      trustedProxies: config.trustedProxies,
      limits: defaultLimits,
      isDraining,
      authFailuresPerMinute: config.authFailuresPerMinute,
      adminRequestsPerMinute,
    });
    mountSessions(http, sessions);
    mountConnect(http, sessions, connects);
    mountDrive(http, drive);
    mountView(http, view);
    mountRecordings(http, recordings, view);
    mountFetch(http, fetches);
    mountJobs(http, jobs);
    mountRegions(http, regions);
    this.#mountAccounts(http);
    mountSessionAdmin(http, sessions);
    mountFleetAdmin(http, fleet);
    mountSelfHealAdmin(http, selfHeal);
    mountMetrics(http, this.#metrics);
    mountOps(http, new Ops({ store, fleet, loops: this.loops, isDraining }));
    mountDocs(http);
    return http;
  }

  #mountAccounts(http: Http): void {
    const { clock } = this.#parts;
    const { audit, devIssuer, keys, metering, credits, billing } = this.#doors;
    mountMetering(http, metering);
    mountCredits(http, credits);
    mountCreditsAdmin(http, credits);
    mountKeys(http, keys, clock);
    mountKeyAdmin(http, keys, clock);
    mountBilling(http, billing);
    mountBillingAdmin(http, billing);
    mountAuditAdmin(http, audit);
    if (devIssuer) mountDevIdp(http, devIssuer);
  }
}

/** Where callers reach the service from outside, when the operator has told it. */
function publicAddress(publicUrl: string | null): { host: string; port: number }[] {
  if (publicUrl === null) return [];
  const { hostname, port, protocol } = new URL(publicUrl);
  return [{ host: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) }];
}
