/** A fetch request, checked against plan, region and session. */
import type { FetchRequest, SessionKind, ValidationIssue } from '@berth/contract';
import { invalidSelectors } from '@berth/reading';
import type { Principal } from '../../accounts/principals/principals.ts';
import { createMachineSpec, keyOf, type MachineSpec, type MachineSpecDeps } from '../engine/engine.ts';
import { domainOf } from '../selfheal/selfheal.ts';

export interface FetchSpec extends MachineSpec {
  request: FetchRequest;
  domain: string;
}

/** The same fetch in a session, which has its profile. */
export const inSession = (spec: FetchSpec, session_id: string): FetchSpec => ({
  ...spec,
  request: { ...spec.request, session_id, profile: null },
});

/** The same fetch with another kind of browser. */
export const withKind = (spec: FetchSpec, kind: SessionKind): FetchSpec => ({ ...spec, kind, key: keyOf({ ...spec, kind }) });

/** Throws like `createMachineSpec`. */
export async function createFetchSpec(deps: MachineSpecDeps, principal: Principal, request: FetchRequest): Promise<FetchSpec> {
  const issues = findSelectorIssues(request);
  const spec = await createMachineSpec(deps, principal, request, issues);
  return { ...spec, request, domain: domainOf(request.url) };
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
