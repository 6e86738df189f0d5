/** Builds each service once, the lowest layer first. */
import { resolve } from 'node:path';
import { apiVersion, strategyNames, type CaptchaProviderName, type StrategyName } from '@berth/contract';
import { buildAccounts, type Accounts } from './accounts.ts';
import type { Config } from '../config.ts';
import { readWorkerId } from './data-dir.ts';
import { Content } from '@berth/reading';
import { assertIsolated, isLoopbackOnly } from './settings/exposure.ts';
import type { Disk } from '../disk/disk.ts';
import { Drive } from '../sessions/drive/drive.ts';
import { Captchas } from '../sessions/captcha/captcha.ts';
import { SharedMachines } from '../work/engine/engine.ts';
import { Fetches } from '../work/fetch/fetch.ts';
import { Flows } from '../work/flows/flows.ts';
import { Inspections, ReportLinks } from '../work/inspect/inspect.ts';
import { Jobs, LargeResults, offersChannel } from '../work/jobs/jobs.ts';
import { SelfHeal } from '../work/selfheal/selfheal.ts';
import { createEgressGate, parseAllowList, parseDnsServers, type EgressGate, loadRegions, type Regions } from '@berth/egress';
import { findLostClaims } from '../http/limits/idempotency.ts';
import { Fleet, type FleetDeps } from '../fleet/pool/pool.ts';
import { Forwarding } from '../fleet/forwarding/forwarding.ts';
import { Placement, Workers } from '../fleet/placement/placement.ts';
import type { TlsFiles } from '../http/server/tls.ts';
import type { BoundPort } from '../http/server/port.ts';
import { DatabaseClock, type Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { openObjects, type Objects } from '../objects/objects.ts';
import { loadPrices, type Prices } from '../ops/prices.ts';
import { Recordings } from '../watch/recordings/recordings.ts';
import { Profiles } from '../sessions/profiles/profiles.ts';
import { Rates } from '../rates/rates.ts';
import type { HostReader, Runtime, VideoEncoders } from '@berth/machines';
import { CdpConnections } from '../sessions/sessions/connect/cdp-connections.ts';
import { Tunnels } from '../sessions/sessions/connect/tunnels.ts';
import { Sessions } from '../sessions/sessions/sessions.ts';
import { Skills } from '../work/skills/skills.ts';
import { readProfileKey, readTokenKey } from './settings/sealing-keys.ts';
import { dataFolderKey, Listener, type Store } from '../store/store.ts';
import { openDisk } from './open-disk.ts';
import { adHostsOf, captchaConfig, forwardingConfig, llmConfig, storageOptions } from './settings/setting-rules.ts';
import { Pages, View } from '../watch/view/view.ts';

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
  /** The certificate of the port; absent: plain HTTP. */
  tls?: TlsFiles | undefined;
}

/** Set-up builds the pages here. */
const pagesPath = resolve(import.meta.dirname, '../../../web/dist');
const megabyte = 1024 ** 2;

/** Each thread holds one page and its extracts in memory. One owner has two at most. */
const contentThreadsMax = 3;
/** Sent by fetches that use no browser. */
const userAgent = `Mozilla/5.0 (compatible; Berth/${apiVersion})`;

export interface AppServices extends Accounts {
  rates: Rates;
  disk: Disk;
  /** null: files stay on this worker. */
  objects: Objects | null;
  regions: Regions;
  gate: EgressGate;
  fleet: Fleet;
  placement: Placement;
  /** null: this worker passes no requests to others. */
  forwarding: Forwarding | null;
  workers: Workers;
  profiles: Profiles;
  sessions: Sessions;
  connects: CdpConnections;
  tunnels: Tunnels;
  content: Content;
  drive: Drive;
  view: View;
  recordings: Recordings;
  jobs: Jobs;
  selfHeal: SelfHeal;
  fetches: Fetches;
  skills: Skills;
  flows: Flows;
  inspections: Inspections;
  reportLinks: ReportLinks;
  prices: Prices;
}

