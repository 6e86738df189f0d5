/** The egress policy for a caller's request and a region's proxies. */
import { randomInt } from 'node:crypto';
import { ServiceError, ValidationError, type EgressType, type ProxyRequest } from '@berth/contract';
import type { RegionEntry, RegionProxy } from './regions.ts';
import type { EgressPolicy, EgressStats, Upstream } from '../policy.ts';

export interface PolicyRequest {
  proxy: ProxyRequest | null;
  allowed_domains: readonly string[] | null;
  block_ads: boolean;
}

export interface PolicyOptions {
  region: RegionEntry;
  /** Whether the owner's plan allows managed and rotating proxies. */
  premiumEgress: boolean;
  /** Returns an integer below its argument. */
  pick?: (below: number) => number;
}

type ProxySettings = Pick<ProxyRequest, 'type' | 'server' | 'servers' | 'username' | 'password' | 'country' | 'rotate' | 'bypass'>;

/**
 * The policy for a session or a fetch. Traffic leaves from its region: directly
 * only where this worker is in the region, else through one of the region's
 * managed proxies. The caller's own proxies serve any region.
 * @throws ValidationError when the region has no proxy of the type or country, or traffic would leave from elsewhere;
 * ServiceError premium_egress_required, region_unavailable
 */
export function toEgressPolicy(request: PolicyRequest, { region, premiumEgress, pick = randomInt }: PolicyOptions): EgressPolicy {
  if (request.proxy) checkProxy(request.proxy, region, premiumEgress);
  const proxy = request.proxy ?? regionalProxy(region, premiumEgress);
  return {
    type: toType(proxy),
    country: region.isOwn ? region.country : null,
    allowedDomains: request.allowed_domains,
    blockAds: request.block_ads,
    upstreams: toUpstreams(proxy, region, pick),
    rotate: proxy.rotate,
    bypass: proxy.bypass,
  };
}

const defaults: Pick<ProxySettings, 'rotate' | 'bypass'> = { rotate: 'on_request', bypass: [] };

const toType = ({ type }: ProxySettings): EgressType => (type === 'none' ? 'direct' : type);

/** How traffic leaves that names no proxy. */
function regionalProxy({ code, isOwn, proxies }: RegionEntry, premiumEgress: boolean): ProxySettings {
  if (isOwn) return { type: 'none', ...defaults };
  if (proxies.managed.length > 0) {
    if (!premiumEgress)
      throw new ServiceError(
        'premium_egress_required',
        `Traffic leaves from region ${code} through its managed proxies, which require a plan with premium egress. ` +
          'Change the plan, or choose a region of GET /v1/regions with `egress.direct`.',
      );
    return { type: 'managed', ...defaults };
  }
  if (proxies.rotating.length > 0)
    throw invalid(['region'], code, `Region ${code} has only rotating proxies. Add \`proxy\` with the type \`rotating\`.`);
  throw new ServiceError(
    'region_unavailable',
    `Traffic cannot leave from region ${code}: the region has no proxies, and this worker is in another one. ` +
      'Choose another region of GET /v1/regions.',
    { details: { region: code } },
  );
}

/** What a caller's proxy may be in the region. */
function checkProxy({ type, bypass }: ProxyRequest, { code, isOwn }: RegionEntry, premiumEgress: boolean): void {
  if ((type === 'managed' || type === 'rotating') && !premiumEgress)
    throw new ServiceError(
      'premium_egress_required',
      `Proxies of type \`${type}\` require a plan with premium egress. Change the plan, or use another proxy type.`,
    );
  if (isOwn) return;
  const elsewhere = `this worker is not in region ${code}, so direct traffic would leave from elsewhere`;
  if (type === 'none') throw invalid(['proxy', 'type'], type, `Omit \`proxy\`: ${elsewhere}.`);
  if (bypass.length > 0) throw invalid(['proxy', 'bypass'], bypass, `Omit \`bypass\`: ${elsewhere}.`);
}

function toUpstreams(proxy: ProxySettings, region: RegionEntry, pick: (below: number) => number): Upstream[] {
  if (proxy.type === 'none') return [];
  if (proxy.type === 'external') return [toCallerUpstream(proxy.server ?? '', proxy)];
  if (proxy.servers) return proxy.servers.map((server) => toCallerUpstream(server, proxy));
  const proxies = matchProxies(proxy.type, proxy, region);
  return (proxy.type === 'rotating' ? proxies : proxies.slice(pick(proxies.length)).slice(0, 1)).map(toOperatorUpstream);
}

function matchProxies(type: 'managed' | 'rotating', { country }: ProxySettings, region: RegionEntry): readonly RegionProxy[] {
  const all = region.proxies[type];
  if (all.length === 0)
    throw invalid(
      ['proxy', 'type'],
      type,
      `Region ${region.code} has no ${type} proxies. GET /v1/regions lists the proxies of each region.`,
    );
  const matching = country === undefined ? all : all.filter((each) => each.country === country);
  if (matching.length === 0)
    throw invalid(
      ['proxy', 'country'],
      country,
      `Region ${region.code} has no ${type} proxies in ${country}. GET /v1/regions lists the countries of each region.`,
    );
  return matching;
}

const invalid = (path: readonly string[], input: unknown, msg: string): ValidationError =>
  new ValidationError([{ loc: ['body', ...path], msg, type: 'value_error', input, ctx: {} }]);

const toOperatorUpstream = (proxy: RegionProxy): Upstream => ({
  url: withCredentials(proxy.server, proxy),
  ip: proxy.ip,
  country: proxy.country,
  isTrusted: true,
});

const toCallerUpstream = (server: string, proxy: ProxySettings): Upstream => ({
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

interface UsedEgress extends Pick<EgressPolicy, 'type' | 'country' | 'rotate'> {
  upstreams: readonly Pick<Upstream, 'ip' | 'country'>[];
}

/** What sites see of the policy's traffic; `current` is the upstream in use. */
export function describeEgress(policy: UsedEgress | null, current: number): Pick<EgressStats, 'type' | 'ip' | 'country'> {
  if (!policy) return { type: null, ip: null, country: null };
  const { type, country, upstreams, rotate } = policy;
  if (upstreams.length === 0) return { type, ip: null, country };
  // With a proxy for each connection, only what all of them share.
  const used = rotate === 'every_connection' ? upstreams : upstreams.slice(current, current + 1);
  return { type, ip: onlyOne(used.map(({ ip }) => ip)), country: onlyOne(used.map((each) => each.country)) };
}

function onlyOne<T>(values: readonly T[]): T | null {
  const [first = null, ...others] = new Set(values);
  return others.length === 0 ? first : null;
}
