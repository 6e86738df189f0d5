/** The way out of one machine: its policy, its connections, its counts. */
import { Agent } from 'node:http';
import type { ClientRequestArgs } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { ProxyRequest } from '@berth/contract';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { authorityText, parseHost } from './addresses.ts';
import { dialTcp, dialUpstream, parseUpstream, reasonOf, tunnelThrough } from './dial.ts';
import type { UpstreamAddress, UpstreamDialOptions } from './dial.ts';
import { domainMatcher, inDomains } from './domains.ts';
import type { Guard, PinnedTarget } from './guard.ts';
import { EgressFailure } from './policy.ts';
import type { EgressFacts, EgressPolicy, EgressRefusal, EgressWay, Rotation } from './policy.ts';

export interface EgressLimits {
  /** Connections of one browser. A page with sixty hosts opens some 200; past this it is a flood. */
  connectionsMax: number;
  /** How long a browser may take to send the head of its next request, and keep an idle connection. */
  headMs: number;
  /** How long a name may take to be resolved. */
  resolveMs: number;
  /** How long a site, with the proxy before it, may take to be connected. */
  connectMs: number;
  /** A connection on which nothing moves is dropped. Longer than WebSockets ping and long polls wait. */
  idleMs: number;
  /** How long a connection to a site is kept for the next plain request. */
  reuseMs: number;
}

export const usualLimits: EgressLimits = {
  connectionsMax: 512,
  headMs: 75_000,
  resolveMs: 5000,
  connectMs: 15_000,
  idleMs: 600_000,
  reuseMs: 15_000,
};

export interface WayOptions {
  guard: Guard;
  log: Log;
  clock: Clock;
  limits: EgressLimits;
  adHosts: ReadonlySet<string>;
  /** Whether an address belongs to a network that the gate protects. */
  inside: (address: string) => boolean;
  upstreamCa: string | undefined;
  /** Reads requests off the connection. */
  serve: (connection: Duplex) => void;
  onClose: () => void;
}

/** How one request leaves: checked, pinned, and through which proxy. */
export interface Route {
  target: PinnedTarget;
  via: { upstream: UpstreamAddress; at: PinnedTarget; index: number } | null;
  /** Counts policies and rotations: a connection of an older one is never used again. */
  generation: number;
  /** The proxy is asked for the whole URL, as proxies expect for plain HTTP, instead of for a tunnel. */
  absoluteForm: boolean;
}

interface RoutedRequest extends ClientRequestArgs {
  route: Route;
}

/** What is known of a socket that the gate has opened. */
interface Passage {
  /** Of those that pass a proxy. */
  generation: number | null;
  /** Whether the operator has named that proxy: managed or rotating. */
  isProxied: boolean;
}

interface AppliedPolicy {
  allows: (host: string) => boolean;
  blockAds: boolean;
  upstreams: readonly UpstreamAddress[];
  rotate: ProxyRequest['rotate'];
  bypasses: (host: string) => boolean;
}

/** Reasons are kept for the navigation that has just failed, not as a history. */
const refusalsMax = 256;
const refusalKeptMs = 120_000;
/** A hostile page must not fill the disk with refusals: the rest of a minute goes to debug. */
const refusalLinesPerMinute = 60;

export class Way implements EgressWay {
  readonly #options: WayOptions;
  readonly #connections = new Set<Duplex>();
  /** Sockets that the gate has opened, to sites and proxies. */
  readonly #sites = new Map<Socket, Passage>();
  readonly #refusals: LRUCache<string, EgressRefusal>;
  readonly agent: Agent;
  #policy: AppliedPolicy | null = null;
  #current = 0;
  #generation = 0;
  #turned = new AbortController();
  #rotating: Promise<unknown> = Promise.resolve();
  #counted = { bytesIn: 0, bytesOut: 0, proxiedIn: 0, proxiedOut: 0, rotations: 0, rotatedAt: null as Date | null };
  #lines = { minute: 0, written: 0 };
  #closed = false;

