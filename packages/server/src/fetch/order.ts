/** A fetch that was asked for, checked against what only this service knows. */
import { ServiceError, ValidationError, type Fault, type FetchRequest } from '@berth/contract';
import { invalidSelectors } from '../content/content.ts';
import { policyFor, type EgressPolicy } from '../egress/egress.ts';
import { ownerOf, type Principal } from '../http/call.ts';
import type { Owners, Tier } from '../owners/owners.ts';
import type { RegionEntry, Regions } from '../regions/regions.ts';
import { domainOf } from '../selfheal/selfheal.ts';
import type { Sessions } from '../sessions/sessions.ts';

export interface FetchOrder {
  principal: Principal;
  owner: string;
  tier: Tier;
  request: FetchRequest;
  domain: string;
  region: RegionEntry;
  /** null in a session, which has its own. */
  policy: EgressPolicy | null;
  egress: { type: string; country: string | null };
  /** Orders of one key can share a machine or a way out: same owner, same address towards the world. */
  key: string;
}

export interface OrderDeps {
  owners: Pick<Owners, 'tierOf'>;
  regions: Regions;
  sessions: Sessions;
}

/** Throws ValidationError, and ServiceError for a session that cannot be driven and for a plan without such proxies. */
export async function makeFetchOrder(deps: OrderDeps, principal: Principal, request: FetchRequest): Promise<FetchOrder> {
  const owner = ownerOf(principal);
  const faults = selectorFaults(request);
  const region = deps.regions.resolve(request.region);
  if (!region) faults.push(unknownRegion(deps.regions, request.region));
  if (faults.length > 0 || !region) throw new ValidationError(faults);
  const tier = await deps.owners.tierOf(owner);
  checkPlan(tier, request);
  const order = { principal, owner, tier, request, domain: domainOf(request.url) };
  if (request.session_id !== null) return { ...order, ...(await inSession(deps, owner, request.session_id)), key: owner };
  const policy = policyFor({ proxy: request.proxy, allowed_domains: null, block_ads: request.block_ads }, region);
  const egress = { type: request.proxy?.type ?? 'none', country: request.proxy?.country ?? region.country };
  return { ...order, region, policy, egress, key: JSON.stringify([owner, region.code, request.proxy, request.block_ads]) };
}

async function inSession(
  { sessions, regions }: OrderDeps,
  owner: string,
  sessionId: string,
): Promise<Pick<FetchOrder, 'region' | 'policy' | 'egress'>> {
  const { session } = await sessions.ready(owner, sessionId);
  const { region, settings } = session.record;
  return {
    region: regions.resolve(region) ?? regions.default,
    policy: null,
    egress: { type: settings.proxy?.type ?? 'none', country: settings.proxy?.country ?? null },
  };
}

function checkPlan({ premium_egress: premium }: Tier, { proxy }: FetchRequest): void {
  if (premium || (proxy?.type !== 'managed' && proxy?.type !== 'rotating')) return;
  throw new ServiceError('premium_egress_required', `Proxies of the type \`${proxy.type}\` need a plan with premium egress.`);
}

function selectorFaults(request: FetchRequest): Fault[] {
  const places: [string[], string][] = [
    ...request.include_selectors.map((selector, index): [string[], string] => [['include_selectors', String(index)], selector]),
    ...request.exclude_selectors.map((selector, index): [string[], string] => [['exclude_selectors', String(index)], selector]),
    ...Object.entries(request.extract?.fields ?? {}).map(([name, { selector }]): [string[], string] => [
      ['extract', 'fields', name, 'selector'],
      selector,
    ]),
  ];
  const wrong = new Set(invalidSelectors(places.map(([, selector]) => selector)));
  return places
    .filter(([, selector]) => wrong.has(selector))
    .map(([path, input]) => ({ loc: ['body', ...path], msg: 'Input should be a CSS selector', type: 'value_error', input, ctx: {} }));
}

function unknownRegion(regions: Regions, region: string | undefined): Fault {
  const expected = regions
    .list()
    .map(({ code }) => `'${code}'`)
    .join(', ');
  return { loc: ['body', 'region'], msg: `Input should be ${expected}`, type: 'literal_error', input: region ?? null, ctx: { expected } };
}
