/** The composition root: builds the services, mounts the routes and runs the loops. */
import { setTimeout as sleep } from 'node:timers/promises';
import { apiVersion } from '@berth/contract';
import { type Accounts } from './accounts.ts';
import type { Config } from '../config.ts';
import { readWorkerId } from './data-dir.ts';
import type { Disk } from '../disk/disk.ts';
import { authorityOf } from '@berth/egress';
import type { Fetches } from '../work/fetch/fetch.ts';
import type { Jobs } from '../work/jobs/jobs.ts';
import { recordNavigations } from '../work/selfheal/navigations.ts';
import type { SelfHeal } from '../work/selfheal/selfheal.ts';
import { DuplicateWorkerError, type Fleet } from '../fleet/pool/pool.ts';
import type { Placement } from '../fleet/placement/placement.ts';
import type { Rates } from '../rates/rates.ts';
import { pruneIdempotencyKeys } from '../http/limits/idempotency.ts';
import { BoundPort } from '../http/server/port.ts';
import { type Http } from '../http/server/server.ts';
import { Cleanup } from '@berth/lib/cleanup.ts';
import { DatabaseClock } from '@berth/lib/clock.ts';
import { Loop } from '@berth/lib/loop.ts';
import { Metrics } from '../ops/metrics.ts';
import { StallWatch } from '../ops/stall-watch.ts';
import type { Sessions } from '../sessions/sessions/sessions.ts';
import type { Skills } from '../work/skills/skills.ts';
import { readDatabaseTime } from '../store/store.ts';
import { mountRoutes } from './mount.ts';
import { buildServices, type AppDeps, type AppServices } from './services.ts';

export type { AppDeps } from './services.ts';

const pruneMs = 3_600_000;
/** Requests that outlive all sessions are not worth a longer wait. */
const closeGraceMs = 1000;
/** A proxy that asks for /health every second and believes the second failure needs two. */
const handOverMs = 3000;
const handOverPollMs = 50;
const peersMsMax = 1000;

/** Builds the whole service; it does not listen yet. @throws Error for an invalid file named in the configuration */
export async function buildApp(given: AppDeps): Promise<App> {
  // Several hosts store times in one database.
  const deps = given.config.databaseUrl === null ? given : { ...given, clock: await clockOf(given) };
  const own: { host: string; port: number }[] = publicAddress(deps.config.publicUrl);
  const services = await buildServices(deps, () => own);
  const app = new App(deps, services, own);
  const stopTracing = await startTracing(deps.config);
  if (stopTracing) app.onStopped(stopTracing);
  return app;
}

/** Returns a clock that is set before anything reads it: times of one start, too, are compared with stored ones. */
async function clockOf({ store, clock: own }: AppDeps): Promise<DatabaseClock> {
  const clock = new DatabaseClock(own);
  const askedMs = own.monotonicMs();
  clock.set(await readDatabaseTime(store), { askedMs, answeredMs: own.monotonicMs() });
  return clock;
}

