/** The composition root: builds each service once, lowest layer first, mounts the routes and lists the loops. */
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
import { assertIsolated, isLoopbackOnly } from './exposure.ts';
import type { Disk } from './disk/disk.ts';
import { mountDocs } from './docs/docs.ts';
import { Drive } from './drive/drive.ts';
import { mountDrive } from './drive/routes.ts';
import { Captchas, type CaptchaConfig } from './captcha/captcha.ts';
import { Fetches } from './fetch/fetch.ts';
import { mountFetch } from './fetch/routes.ts';
import { Jobs } from './jobs/jobs.ts';
import { mountJobs } from './jobs/routes.ts';
import { mountSelfHealAdmin } from './selfheal/admin-routes.ts';
import { recordNavigations } from './selfheal/navigations.ts';
import { SelfHeal } from './selfheal/selfheal.ts';
import { builtinAdHosts, createEgressGate, loadAdHosts, parseAllowList, type EgressGate } from './egress/egress.ts';
import { mountFleetAdmin } from './fleet/admin-routes.ts';
import { Fleet } from './fleet/fleet.ts';
import { pruneIdempotencyKeys } from './http/idempotency.ts';
import { BoundPort } from './http/port.ts';
import { createHttp, defaultLimits, type Http } from './http/server.ts';
import { mountKeyAdmin } from './keys/admin-routes.ts';
import { mountConnectTokens, mountKeys } from './keys/routes.ts';
import { Cleanup } from './lib/cleanup.ts';
import type { Clock } from './lib/clock.ts';
import { newId } from './lib/ids.ts';
import type { Log } from './lib/log.ts';
import { Loop } from './lib/loop.ts';
import { readOrCreateSecret } from './lib/secret-file.ts';
import { mountDevIdp } from './login/login.ts';
import { mountMeteringAdmin } from './metering/admin-routes.ts';
import { mountMetering } from './metering/routes.ts';
import { Metrics } from './ops/metrics.ts';
import { Ops } from './ops/ops.ts';
import { mountMetrics, mountOps } from './ops/routes.ts';
import { StallWatch } from './ops/stall-watch.ts';
import { adminGuard, metricsGuard } from './owners/owners.ts';
import { mountRecordings } from './recordings/routes.ts';
import { Recordings } from './recordings/recordings.ts';
import { loadRegions, type Regions } from './regions/regions.ts';
import { mountRegions } from './regions/routes.ts';
import type { HostReader, Runtime, VideoEncoders } from './runtime/runtime.ts';
import { CdpConnections } from './sessions/cdp-connections.ts';
import { ConnectAddress } from './sessions/connect-address.ts';
import { mountConnect, mountConnectAddress, mountSessionAdmin, mountSessions } from './sessions/routes.ts';
import { Sessions } from './sessions/sessions.ts';
import type { Store } from './store/store.ts';
import { mountView } from './view/routes.ts';
import { openDisk } from './open-disk.ts';
import { Pages, View } from './view/view.ts';

/** The id of the worker with this data directory, which outlives its process. */
export const readWorkerId = (dataDir: string): string => readOrCreateSecret(join(dataDir, 'worker-id'), () => newId('wrk')).secret;

export interface AppDeps {
  config: Config;
  store: Store;
  clock: Clock;
  log: Log;
  adminKey: string;
  /** Called once the worker has an id. */
  runtime: (worker: { workerId: string }) => Promise<Runtime>;
  /** null: recordings hold single frames. */
  encoders: VideoEncoders | null;
  /** Reads the host's free resources; absent: from the kernel. */
  hostReader?: HostReader;
  /** Absent: `listen` binds the configured one. */
  port?: BoundPort;
}

/** Set-up builds the pages here. */
const pagesPath = resolve(import.meta.dirname, '../../web/dist');
const megabyte = 1024 ** 2;

const pruneMs = 3_600_000;
/** Requests that outlive all sessions are not worth a longer wait. */
const closeGraceMs = 1000;
/** Each thread holds one page and its extracts in memory. One owner has two at most. */
const contentThreadsMax = 3;
const adminRequestsPerMinuteMax = 1200;
/** Sent by fetches that use no browser. */
const userAgent = `Mozilla/5.0 (compatible; Berth/${apiVersion})`;

const nobody = { owner: null, keyId: null, requestsPerMinute: null, scope: 'nobody' };

interface AppServices extends Accounts {
  disk: Disk;
  regions: Regions;
  gate: EgressGate;
  fleet: Fleet;
  sessions: Sessions;
  connects: CdpConnections;
  content: Content;
  drive: Drive;
  view: View;
  recordings: Recordings;
  jobs: Jobs;
  selfHeal: SelfHeal;
  fetches: Fetches;
}

/** Builds the whole service; it does not listen yet. @throws Error for an invalid file named in the configuration */
export async function buildApp(deps: AppDeps): Promise<App> {
  const own: { host: string; port: number }[] = publicAddress(deps.config.publicUrl);
  const services = await buildServices(deps, () => own);
  return new App(deps, services, own);
}

