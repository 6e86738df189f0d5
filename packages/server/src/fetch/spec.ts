/** A fetch request, checked against plan, region and session. */
import { ValidationError, type EgressType, type ValidationIssue, type FetchRequest, type SessionKind } from '@berth/contract';
import { invalidSelectors } from '../content/content.ts';
import { toEgressPolicy, type EgressPolicy } from '../egress/egress.ts';
import { ownerOf, type Principal } from '../http/call.ts';
import type { Owners, Tier } from '../owners/owners.ts';
import { unknownRegionIssue, type RegionEntry, type Regions } from '../regions/regions.ts';
import { domainOf } from '../selfheal/selfheal.ts';
import type { Sessions } from '../sessions/sessions.ts';

export interface FetchSpec {
  principal: Principal;
  owner: string;
  tier: Tier;
  request: FetchRequest;
  domain: string;
  region: RegionEntry;
  /** null for a fetch in a session, which has its own. */
  policy: EgressPolicy | null;
  /** How traffic is to leave. */
  egressType: EgressType;
  /** The kind of browser. That of the session for a fetch in one. */
  kind: SessionKind;
  /** Fetches of one key share machines and routes: same owner, same egress, same kind of browser. */
  key: string;
}

/** The same fetch with another kind of browser. */
export const withKind = (spec: FetchSpec, kind: SessionKind): FetchSpec => ({ ...spec, kind, key: keyOf({ ...spec, kind }) });

const keyOf = ({ owner, region, request, kind }: Pick<FetchSpec, 'owner' | 'region' | 'request' | 'kind'>): string =>
  JSON.stringify([owner, region.code, request.proxy, request.block_ads, kind]);

export interface FetchSpecDeps {
  owners: Pick<Owners, 'tierOf'>;
  regions: Regions;
  sessions: Sessions;
}

/** @throws ValidationError, and ServiceError premium_egress_required, region_unavailable or the reason why the session is not ready */
export async function createFetchSpec(deps: FetchSpecDeps, principal: Principal, request: FetchRequest): Promise<FetchSpec> {
  const owner = ownerOf(principal);
  const issues = findSelectorIssues(request);
  const region = deps.regions.resolve(request.region);
  if (!region) issues.push(unknownRegionIssue(deps.regions, request.region));
  if (issues.length > 0 || !region) throw new ValidationError(issues);
  const tier = await deps.owners.tierOf(owner);
  const spec = { principal, owner, tier, request, domain: domainOf(request.url) };
  if (request.session_id !== null) return { ...spec, ...(await readSessionEgress(deps, owner, request.session_id)), key: owner };
  const { proxy, block_ads, kind } = request;
  const policy = toEgressPolicy({ proxy, allowed_domains: null, block_ads }, { region, premiumEgress: tier.premium_egress });
  return { ...spec, region, policy, egressType: policy.type, kind, key: keyOf({ owner, region, request, kind }) };
}

async function readSessionEgress(
  { sessions, regions }: FetchSpecDeps,
  owner: string,
  sessionId: string,
): Promise<Pick<FetchSpec, 'region' | 'policy' | 'egressType' | 'kind'>> {
  const { session, machine } = await sessions.ready(owner, sessionId);
  return {
    region: regions.resolve(session.record.region) ?? regions.default,
    kind: session.record.settings.kind,
    policy: null,
    egressType: machine.egress.stats().type ?? 'direct',
  };
}

function findSelectorIssues(request: FetchRequest): ValidationIssue[] {
  const selectors: [string[], string][] = [
    ...request.include_selectors.map((selector, index): [string[], string] => [['include_selectors', String(index)], selector]),
    ...request.exclude_selectors.map((selector, index): [string[], string] => [['exclude_selectors', String(index)], selector]),
    ...Object.entries(request.extract?.fields ?? {}).map(([name, { selector }]): [string[], string] => [
      ['extract', 'fields', name, 'selector'],
      selector,
    ]),
  ];
  const invalid = new Set(invalidSelectors(selectors.map(([, selector]) => selector)));
  return selectors
    .filter(([, selector]) => invalid.has(selector))
    .map(([path, input]) => ({ loc: ['body', ...path], msg: 'Input should be a CSS selector', type: 'value_error', input, ctx: {} }));
}
