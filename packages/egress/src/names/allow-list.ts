/** The operator's exceptions from the address table and the port policy. */
import { BlockList, isIP } from 'node:net';
import { parseAuthority, parseHost, sameFamily } from './addresses.ts';

export interface AllowList {
  /** Whether this host, at this address and port, is allowed. */
  allows(host: string, address: string, port: number): boolean;
  /** Whether an entry has exactly this port: only such an entry opens the service's own ports. */
  hasPort(host: string, address: string, port: number): boolean;
}

/** An invalid entry. The message names it and the valid forms. */
export class AllowListError extends Error {}

/**
 * Comma-separated networks (`10.0.0.0/8`), addresses, host names, and either
 * of the last two with a port (`127.0.0.1:3000`, `[::1]:3000`, `intranet:8080`).
 * An entry without a port allows all ports.
 * @throws AllowListError
 */
export function parseAllowList(text: string): AllowList {
  const networks = new BlockList();
  const hosts = new Set<string>();
  const authorities = new Set<string>();
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    if (entry.includes('/')) addNetwork(networks, entry);
    else addHost(entry, { hosts, authorities });
  }
  const inNetwork = (address: string): boolean => isIP(address) !== 0 && networks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  const hasPort = (host: string, address: string, port: number): boolean =>
    authorities.has(`${host} ${port}`) || authorities.has(`${sameFamily(address)} ${port}`);
  return {
    hasPort,
    allows: (host, address, port) =>
      hosts.has(host) || hosts.has(sameFamily(address)) || inNetwork(sameFamily(address)) || hasPort(host, address, port),
  };
}

function addNetwork(networks: BlockList, entry: string): void {
  const parts = /^([^/]+)\/(\d{1,3})$/.exec(entry);
  const address = parts?.[1]?.replace(/^\[(.*)\]$/, '$1') ?? '';
  const family = isIP(address);
  const bits = Number(parts?.[2]);
  if (!parts || family === 0 || address.includes('%') || bits > (family === 6 ? 128 : 32))
    throw new AllowListError(`"${entry}" is not a network. Use an address and a prefix length, such as 10.0.0.0/8 or fd00::/8.`);
  networks.addSubnet(address, bits, family === 6 ? 'ipv6' : 'ipv4');
}

function addHost(entry: string, sets: { hosts: Set<string>; authorities: Set<string> }): void {
  const host = parseHost(entry);
  const authority = host === null ? parseAuthority(entry) : null;
  if (host !== null && isPlausible(host)) sets.hosts.add(sameFamily(host));
  else if (authority && isPlausible(authority.host)) sets.authorities.add(`${sameFamily(authority.host)} ${authority.port}`);
  else
    throw new AllowListError(
      `"${entry}" is not valid. Use a network (10.0.0.0/8), an address or a host name, ` +
        'or one of the last two with a port (127.0.0.1:3000, [::1]:3000).',
    );
}

/** Rejects patterns and stray characters, which would never match. */
const isPlausible = (host: string): boolean =>
  isIP(host) !== 0 || /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/.test(host);