async function buildServices(
  { config, store, clock, log, encoders, runtime: makeRuntime, hostReader }: AppDeps,
  ownAddresses: () => { host: string; port: number }[],
): Promise<AppServices> {
  const { dataDir, region } = config;
  const workerId = readWorkerId(dataDir);
  const secret = Buffer.from(readOrCreateSecret(join(dataDir, 'token-key'), () => randomBytes(32).toString('hex')).secret, 'hex');

  const silentWorkers = (): Promise<string[]> => fleet.silentWorkers();
  const accounts = buildAccounts({ config, store, clock, log, workerId, silentWorkers });
  const { owners, keys, connectTokens: tokens, metering, audit } = accounts;
  const regions = loadRegions({ file: config.regionsFile, defaultCode: region });
  const adHosts = new Set([...builtinAdHosts, ...(config.adHostsFile ? loadAdHosts(config.adHostsFile) : [])]);
  const gate = createEgressGate({ allowList: parseAllowList(config.egressAllow), log, clock, ownAddresses, adHosts });
  const runtime = await makeRuntime({ workerId });
  assertIsolated(config, runtime);
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
  const disk = openDisk(config, log);
  const tabLimits = { headless: config.tabsMax, full_browser: config.tabsFullBrowserMax };
  const limits = { tabLimits, captchaProviders, sessionsMax: config.maxSessions, retentionHours: config.sessionRetentionHours };
  const sessions = new Sessions({ store, owners, audit, metering, fleet, disk, regions, clock, log, workerId, ...limits });
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
    disk,
    limits: recordingLimits,
  });
  const recordingOf = (owner: string, sessionId: string): Promise<string | null> => recordings.recordingOf(owner, sessionId);
  const view = new View({ keys, sessions, store, clock, secret, recordingOf, drive, pages: new Pages(pagesPath), log });
  const { jobsRunningMax: runningMax, jobsQueuedMax: queuedMax, fetchPagesMax: pagesMax, fetchMachinesMax: machinesMax } = config;
  const jobs = new Jobs({ store, disk, clock, log, workerId, silentWorkers, runningMax, queuedMax });
  const selfHeal = new SelfHeal({ store, clock, log, secret, enabled: strategiesFor(captchaProviders) });
  const work = { owners, metering, regions, sessions, gate, jobs, selfHeal, content, captchas, clock, log };
  const fetches = new Fetches({ ...work, allowEvaluate, pagesMax, machinesMax, userAgent });
  return {
    ...accounts,
    disk,
    regions,
    gate,
    fleet,
    sessions,
    connects: new CdpConnections({ sessions, keys, tokens, clock, secret, log, isLoopbackOnly: isLoopbackOnly(config) }),
    content,
    drive,
    view,
    recordings,
    jobs,
    selfHeal,
    fetches,
  };
}

