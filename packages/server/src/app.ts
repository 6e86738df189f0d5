/** The one composition root: builds each folder's door once, in the order of the ladder, mounts the routes, lists the loops. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { Drive } from './drive/drive.ts';
import { mountDrive } from './drive/routes.ts';
import { builtinAdHosts, createEgressGate, loadAdHosts, parseAllowList, type EgressGate } from './egress/egress.ts';
import { Fleet } from './fleet/fleet.ts';
import { mountDocs } from './http/docs.ts';
import { pruneIdempotencyKeys } from './http/idempotency.ts';
import { createHttp, defaultLimits, type Http } from './http/server.ts';
import { mountKeyAdmin } from './keys/admin-routes.ts';
import { Keys } from './keys/keys.ts';
import { Cleanup } from './lib/cleanup.ts';
import type { Clock } from './lib/clock.ts';
import { newId } from './lib/ids.ts';
import type { Log } from './lib/log.ts';
import { Loop } from './lib/loop.ts';
import { readOrMakeSecret } from './lib/secret-file.ts';
import { Ops } from './ops/ops.ts';
import { mountOps } from './ops/routes.ts';
import { Owners, adminGuard, loadTiers } from './owners/owners.ts';
import { loadRegions, type Regions } from './regions/regions.ts';
import { mountRegions } from './regions/routes.ts';
import type { Runtime } from './runtime/runtime.ts';
import { mountSessionAdmin } from './sessions/admin-routes.ts';
import { Connects } from './sessions/connect.ts';
import { mountConnect, mountSessions } from './sessions/routes.ts';
import { Sessions } from './sessions/sessions.ts';
import type { Store } from './store/store.ts';

export interface AppParts {
  config: Config;
  store: Store;
  clock: Clock;
  log: Log;
  adminKey: string;
  /** Made once its worker has an id. */
  runtime: (worker: { workerId: string }) => Promise<Runtime>;
}

const pruneMs = 3_600_000;
/** What is still under way when all sessions are over has little left to wait for. */
const closeMs = 1000;
const adminRequestsPerMinute = 1200;

const nobody = { owner: null, keyId: null, requestsPerMinute: null, scope: 'nobody' };

interface Doors {
  keys: Keys;
  regions: Regions;
  gate: EgressGate;
  fleet: Fleet;
  sessions: Sessions;
  connects: Connects;
  drive: Drive;
}

/** The whole service, built and not yet listening. Throws what is wrong with a file that the configuration names. */
export async function buildApp(parts: AppParts): Promise<App> {
  const own: { host: string; port: number }[] = publicAddress(parts.config.publicUrl);
  const doors = await buildDoors(parts, () => own);
  return new App(parts, doors, own);
}

async function buildDoors({ config, store, clock, log, runtime: makeRuntime }: AppParts, ownAddresses: () => { host: string; port: number }[]): Promise<Doors> {
  const { dataDir, region, tabLimit } = config;
  const workerId = readOrMakeSecret(join(dataDir, 'worker-id'), () => newId('wrk')).secret;
  const secret = Buffer.from(readOrMakeSecret(join(dataDir, 'token-key'), () => randomBytes(32).toString('hex')).secret, 'hex');

  const owners = new Owners(store, loadTiers(config.tiersFile));
  const keys = new Keys(store, owners, clock);
  const regions = loadRegions({ file: config.regionsFile, defaultCode: region });
  const adHosts = new Set([...builtinAdHosts, ...(config.adHostsFile ? loadAdHosts(config.adHostsFile) : [])]);
  const gate = createEgressGate({ allow: parseAllowList(config.egressAllow), log, clock, ownAddresses, adHosts });
  const runtime = await makeRuntime({ workerId });
  const fleet = new Fleet({ store, runtime, gate, clock, log, workerId, region, poolTarget: config.poolTarget });
  const limits = { tabLimit, sessionsMax: config.maxSessions, retentionHours: config.sessionRetentionHours };
  const sessions = new Sessions({ store, owners, fleet, regions, clock, log, workerId, ...limits });
  return { keys, regions, gate, fleet, sessions, connects: new Connects({ sessions, keys, clock, secret }), drive: new Drive(sessions, clock) };
}

export class App {
  readonly http: Http;
  readonly keys: Keys;
  readonly sessions: Sessions;
  readonly fleet: Fleet;
  readonly loops: readonly Loop[];
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
    const { keys, fleet, sessions, connects } = doors;
    const { store, clock, log } = parts;
    this.#parts = parts;
    this.#doors = doors;
    this.#own = own;
    this.keys = keys;
    this.sessions = sessions;
    this.fleet = fleet;
    const pruning = new Loop('idempotency-pruning', pruneMs, async () => void (await pruneIdempotencyKeys(store, clock)));
    this.#loose = [keys.usageLoop, connects.revocations, pruning];
    this.loops = [fleet.heartbeat, fleet.pings, fleet.reaper, fleet.refill, sessions.timers, sessions.recovery, sessions.retention, ...this.#loose];
    for (const loop of this.loops) loop.onError((error) => log.warn({ error, loop: loop.name }, 'a turn of a loop failed'));
    this.http = this.#mount();
    this.#cleanup.push('gate', () => doors.gate.close());
  }

  /** Starts the loops and takes calls. Resolves with the address. */
  async listen(): Promise<string> {
    const { config } = this.#parts;
    const { fleet, sessions } = this.#doors;
    const { host, port } = await this.http.listen(config.host, config.port);
    this.#own.push({ host, port });
    const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
    fleet.announce(config.publicUrl ?? address);
    fleet.start();
    this.#cleanup.push('fleet', () => fleet.stop());
    sessions.start();
    this.#cleanup.push('sessions', () => sessions.stop());
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
    await this.sessions.drain(config.drainSeconds * 1000);
    for (const failure of await this.#cleanup.run()) log.error({ failure }, 'a part did not stop cleanly');
    await this.http.close(closeMs);
  }

  #mount(): Http {
    const { config, store, clock, log, adminKey } = this.#parts;
    const { keys, regions, fleet, sessions, connects, drive } = this.#doors;
    const isDraining = (): boolean => this.#draining;
    const http = createHttp({
      guards: { none: () => nobody, bearer: keys.authenticate, admin: adminGuard(adminKey), connect: connects.authenticate },
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
    mountRegions(http, regions);
    mountKeyAdmin(http, keys, clock);
    mountSessionAdmin(http, sessions);
    mountOps(http, new Ops({ store, fleet, loops: this.loops, isDraining }));
    mountDocs(http);
    return http;
  }
}

/** Where callers reach the service from outside, when the operator has told it. */
function publicAddress(publicUrl: string | null): { host: string; port: number }[] {
  if (publicUrl === null) return [];
  const { hostname, port, protocol } = new URL(publicUrl);
  return [{ host: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) }];
}
