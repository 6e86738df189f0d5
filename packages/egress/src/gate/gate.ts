/**
 * One proxy for all machines of a worker. It listens on no port: connections
 * are handed to a machine’s route, which identifies their owner.
 */
import { Server, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { once } from 'node:events';
import { systemClock, type Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { builtinAdHosts } from '../names/ad-hosts.ts';
import { isPublicAddress, parseAuthority } from '../names/addresses.ts';
import type { AllowList } from '../names/allow-list.ts';
import { forward, refusalHeader, toStatus } from './forward.ts';
import { createGuard, type OwnAddress } from './guard.ts';
import { EgressError, type EgressStats, type EgressRefusal, type EgressRoute } from '../policy.ts';
import { MachineNames, NameResolver } from '../names/resolve.ts';
import { SystemNames, operatorResolver, type Resolver } from '../names/system-names.ts';
import { MachineEgress } from '../upstreams/egress-route.ts';
import { defaultLimits, type EgressLimits } from './limits.ts';
import { GateTurns } from './turns.ts';

export { refusalHeader } from './forward.ts';
export type { EgressLimits } from './limits.ts';

export interface EgressGateOptions {
  allowList: AllowList;
  log: Log;
  clock?: Clock;
  resolver?: Resolver;
  /** DNS servers for the names that pages and callers choose: `address` or `address:port`. Default: those of the system. */
  dnsServers?: readonly string[];
  /** Addresses and public names of this service, which are refused unless the allow list names the port. Called for each connection. */
  ownAddresses?: () => readonly OwnAddress[];
  /** Hosts that `blockAds` refuses, with their subdomains. */
  adHosts?: ReadonlySet<string>;
  limits?: Partial<EgressLimits>;
  /** Whether an address is in a network that the gate protects. Default: whether it is not public. */
  isInternal?: (address: string) => boolean;
  /** PEM certificates for https:// upstreams, instead of the default ones. */
  upstreamCa?: string;
}

/** The counts of all routes, closed ones included: equal to the sum of all meters. */
export interface GateStats {
  bytesIn: number;
  bytesOut: number;
  /** The part through managed and rotating proxies. */
  proxiedIn: number;
  proxiedOut: number;
  routesOpen: number;
}

export interface EgressGate {
  /** Opens the egress of one machine. The label is for the log. */
  open(label: string): EgressRoute;
  stats(): GateStats;
  /** Closes every route. Resolves when no connection is left. */
  close(): Promise<void>;
}

export function createEgressGate(options: EgressGateOptions): EgressGate {
  const limits = { ...defaultLimits, ...options.limits };
  const { allowList, ownAddresses = () => [] } = options;
  const servers = options.dnsServers?.length ? { servers: options.dnsServers } : {};
  const names = new NameResolver(options.resolver ?? new SystemNames(servers).resolve, limits);
  const operatorNames = new NameResolver(options.resolver ?? operatorResolver, limits);
  const routes = new Set<MachineEgress>();
  const turns = new GateTurns();
  const closedTotals = { bytesIn: 0, bytesOut: 0, proxiedIn: 0, proxiedOut: 0 };
  const routeOfConnection = new WeakMap<Duplex, MachineEgress>();
  const server = createServer(routeOfConnection, limits.headTimeoutMs);

  const open = (label: string): EgressRoute => {
    const route: MachineEgress = new MachineEgress({
      guard: createGuard({ names: new MachineNames(names), operatorNames, allowList, ownAddresses }),
      limits,
      turns: turns.machine(),
      log: options.log.child({ route: label }),
      clock: options.clock ?? systemClock,
      adHosts: options.adHosts ?? builtinAdHosts,
      isInternal: options.isInternal ?? ((address) => !isPublicAddress(address)),
      upstreamCa: options.upstreamCa,
      serve: (connection) => {
        routeOfConnection.set(connection, route);
        server.emit('connection', connection);
      },
      onClose: () => {
        routes.delete(route);
        addBytes(closedTotals, route.stats());
      },
    });
    routes.add(route);
    return route;
  };

  const stats = (): GateStats => {
    const total = { ...closedTotals, routesOpen: routes.size };
    for (const route of routes) addBytes(total, route.stats());
    return total;
  };

  const close = async (): Promise<void> => {
    const remaining = [...routes].flatMap((route) => [...route.connections]).filter((connection) => !connection.closed);
    const closing = remaining.map((connection) => once(connection, 'close'));
    for (const route of routes) route.close();
    await Promise.all(closing);
  };

  return { open, stats, close };
}

function addBytes(sum: Omit<GateStats, 'routesOpen'>, { bytesIn, bytesOut, proxiedIn, proxiedOut }: EgressStats): void {
  sum.bytesIn += bytesIn;
  sum.bytesOut += bytesOut;
  sum.proxiedIn += proxiedIn;
  sum.proxiedOut += proxiedOut;
}

/** Maximum bytes of a request's head. Browsers send more than Node's 16 KiB, and sites with many cookies need it. */
const requestHeadBytesMax = 65_536;

function createServer(routeOfConnection: WeakMap<Duplex, MachineEgress>, headTimeoutMs: number): Server {
  // Node enforces its timeouts only on a server that listens, so the head timeout is set here.
  const server = new Server({ maxHeaderSize: requestHeadBytesMax, headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 });
  const headTimers = new WeakMap<Duplex, NodeJS.Timeout>();
  const startHeadTimer = (connection: Duplex): void => {
    clearTimeout(headTimers.get(connection));
    if (!connection.destroyed) headTimers.set(connection, setTimeout(() => connection.destroy(), headTimeoutMs).unref());
  };
  const stopHeadTimer = (connection: Duplex): void => clearTimeout(headTimers.get(connection));

  server.on('connection', (connection: Duplex) => {
    startHeadTimer(connection);
    connection.once('close', () => stopHeadTimer(connection));
  });
  server.on('request', (request, response) => {
    stopHeadTimer(request.socket);
    const route = routeOfConnection.get(request.socket);
    response.once('close', () => startHeadTimer(request.socket));
    if (route) forward(route, request, response).catch(() => request.socket.destroy());
    else request.socket.destroy();
  });
  server.on('connect', (request, connection, head) => {
    stopHeadTimer(connection);
    const route = routeOfConnection.get(connection);
    if (route) tunnel(route, request, { connection, head }).catch(() => connection.destroy());
    else connection.destroy();
  });
  server.on('clientError', (_error, connection) => {
    if (connection.writable) connection.end(badRequest);
    else connection.destroy();
  });
  return server;
}

const badRequest = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

async function tunnel(
  route: MachineEgress,
  request: IncomingMessage,
  { connection, head }: { connection: Duplex; head: Buffer },
): Promise<void> {
  const target = parseAuthority(request.url ?? '');
  if (!target) {
    connection.end(badRequest);
    return;
  }
  const disconnect = new AbortController();
  const onDisconnect = (): void => disconnect.abort(new EgressError('connection_reset', 'the browser closed the connection'));
  connection.once('close', onDisconnect);
  try {
    const plan = await route.plan(target.host, target.port, { signal: disconnect.signal, isPlain: false });
    const site = await route.open(plan, disconnect.signal);
    if (head.length > 0) connection.unshift(head);
    connection.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    pipeBoth(route, { connection, site }, (error) => route.recordFailure(target.host, target.port, error));
  } catch (error) {
    if (!disconnect.signal.aborted) refuseTunnel(connection, route.recordFailure(target.host, target.port, error));
  } finally {
    connection.off('close', onDisconnect);
  }
}

/** Pipes both directions until either side ends, then closes both. */
function pipeBoth(
  { turns, limits }: MachineEgress,
  { connection, site }: { connection: Duplex; site: Socket },
  onFailure: (error: Error) => void,
): void {
  const before = site.bytesRead;
  turns.pipe(connection, site);
  turns.pipe(site, connection);
  // Before the first byte the site counts as not reached; later errors are the page's own.
  site.once('error', (error) => site.bytesRead === before && onFailure(error));
  site.once('close', () => {
    const broken = site.errored !== null;
    if (broken || !connection.writable) {
      // The browser sees a reset as a reset. A connection that is being ended is not reset: it would stay open.
      if (broken && connection.writable && connection instanceof Socket) connection.resetAndDestroy();
      else connection.destroy();
      return;
    }
    // The last bytes are flushed, but not for ever to a browser that does not read.
    const linger = setTimeout(() => connection.destroy(), limits.headTimeoutMs).unref();
    connection.once('close', () => clearTimeout(linger)).end(() => connection.destroy());
  });
  // Browsers do not half-close, so the end of their data ends the tunnel.
  connection.once('end', () => site.destroySoon());
  connection.once('close', () => site.destroy());
  if (connection.destroyed) site.destroy();
}

function refuseTunnel(connection: Duplex, reason: EgressRefusal): void {
  const status = toStatus(reason);
  const text = status === 403 ? 'Forbidden' : 'Not reached';
  connection.end(`HTTP/1.1 ${status} ${text}\r\n${refusalHeader}: ${reason}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`, () =>
    connection.destroy(),
  );
}
