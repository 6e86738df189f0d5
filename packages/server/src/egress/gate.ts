/**
 * One proxy for all machines of a worker. It listens nowhere: connections are
 * handed to a way, and whose they are is known by the way they came in on.
 */
import { Server } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { once } from 'node:events';
import { systemClock } from '../lib/clock.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { builtinAdHosts } from './ad-hosts.ts';
import { isPublicAddress, parseAuthority } from './addresses.ts';
import type { AllowList } from './allow-list.ts';
import { forward, headBytesMax, refusalHeader, statusOf } from './forward.ts';
import { createGuard } from './guard.ts';
import type { OwnAddress } from './guard.ts';
import { EgressFailure } from './policy.ts';
import type { EgressFacts, EgressRefusal, EgressWay } from './policy.ts';
import { Names, systemResolver } from './resolve.ts';
import type { Resolver } from './resolve.ts';
import { usualLimits, Way } from './way.ts';
import type { EgressLimits } from './way.ts';

export { refusalHeader } from './forward.ts';
export type { EgressLimits } from './way.ts';

export interface EgressGateOptions {
  allow: AllowList;
  log: Log;
  clock?: Clock;
  resolver?: Resolver;
  /** Where this service itself listens, public names included: refused even where the allow list is wide. Asked for each connection. */
  ownAddresses?: () => readonly OwnAddress[];
  /** What `blockAds` refuses, each with all under it. */
  adHosts?: ReadonlySet<string>;
  limits?: Partial<EgressLimits>;
  /** Whether an address belongs to a network that the gate protects; by the address table when absent. */
  inside?: (address: string) => boolean;
  /** PEM certificates for https:// upstreams, instead of the usual ones. */
  upstreamCa?: string;
}

/** Of all ways together, those that are closed too: what the sums of all meters must come to. */
export interface GateFacts {
  bytesIn: number;
  bytesOut: number;
  /** Of them: those through managed and rotating proxies. */
  proxiedIn: number;
  proxiedOut: number;
  waysOpen: number;
}

export interface EgressGate {
  /** The way out of one machine; the label is for the log. */
  open(label: string): EgressWay;
  facts(): GateFacts;
  /** Closes every way. Resolves when no connection is left. */
  close(): Promise<void>;
}

export function createEgressGate(options: EgressGateOptions): EgressGate {
  const limits = { ...usualLimits, ...options.limits };
  const guard = createGuard(
    new Names(options.resolver ?? systemResolver, limits.resolveMs),
    options.allow,
    options.ownAddresses ?? (() => []),
  );
  const ways = new Set<Way>();
  const closed = { bytesIn: 0, bytesOut: 0, proxiedIn: 0, proxiedOut: 0 };
  const wayOf = new WeakMap<Duplex, Way>();
  const server = createServer(wayOf, limits.headMs);

  const open = (label: string): EgressWay => {
    const way: Way = new Way({
      guard,
      limits,
      log: options.log.child({ way: label }),
      clock: options.clock ?? systemClock,
      adHosts: options.adHosts ?? builtinAdHosts,
      inside: options.inside ?? ((address) => !isPublicAddress(address)),
      upstreamCa: options.upstreamCa,
      serve: (connection) => {
        wayOf.set(connection, way);
        server.emit('connection', connection);
      },
      onClose: () => {
        ways.delete(way);
        add(closed, way.facts());
      },
    });
    ways.add(way);
    return way;
  };

  const facts = (): GateFacts => {
    const all = { ...closed, waysOpen: ways.size };
    for (const way of ways) add(all, way.facts());
    return all;
  };

  const close = async (): Promise<void> => {
    const left = [...ways].flatMap((way) => [...way.connections]).filter((connection) => !connection.closed);
    const gone = left.map((connection) => once(connection, 'close'));
    for (const way of ways) way.close();
    await Promise.all(gone);
  };

  return { open, facts, close };
}

