/** Names that pages and callers choose: the hosts file, then DNS over c-ares, which needs no thread for a lookup that hangs. */
import { Resolver as DnsResolver, lookup } from 'node:dns/promises';
import { readFile, stat } from 'node:fs/promises';
import { isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isPublicAddress } from './addresses.ts';

/** Returns every address of a name. @throws the resolver's own error when there is none */
export type Resolver = (host: string) => Promise<readonly string[]>;

/** getaddrinfo, with its search domains: for the few names that the operator chooses, because each takes a thread. */
export const operatorResolver: Resolver = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map((answer) => answer.address);

export class DnsServersError extends Error {
  override name = 'DnsServersError';
}

/** The servers of a list such as `10.0.0.2, [fd00::2]:5353`. @throws DnsServersError */
export function parseDnsServers(text: string): string[] {
  const servers = text.split(',').flatMap((each) => (each.trim() === '' ? [] : [each.trim()]));
  try {
    new DnsResolver().setServers(servers);
  } catch (cause) {
    throw new DnsServersError('BERTH_DNS_SERVERS holds what is no IP address, with or without a port. Separate addresses by commas.', {
      cause,
    });
  }
  return servers;
}

/** A lost packet costs one second; together they stay within the five seconds that a name may take. */
const triesOfMs = { timeout: 1000, maxTimeout: 2000, tries: 3 };
/** How long a change of the files may go unnoticed. */
const rereadMs = 5000;

export interface SystemNamesOptions {
  hostsPath?: string;
  resolvConfPath?: string;
  /** Instead of those in resolv.conf: `address:port`. */
  servers?: readonly string[];
  rereadMs?: number;
}

/** The names of this host: those of its hosts file, else every A and AAAA record. Search domains do not apply. */
export class SystemNames {
  readonly #options: SystemNamesOptions & { hostsPath: string; resolvConfPath: string; rereadMs: number };
  #hosts: ReadonlyMap<string, readonly string[]> = new Map();
  #dns: DnsResolver;
  #changedMs = { hosts: -1, resolvConf: -1 };
  #readMs = -Infinity;
  #reading: Promise<void> = Promise.resolve();

  constructor(options: SystemNamesOptions = {}) {
    this.#options = { hostsPath: '/etc/hosts', resolvConfPath: '/etc/resolv.conf', rereadMs, ...options };
    this.#dns = this.#createDns();
  }

  resolve: Resolver = async (host) => {
    await this.#refresh();
    const listed = this.#hosts.get(host.toLowerCase().replace(/\.$/, ''));
    if (listed) return listed;
    const [v4, v6] = await Promise.allSettled([this.#dns.resolve4(host), this.#dns.resolve6(host)]);
    // Both families are waited for, because one answer that is not public refuses the name.
    const addresses = [v4, v6].map((family) => (family.status === 'fulfilled' ? family.value : []));
    // Where one family was not answered, the name may exist in spite of what the other says.
    if (v4.status === 'rejected' && v6.status === 'rejected') throw isUnanswered(v6.reason) ? v6.reason : v4.reason;
    return (hasIpv6() ? addresses.toReversed() : addresses).flat();
  };

  #createDns(): DnsResolver {
    const dns = new DnsResolver(triesOfMs);
    if (this.#options.servers) dns.setServers(this.#options.servers);
    return dns;
  }

  #refresh(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#readMs < this.#options.rereadMs) return this.#reading;
    this.#readMs = nowMs;
    this.#reading = this.#read();
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { hostsPath, resolvConfPath } = this.#options;
    const [hosts, resolvConf] = await Promise.all([changedMs(hostsPath), changedMs(resolvConfPath)]);
    if (hosts !== this.#changedMs.hosts) this.#hosts = parseHosts(await readFile(hostsPath, 'utf8').catch(() => ''));
    // A resolver reads its servers once.
    if (resolvConf !== this.#changedMs.resolvConf && this.#changedMs.resolvConf !== -1) this.#dns = this.#createDns();
    this.#changedMs = { hosts, resolvConf };
  }
}

/** Codes of c-ares and getaddrinfo that say nothing of the name: the servers did not answer, or refused to. */
const unansweredCodes = new Set(['ETIMEOUT', 'ESERVFAIL', 'EREFUSED', 'ECONNREFUSED', 'EBADRESP', 'EFORMERR', 'ENOTIMP', 'EAI_AGAIN']);

export const isUnanswered = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && unansweredCodes.has(String(error.code));

const changedMs = (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );

/** `hosts(5)`: an address and its names on each line. */
function parseHosts(text: string): Map<string, readonly string[]> {
  const hosts = new Map<string, readonly string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = (line.split('#', 1)[0] ?? '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names.map((each) => each.toLowerCase())) hosts.set(name, [...(hosts.get(name) ?? []), address]);
  }
  return hosts;
}

/** Whether IPv6 addresses come first, as getaddrinfo would sort them. */
const hasIpv6 = (): boolean =>
  Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => isIPv6(address) && isPublicAddress(address)));
