/**
 * Which addresses and ports a browser may reach, and how host names match lists of domains.
 *
 * The table refuses when in doubt: only what the IANA registries list as
 * globally routable is public, and an IPv6 address that embeds an IPv4 one is
 * never public, because a translator (NAT64, 6to4) would unpack it.
 */
import { BlockList, isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { withoutTrailing } from '@berth/lib/text/urls.ts';

/** Denied ranges in addition to those that ipaddr.js does not call `unicast`. */
const deniedRanges = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10', // Carrier NAT; Alibaba Cloud's metadata is 100.100.100.200.
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24', // Oracle Cloud's metadata is 192.0.0.192.
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '168.63.129.16/32', // Azure's host agent: looks public, is the hypervisor.
  '2001::/23', // Teredo, ORCHID, benchmarking and other protocol assignments.
  '2001:db8::/32',
  '2002::/16', // 6to4 carries an IPv4 address.
  '3fff::/20',
] as const;

const denied = new BlockList();
for (const range of deniedRanges) {
  const [address = '', bits] = range.split('/');
  denied.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** The only allocated global unicast space of IPv6; everything else is special or reserved. */
const globalV6 = new BlockList();
globalV6.addSubnet('2000::', 3, 'ipv6');

/** Whether an IP literal (without brackets) is globally routable. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return false;
  if (family === 6 && !globalV6.check(address, 'ipv6')) return false;
  return !denied.check(address, family === 6 ? 'ipv6' : 'ipv4') && ipaddr.parse(address).range() === 'unicast';
}

/**
 * The canonical form of a host, as the URL standard parses it: decimal, octal,
 * hex, short and full-width forms resolved, lower case, no trailing dot, no
 * brackets. Null when it is not a host.
 */
export function parseHost(text: string): string | null {
  if (text === '' || /[/?#@\\\s]/.test(text)) return null;
  const bracketed = isIPv6(text) ? `[${text}]` : text;
  if (!URL.canParse(`http://${bracketed}/`)) return null;
  const url = new URL(`http://${bracketed}/`);
  if (url.port !== '' || url.pathname !== '/') return null;
  // `127.0.0.1:80` and `a:` would pass as host and port.
  if (!bracketed.startsWith('[') && bracketed.includes(':')) return null;
  return plainHost(url.hostname);
}

/** The hostname of a `URL`, without brackets and trailing dots. Null when nothing is left. */
export function plainHost(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : withoutTrailing(hostname, '.');
  return bare === '' ? null : bare;
}

export interface Authority {
  host: string;
  port: number;
}

/** `host:port` of a CONNECT request. The port is required. */
export function parseAuthority(text: string): Authority | null {
  const parts = /^(.+):(\d{1,5})$/.exec(text);
  const host = parts?.[1] === undefined ? null : parseHost(parts[1]);
  const port = Number(parts?.[2]);
  return host === null || port < 1 || port > 65_535 ? null : { host, port };
}

/** Host and port of a web address; null for a text that is none. */
export function authorityOf(url: string): Authority | null {
  const address = URL.parse(url);
  if (!address) return null;
  const isSecure = address.protocol === 'https:' || address.protocol === 'wss:';
  return { host: address.hostname, port: Number(address.port) || (isSecure ? 443 : 80) };
}

/** `host:port`, with brackets where IPv6 needs them. */
export const authorityText = (host: string, port: number): string => (isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`);

/** Writes an IPv4-mapped IPv6 address as IPv4. */
export function sameFamily(address: string): string {
  return isIP(address) === 0 || address.includes('%') ? address : ipaddr.process(address).toString();
}

/**
 * Ports from 1024 on whose protocols can be spoken by a crafted HTTP request,
 * or that are administration by nature: Chromium's restricted ports, databases,
 * caches, brokers, and the interfaces of container hosts.
 */
const deniedPorts = new Set([
  1433, 1521, 1719, 1720, 1723, 2049, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5672, 6000, 6379, 6566, 6665,
  6666, 6667, 6668, 6669, 6679, 6697, 9042, 9092, 9200, 9300, 10_080, 10_250, 10_255, 11_211, 27_017, 27_018, 27_019,
]);

/** 80, 443 and unprivileged ports, except those of other protocols, such as mail, shells and databases. */
export const isWebPort = (port: number): boolean =>
  port === 80 || port === 443 || (port >= 1024 && port <= 65_535 && !deniedPorts.has(port));

export const isLoopbackName = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost');

const inside = new BlockList();
inside.addSubnet('127.0.0.0', 8, 'ipv4');
inside.addAddress('0.0.0.0', 'ipv4');
inside.addAddress('::1', 'ipv6');
inside.addAddress('::', 'ipv6');

/** Loopback, and the unspecified address, which is dialled as loopback. */
export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && inside.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** Whether a host as a page names it is the computer that the page is on. */
export const isLoopback = (host: string): boolean => isLoopbackName(host) || isLoopbackAddress(host);

/** Whether a host is one of the names, or under one that begins with `*.`; the name itself is not under it. */
export function domainMatcher(patterns: readonly string[]): (host: string) => boolean {
  const exact = new Set<string>();
  const parents = new Set<string>();
  for (const pattern of patterns) {
    const wild = pattern.startsWith('*.');
    const name = wild ? pattern.slice(2) : pattern;
    (wild ? parents : exact).add(parseHost(name) ?? name.toLowerCase());
  }
  return (host) => exact.has(host) || (parents.size > 0 && isUnder(host, parents));
}

/** Whether a host is one of the names or a part of one's domain. */
export const inDomains = (host: string, names: ReadonlySet<string>): boolean => names.has(host) || isUnder(host, names);

function isUnder(host: string, names: ReadonlySet<string>): boolean {
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) if (names.has(host.slice(dot + 1))) return true;
  return false;
}
