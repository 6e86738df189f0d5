/**
 * All outbound traffic: an HTTP proxy for browsers and an HTTP client for the
 * service. Both check each connection by the address that is really dialled.
 */
export { EgressError } from './policy.ts';
export type {
  EgressStats,
  EgressPolicy,
  EgressRefusal,
  EgressRoute,
  OpenTunnel,
  PolicyRule,
  RefusalReport,
  RemoteAddress,
  RotationResult,
  Upstream,
} from './policy.ts';
export { createEgressGate, refusalHeader } from './gate/gate.ts';
export type { EgressGate, EgressGateOptions, EgressLimits, GateStats } from './gate/gate.ts';
export { createHttpClient, HttpError } from './client/client.ts';
export type {
  HttpClient,
  HttpClientOptions,
  HttpMethod,
  HttpRequestOptions,
  HttpResult,
  HttpProgress,
  HttpRedirect,
  RequestCookie,
} from './client/client.ts';
export { netErrors } from './gate/refusal.ts';
export { DnsServersError, parseDnsServers } from './names/system-names.ts';
export { AllowListError, parseAllowList } from './names/allow-list.ts';
export type { AllowList } from './names/allow-list.ts';
export { isPublicAddress, parseHost, authorityOf } from './names/addresses.ts';
export { builtinAdHosts, loadAdHosts } from './names/ad-hosts.ts';
export { toEgressPolicy } from './upstreams/upstreams.ts';
export { loadRegions, RegionsFileError, unknownRegionIssue } from './upstreams/regions.ts';
export type { RegionEntry, Regions } from './upstreams/regions.ts';
