/** Opens one connection: to a site, or through an upstream proxy to a site. */
import { request as httpRequest } from 'node:http';
import { connect, isIP, isIPv4 } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { SocksClient } from 'socks';
import { authorityText, parseHost } from './addresses.ts';
import type { PinnedTarget } from './guard.ts';
import { EgressFailure } from './policy.ts';
import type { EgressRefusal, Upstream } from './policy.ts';

/** When one address does not answer the next is tried beside it: the 250 ms that browsers use (RFC 8305). */
const nextAddressAfterMs = 250;

export interface DialOptions {
  signal: AbortSignal;
  /** Told of the socket before it is connected, so that it is counted and can be destroyed from the start. */
  onSocket: (socket: Socket) => void;
}

/**
 * A connection to one of the addresses that were checked. The name is not
 * resolved again. Throws {@link EgressFailure}, or the signal's reason.
 */
export function dialTcp(target: PinnedTarget, { signal, onSocket }: DialOptions): Promise<Socket> {
  signal.throwIfAborted();
  const pinned = target.addresses.map((address) => ({ address, family: isIPv4(address) ? 4 : 6 }));
  const [first] = pinned;
  if (!first) throw new EgressFailure('dns_failed', `${target.host} has no address`);
  const socket = connect({
    port: target.port,
    host: pinned.length === 1 ? first.address : target.host,
    lookup: (_host, options, answer) => (options.all ? answer(null, pinned) : answer(null, first.address, first.family)),
    autoSelectFamily: pinned.length > 1,
    autoSelectFamilyAttemptTimeout: nextAddressAfterMs,
    noDelay: true,
  });
  onSocket(socket);
  return settled(socket, 'connect', signal).catch((cause: unknown) => {
    throw cause instanceof EgressFailure
      ? cause
      : new EgressFailure(reasonOf(cause), `${authorityText(target.host, target.port)} cannot be reached`, { cause });
  });
}

/** Resolves when the socket emits the event; destroys it when it fails or the signal is aborted. */
async function settled<S extends Socket>(socket: S, event: string, signal: AbortSignal): Promise<S> {
  const { promise, resolve, reject } = Promise.withResolvers<S>();
  const giveUp = (): void => {
    socket.destroy();
    reject(signal.reason);
  };
  const closed = (): void => reject(new EgressFailure('connection_reset', 'closed before it was open'));
  const done = (): void => resolve(socket);
  socket.once(event, done).once('error', reject).once('close', closed);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', giveUp);
    socket.off(event, done).off('close', closed).off('error', reject);
  }
}

/** What a failed connection means to whoever asked for the site. */
export function reasonOf(error: unknown): EgressRefusal {
  if (error instanceof EgressFailure) return error.reason;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ETIMEDOUT') return 'timeout';
  // A reply that is no HTTP (HPE_…) is as good as none.
  if (code === 'ECONNRESET' || code === 'EPIPE' || code.startsWith('HPE_')) return 'connection_reset';
  return 'connection_refused';
}

/** An upstream with its address taken apart. */
export interface UpstreamAddress {
  protocol: 'http:' | 'https:' | 'socks5:';
  host: string;
  port: number;
  username: string;
  password: string;
  trusted: boolean;
  ip: string | null;
  country: string | null;
}

const usualPorts = { 'http:': 80, 'https:': 443, 'socks5:': 1080 } as const;

/** Throws a TypeError that does not repeat the address, because it may hold a password. */
export function parseUpstream(upstream: Upstream): UpstreamAddress {
  const url = URL.parse(upstream.url);
  const host = url ? parseHost(url.hostname) : null;
  const protocol = url?.protocol;
  if (!url || host === null || (protocol !== 'http:' && protocol !== 'https:' && protocol !== 'socks5:'))
    throw new TypeError('The address of a proxy should be http://, https:// or socks5:// with a host and a port');
  return {
    protocol,
    host,
    port: url.port === '' ? usualPorts[protocol] : Number(url.port),
    username: decoded(url.username),
    password: decoded(url.password),
    trusted: upstream.trusted,
    ip: upstream.ip,
    country: upstream.country,
  };
}

