/** The egress policy for a caller's request and a region's proxies. */
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
 * The policy for a session. `managed` takes one of the region's proxies at
 * random; `pick` returns an integer below its argument.
 * @throws ValidationError when the region has no proxy of the type or country
 */
export function toEgressPolicy(request: PolicyRequest, region: RegionEntry, pick: (below: number) => number = randomInt): EgressPolicy {
  const { proxy } = request;
  const upstreams = proxy ? toUpstreams(proxy, region, pick) : [];
  return {
    allowedDomains: request.allowed_domains,
    blockAds: request.block_ads,
    upstreams,
    rotate: proxy?.rotate ?? 'on_request',
    bypass: proxy?.bypass ?? [],
  };
}

function toUpstreams(proxy: ProxyRequest, region: RegionEntry, pick: (below: number) => number): Upstream[] {
  if (proxy.type === 'none') return [];
  if (proxy.type === 'external') return [toCallerUpstream(proxy.server ?? '', proxy)];
  if (proxy.servers) return proxy.servers.map((server) => toCallerUpstream(server, proxy));
  const proxies = matchProxies(proxy.type, proxy, region);
  return (proxy.type === 'rotating' ? proxies : proxies.slice(pick(proxies.length)).slice(0, 1)).map(toOperatorUpstream);
}

function matchProxies(type: 'managed' | 'rotating', { country }: ProxyRequest, region: RegionEntry): readonly RegionProxy[] {
  const all = region.proxies[type];
  if (all.length === 0)
    throw createProxyError('type', type, `Region ${region.code} has no ${type} proxies. GET /v1/regions lists the proxies of each region.`);
  const matching = country === undefined ? all : all.filter((each) => each.country === country);
  if (matching.length === 0)
    throw createProxyError(
      'country',
      country,
      `Region ${region.code} has no ${type} proxies in ${country}. GET /v1/regions lists the countries of each region.`,
    );
  return matching;
}

const createProxyError = (field: 'type' | 'country', input: unknown, msg: string): ValidationError =>
  new ValidationError([{ loc: ['body', 'proxy', field], msg, type: 'value_error', input, ctx: {} }]);

const toOperatorUpstream = (proxy: RegionProxy): Upstream => ({
  url: withCredentials(proxy.server, proxy),
  ip: proxy.ip,
  country: proxy.country,
  isTrusted: true,
});

const toCallerUpstream = (server: string, proxy: ProxyRequest): Upstream => ({
  url: withCredentials(server, proxy),
  ip: null,
  country: null,
  isTrusted: false,
});

/** Credentials in the address win over `username` and `password`, which apply to all of a list. */
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
