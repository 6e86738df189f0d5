/** The egress of one machine: its policy, its connections and its byte counts. */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { authorityText, domainMatcher, inDomains, isLoopback, parseHost } from '../names/addresses.ts';
import { Connections, type RoutePlan } from '../gate/connections.ts';
import { dialTcp, dialUpstream, parseUpstream, tunnelThrough, type UpstreamAddress, type UpstreamDialOptions } from '../gate/dial.ts';
import type { Guard, PinnedTarget } from '../gate/guard.ts';
import type { EgressLimits } from '../gate/limits.ts';
import {
  EgressError,
  type EgressStats,
  type EgressPolicy,
  type EgressRefusal,
  type EgressRoute,
  type OpenTunnel,
  type RefusalReport,
  type RemoteAddress,
  type RotationResult,
} from '../policy.ts';
import { describeRefusal, refuse } from '../gate/refusal.ts';
import { Tunnel } from '../gate/tunnel.ts';
import type { MachineTurns } from '../gate/turns.ts';
import { describeEgress } from './upstreams.ts';

export interface MachineEgressDeps {
  guard: Guard;
  log: Log;
  clock: Clock;
  limits: EgressLimits;
  /** The turns in which all bytes of the browser are passed on. */
  turns: MachineTurns;
  adHosts: ReadonlySet<string>;
  /** Whether an address is in a network that the gate protects. */
  isInternal: (address: string) => boolean;
  upstreamCa: string | undefined;
  /** Serves HTTP proxy requests on the connection. */
  serve: (connection: Duplex) => void;
  onClose: () => void;
}

interface OpenedSocket {
  /** null for a direct connection, which a rotation does not drop. */
  generation: number | null;
  /** Whether the socket goes through a proxy of the operator, managed or rotating. */
  isProxied: boolean;
}

/** A tunnel ends at the caller's own computer, whatever proxy the session has. */
const ofTunnel: OpenedSocket = { generation: null, isProxied: false };

interface AppliedPolicy extends Pick<EgressPolicy, 'type' | 'country' | 'blockAds' | 'rotate'> {
  allows: (host: string) => boolean;
  upstreams: readonly UpstreamAddress[];
  bypasses: (host: string) => boolean;
}

/** Idle connections for a site; four serve a page's burst. */
const idlePerSiteMax = 4;

/** Reasons serve the navigation that has just failed; they are not a history. */
const refusalsMax = 256;
const refusalTtlMs = 120_000;
/** Maximum remote addresses remembered: enough for the sites of a few pages. */
const remotesMax = 512;
/** A hostile page must not fill the log: the rest of a minute goes to debug. */
const refusalLinesPerMinuteMax = 60;

export class MachineEgress implements EgressRoute {
  readonly #deps: MachineEgressDeps;
  readonly #connections = new Set<Duplex>();
  /** Sockets that the gate has opened, to sites and proxies. */
  readonly #sockets = new Map<Socket, OpenedSocket>();
  readonly #refusals: LRUCache<string, RefusalReport>;
  /** By port; of a machine's owner only. */
  readonly #tunnels = new Map<number, Tunnel>();
  /** Tunnels that are not open yet, by port. */
  readonly #opening = new Map<number, Promise<Tunnel>>();
  readonly #remotes = new LRUCache<string, RemoteAddress>({ max: remotesMax });
  /** The connections for the browser's plain HTTP requests. */
  readonly agent: Connections;
  #policy: AppliedPolicy | null = null;
  #current = 0;
  #generation = 0;
  #generationEnd = new AbortController();
  #lastRotation: Promise<unknown> = Promise.resolve();
  #totals = { bytesIn: 0, bytesOut: 0, proxiedIn: 0, proxiedOut: 0, rotations: 0, rotatedAt: null as Date | null };
  #logLines = { minute: 0, written: 0 };
  #closed = false;