function add(sum: Omit<GateFacts, 'waysOpen'>, { bytesIn, bytesOut, proxiedIn, proxiedOut }: EgressFacts): void {
  sum.bytesIn += bytesIn;
  sum.bytesOut += bytesOut;
  sum.proxiedIn += proxiedIn;
  sum.proxiedOut += proxiedOut;
}

function createServer(wayOf: WeakMap<Duplex, Way>, headMs: number): Server {
  // Node checks its own timeouts only on a server that listens, so the time for a head is kept here.
  const server = new Server({ maxHeaderSize: headBytesMax, headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 });
  const waiting = new WeakMap<Duplex, NodeJS.Timeout>();
  const awaitHead = (connection: Duplex): void => {
    clearTimeout(waiting.get(connection));
    if (!connection.destroyed) waiting.set(connection, setTimeout(() => connection.destroy(), headMs).unref());
  };
  const headCame = (connection: Duplex): void => clearTimeout(waiting.get(connection));

  server.on('connection', (connection: Duplex) => {
    awaitHead(connection);
    connection.once('close', () => headCame(connection));
  });
  server.on('request', (request, response) => {
    headCame(request.socket);
    const way = wayOf.get(request.socket);
    response.once('close', () => awaitHead(request.socket));
    if (way) forward(way, request, response).catch(() => request.socket.destroy());
    else request.socket.destroy();
  });
  server.on('connect', (request, connection, head) => {
    headCame(connection);
    const way = wayOf.get(connection);
    if (way) tunnel(way, request, { connection, head }).catch(() => connection.destroy());
    else connection.destroy();
  });
  server.on('clientError', (_error, connection) => {
    if (connection.writable) connection.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    else connection.destroy();
  });
  return server;
}

async function tunnel(way: Way, request: IncomingMessage, { connection, head }: { connection: Duplex; head: Buffer }): Promise<void> {
  const target = parseAuthority(request.url ?? '');
  if (!target) {
    connection.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    return;
  }
  const gone = new AbortController();
  const leave = (): void => gone.abort(new EgressFailure('connection_reset', 'the browser went away'));
  connection.once('close', leave);
  try {
    const route = await way.route(target.host, target.port, { signal: gone.signal, plain: false });
    const site = await way.open(route, gone.signal);
    if (head.length > 0) connection.unshift(head);
    connection.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    join({ connection, site, lingerMs: way.limits.headMs }, (error) => way.note(target.host, target.port, error));
  } catch (error) {
    if (!gone.signal.aborted) refuse(connection, way.note(target.host, target.port, error));
  } finally {
    connection.off('close', leave);
  }
}

/** Passes bytes both ways until either side is done, and then lets go of both. */
function join(
  { connection, site, lingerMs }: { connection: Duplex; site: Socket; lingerMs: number },
  failed: (error: Error) => void,
): void {
  const before = site.bytesRead;
  connection.pipe(site);
  site.pipe(connection);
  // Later breaks are the page's own affair; before the first byte the site was not reached at all.
  site.once('error', (error) => site.bytesRead === before && failed(error));
  site.once('close', (broken) => {
    if (broken || !connection.writable) {
      connection.destroy();
      return;
    }
    // What the site sent last is still wanted, but not by a browser that never reads it.
    const linger = setTimeout(() => connection.destroy(), lingerMs).unref();
    connection.once('close', () => clearTimeout(linger)).end(() => connection.destroy());
  });
  // A browser never closes one half only, so the end of what it sends is the end.
  connection.once('end', () => site.destroySoon());
  connection.once('close', () => site.destroy());
  if (connection.destroyed) site.destroy();
}

function refuse(connection: Duplex, reason: EgressRefusal): void {
  const status = statusOf(reason);
  const text = status === 403 ? 'Forbidden' : 'Not reached';
  connection.end(`HTTP/1.1 ${status} ${text}\r\n${refusalHeader}: ${reason}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`, () =>
    connection.destroy(),
  );
}
