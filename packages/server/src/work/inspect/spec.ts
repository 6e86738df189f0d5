/** An inspect request, checked against plan, region and session. */
import type { InspectRequest } from '@berth/contract';
import { createMachineSpec, type MachineSpec, type MachineSpecDeps } from '../engine/engine.ts';
import type { Principal } from '../../accounts/principals/principals.ts';
import { domainOf } from '../selfheal/selfheal.ts';

export interface InspectSpec {
  owner: string;
  request: InspectRequest;
  /** Where the browser runs. Also for a HAR, which needs none: its owner and plan. */
  machine: MachineSpec;
  /** Empty for a HAR. */
  domain: string;
}

/** Throws like `createMachineSpec`. */
export async function createInspectSpec(deps: MachineSpecDeps, principal: Principal, request: InspectRequest): Promise<InspectSpec> {
  const machine = await createMachineSpec(deps, principal, { ...request, block_ads: false });
  return { owner: machine.owner, request, machine, domain: request.url === null ? '' : domainOf(request.url) };
}

/** Characters of the uploaded HAR; a rough measure for an object. */
export function sizeOfHar({ har }: InspectRequest): number {
  if (har === null) return 0;
  return typeof har === 'string' ? har.length : objectHarSize;
}

/** An object of at most 100,000 objects and arrays, with bodies. */
const objectHarSize = 16 * 1024 * 1024;