  constructor(options: WayOptions) {
    this.#options = options;
    // The cache takes a start of 0 for an entry that has no end.
    this.#refusals = new LRUCache({
      max: refusalsMax,
      ttl: refusalKeptMs,
      ttlResolution: 0,
      perf: { now: () => options.clock.monotonicMs() + 1 },
    });
    this.agent = new SiteAgent((route) => this.open(route), options.limits.reuseMs);
  }

  get limits(): EgressLimits {
    return this.#options.limits;
  }

  get connections(): ReadonlySet<Duplex> {
    return this.#connections;
  }

  accept(connection: Duplex): void {
    // Without a listener a reset by the browser would end the process.
    connection.on('error', () => {});
    if (this.#closed || this.#connections.size >= this.limits.connectionsMax) {
      this.#options.log.debug({ open: this.#connections.size }, 'connection of a browser dropped: closed or too many');
      connection.destroy();
      return;
    }
    if (connection instanceof Socket) connection.setNoDelay(true);
    this.#connections.add(connection);
    connection.once('close', () => this.#connections.delete(connection));
    this.#options.serve(connection);
  }

  apply(policy: EgressPolicy): void {
    this.#policy = {
      allows: policy.allowedDomains === null ? () => true : domainMatcher(policy.allowedDomains),
      blockAds: policy.blockAds,
      upstreams: policy.upstreams.map(parseUpstream),
      rotate: policy.rotate,
      bypasses: domainMatcher(policy.bypass),
    };
    this.#current = 0;
    this.#refusals.clear();
    this.#turn('a new policy', () => true);
  }

  rotate(signal: AbortSignal): Promise<Rotation> {
    // Two at once would both take the proxy after the current one and count it twice.
    const turn = this.#rotating.then(() => this.#rotate(signal));
    this.#rotating = turn.catch(() => {});
    return turn;
  }

  async #rotate(signal: AbortSignal): Promise<Rotation> {
    signal.throwIfAborted();
    if (this.#closed) return { rotated: false, note: 'The session ended meanwhile.' };
    const upstreams = this.#policy?.upstreams ?? [];
    if (upstreams.length === 0) return { rotated: false, note: 'The session has no proxy: it leaves from the address of this region.' };
    if (upstreams.length === 1) return { rotated: false, note: 'The session has one proxy only, there is no other to take.' };
    const generation = this.#generation;
    for (let step = 1; step < upstreams.length; step += 1) {
      const index = (this.#current + step) % upstreams.length;
      const upstream = upstreams[index];
      if (!upstream || !(await this.#answers(upstream, signal))) continue;
      if (this.#closed || generation !== this.#generation)
        return { rotated: false, note: 'The session ended or changed its proxies meanwhile.' };
      this.#current = index;
      this.#counted.rotations += 1;
      this.#counted.rotatedAt = this.#options.clock.now();
      this.#turn('a rotation', (via) => via !== null);
      return { rotated: true, note: 'The next proxy is in use; connections through the one before were dropped.' };
    }
    return { rotated: false, note: 'None of the other proxies could be reached; the one in use was kept.' };
  }

  async #answers(upstream: UpstreamAddress, signal: AbortSignal): Promise<boolean> {
    try {
      const at = await this.#locate(upstream, signal);
      const socket = await this.#within(signal, (deadline) =>
        dialUpstream(upstream, at, this.#dialOptions(deadline, { generation: null, isProxied: upstream.trusted })),
      );
      socket.destroy();
      return true;
    } catch (error) {
      signal.throwIfAborted();
      this.#tell(upstream.host, upstream.port, error);
      return false;
    }
  }

  facts(): EgressFacts {
    const upstreams = this.#policy?.upstreams ?? [];
    // With a proxy for each connection there is no one address to tell.
    const one = this.#policy?.rotate === 'every_connection' && upstreams.length > 1 ? undefined : upstreams[this.#current];
    const counted = { ...this.#counted };
    for (const [socket, passage] of this.#sites) count(counted, socket, passage);
    return { ip: one?.ip ?? null, country: one?.country ?? null, ...counted, connectionsOpen: this.#connections.size };
  }

  lastRefusal(host: string): EgressRefusal | null {
    return this.#refusals.get(parseHost(host) ?? host) ?? null;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#turn('the end of the session', () => true);
    for (const connection of this.#connections) connection.destroy();
    this.agent.destroy();
    // Nothing moves on them any more: what is told from here on is final.
    for (const socket of this.#sites.keys()) this.#settle(socket);
    this.#options.onClose();
  }

  /** Decides whether and how a host is reached. Throws {@link EgressFailure}. */
  async route(host: string, port: number, { signal, plain }: { signal: AbortSignal; plain: boolean }): Promise<Route> {
    if (this.#closed) throw new EgressFailure('connection_reset', 'the way out is closed');
    const policy = this.#policy;
    const generation = this.#generation;
    if (!policy) throw new EgressFailure('blocked_by_policy', 'no policy is applied yet');
    if (!policy.allows(host)) throw new EgressFailure('blocked_by_policy', `${host} is not among the allowed domains`);
    if (policy.blockAds && inDomains(host, this.#options.adHosts))
      throw new EgressFailure('blocked_by_policy', `${host} serves advertising`);
    const target = await this.#options.guard.check(host, port, signal);
    if (policy.upstreams.length === 0 || policy.bypasses(host)) return { target, via: null, generation, absoluteForm: false };
    const index = this.#current;
    const upstream = policy.upstreams[index];
    if (!upstream) throw new EgressFailure('proxy_error', 'no proxy is left');
    if (policy.rotate === 'every_connection') this.#current = (index + 1) % policy.upstreams.length;
    const at = await this.#locate(upstream, signal);
    const pinned = this.#mustPin(upstream, at);
    return { target, via: { upstream, at, index }, generation, absoluteForm: plain && !pinned };
  }

  /**
   * Opens a route's connection. `onWire` is told of the TCP connection below it
   * before it is connected: on that one bytes are counted. Throws {@link EgressFailure}.
   */
  async open(route: Route, signal: AbortSignal = this.#turned.signal, onWire: (socket: Socket) => void = () => {}): Promise<Socket> {
    const { target, via } = route;
    const stillNow = AbortSignal.any([signal, this.#turned.signal]);
    if (this.#closed || route.generation !== this.#generation) throw new EgressFailure('connection_reset', 'the way out has changed');
    const socket = await this.#within(stillNow, async (deadline) => {
      if (!via) return dialTcp(target, this.#dialOptions(deadline, { generation: null, isProxied: false }, onWire));
      const passage = { generation: route.generation, isProxied: via.upstream.trusted };
      const proxy = await dialUpstream(via.upstream, via.at, this.#dialOptions(deadline, passage, onWire));
      const host = this.#mustPin(via.upstream, via.at) ? (target.addresses[0] ?? target.host) : target.host;
      return route.absoluteForm ? proxy : tunnelThrough(via.upstream, proxy, { host, port: target.port }, deadline);
    });
    socket.on('error', () => {});
    this.#refusals.delete(target.host);
    return socket;
  }

  /** Keeps why a host was not reached, and says so in the log. Returns what to tell the browser. */
  note(host: string, port: number, error: unknown): EgressRefusal {
    const reason = reasonOf(error);
    if (!this.#closed) this.#refusals.set(host, reason);
    this.#tell(host, port, error);
    return reason;
  }

  /**
   * A proxy that resolves names itself could be led to an inside address by a
   * name that answers differently the second time. One that stands inside, and
   * so could reach what is protected, is told the address that was checked;
   * socks5:// means an address to every client anyway.
   */
  #mustPin(upstream: UpstreamAddress, at: PinnedTarget): boolean {
    return upstream.protocol === 'socks5:' || at.addresses.some(this.#options.inside);
  }

  #locate(upstream: UpstreamAddress, signal: AbortSignal): Promise<PinnedTarget> {
    const { guard } = this.#options;
    const { host, port } = upstream;
    const located = upstream.trusted ? guard.trust(host, port, signal) : guard.check(host, port, signal);
    return located.catch((cause: unknown) => {
      if (signal.aborted) throw signal.reason;
      throw new EgressFailure('proxy_error', `proxy ${upstream.host}: ${cause instanceof Error ? cause.message : 'not reached'}`, {
        cause,
      });
    });
  }

  #dialOptions(signal: AbortSignal, passage: Passage, onWire: (socket: Socket) => void = () => {}): UpstreamDialOptions {
    const onSocket = (socket: Socket): void => {
      // Who looked for an address when the way was closed dials only now, and is not to.
      if (this.#closed) return void socket.destroy();
      onWire(socket);
      this.#sites.set(socket, passage);
      socket.setTimeout(this.limits.idleMs, () => socket.destroy());
      socket.once('close', () => this.#settle(socket));
    };
    return { signal, onSocket, ca: this.#options.upstreamCa };
  }

  /** Counts a socket for good. Once, whoever comes first: its own end or the way's. */
  #settle(socket: Socket): void {
    const passage = this.#sites.get(socket);
    if (!passage) return;
    this.#sites.delete(socket);
    count(this.#counted, socket, passage);
  }

  async #within<T>(signal: AbortSignal, work: (deadline: AbortSignal) => Promise<T>): Promise<T> {
    const patience = new AbortController();
    const timer = setTimeout(
      () => patience.abort(new EgressFailure('timeout', `no connection within ${this.limits.connectMs} ms`)),
      this.limits.connectMs,
    );
    try {
      return await work(AbortSignal.any([signal, patience.signal]));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Begins a generation: what was opened or is being opened in an earlier one and is meant goes. */
  #turn(cause: string, dropped: (generation: number | null) => boolean): void {
    this.#generation += 1;
    const before = this.#turned;
    this.#turned = new AbortController();
    before.abort(new EgressFailure('connection_reset', `dropped by ${cause}`));
    for (const [socket, { generation }] of this.#sites) if (dropped(generation)) socket.destroy();
  }

  #tell(host: string, port: number, error: unknown): void {
    const minute = Math.floor(this.#options.clock.monotonicMs() / 60_000);
    if (minute !== this.#lines.minute) this.#lines = { minute, written: 0 };
    this.#lines.written += 1;
    const facts = {
      to: authorityText(host, port),
      reason: reasonOf(error),
      detail: error instanceof Error ? error.message : String(error),
    };
    this.#options.log[this.#lines.written <= refusalLinesPerMinute ? 'info' : 'debug'](facts, 'egress refused');
  }
}

/** What still waits here to be sent may never be, and so does not count. */
function count(sum: Pick<EgressFacts, 'bytesIn' | 'bytesOut' | 'proxiedIn' | 'proxiedOut'>, socket: Socket, { isProxied }: Passage): void {
  const bytesOut = Math.max(0, socket.bytesWritten - socket.writableLength);
  sum.bytesIn += socket.bytesRead;
  sum.bytesOut += bytesOut;
  if (!isProxied) return;
  sum.proxiedIn += socket.bytesRead;
  sum.proxiedOut += bytesOut;
}

/** The same for requests that would be dialled the same, and so may share a connection. */
export const routeName = ({ generation, via, absoluteForm, target }: Route): string =>
  `${generation} ${via?.index ?? 'direct'} ${absoluteForm} ${target.port} ${target.host} ${target.addresses.join(' ')}`;

/** Connections for plain requests, shared only by requests that would be dialled the same. */
class SiteAgent extends Agent {
  readonly #dial: (route: Route) => Promise<Socket>;

  constructor(dial: (route: Route) => Promise<Socket>, reuseMs: number) {
    // Four idle ones for a site serve a page's burst; more would only be kept open for nothing.
    super({ keepAlive: true, maxFreeSockets: 4, timeout: reuseMs });
    this.#dial = dial;
  }

  override getName(options?: Partial<RoutedRequest>): string {
    return options?.route ? routeName(options.route) : '';
  }

  override createConnection(options: ClientRequestArgs, answer: (error: Error | null, stream: Duplex) => void): undefined {
    this.#dial((options as RoutedRequest).route).then(
      (socket) => answer(null, socket),
      (error: Error) => answer(error, undefined as never),
    );
  }
}