/** Without the strategies whose captcha provider is not configured. */
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
    throw new ConfigError('BERTH_CAPTCHA_HTTP_URL and BERTH_CAPTCHA_HTTP_SECRET require each other. Set both or neither.');
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
  readonly disk: Disk;
  readonly jobs: Jobs;
  readonly selfHeal: SelfHeal;
  readonly fetches: Fetches;
  readonly loops: readonly Loop[];
  readonly #metrics: Metrics;
  readonly #stalls: StallWatch;
  /** Loops that no service starts. */
  readonly #standaloneLoops: readonly Loop[];
  readonly #deps: AppDeps;
  readonly #services: AppServices;
  /** Addresses of this service itself: the egress gate keeps browsers from them. */
  readonly #own: { host: string; port: number }[];
  readonly #cleanup = new Cleanup();
  #draining = false;
  #stopping: Promise<void> | null = null;

  constructor(deps: AppDeps, services: AppServices, own: { host: string; port: number }[]) {
    const { keys, audit, credits, metering, billing, fleet, sessions, connects, drive, view, recordings, jobs, selfHeal, fetches } =
      services;
    const { store, clock, log } = deps;
    this.#deps = deps;
    this.#services = services;
    this.#own = own;
    this.accounts = services;
    this.credits = credits;
    this.metering = metering;
    this.billing = billing;
    this.keys = keys;
    this.sessions = sessions;
    this.fleet = fleet;
    this.disk = services.disk;
    this.jobs = jobs;
    this.selfHeal = selfHeal;
    this.fetches = fetches;
    recordNavigations(drive, selfHeal, metering.costOf({ actions: 1 }));
    const pruning = new Loop('idempotency-pruning', pruneMs, async () => void (await pruneIdempotencyKeys(store, clock)));
    this.#standaloneLoops = [
      audit.pruning,
      ...credits.loops,
      keys.usageLoop,
      billing.pruning,
      connects.revocations,
      ...view.loops,
      pruning,
      services.disk.watch,
    ];
    const machines = [fleet.heartbeat, fleet.pings, fleet.reaper, fleet.refill, sessions.timers, sessions.recovery, sessions.retention];
    this.loops = [
      ...machines,
      ...recordings.loops,
      ...selfHeal.loops,
      ...jobs.loops,
      fetches.purging,
      metering.flushing,
      ...this.#standaloneLoops,
    ];
    for (const loop of this.loops) loop.onError((err) => log.warn({ err, loop: loop.name }, 'loop iteration failed'));
    this.#stalls = new StallWatch({ log });
    const observed = { gate: services.gate, disk: services.disk, fleet, sessions, jobs, loops: this.loops, stalls: this.#stalls };
    this.#metrics = new Metrics({ version: apiVersion, credits, metering, billing, ...observed });
    for (const line of billing.warnings()) log.warn({}, line);
    this.http = this.#mount();
    this.#cleanup.push('runtime', () => fleet.deps.runtime.close());
    this.#cleanup.push('gate', () => services.gate.close());
    this.#cleanup.push('content', () => services.content.close());
    this.#cleanup.push('credits', () => credits.stop());
  }

  /** Starts the loops and listens. Resolves with the local URL. */
  async listen(): Promise<string> {
    const { config } = this.#deps;
    const { metering, fleet, recordings, sessions, selfHeal, fetches, jobs } = this.#services;
    const bound = this.#deps.port ?? (await BoundPort.open(config));
    const { host, port } = bound;
    await this.http.listen(bound);
    this.#own.push({ host, port });
    this.#stalls.start();
    this.#cleanup.push('stall watch', () => this.#stalls.stop());
    const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
    fleet.announce(config.publicUrl ?? address);
    // Stopped in reverse order: jobs before their sessions, sessions before recordings, and all before the machines.
    for (const [name, service] of Object.entries({ metering, fleet, recordings, sessions, selfHeal, fetches, jobs })) {
      service.start();
      this.#cleanup.push(name, () => service.stop());
    }
    for (const loop of this.#standaloneLoops) {
      loop.start();
      this.#cleanup.push(loop.name, () => loop.stop());
    }
    return address;
  }

  /** Refuses new sessions, reports draining on /health, lets running calls finish and ends the rest. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const { config, log } = this.#deps;
    this.#draining = true;
    const graceMs = config.drainSeconds * 1000;
    await Promise.all([this.sessions.drain(graceMs), this.jobs.drain(graceMs)]);
    for (const err of await this.#cleanup.run()) log.error({ err }, 'service stop failed');
    await this.http.close(closeGraceMs);
  }

  #mount(): Http {
    const { config, store, clock, log, adminKey } = this.#deps;
    const { disk, keys, logins, regions, fleet, sessions, connects, drive, view, recordings, jobs, selfHeal, fetches } = this.#services;
    const { tokens, pages } = view;
    const isDraining = (): boolean => this.#draining;
    const http = createHttp({
      guards: {
        none: () => nobody,
        bearer: keys.authenticate,
        admin: adminGuard(adminKey),
        connect: connects.authenticate,
        connectPath: connects.authenticatePath,
        view: tokens.authenticateView,
        vnc: tokens.authenticateVnc,
        recording: tokens.authenticateRecording,
        login: logins.authenticate,
        metrics: metricsGuard({ metricsToken: config.metricsToken, adminKey }),
      },
      errorPage: pages.errorPage,
      sessionIdOf: (owner, name) => sessions.idOf(owner, name),
      onCompleted: this.#metrics.observeRequest,
      log,
      store,
      disk,
      clock,
      publicUrl: config.publicUrl,
      trustedProxies: config.trustedProxies,
      limits: defaultLimits,
      isDraining,
      authFailuresPerMinuteMax: config.authFailuresPerMinuteMax,
      adminRequestsPerMinuteMax,
    });
    mountSessions(http, sessions);
    mountConnect(http, connects);
    mountConnectAddress(http, connects, new ConnectAddress({ sessions, fleet }));
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
    const ops = new Ops({ store, fleet, disk, loops: this.loops, stalls: this.#stalls, isDraining });
    mountOps(http, ops);
    mountDocs(http, { readHealth: () => ops.health(), hasSignIn: this.#services.devIssuer !== null });
    return http;
  }

  #mountAccounts(http: Http): void {
    const { clock } = this.#deps;
    const { audit, devIssuer, keys, connectTokens, owners, metering, credits, billing } = this.#services;
    mountMetering(http, metering);
    mountMeteringAdmin(http, owners, metering);
    mountCredits(http, credits);
    mountCreditsAdmin(http, credits);
    mountKeys(http, keys, clock);
    mountConnectTokens(http, connectTokens, clock);
    mountKeyAdmin(http, keys, clock);
    mountBilling(http, billing);
    mountBillingAdmin(http, billing);
    mountAuditAdmin(http, audit);
    if (devIssuer) mountDevIdp(http, devIssuer);
  }
}

/** The configured public address; empty without one. */
function publicAddress(publicUrl: string | null): { host: string; port: number }[] {
  if (publicUrl === null) return [];
  const { hostname, port, protocol } = new URL(publicUrl);
  return [{ host: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) }];
}
