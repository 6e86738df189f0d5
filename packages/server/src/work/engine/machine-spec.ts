/** Where work in a browser runs, checked against plan, region and session. */
import { ValidationError, type EgressType, type FetchRequest, type SessionKind, type ValidationIssue } from '@berth/contract';
import { toEgressPolicy, unknownRegionIssue, type EgressPolicy, type RegionEntry, type Regions } from '@berth/egress';
import type { Owners, Tier } from '../../accounts/owners/owners.ts';
import { ownerOf, type Principal } from '../../accounts/principals/principals.ts';
import type { Sessions } from '../../sessions/sessions/sessions.ts';

/** What a request says about the browser that it needs. */
export type MachineRequest = Pick<FetchRequest, 'session_id' | 'region' | 'proxy' | 'block_ads' | 'kind' | 'profile'>;

/** All kinds of work share the machines of a key. */
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

export interface MachineSpecDeps {
  owners: Pick<Owners, 'tierOf'>;
  regions: Regions;
  sessions: Sessions;
}

export const keyOf = ({ owner, region, request, kind }: Pick<MachineSpec, 'owner' | 'region' | 'request' | 'kind'>): string =>
  JSON.stringify([owner, region.code, request.proxy, request.block_ads, kind]);

/**
 * `issues` of the caller are reported together with its own.
 * @throws ValidationError, and ServiceError premium_egress_required, region_unavailable, draining or the reason why the session is not ready
 */
export async function createMachineSpec(
  deps: MachineSpecDeps,
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
  { sessions, regions }: MachineSpecDeps,
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
