import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { IncomingMessage } from 'node:http';
import { withoutTrailing } from '@berth/lib/text/urls.ts';

/**
 * The client's address, and the URL at which it reached the service.
 *
 * `X-Forwarded-*` is trusted only from the configured proxies: from any other
 * peer an attacker may have written it.
 */
export class Peers {
  #trusted = new BlockList();
  #publicOrigin: string | null;

  /** @throws TypeError unless `trustedProxies` holds only IP addresses and CIDR ranges */
  constructor(trustedProxies: readonly string[], publicUrl: string | null) {
    for (const entry of trustedProxies) this.#trust(entry);
    this.#publicOrigin = publicUrl === null ? null : withoutTrailing(publicUrl, '/');
  }

  #trust(entry: string): void {
    const [address = '', prefix] = entry.split('/');
    const family = familyOf(address);
    if (!family || (prefix !== undefined && !/^\d{1,3}$/.test(prefix))) throw new TypeError(`${entry} is not an IP address or CIDR range`);
    if (prefix === undefined) this.#trusted.addAddress(address, family);
    else this.#trusted.addSubnet(address, Number(prefix), family);
  }

  #trusts(address: string): boolean {
    const family = familyOf(address);
    return family !== undefined && this.#trusted.check(address, family);
  }

  /** The client's address: the last hop that is not a trusted proxy. */
  address(request: IncomingMessage): string {
    let address = plain(request.socket.remoteAddress ?? '');
    const hops = String(request.headers['x-forwarded-for'] ?? '').split(',');
    while (this.#trusts(address)) {
      const hop = plain(hops.pop()?.trim() ?? '');
      if (isIP(hop) === 0) break;
      address = hop;
    }
    return address;
  }

  /** The configured public URL, else `http://HOST` or `https://HOST` of the request. */
  origin(request: IncomingMessage): string {
    if (this.#publicOrigin !== null) return this.#publicOrigin;
    const trusted = this.#trusts(plain(request.socket.remoteAddress ?? ''));
    const forwardedProtocol = trusted ? request.headers['x-forwarded-proto'] : undefined;
    const isSecure = forwardedProtocol === undefined ? 'encrypted' in request.socket : forwardedProtocol === 'https';
    const protocol = isSecure ? 'https' : 'http';
    const forwardedHost = trusted ? request.headers['x-forwarded-host'] : undefined;
    return `${protocol}://${hostOf(forwardedHost) ?? hostOf(request.headers.host) ?? localHost(request)}`;
  }
}

/** The key of an address for rate limits: a whole IPv6 /64 belongs to one customer. */
export const networkOf = (address: string): string =>
  isIP(address) === 6 ? `${Buffer.from(ipaddr.parse(address).toByteArray().slice(0, 8)).toString('hex')}/64` : address;

/** Writes an IPv4-mapped IPv6 address as IPv4. */
const plain = (address: string): string => (address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address);

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : undefined;
}

/** The host becomes part of URLs in responses, so only characters of a host and port are allowed. */
const hostOf = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' && value.length <= 261 && /^[A-Za-z0-9._[\]:-]+$/.test(value) ? value : undefined;

function localHost(request: IncomingMessage): string {
  const { localAddress = '127.0.0.1', localPort = 0 } = request.socket;
  const address = plain(localAddress);
  return `${address.includes(':') ? `[${address}]` : address}:${localPort}`;
}
