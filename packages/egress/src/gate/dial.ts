/** Opens one connection: to a site directly, or through an upstream proxy. */
import { request as httpRequest } from 'node:http';
import { connect, isIP, isIPv4, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { SocksClient } from 'socks';
import { orAbort } from '@berth/lib/or-abort.ts';
import { authorityText, parseHost } from '../names/addresses.ts';
import type { PinnedTarget } from './guard.ts';
import { EgressError, type Upstream } from '../policy.ts';
import { netErrors, toRefusal } from './refusal.ts';

/** Happy Eyeballs: the connection attempt delay of RFC 8305. */
const nextAddressDelayMs = 250;
/** Less than one read of a busy connection: the next follows when the first was passed on. Responses in tiny chunks are parsed within. */
const buffering = { readableHighWaterMark: 16 * 1024 };

export interface DialOptions {
  signal: AbortSignal;
  /** Called before the socket is connected, so that it can be counted and destroyed from the start. */
  onSocket: (socket: Socket) => void;
}

/**
 * Connects to one of the checked addresses. The name is not resolved again.
 * @throws EgressError, or the signal's reason
 */
export function dialTcp(target: PinnedTarget, { signal, onSocket }: DialOptions): Promise<Socket> {
  signal.throwIfAborted();
  const pinned = target.addresses.map((address) => ({ address, family: isIPv4(address) ? 4 : 6 }));
  const [first] = pinned;
  if (!first) throw new EgressError('dns_failed', `${target.host} has no address`);
  const socket = connect({
    port: target.port,
    host: pinned.length === 1 ? first.address : target.host,
    lookup: (_host, options, callback) => (options.all ? callback(null, pinned) : callback(null, first.address, first.family)),
    autoSelectFamily: pinned.length > 1,
    autoSelectFamilyAttemptTimeout: nextAddressDelayMs,
    noDelay: true,
    ...buffering,
  });
  onSocket(socket);
  return waitForEvent(socket, 'connect', signal).catch((cause: unknown) => {
    throw cause instanceof EgressError
      ? cause
      : new EgressError(toRefusal(cause), `${authorityText(target.host, target.port)} cannot be reached`, { cause });
  });
}

/** Resolves when the socket emits the event; destroys it when it fails or the signal is aborted. */
async function waitForEvent<S extends Socket>(socket: S, event: string, signal: AbortSignal): Promise<S> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onClose = (): void => reject(new EgressError('connection_reset', 'closed before it was open'));
  socket.once(event, resolve).once('error', reject).once('close', onClose);
  try {
    await orAbort(promise, signal);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    socket.off(event, resolve).off('close', onClose).off('error', reject);
  }
}

/** An upstream with its parsed address. */
export interface UpstreamAddress {
  protocol: 'http:' | 'https:' | 'socks5:';
  host: string;
  port: number;
  username: string;
  password: string;
  isTrusted: boolean;
  ip: string | null;
  country: string | null;
}

const defaultPorts = { 'http:': 80, 'https:': 443, 'socks5:': 1080 } as const;

/** @throws TypeError that does not repeat the address, because it may hold a password */
export function parseUpstream(upstream: Upstream): UpstreamAddress {
  const url = URL.parse(upstream.url);
  const host = url ? parseHost(url.hostname) : null;
  const protocol = url?.protocol;
  if (!url || host === null || (protocol !== 'http:' && protocol !== 'https:' && protocol !== 'socks5:'))
    throw new TypeError('The address of a proxy should be http://, https:// or socks5:// with a host and a port');
  return {
    protocol,
    host,
    port: url.port === '' ? defaultPorts[protocol] : Number(url.port),
    username: decodeComponent(url.username),
    password: decodeComponent(url.password),
    isTrusted: upstream.isTrusted,
    ip: upstream.ip,
    country: upstream.country,
  };
}

