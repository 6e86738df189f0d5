/**
 * All outbound traffic: an HTTP proxy for browsers and an HTTP client for the
 * service. Both check each connection by the address that is really dialled.
 */
export { EgressFailure } from './policy.ts';
export type {
  EgressStats,
  EgressPolicy,
  EgressRefusal,
  EgressRoute,
  PolicyRule,
  RefusalReport,
  RemoteAddress,
  RotationResult,
  Upstream,
} from './policy.ts';
export { createEgressGate, refusalHeader } from './gate.ts';
export type { EgressGate, EgressGateOptions, EgressLimits, GateStats } from './gate.ts';
export { createHttpClient, HttpFailure } from './client.ts';
export type {
  HttpClient,
  HttpClientOptions,
  HttpMethod,
  HttpRequestOptions,
  HttpResult,
  HttpProgress,
  HttpRedirect,
  RequestCookie,
} from './client.ts';
export { netErrors } from './refusal.ts';
export { AllowListError, parseAllowList } from './allow-list.ts';
export type { AllowList } from './allow-list.ts';
export { isPublicAddress, parseHost, authorityOf } from './addresses.ts';
export { builtinAdHosts, loadAdHosts } from './ad-hosts.ts';
export { toEgressPolicy } from './upstreams.ts';
export { loadRegions, RegionsFileError, unknownRegionIssue } from './regions.ts';
export type { RegionEntry, Regions } from './regions.ts';