/** OpenTelemetry is imported only where traces are sent. */
async function startTracing({
  otelExporterOtlpEndpoint: endpoint,
  otelExporterOtlpHeaders: headers,
  otelServiceName: serviceName,
  otelTracesSamplerArg: share,
  dataDir,
}: Config): Promise<(() => Promise<void>) | null> {
  if (endpoint === null) return null;
  const tracing = await import('../ops/tracing.ts');
  return tracing.startTracing({ endpoint, headers, serviceName, share, version: apiVersion, workerId: readWorkerId(dataDir) });
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
  readonly placement: Placement;
  /** null: this worker passes no requests to others. */
  readonly forwarding: AppServices['forwarding'];
  readonly rates: Rates;
  readonly disk: Disk;
  readonly jobs: Jobs;
  readonly selfHeal: SelfHeal;
  readonly fetches: Fetches;
  readonly skills: Skills;
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
  #afterStop: () => Promise<void> = () => Promise.resolve();
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
    this.placement = services.placement;
    this.forwarding = services.forwarding;
    this.rates = services.rates;
    this.disk = services.disk;
    this.jobs = jobs;
    this.selfHeal = selfHeal;
    this.fetches = fetches;
    this.skills = services.skills;
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
      ...(services.forwarding?.loops ?? []),
      ...(services.objects ? [services.objects.maintenance] : []),
      services.rates.exchange,
      services.placement.reservations,
      ...(deps.tls ? [deps.tls.watch] : []),
    ];
    const machines = [
      fleet.heartbeat,
      fleet.sharing,
      fleet.pings,
      fleet.reaper,
      fleet.refill,
      sessions.timers,
      sessions.recovery,
      sessions.retention,
    ];
    this.loops = [
      ...machines,
      ...recordings.loops,
      ...selfHeal.loops,
      ...jobs.loops,
      fetches.purging,
      services.skills.pruning,
      metering.flushing,
      metering.exchange,
      ...this.#standaloneLoops,
    ];
    for (const loop of this.loops) loop.onError((err) => log.warn({ err, loop: loop.name }, 'loop iteration failed'));
    this.#stalls = new StallWatch({ log });
    const observed = {
      gate: services.gate,
      disk: services.disk,
      fleet,
      sessions,
      jobs,
      loops: this.loops,
      stalls: this.#stalls,
      flows: services.flows,
      skills: services.skills,
      inspections: services.inspections,
      objects: services.objects,
      recordings,
      timed: { store, fleet, sessions, jobs, fetches },
    };
    this.#metrics = new Metrics({
      version: apiVersion,
      registryVersion: services.regions.version,
      credits,
      metering,
      billing,
      ...observed,
    });
    fleet.lease.onTaken(() => this.#onLeaseTaken());
    fleet.lease.onFenced(() => jobs.abandon());
    for (const line of billing.warnings()) log.warn({}, line);
    this.http = mountRoutes({
      deps,
      services,
      loops: this.loops,
      metrics: this.#metrics,
      stalls: this.#stalls,
      isDraining: () => this.#draining,
    });
    this.#cleanup.push('runtime', () => fleet.deps.runtime.close());
    this.#cleanup.push('gate', () => services.gate.close());
    this.#cleanup.push('objects', async () => services.objects?.close());
    this.#cleanup.push('content', () => services.content.close());
    this.#cleanup.push('inspections', () => services.inspections.close());
    this.#cleanup.push('credits', () => credits.stop());
  }

  /** Starts the loops and listens. Resolves with the local URL. */
  async listen(): Promise<string> {
    const { config } = this.#deps;
    const { metering, fleet, recordings, sessions, selfHeal, skills, fetches, jobs } = this.#services;
    const bound = this.#deps.port ?? (await BoundPort.open(config));
    const { host, port } = bound;
    const isJoined = await this.#join().catch((error: unknown) => {
      if (bound !== this.#deps.port) bound.close();
      throw error;
    });
    await this.#reportLostWork();
    const address = `${this.#deps.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
    // A client that is answered may go on at another worker, which must find this one.
    fleet.announce(config.publicUrl ?? address, await this.#listenToWorkers());
    if (isJoined) await fleet.lease.heartbeat.idle();
    await this.http.listen(bound);
    this.#own.push({ host, port });
    this.#stalls.start();
    this.#cleanup.push('stall watch', () => this.#stalls.stop());
    // Stopped in reverse order: jobs before their sessions, sessions before recordings, and all before the machines.
    for (const [name, service] of Object.entries({ metering, fleet, recordings, sessions, selfHeal, skills, fetches, jobs })) {
      service.start();
      this.#cleanup.push(name, () => service.stop());
    }
    for (const loop of this.#standaloneLoops) {
      loop.start();
      this.#cleanup.push(loop.name, () => loop.stop());
    }
    return address;
  }

  /** Resolves with the address for other workers; null where this worker is alone. */
  async #listenToWorkers(): Promise<string | null> {
    const { forwarding } = this.#services;
    return forwarding && forwarding.listen(this.http);
  }

  /** Joins before the first answer, so that no two processes serve as one worker. False without a database: the heartbeat tries again. */
  async #join(): Promise<boolean> {
    try {
      await this.fleet.lease.join();
      return true;
    } catch (err) {
      if (err instanceof DuplicateWorkerError) throw err;
      this.#deps.log.warn({ err }, 'worker not registered');
      return false;
    }
  }

  /** The lease of these workers was taken: what they ran is ended, or moved, now. Other workers notice it by their loops. */
  #onLeaseTaken(): void {
    for (const loop of [this.sessions.recovery, this.jobs.recovery, this.#services.recordings.recovery, this.credits.voiding]) loop.nudge();
  }

  /** What this worker ran before it was killed is over before the first answer. A failure is logged, and the loops try again. */
  async #reportLostWork(): Promise<void> {
    const loops = [this.sessions.recovery, this.jobs.recovery, this.#services.recordings.recovery];
    for (const loop of loops) loop.nudge();
    await Promise.all(loops.map((loop) => loop.idle()));
  }

  /** Refuses new sessions, reports draining on /health, lets running calls finish and ends the rest. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Called when the service has stopped, and nothing else happens. */
  onStopped(listener: () => Promise<void>): void {
    this.#afterStop = listener;
  }

  /**
   * A worker with peers goes on answering until their proxy has seen its /health fail, and sessions have all of the grace
   * period: their clients know by now, and what is new runs elsewhere.
   */
  async #handOver(graceMs: number): Promise<void> {
    const { clock } = this.#deps;
    const since = clock.monotonicMs();
    const elapsedMs = (): number => clock.monotonicMs() - since;
    if (!(await this.#hasPeers())) return;
    const isOver = (): boolean => elapsedMs() >= graceMs || (elapsedMs() >= handOverMs && this.sessions.live.size === 0);
    while (!isOver()) await sleep(handOverPollMs);
  }

  /** False where the database does not say. */
  async #hasPeers(): Promise<boolean> {
    const summary = this.fleet.summary().catch(() => null);
    const { workers = [], workerId } = (await Promise.race([summary, sleep(peersMsMax, null, { ref: false })])) ?? {};
    return workers.some((worker) => worker.isAlive && worker.workerId !== workerId);
  }

  async #stop(): Promise<void> {
    const { config, log } = this.#deps;
    this.#draining = true;
    this.fleet.announceStop();
    const graceMs = config.drainSeconds * 1000;
    await Promise.all([this.sessions.drain(graceMs), this.jobs.drain(graceMs), this.#handOver(graceMs)]);
    for (const err of await this.#cleanup.run()) log.error({ err }, 'service stop failed');
    await this.http.close(closeGraceMs);
    await this.#services.forwarding?.close();
    await this.#afterStop();
  }
}

/** The configured public address; empty without one. */
function publicAddress(publicUrl: string | null): { host: string; port: number }[] {
  const site = publicUrl === null ? null : authorityOf(publicUrl);
  return site ? [site] : [];
}