  constructor(deps: MachineEgressDeps) {
    this.#deps = deps;
    // The cache treats a start of 0 as an entry without expiry.
    this.#refusals = new LRUCache({
      max: refusalsMax,
      ttl: refusalTtlMs,
      ttlResolution: 0,
      perf: { now: () => deps.clock.monotonicMs() + 1 },
    });
    this.agent = new Connections((...request) => this.open(...request), {
      keepAliveMs: deps.limits.keepAliveMs,
      idlePerSiteMax,
      idleMax: Infinity,
    });
  }

  get limits(): EgressLimits {
    return this.#deps.limits;
  }

  get turns(): MachineTurns {
    return this.#deps.turns;
  }

  get connections(): ReadonlySet<Duplex> {
    return this.#connections;
  }

  accept(connection: Duplex): void {
    // Required, because a reset by the browser would otherwise end the process.
    connection.on('error', () => {});
    if (this.#closed || this.#connections.size >= this.limits.connectionsMax) {
      this.#deps.log.debug({ open: this.#connections.size, closed: this.#closed }, 'browser connection dropped');
      connection.destroy();
      return;
    }
    if (connection instanceof Socket) connection.setNoDelay(true);
    this.#connections.add(connection);
    connection.once('close', () => this.#connections.delete(connection));
    this.#deps.serve(connection);
  }

  apply(policy: EgressPolicy): void {
    const { type, country, blockAds, rotate } = policy;
    this.#policy = {
      ...{ type, country, blockAds, rotate },
      allows: policy.allowedDomains === null ? () => true : domainMatcher(policy.allowedDomains),
      upstreams: policy.upstreams.map(parseUpstream),
      bypasses: domainMatcher(policy.bypass),
    };
    this.#current = 0;
    this.#refusals.clear();
    this.#remotes.clear();
    this.#startGeneration('a new policy', () => true);
  }

  async openTunnel(port: number, stream: Duplex): Promise<OpenTunnel> {
    const opening = Tunnel.over(stream, port);
    this.#opening.set(port, opening);
    let isLast = false;
    const tunnel = await opening.finally(() => {
      isLast = this.#opening.get(port) === opening;
      if (isLast) this.#opening.delete(port);
    });
    // The last one that was asked for counts, not the last that was open.
    if (!isLast) {
      tunnel.close();
      return tunnel;
    }
    this.#tunnels.get(port)?.close();
    this.#tunnels.set(port, tunnel);
    this.#refusals.clear();
    tunnel.onClose(() => {
      if (this.#tunnels.get(port) === tunnel) this.#tunnels.delete(port);
    });
    if (this.#closed) tunnel.close();
    return tunnel;
  }

  get canRotate(): boolean {
    return !this.#closed && (this.#policy?.upstreams.length ?? 0) > 1;
  }

  rotate(signal: AbortSignal): Promise<RotationResult> {
    // Serialized: two at once would both take the proxy after the current one.
    const rotation = this.#lastRotation.then(() => this.#rotate(signal));
    this.#lastRotation = rotation.catch(() => {});
    return rotation;
  }

  async #rotate(signal: AbortSignal): Promise<RotationResult> {
    signal.throwIfAborted();
    if (this.#closed) return { rotated: false, note: 'The session ended during the rotation.' };
    const upstreams = this.#policy?.upstreams ?? [];
    if (upstreams.length === 0)
      return { rotated: false, note: 'The session has no proxy. Create a session with several proxies to rotate them.' };
    if (upstreams.length === 1)
      return { rotated: false, note: 'The session has only one proxy. Create a session with several proxies to rotate them.' };
    const generation = this.#generation;
    for (let step = 1; step < upstreams.length; step += 1) {
      const index = (this.#current + step) % upstreams.length;
      const upstream = upstreams[index];
      if (!upstream || !(await this.#canReach(upstream, signal))) continue;
      if (this.#closed || generation !== this.#generation)
        return { rotated: false, note: 'The session ended or its proxies changed during the rotation.' };
      this.#current = index;
      this.#totals.rotations += 1;
      this.#totals.rotatedAt = this.#deps.clock.now();
      this.#startGeneration('a rotation', (opened) => opened !== null);
      return { rotated: true, note: 'The next proxy is in use. Connections through the previous one were dropped.' };
    }
    return { rotated: false, note: 'None of the other proxies could be reached. The current one stays in use.' };
  }

  async #canReach(upstream: UpstreamAddress, signal: AbortSignal): Promise<boolean> {
    try {
      const pinned = await this.#resolveUpstream(upstream, signal);
      const socket = await this.#withConnectTimeout(signal, (deadline) =>
        dialUpstream(upstream, pinned, this.#dialOptions(deadline, { generation: null, isProxied: upstream.isTrusted })),
      );
      socket.destroy();
      return true;
    } catch (error) {
      signal.throwIfAborted();
      this.#logFailure(upstream.host, upstream.port, error);
      return false;
    }
  }

  stats(): EgressStats {
    const totals = { ...this.#totals };
    for (const [socket, opened] of this.#sockets) addBytes(totals, socket, opened);
    return { ...describeEgress(this.#policy, this.#current), ...totals, connectionsOpen: this.#connections.size };
  }

  lastRefusal(host: string, port: number): RefusalReport | null {
    return this.#refusals.get(authorityText(parseHost(host) ?? host, port)) ?? null;
  }

  remoteAddress(host: string, port: number): RemoteAddress | null {
    return this.#remotes.get(authorityText(parseHost(host) ?? host, port)) ?? null;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#startGeneration('the end of the session', () => true);
    for (const connection of this.#connections) connection.destroy();
    this.agent.destroy();
    for (const tunnel of this.#tunnels.values()) tunnel.close();
    // Destroyed sockets count no more, so the totals are final from here on.
    for (const socket of this.#sockets.keys()) this.#finalize(socket);
    this.#deps.onClose();
  }

  /** Decides whether and how a host is reached. @throws EgressError */
  async plan(host: string, port: number, { signal, isPlain }: { signal: AbortSignal; isPlain: boolean }): Promise<RoutePlan> {
    if (this.#closed) throw new EgressError('connection_reset', 'the egress is closed');
    const policy = this.#policy;
    const generation = this.#generation;
    if (!policy) throw new EgressError('blocked_by_policy', 'no policy is applied yet');
    if (!policy.allows(host)) throw refuse('allowed_domains', { host, port });
    if (policy.blockAds && inDomains(host, this.#deps.adHosts)) throw refuse('block_ads', { host, port });
    const tunnel = isLoopback(host) ? this.#tunnels.get(port) : undefined;
    // Neither resolved nor dialled here: the name is that of the computer at the other end.
    if (tunnel?.isOpen) return { target: { host, port, addresses: [] }, proxy: null, tunnel, generation, usesAbsoluteForm: false };
    const target = await this.#deps.guard.check(host, port, signal);
    if (policy.upstreams.length === 0 || policy.bypasses(host)) return { target, proxy: null, generation, usesAbsoluteForm: false };
    const index = this.#current;
    const upstream = policy.upstreams[index];
    if (!upstream) throw new EgressError('proxy_error', 'no proxy is left');
    if (policy.rotate === 'every_connection') this.#current = (index + 1) % policy.upstreams.length;
    const pinned = await this.#resolveUpstream(upstream, signal);
    const sendsAddress = this.#shouldSendAddress(upstream, pinned);
    return { target, proxy: { upstream, pinned, index }, generation, usesAbsoluteForm: isPlain && !sendsAddress };
  }

  /**
   * Opens the connection of a plan. `onTcpSocket` gets the TCP socket below it,
   * on which bytes are counted, before it is connected.
   * @throws EgressError, or the signal's reason
   */
  async open(plan: RoutePlan, signal: AbortSignal, onTcpSocket: (socket: Socket) => void = () => {}): Promise<Socket> {
    const { target, proxy, tunnel } = plan;
    const site = authorityText(target.host, target.port);
    const eitherSignal = AbortSignal.any([signal, this.#generationEnd.signal]);
    if (this.#closed || plan.generation !== this.#generation)
      throw new EgressError('connection_reset', 'the egress policy or proxy has changed');
    const socket = await this.#withConnectTimeout(eitherSignal, async (deadline) => {
      if (tunnel) return this.#count(await tunnel.open(site, deadline), onTcpSocket);
      if (!proxy) return dialTcp(target, this.#dialOptions(deadline, { generation: null, isProxied: false }, onTcpSocket));
      const opened = { generation: plan.generation, isProxied: proxy.upstream.isTrusted };
      const proxySocket = await dialUpstream(proxy.upstream, proxy.pinned, this.#dialOptions(deadline, opened, onTcpSocket));
      const host = this.#shouldSendAddress(proxy.upstream, proxy.pinned) ? (target.addresses[0] ?? target.host) : target.host;
      return plan.usesAbsoluteForm ? proxySocket : tunnelThrough(proxy.upstream, proxySocket, { host, port: target.port }, deadline);
    });
    socket.on('error', () => {});
    this.#refusals.delete(site);
    const { remoteAddress: ip, remotePort: port } = socket;
    if (proxy || ip === undefined || port === undefined) this.#remotes.delete(site);
    else this.#remotes.set(site, { ip, port });
    return socket;
  }

  /** Remembers and logs why a host was not reached. Returns the reason for the browser. */
  recordFailure(host: string, port: number, error: unknown): EgressRefusal {
    const refusal = describeRefusal({ host, port }, error);
    if (!this.#closed) this.#refusals.set(authorityText(host, port), refusal);
    this.#logFailure(host, port, error);
    return refusal.reason;
  }

  /**
   * Whether the proxy gets the checked address instead of the name. A proxy that
   * resolves the name again could be led to an internal address (DNS rebinding),
   * so a proxy that can reach the protected networks never gets a name. Nor does
   * socks5://, by convention.
   */
  #shouldSendAddress(upstream: UpstreamAddress, pinned: PinnedTarget): boolean {
    return upstream.protocol === 'socks5:' || pinned.addresses.some(this.#deps.isInternal);
  }

  #resolveUpstream(upstream: UpstreamAddress, signal: AbortSignal): Promise<PinnedTarget> {
    const { guard } = this.#deps;
    const { host, port } = upstream;
    const resolving = upstream.isTrusted ? guard.resolveTrusted(host, port, signal) : guard.check(host, port, signal);
    return resolving.catch((cause: unknown) => {
      if (signal.aborted) throw signal.reason;
      // A caller may read why its own proxy is refused, but not about the operator's.
      const publicMessage = upstream.isTrusted ? null : `the proxy ${describeRefusal({ host, port }, cause).message}`;
      const detail = cause instanceof Error ? cause.message : 'not reached';
      throw new EgressError('proxy_error', `proxy ${host}: ${detail}`, { cause, publicMessage });
    });
  }

  #dialOptions(signal: AbortSignal, opened: OpenedSocket, onTcpSocket: (socket: Socket) => void = () => {}): UpstreamDialOptions {
    return { signal, onSocket: (socket) => this.#count(socket, onTcpSocket, opened), ca: this.#deps.upstreamCa };
  }

  /** Counts the socket's bytes until it closes. */
  #count<S extends Socket>(socket: S, onTcpSocket: (socket: Socket) => void, opened: OpenedSocket = ofTunnel): S {
    // A name lookup that ends after the close must not dial.
    if (this.#closed) return socket.destroy();
    onTcpSocket(socket);
    this.#sockets.set(socket, opened);
    socket.setTimeout(this.limits.idleTimeoutMs, () => socket.destroy());
    socket.once('close', () => this.#finalize(socket));
    return socket;
  }

  /** Moves a socket's bytes to the totals, once: when it or the egress closes. */
  #finalize(socket: Socket): void {
    const opened = this.#sockets.get(socket);
    if (!opened) return;
    this.#sockets.delete(socket);
    addBytes(this.#totals, socket, opened);
  }

  #withConnectTimeout<T>(signal: AbortSignal, work: (either: AbortSignal) => Promise<T>): Promise<T> {
    const { connectTimeoutMs: timeoutMs } = this.limits;
    const reason = (): Error => new EgressError('timeout', `no connection within ${timeoutMs} ms`);
    return Deadline.run({ signal, timeoutMs, reason }, (deadline) => work(deadline.signal));
  }

  /** Aborts what is being opened in the current generation, and drops the open sockets that `shouldDrop` names. */
  #startGeneration(cause: string, shouldDrop: (generation: number | null) => boolean): void {
    this.#generation += 1;
    const previous = this.#generationEnd;
    this.#generationEnd = new AbortController();
    previous.abort(new EgressError('connection_reset', `dropped by ${cause}`));
    for (const [socket, { generation }] of this.#sockets) if (shouldDrop(generation)) socket.destroy();
  }

  #logFailure(host: string, port: number, error: unknown): void {
    const minute = Math.floor(this.#deps.clock.monotonicMs() / 60_000);
    if (minute !== this.#logLines.minute) this.#logLines = { minute, written: 0 };
    this.#logLines.written += 1;
    const fields = {
      to: authorityText(host, port),
      reason: describeRefusal({ host, port }, error).reason,
      detail: error instanceof Error ? error.message : String(error),
    };
    this.#deps.log[this.#logLines.written <= refusalLinesPerMinuteMax ? 'info' : 'debug'](fields, 'egress refused');
  }
}

/** Bytes that are still in the send buffer do not count. */
function addBytes(
  sum: Pick<EgressStats, 'bytesIn' | 'bytesOut' | 'proxiedIn' | 'proxiedOut'>,
  socket: Socket,
  { isProxied }: OpenedSocket,
): void {
  const bytesOut = Math.max(0, socket.bytesWritten - socket.writableLength);
  sum.bytesIn += socket.bytesRead;
  sum.bytesOut += bytesOut;
  if (!isProxied) return;
  sum.proxiedIn += socket.bytesRead;
  sum.proxiedOut += bytesOut;
}
