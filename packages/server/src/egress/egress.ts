/**
 * The only way out: an HTTP proxy for browsers, and a client for what is
 * fetched without one, that decide for each connection, by the address it
 * really dials, whether it may be opened.
 */
export { EgressFailure } from './policy.ts';
export type { EgressFacts, EgressPolicy, EgressRefusal, EgressWay, Rotation, Upstream } from './policy.ts';
export { createEgressGate, refusalHeader } from './gate.ts';
export type { EgressGate, EgressGateOptions, EgressLimits, GateFacts } from './gate.ts';
export { createHttpClient, HttpFailure } from './client.ts';
export type {
  HttpClient,
  HttpClientOptions,
  HttpMethod,
  HttpOrder,
  HttpOutcome,
  HttpProgress,
  HttpRedirect,
  OrderCookie,
} from './client.ts';
export { AllowListError, parseAllowList } from './allow-list.ts';
export type { AllowList } from './allow-list.ts';
export { isPublicAddress, parseHost } from './addresses.ts';
export { builtinAdHosts, loadAdHosts } from './ad-hosts.ts';
export { policyFor } from './upstreams.ts';
