/** Workers of one database as one service: what they have in common, and how requests reach the worker that can answer. */
import type { ClientRequest } from 'node:http';
import type { Duplex } from 'node:stream';
import { json } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import type { ConnectRequest, Endpoint } from '@berth/contract';
import type { Principal } from '../../accounts/principals/principals.ts';
import type { Exchange } from '../../http/server/exchange.ts';
import type { Forwarder, ForwardedResponse, ForwardedSocket, ForwardTarget } from '../../http/forward/forward.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { isId } from '@berth/lib/ids.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Loop } from '@berth/lib/loop.ts';
import type { Store } from '../../store/store.ts';
import { Connections } from './connections.ts';
import { Credentials, type CredentialFiles } from './credentials.ts';
import { Directory, type Peer } from './directory.ts';
import { Identities } from './identity.ts';
import { Listener, viewPath, type Receiver } from './listener.ts';
import { Relay } from './relay.ts';

export { readSecret as readSharedSecret, shareSecret } from './store.ts';
export type { Peer } from './directory.ts';

/** The internal listener. */
export interface ForwardingConfig {
  listen: { host: string; port: number };
  /** `host:port` at which others reach it; null: what it listens on. */
  address: string | null;
  /** null: the fleet's own authority. */
  files: CredentialFiles | null;
}

/** Whose session it is, and who runs it. */
export interface SessionLocation {
  owner: string;
  workerId: string;
  /** Such a session is read from its row, by any worker. */
  isOver: boolean;
}

/** New work, for which a worker is to be found. */
export interface NewWork {
  /** `fetch`: work in a machine that the owner's fetches share. */
  work: 'session' | 'fetch';
  owner: string;
  kind: string;
  /** Undefined: that of the worker that is asked. */
  region: string | undefined;
}

export interface ForwardingDeps {
  config: ForwardingConfig;
  store: Store;
  clock: Clock;
  log: Log;
  workerId: string;
  /** Common to the fleet. */
  secret: Buffer;
  /** The other workers that have an internal listener. */
  readPeers(): Promise<Peer[]>;
  sessions: {
    /** Whether this worker runs the session. */
    isLocal(sessionId: string): boolean;
    locationOf(sessionId: string): Promise<SessionLocation | undefined>;
    idOf(owner: string, name: string): Promise<string | undefined>;
    /** The live session of an address that finds its browser again. */
    idOfAddress(principal: Principal, query: ConnectRequest): Promise<string | undefined>;
    /** Whether it is such an address. */
    hasAddress(principal: Principal, query: ConnectRequest): boolean;
  };
  /** How long this worker has had the fleet in view without a gap. */
  viewAgeMs(): number;
  /** Which worker has the files of a session's recordings. */
  recordingLocationOf(sessionId: string): Promise<Omit<SessionLocation, 'isOver'> | undefined>;
  /** The workers that may take new work, best first. `isPinned`: nobody else may. @throws ServiceError as `Placement.candidates` */
  candidates(work: NewWork): Promise<{ workerIds: readonly string[]; isPinned: boolean }>;
}

/** A larger fleet asks nobody while the database is away: each would be asked by all. */
const viewsMax = 64;
/** Sessions of other workers, whose worker never changes. */
const locationsMax = 50_000;
/** Recordings outlive their sessions, and their files are where they were made. */
const ofRecordings = new Set(['listRecordings', 'readRecordingAsset']);
/** They list what each worker alone knows. */
const ofAllWorkers = new Set(['discoverTargets', 'discoverTargetsByPath']);
/** They find a machine, unless their body names a session. */
const newSessions = new Set(['createSession', 'openConnect']);
const newWork = new Set([...newSessions, 'fetchPage', 'inspect', 'runAgent', 'runTemplate']);

export class Forwarding implements Forwarder {
  readonly workerId: string;
  readonly loops: readonly Loop[];
  readonly #deps: ForwardingDeps;
  readonly #credentials: Credentials;
  readonly #directory: Directory;
  readonly #connections: Connections;
  readonly #listener: Listener;
  readonly #relay: Relay;
  readonly #locations = new LRUCache<string, SessionLocation>({ max: locationsMax });