/** Builds all services, the lowest layer first. @throws Error for an invalid file named in the configuration */
export async function buildServices(
  { config, store, clock, log, encoders, runtime: makeRuntime, hostReader }: AppDeps,
  ownAddresses: () => { host: string; port: number }[],
): Promise<AppServices> {
  const { dataDir, region } = config;
  const workerId = readWorkerId(dataDir);
  const secret = await readTokenKey({ ...config, store });

  const silentWorkers = (): Promise<string[]> => fleet.silentWorkers();
  const peers = { hasPeers: () => fleet.lastHeartbeat.hasPeers };
  const rates = new Rates({ store, workerId, ...peers });
  const accounts = buildAccounts({ config, store, clock, log, workerId, rates, ...peers });
  const { owners, keys, connectTokens: tokens, metering, audit } = accounts;
  const regions = loadRegions({ file: config.regionsFile, defaultCode: region });
  const adHosts = adHostsOf(config);
  const gate = createEgressGate({
    allowList: parseAllowList(config.egressAllow),
    dnsServers: parseDnsServers(config.dnsServers),
    log,
    clock,
    ownAddresses,
    adHosts,
  });
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
    registryVersion: regions.version,
    sessionsMax: config.maxSessions,
    poolTarget: config.poolTarget,
    memoryFreeBytesMin,
    hostReader,
    lease: leaseSettings(config, store, clock),
  });
  const captchas = new Captchas({ config: captchaConfig(config), clock, log });
  const captchaProviders = captchas.configured;
  const disk = openDisk(config, log);
  const place = storageOptions(config);
  const objects = place && (await openObjects(place, { store, clock, log }));
  const profiles = new Profiles({ store, owners, audit, clock, secret: await readProfileKey({ ...config, store }) });
  const tabLimits = { headless: config.tabsMax, full_browser: config.tabsFullBrowserMax };
  const limits = { tabLimits, captchaProviders, sessionsMax: config.maxSessions, retentionHours: config.sessionRetentionHours };
  const findLost = () => findLostClaims(store, fleet.lease.claimant);
  const sessions = new Sessions({
    ...{ rates, store, owners, audit, metering, fleet, disk, profiles, regions, clock, log, workerId, ...limits },
    findLostClaims: findLost,
  });
  const placement = new Placement({
    store,
    clock,
    log,
    fleet,
    workerId,
    region,
    isRegion: (code) => regions.resolve(code) !== null,
    pinOf: (owner) => owners.pinOf(owner),
    sessionsByWorker: (owner) => sessions.byWorker(owner),
  });
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
    objects,
    limits: recordingLimits,
  });
  const recordingOf = (owner: string, sessionId: string): Promise<string | null> => recordings.recordingOf(owner, sessionId);
  const pages = new Pages(pagesPath);
  const hasPeers = config.databaseUrl !== null;
  const view = new View({ keys, owners, sessions, store, clock, secret, recordingOf, drive, pages, log, hasPeers });
  const { jobsRunningMax: runningMax, jobsQueuedMax: queuedMax, fetchPagesMax: pagesMax, fetchMachinesMax: machinesMax } = config;
  const databaseUrl = config.databaseUrl && (config.databaseDirectUrl ?? config.databaseUrl);
  const jobFleet = databaseUrl === null ? null : { listener: new Listener({ databaseUrl, channel: offersChannel, log }), secret };
  const largeResults = objects && new LargeResults({ objects, clock, log });
  const takesWork = (): boolean => fleet.lastHeartbeat.state === 'active';
  const weightOf = (owner: string): number => owners.getCachedPlan(owner)?.tier.job_weight ?? 1;
  const isPinned = async (owner: string): Promise<boolean> => (await owners.pinOf(owner)) !== null;
  const jobDeps = { store, disk, clock, log, workerId, silentWorkers, takesWork, weightOf, isPinned };
  const jobs = new Jobs({ ...jobDeps, runningMax, queuedMax, fleet: jobFleet, largeResults });
  const selfHeal = new SelfHeal({ store, clock, log, secret, enabled: strategiesFor(captchaProviders) });
  const machines = new SharedMachines({ sessions, clock, log, pagesMax, machinesMax });
  const work = { owners, metering, regions, sessions, machines, gate, jobs, selfHeal, content, captchas, clock, log };
  const fetches = new Fetches({ ...work, runtime, allowEvaluate, userAgent });
  const skills = new Skills({ store, clock, log });
  const inspections = new Inspections({ ...work, allowEvaluate, userAgent });
  const flows = new Flows({ ...work, skills, inspections, llm: llmConfig(config), allowEvaluate, robots: fetches.robots, userAgent });
  return {
    ...accounts,
    rates,
    disk,
    objects,
    regions,
    gate,
    fleet,
    placement,
    forwarding: buildForwarding({ store, clock, log, workerId, secret, config }, { fleet, placement, sessions, recordings }),
    workers: new Workers({ store, audit, fleet, workerId }),
    profiles,
    sessions,
    connects: new CdpConnections({ sessions, keys, owners, tokens, clock, secret, log, isLoopbackOnly: isLoopbackOnly(config) }),
    tunnels: new Tunnels({ sessions, audit, store }),
    content,
    drive,
    view,
    recordings,
    jobs,
    selfHeal,
    fetches,
    skills,
    flows,
    inspections,
    reportLinks: new ReportLinks({ keys, owners, clock, secret }),
    prices: loadPrices(config.pricesFile, owners.tiers.names),
  };
}

