/**
 * The only way out for browsers: an HTTP proxy that decides for each
 * connection, by the address it really dials, whether it may be opened.
 */
export { EgressFailure } from './policy.ts';
export type { EgressFacts, EgressPolicy, EgressRefusal, EgressWay, Rotation, Upstream } from './policy.ts';
export { createEgressGate, refusalHeader } from './gate.ts';
export type { EgressGate, EgressGateOptions, EgressLimits } from './gate.ts';
export { AllowListError, parseAllowList } from './allow-list.ts';
export type { AllowList } from './allow-list.ts';
export { isPublicAddress, parseHost } from './addresses.ts';
export { builtinAdHosts, loadAdHosts } from './ad-hosts.ts';
export { policyFor } from './upstreams.ts';