  constructor(deps: ForwardingDeps) {
    const { store, clock, log, workerId, secret, config, readPeers } = deps;
    const viewAgeMs = (): number => deps.viewAgeMs();
    this.#deps = deps;
    this.workerId = workerId;
    const identities = new Identities(secret);
    this.#credentials = new Credentials({ store, clock, workerId, files: config.files });
    this.#directory = new Directory({ readPeers });
    this.#connections = new Connections({ credentials: this.#credentials, directory: this.#directory, log });
    this.#listener = new Listener({ workerId, credentials: this.#credentials, identities, clock, log, viewAgeMs });
    this.#relay = new Relay({ workerId, connections: this.#connections, identities, clock });
    this.loops = [this.#directory.watch, this.#credentials.renewal];
  }

  /** Opens the internal listener. Resolves with the address for the worker's row. */
  async listen(receiver: Receiver): Promise<string> {
    const { listen, address } = this.#deps.config;
    await this.#credentials.open();
    const port = await this.#listener.open(listen, receiver);
    return address ?? `${listen.host.includes(':') ? `[${listen.host}]` : listen.host}:${port}`;
  }

  async close(): Promise<void> {
    this.#connections.close();
    await this.#listener.close();
  }

  /** Ends all connections to a worker that is lost: what waits for its response fails at once. */
  drop(workerId: string): void {
    this.#connections.drop(workerId);
  }

  /** Whether another worker has an address by now. @throws ServiceError store_unavailable */
  async canReach(workerId: string): Promise<boolean> {
    return (await this.#directory.addressOf(workerId)) !== undefined;
  }

  /**
   * How long each other worker has had the fleet in view, in ms; null unless all that are known answered. Needs no database.
   */
  async viewAges(signal: AbortSignal): Promise<number[] | null> {
    const { workerIds } = this.#directory;
    if (workerIds.length > viewsMax) return null;
    const ages = await Promise.all(workerIds.map((workerId) => this.#viewAgeOf(workerId, signal)));
    return ages.every((age) => age !== null) ? ages : null;
  }

  async #viewAgeOf(workerId: string, signal: AbortSignal): Promise<number | null> {
    try {
      const headers = ['host', 'berth'];
      const write = (request: ClientRequest): void => void request.end();
      const { response } = await this.#connections.send({
        workerId,
        method: 'GET',
        target: viewPath,
        headers,
        signal,
        write,
        isSafe: true,
        isRepeatable: true,
      });
      const { age_ms: age } = (await json(response)) as { age_ms?: unknown };
      return response.statusCode === 200 && typeof age === 'number' ? age : null;
    } catch {
      return null;
    }
  }

  byPath(
    exchange: Exchange,
    { id, path }: Endpoint,
    { session_id: named }: Readonly<Record<string, string>>,
  ): Promise<ForwardTarget | null> | null {
    if (named === undefined || !path.includes('{session_id}')) return null;
    if (this.#deps.sessions.isLocal(named) && !ofRecordings.has(id)) return null;
    return this.#find(exchange.principal, named, ofRecordings.has(id));
  }

  byContent({ principal, body, query }: Exchange, endpoint: Endpoint): Promise<readonly ForwardTarget[] | null> | null {
    const named = sessionIn(body);
    if (named !== null)
      return this.#deps.sessions.isLocal(named) ? null : this.#find(principal, named, false).then((target) => target && [target]);
    const { owner } = principal;
    if (!newWork.has(endpoint.id) || owner === null) return null;
    if (endpoint.id === 'openConnect') return this.#findOrPlace(principal, query);
    const wanted = body as { kind?: unknown; region?: unknown };
    return this.#place({
      work: newSessions.has(endpoint.id) ? 'session' : 'fetch',
      owner,
      kind: typeof wanted.kind === 'string' ? wanted.kind : 'headless',
      region: typeof wanted.region === 'string' ? wanted.region : undefined,
    });
  }

