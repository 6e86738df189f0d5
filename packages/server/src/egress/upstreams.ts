/** From what a caller asks and a region has to the policy of a way out. */
import { randomInt } from 'node:crypto';
import { ValidationError } from '@berth/contract';
import type { ProxyRequest } from '@berth/contract';
import type { RegionEntry, RegionProxy } from '../regions/regions.ts';
import type { EgressPolicy, Upstream } from './policy.ts';

export interface PolicyRequest {
  proxy: ProxyRequest | null;
  allowed_domains: readonly string[] | null;
  block_ads: boolean;
}

/**
 * The policy for a session. `managed` takes one of the region's proxies, spread
 * evenly over sessions by `pick`, which gives a whole number below its argument.
 * Throws a ValidationError when the region has none of the kind or country asked for.
 */
export function policyFor(request: PolicyRequest, region: RegionEntry, pick: (below: number) => number = randomInt): EgressPolicy {
  const { proxy } = request;
  const upstreams = proxy ? upstreamsOf(proxy, region, pick) : [];
  return {
    allowedDomains: request.allowed_domains,
    blockAds: request.block_ads,
    upstreams,
    rotate: proxy?.rotate ?? 'on_request',
    bypass: proxy?.bypass ?? [],
  };
}

function upstreamsOf(proxy: ProxyRequest, region: RegionEntry, pick: (below: number) => number): Upstream[] {
  if (proxy.type === 'none') return [];
  if (proxy.type === 'external') return [callersOwn(proxy.server ?? '', proxy)];
  if (proxy.servers) return proxy.servers.map((server) => callersOwn(server, proxy));
  const proxies = fitting(proxy.type, proxy, region);
  return (proxy.type === 'rotating' ? proxies : proxies.slice(pick(proxies.length)).slice(0, 1)).map(toUpstream);
}

function fitting(kind: 'managed' | 'rotating', { country }: ProxyRequest, region: RegionEntry): readonly RegionProxy[] {
  const all = region.proxies[kind];
  if (all.length === 0) throw notHere('type', kind, `The region ${region.code} has no ${kind} proxies`);
  const there = country === undefined ? all : all.filter((each) => each.country === country);
  if (there.length === 0) throw notHere('country', country, `The region ${region.code} has no ${kind} proxies in ${country}`);
  return there;
}

const notHere = (field: 'type' | 'country', input: unknown, msg: string): ValidationError =>
  new ValidationError([{ loc: ['body', 'proxy', field], msg, type: 'value_error', input, ctx: {} }]);

const toUpstream = (proxy: RegionProxy): Upstream => ({
  url: withCredentials(proxy.server, proxy),
  ip: proxy.ip,
  country: proxy.country,
  trusted: true,
});

const callersOwn = (server: string, proxy: ProxyRequest): Upstream => ({
  url: withCredentials(server, proxy),
  ip: null,
  country: null,
  trusted: false,
});

/** Credentials in the address itself win over those beside it, which are for all of a list. */
function withCredentials(
  server: string,
  { username, password }: { username?: string | null | undefined; password?: string | null | undefined },
): string {
  const url = new URL(server);
  if (url.username !== '' || url.password !== '') return url.href;
  url.username = encodeURIComponent(username ?? '');
  url.password = encodeURIComponent(password ?? '');
  return url.href;
}