/** A stray percent sign in a password stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The value of `proxy-authorization`, where the proxy wants one. */
export const basicCredentials = (upstream: UpstreamAddress): string | null =>
  upstream.username === '' && upstream.password === ''
    ? null
    : `Basic ${Buffer.from(`${upstream.username}:${upstream.password}`).toString('base64')}`;

export interface UpstreamDialOptions extends DialOptions {
  /** Certificates that an https:// proxy's may be signed with, beside the usual ones. */
  ca?: string | undefined;
}

/** A connection to the proxy itself, encrypted when its address says https. Every failure is a `proxy_error`. */
export async function dialUpstream(upstream: UpstreamAddress, at: PinnedTarget, { ca, ...options }: UpstreamDialOptions): Promise<Socket> {
  try {
    const socket = await dialTcp(at, options);
    if (upstream.protocol !== 'https:') return socket;
    const name = isIP(upstream.host) === 0 ? { servername: upstream.host } : {};
    const secure = connectTls({ socket, host: upstream.host, ...name, ALPNProtocols: ['http/1.1'], ...(ca === undefined ? {} : { ca }) });
    return await settled(secure, 'secureConnect', options.signal);
  } catch (cause) {
    throw asProxyError(cause, upstream, options.signal);
  }
}

/** A stream to the site through a proxy that is connected. `host` is what the proxy is told: a name or an address. */
export async function tunnelThrough(
  upstream: UpstreamAddress,
  socket: Socket,
  target: { host: string; port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const giveUp = (): void => void socket.destroy();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    if (upstream.protocol === 'socks5:') await shakeSocks(upstream, socket, target);
    else await shakeConnect(upstream, socket, target);
    signal.throwIfAborted();
    return socket;
  } catch (cause) {
    socket.destroy();
    throw asProxyError(cause, upstream, signal);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

async function shakeSocks(upstream: UpstreamAddress, socket: Socket, destination: { host: string; port: number }): Promise<void> {
  const credentials = upstream.username === '' ? {} : { userId: upstream.username, password: upstream.password };
  const proxy = { host: upstream.host, port: upstream.port, type: 5 as const, ...credentials };
  await SocksClient.createConnection({ proxy, command: 'connect', destination, existing_socket: socket });
}

function shakeConnect(upstream: UpstreamAddress, socket: Socket, target: { host: string; port: number }): Promise<void> {
  const authority = authorityText(target.host, target.port);
  const credentials = basicCredentials(upstream);
  const headers = { host: authority, ...(credentials === null ? {} : { 'proxy-authorization': credentials }) };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Without an agent, not with `false`: that one would open a connection of its own.
  const asked = httpRequest({ method: 'CONNECT', path: authority, headers, setHost: false, createConnection: () => socket });
  const refused = (status: number | undefined): void => reject(new EgressFailure('proxy_error', `the proxy answered ${status} to CONNECT`));
  asked.once('connect', (response, _socket, head) => {
    if (response.statusCode !== 200) return refused(response.statusCode);
    if (head.length > 0) socket.unshift(head);
    resolve();
  });
  asked.once('response', (response) => {
    response.resume();
    refused(response.statusCode);
  });
  asked.on('error', reject);
  asked.once('close', () => reject(new EgressFailure('proxy_error', 'the proxy closed the connection')));
  asked.end();
  return promise;
}

function asProxyError(cause: unknown, upstream: UpstreamAddress, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const detail = cause instanceof Error ? `: ${cause.message}` : '';
  return new EgressFailure('proxy_error', `proxy ${upstream.protocol}//${authorityText(upstream.host, upstream.port)} failed${detail}`, {
    cause,
  });
}