  /** The worker of the address's session, or those that may start one. */
  async #findOrPlace(principal: Principal, query: ConnectRequest): Promise<readonly ForwardTarget[] | null> {
    const sessionId = await this.#deps.sessions.idOfAddress(principal, query);
    if (sessionId === undefined)
      return this.#place({ work: 'session', owner: principal.owner ?? '', kind: query.kind, region: query.region });
    const target = await this.#find(principal, sessionId, false);
    return target && [target];
  }

  /** null: this worker alone. Workers without a listener are passed over, unless nobody else may take the work: they are unreachable. */
  async #place(work: NewWork): Promise<readonly ForwardTarget[] | null> {
    const { workerIds, isPinned } = await this.#deps.candidates(work);
    if (workerIds.every((workerId) => workerId === this.workerId)) return null;
    const targets: ForwardTarget[] = [];
    for (const workerId of workerIds)
      if (isPinned || workerId === this.workerId || (await this.#directory.addressOf(workerId)) !== undefined)
        targets.push({ workerId, sessionId: null });
    return targets.length > 0 ? targets : null;
  }

  async gather(exchange: Exchange, { id }: Endpoint, reply: unknown): Promise<unknown> {
    if (!ofAllWorkers.has(id) || !Array.isArray(reply)) return reply;
    const replies = this.#directory.workerIds.map(async (workerId) => {
      const { status, body } = await this.#relay.send(exchange, { workerId, sessionId: null });
      const list: unknown = status === 200 ? await json(body) : body.resume() && [];
      return Array.isArray(list) ? (list as unknown[]) : [];
    });
    // What a worker that does not answer knows is left out.
    const others = await Promise.allSettled(replies);
    return [...(reply as unknown[]), ...others.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))];
  }

  isShared({ principal, query }: Exchange, { id }: Endpoint): boolean {
    return id === 'openConnect' && this.#deps.sessions.hasAddress(principal, query);
  }

  async hasEnded({ sessionId }: ForwardTarget): Promise<boolean> {
    if (sessionId === null) return false;
    this.#locations.delete(sessionId);
    return (await this.#deps.sessions.locationOf(sessionId))?.isOver === true;
  }

  send(exchange: Exchange, target: ForwardTarget, body?: Buffer): Promise<ForwardedResponse> {
    return this.#relay.send(exchange, target, body);
  }

  open(exchange: Exchange, target: ForwardTarget, client: Duplex): Promise<ForwardedSocket | ForwardedResponse> {
    return this.#relay.open(exchange, target, client);
  }

  /** A session of another owner, or of a worker that is not there, is answered for here: like one that does not exist, or as unreachable. */
  async #find({ owner, viewer }: Principal, named: string, isOfRecording: boolean): Promise<ForwardTarget | null> {
    const isByName = !isId('ses', named) && owner !== null && !viewer;
    const sessionId = isByName ? await this.#deps.sessions.idOf(owner, named) : named;
    if (sessionId === undefined || !isId('ses', sessionId)) return null;
    const location = (isOfRecording ? await this.#deps.recordingLocationOf(sessionId) : undefined) ?? (await this.#locationOf(sessionId));
    if (!location || (owner !== null && location.owner !== owner) || location.workerId === this.workerId) return null;
    const { workerId } = location;
    return (await this.#directory.currentAddressOf(workerId)) === undefined ? null : { workerId, sessionId };
  }

  async #locationOf(sessionId: string): Promise<SessionLocation | undefined> {
    const known = this.#locations.get(sessionId);
    if (known) return known;
    const location = await this.#deps.sessions.locationOf(sessionId);
    if (!location || location.isOver) return undefined;
    if (location.workerId !== this.workerId) this.#locations.set(sessionId, location);
    return location;
  }
}

/** The session that a validated body names. */
const sessionIn = (body: unknown): string | null =>
  typeof body === 'object' && body !== null && 'session_id' in body && typeof body.session_id === 'string' ? body.session_id : null;