/** Keeps text with a stray percent sign as it is. */
export function decodeComponent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The value of `Authorization` or `Proxy-Authorization`; null without credentials. */
export const toBasicCredentials = ({ username, password }: { username: string; password: string }): string | null =>
  username === '' && password === '' ? null : `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

export interface UpstreamDialOptions extends DialOptions {
  /** PEM certificates that https:// proxies are checked with, instead of the default ones. */
  ca?: string | undefined;
}

/** Connects to the proxy itself, with TLS when its address is https://. Every failure is a `proxy_error`. */
export async function dialUpstream(
  upstream: UpstreamAddress,
  pinned: PinnedTarget,
  { ca, ...options }: UpstreamDialOptions,
): Promise<Socket> {
  try {
    const socket = await dialTcp(pinned, options);
    if (upstream.protocol !== 'https:') return socket;
    return await startTls(socket, { host: upstream.host, ca, signal: options.signal });
  } catch (cause) {
    throw toProxyError(cause, upstream, options.signal);
  }
}

export interface TlsOptions {
  host: string;
  /** PEM certificates that the host is checked with, instead of the default ones. */
  ca: string | undefined;
  rejectUnauthorized?: boolean;
  signal: AbortSignal;
}

/** TLS over an open connection. Resolves when the handshake is done. */
export function startTls(socket: Socket, { host, ca, rejectUnauthorized = true, signal }: TlsOptions): Promise<Socket> {
  const name = isIP(host) === 0 ? { servername: host } : {};
  const secure = connectTls({
    socket,
    host,
    ...name,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized,
    ...(ca === undefined ? {} : { ca }),
  });
  secure.on('error', () => {}).once('close', () => socket.destroy());
  socket.once('close', () => secure.destroy());
  return waitForEvent<Socket>(secure, 'secureConnect', signal);
}

/** Opens a tunnel to the site over a connection to the proxy. `host` is a name or an address. */
export async function tunnelThrough(
  upstream: UpstreamAddress,
  socket: Socket,
  target: { host: string; port: number },
  signal: AbortSignal,
): Promise<Socket> {
  try {
    await orAbort((upstream.protocol === 'socks5:' ? connectSocks : connectHttp)(upstream, socket, target), signal);
    return socket;
  } catch (cause) {
    socket.destroy();
    throw toProxyError(cause, upstream, signal);
  }
}

async function connectSocks(upstream: UpstreamAddress, socket: Socket, destination: { host: string; port: number }): Promise<void> {
  const credentials = upstream.username === '' ? {} : { userId: upstream.username, password: upstream.password };
  const proxy = { host: upstream.host, port: upstream.port, type: 5 as const, ...credentials };
  await SocksClient.createConnection({ proxy, command: 'connect', destination, existing_socket: socket });
}

function connectHttp(upstream: UpstreamAddress, socket: Socket, target: { host: string; port: number }): Promise<void> {
  const authority = authorityText(target.host, target.port);
  const credentials = toBasicCredentials(upstream);
  const headers = { host: authority, ...(credentials === null ? {} : { 'proxy-authorization': credentials }) };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // No `agent: false`: that would open its own connection.
  const connectRequest = httpRequest({ method: 'CONNECT', path: authority, headers, setHost: false, createConnection: () => socket });
  const rejectStatus = (status: number | undefined): void => reject(new ProxyRefusedError(`answered ${status} to CONNECT`, status === 407));
  connectRequest.once('connect', (response, _socket, head) => {
    if (response.statusCode !== 200) return rejectStatus(response.statusCode);
    if (head.length > 0) socket.unshift(head);
    resolve();
  });
  connectRequest.once('response', (response) => {
    response.resume();
    rejectStatus(response.statusCode);
  });
  connectRequest.on('error', reject);
  connectRequest.once('close', () => reject(new ProxyRefusedError('closed the connection')));
  connectRequest.end();
  return promise;
}

/** What a proxy did instead of opening a tunnel. */
class ProxyRefusedError extends Error {
  /** It did not accept the credentials, or none. */
  readonly isOfCredentials: boolean;

  constructor(message: string, isOfCredentials = false) {
    super(message);
    this.isOfCredentials = isOfCredentials;
  }
}

/** SOCKS has no error for refused credentials that its client marks by more than its words. */
const refusesCredentials = (cause: unknown): boolean =>
  cause instanceof ProxyRefusedError
    ? cause.isOfCredentials
    : cause instanceof Error && /^Socks5 Authentication failed/i.test(cause.message);

/** A caller may read about its own proxy, but not about the operator's. */
function toProxyError(cause: unknown, upstream: UpstreamAddress, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const authority = authorityText(upstream.host, upstream.port);
  const detail = cause instanceof Error ? `: ${cause.message}` : '';
  const publicMessage = upstream.isTrusted
    ? null
    : `the proxy ${authority} ${cause instanceof ProxyRefusedError ? cause.message : 'refused or failed'}`;
  return new EgressError('proxy_error', `proxy ${upstream.protocol}//${authority} failed${detail}`, {
    cause,
    publicMessage,
    netError: refusesCredentials(cause) ? netErrors.proxy_credentials : netErrors.proxy_error,
  });
}