function buildForwarding(
  { config, ...common }: Pick<AppDeps, 'config' | 'store' | 'clock' | 'log'> & { workerId: string; secret: Buffer },
  { fleet, placement, sessions, recordings }: Pick<AppServices, 'fleet' | 'placement' | 'sessions' | 'recordings'>,
): Forwarding | null {
  const listener = forwardingConfig(config);
  if (!listener) return null;
  const forwarding = new Forwarding({
    ...common,
    config: listener,
    readPeers: () => fleet.peers(),
    sessions: {
      isLocal: (sessionId) => sessions.live.has(sessionId),
      locationOf: (sessionId) => sessions.locationOf(sessionId),
      idOf: (owner, name) => sessions.idOf(owner, name),
      idOfAddress: (principal, query) => sessions.idOfAddress(principal, query),
      hasAddress: (principal, query) => sessions.hasAddress(principal, query),
    },
    recordingLocationOf: (sessionId) => recordings.locationOf(sessionId),
    candidates: (work) => placement.candidates(work),
    viewAgeMs: () => fleet.lease.viewAgeMs,
  });
  fleet.lease.askBy((signal) => forwarding.viewAges(signal));
  return forwarding;
}

const leaseSecondsByDefault = 8;
/** An embedded database has one worker, which nobody waits for. */
const embeddedLeaseSeconds = 40;

function leaseSettings({ databaseUrl, dataDir, leaseSeconds }: Config, store: Store, clock: Clock): FleetDeps['lease'] {
  const isShared = databaseUrl !== null;
  return {
    ms: (leaseSeconds ?? (isShared ? leaseSecondsByDefault : embeddedLeaseSeconds)) * 1000,
    dataFolder: isShared ? dataFolderKey(dataDir) : null,
    store: store.urgent,
    onDatabaseTime: clock instanceof DatabaseClock ? (now, times) => clock.set(now, times) : undefined,
  };
}

/** Strategies without those whose captcha provider is not configured. */
const strategiesFor = (providers: readonly CaptchaProviderName[]): StrategyName[] =>
  strategyNames.filter((name) =>
    name === 'captcha_provider' ? providers.includes('http') : name !== 'human' || providers.includes('human'),
  );
