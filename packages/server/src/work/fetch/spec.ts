/** A fetch request, checked against plan, region and session. */
import { ValidationError, type EgressType, type ValidationIssue, type FetchRequest, type SessionKind } from '@berth/contract';
import { invalidSelectors } from '@berth/reading';
import { toEgressPolicy, type EgressPolicy, unknownRegionIssue, type RegionEntry, type Regions } from '@berth/egress';
import { ownerOf, type Principal } from '../../accounts/principals/principals.ts';
import type { Owners, Tier } from '../../accounts/owners/owners.ts';
import { domainOf } from '../selfheal/selfheal.ts';
import type { Sessions } from '../../sessions/sessions/sessions.ts';

/** Where work in a browser runs, checked against plan and region. Fetches and flows share the machines of a key. */
export interface MachineSpec {
  principal: Principal;
  owner: string;
  tier: Tier;
  request: MachineRequest;
  region: RegionEntry;
  /** null for work in a session, which has its own. */
  policy: EgressPolicy | null;
  /** How traffic is to leave. */
  egressType: EgressType;
  /** The kind of browser. That of the session for work in one. */
  kind: SessionKind;
  /** Work of one key shares machines and routes: same owner, same egress, same kind of browser. */
  key: string;
}

export interface FetchSpec extends MachineSpec {
  request: FetchRequest;
  domain: string;
}

/** What a request says about the browser that it needs. */
export type MachineRequest = Pick<FetchRequest, 'session_id' | 'region' | 'proxy' | 'block_ads' | 'kind' | 'profile'>;

/** The same fetch in a session, which has its profile. */
export const inSession = (spec: FetchSpec, session_id: string): FetchSpec => ({
  ...spec,
  request: { ...spec.request, session_id, profile: null },
});

/** The same fetch with another kind of browser. */
export const withKind = (spec: FetchSpec, kind: SessionKind): FetchSpec => ({ ...spec, kind, key: keyOf({ ...spec, kind }) });

const keyOf = ({ owner, region, request, kind }: Pick<MachineSpec, 'owner' | 'region' | 'request' | 'kind'>): string =>
  JSON.stringify([owner, region.code, request.proxy, request.block_ads, kind]);

export interface FetchSpecDeps {
  owners: Pick<Owners, 'tierOf'>;
  regions: Regions;
  sessions: Sessions;
}

/** @throws ValidationError, and ServiceError premium_egress_required, region_unavailable, draining or the reason why the session is not ready */
export async function createFetchSpec(deps: FetchSpecDeps, principal: Principal, request: FetchRequest): Promise<FetchSpec> {
  const issues = findSelectorIssues(request);
  const spec = await createMachineSpec(deps, principal, request, issues);
  return { ...spec, request, domain: domainOf(request.url) };
}

/** `issues` of the caller are reported together with its own. Throws like `createFetchSpec`. */
export async function createMachineSpec(
  deps: FetchSpecDeps,
  principal: Principal,
  request: MachineRequest,
  issues: readonly ValidationIssue[] = [],
): Promise<MachineSpec> {
  const owner = ownerOf(principal);
  const region = deps.regions.resolve(request.region);
  if (!region) throw new ValidationError([...issues, unknownRegionIssue(deps.regions, request.region)]);
  if (issues.length > 0) throw new ValidationError([...issues]);
  const tier = await deps.owners.tierOf(owner);
  const spec = { principal, owner, tier, request };
  if (request.session_id !== null) return { ...spec, ...(await readSessionEgress(deps, owner, request.session_id)), key: owner };
  deps.sessions.assertTakesWork();
  const { proxy, block_ads, kind } = request;
  const policy = toEgressPolicy({ proxy, allowed_domains: null, block_ads }, { region, premiumEgress: tier.premium_egress });
  return { ...spec, region, policy, egressType: policy.type, kind, key: keyOf({ owner, region, request, kind }) };
}

async function readSessionEgress(
  { sessions, regions }: FetchSpecDeps,
  owner: string,
  sessionId: string,
): Promise<Pick<MachineSpec, 'region' | 'policy' | 'egressType' | 'kind'>> {
  const { session, machine } = await sessions.running(owner, sessionId);
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
