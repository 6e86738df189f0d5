/** Sign-in flows of OAuth 2.0, OpenID Connect and SAML in the traffic, and the provider that they show. */
import type { InspectAuth } from '@berth/contract';
import type { CapturedExchange, JsonValue, ReportInput } from '../exchange.ts';
import { toEvidence, withoutValues } from '../page/pages.ts';
import { bodyFields, isObject } from './credentials.ts';

export interface Flow {
  type: 'oauth2' | 'oidc' | 'saml';
  /** Such as `authorization_code with PKCE`. */
  grant: string;
  hosts: string[];
  exchanges: CapturedExchange[];
  isCertain: boolean;
  pkce: 'S256' | 'plain' | 'none' | 'unknown';
  scopes: string[];
  authorization: CapturedExchange | null;
  token: CapturedExchange | null;
}

const flowsMax = 10;

/** One for each provider. */
export function readFlows({ exchanges }: ReportInput): Flow[] {
  const flows = new Map<string, Flow>();
  for (const exchange of exchanges) {
    const part = partOf(exchange);
    if (!part) continue;
    const key = `${part.type === 'saml' ? 'saml' : 'oauth'} ${exchange.url.site}`;
    const flow = flows.get(key);
    if (flow) merge(flow, part);
    else if (flows.size < flowsMax) flows.set(key, part);
  }
  return joinAliases([...flows.values()]);
}

function partOf(exchange: CapturedExchange): Flow | null {
  if (exchange.resourceType === 'preflight') return null;
  const query = new Map(exchange.url.query);
  const body = new Map(bodyFields(exchange).slice(0, 50));
  const shared = { hosts: [exchange.url.host], exchanges: [exchange], isCertain: true, authorization: null, token: null };
  if (query.has('SAMLRequest') || body.has('SAMLRequest') || body.has('SAMLResponse'))
    return { ...shared, type: 'saml', grant: 'saml', pkce: 'unknown', scopes: [] };
  if (query.has('response_type') && query.has('client_id')) return authorizationPart(exchange, query, shared);
  const grant = body.get('grant_type') ?? '';
  return grants.has(grant) ? tokenPart(exchange, grant, { body, shared }) : null;
}

type Shared = Pick<Flow, 'hosts' | 'exchanges' | 'isCertain' | 'authorization' | 'token'>;

const grants: ReadonlySet<string> = new Set([
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'password',
  'urn:ietf:params:oauth:grant-type:device_code',
  'urn:ietf:params:oauth:grant-type:jwt-bearer',
  'urn:ietf:params:oauth:grant-type:token-exchange',
]);

const scopesOf = (text: string): string[] =>
  text
    .split(/[\s+,]+/)
    .filter((scope) => /^[\w:/.-]{1,100}$/.test(scope))
    .slice(0, 50);

function authorizationPart(exchange: CapturedExchange, query: ReadonlyMap<string, string>, shared: Shared): Flow {
  const isCode = /\bcode\b/.test(query.get('response_type') ?? '');
  const scopes = scopesOf(query.get('scope') ?? '');
  const method = query.get('code_challenge_method') ?? 'plain';
  const pkce = !isCode ? 'unknown' : query.has('code_challenge') ? (method === 'S256' ? 'S256' : 'plain') : 'none';
  const isOidc = scopes.includes('openid') || /\bid_token\b/.test(query.get('response_type') ?? '');
  return {
    ...shared,
    type: isOidc ? 'oidc' : 'oauth2',
    grant: isCode ? 'authorization_code' : 'implicit',
    pkce,
    scopes,
    authorization: exchange,
  };
}

function tokenPart(
  exchange: CapturedExchange,
  grant: string,
  { body, shared }: { body: ReadonlyMap<string, string>; shared: Shared },
): Flow {
  const reply = exchange.responseJson;
  const isOidc = isObject(reply) && 'id_token' in reply;
  const replied = isObject(reply) && typeof reply['scope'] === 'string' ? reply['scope'] : '';
  const scopes = scopesOf(body.get('scope') ?? replied);
  // The verifier does not show the method; S256 is the one that all servers must support.
  const pkce = grant !== 'authorization_code' ? 'unknown' : body.has('code_verifier') ? 'S256' : 'none';
  const name = grant.slice(grant.lastIndexOf(':') + 1);
  return { ...shared, type: isOidc || scopes.includes('openid') ? 'oidc' : 'oauth2', grant: name, pkce, scopes, token: exchange };
}

const grantRank = (grant: string): number => (grant === 'refresh_token' ? 0 : grant === 'authorization_code' ? 2 : 1);

function merge(flow: Flow, part: Flow): void {
  if (part.type === 'oidc') flow.type = 'oidc';
  if (grantRank(part.grant) > grantRank(flow.grant)) flow.grant = part.grant;
  if (flow.pkce === 'unknown' || (part.authorization && part.pkce !== 'unknown')) flow.pkce = part.pkce;
  flow.authorization ??= part.authorization;
  flow.token ??= part.token;
  flow.hosts = [...new Set([...flow.hosts, ...part.hosts])].slice(0, 20);
  flow.scopes = [...new Set([...flow.scopes, ...part.scopes])].slice(0, 50);
  flow.exchanges.push(...part.exchanges);
}

/** An authorization at one site and the only token request at another belong together. */
function joinAliases(flows: Flow[]): Flow[] {
  const halves = flows.filter(({ type, authorization, token }) => type !== 'saml' && !(authorization && token));
  const [first, second] = halves;
  if (halves.length !== 2 || !first || !second || Boolean(first.authorization) === Boolean(second.authorization)) return flows.map(named);
  merge(first, second);
  return flows.filter((flow) => flow !== second).map(named);
}

const named = (flow: Flow): Flow => ({
  ...flow,
  grant:
    flow.grant === 'authorization_code' && flow.pkce !== 'none' && flow.pkce !== 'unknown' ? 'authorization_code with PKCE' : flow.grant,
});

interface Discovery {
  document: { [key: string]: JsonValue };
  exchange: CapturedExchange | null;
}

const discoveryPath = /\/\.well-known\/(?:openid-configuration|oauth-authorization-server)$/;

function readDiscovery({ exchanges, capture }: ReportInput): Discovery | null {
  for (const exchange of exchanges) {
    if (!discoveryPath.test(exchange.url.path) || !isObject(exchange.responseJson) || !('issuer' in exchange.responseJson)) continue;
    return { document: exchange.responseJson, exchange };
  }
  for (const { path, body, statusCode } of capture.probes) {
    if (statusCode !== 200 || !discoveryPath.test(path)) continue;
    const document = parseObject(body);
    if (document) return { document, exchange: null };
  }
  return null;
}

function parseObject(text: string): { [key: string]: JsonValue } | null {
  try {
    const value = JSON.parse(text) as JsonValue;
    return isObject(value) && 'issuer' in value ? value : null;
  } catch {
    return null;
  }
}

const textIn = (document: { [key: string]: JsonValue } | undefined, key: string): string | null => {
  const value = document && Object.hasOwn(document, key) ? document[key] : undefined;
  return typeof value === 'string' ? value.slice(0, 2048) : null;
};

const textsIn = (document: { [key: string]: JsonValue } | undefined, key: string): string[] => {
  const value = document && Object.hasOwn(document, key) ? document[key] : undefined;
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string').slice(0, 50) : [];
};

export function readProvider(input: ReportInput, flows: readonly Flow[]): InspectAuth['oidc'] {
  const discovery = readDiscovery(input);
  const flow = flows.find(({ type }) => type === 'oidc') ?? flows.find(({ type }) => type === 'oauth2');
  if (!discovery && !flow) return null;
  const document = discovery?.document;
  const issuer = input.secrets.find(({ jwt }) => jwt?.iss)?.jwt?.iss ?? null;
  const methods = textsIn(document, 'code_challenge_methods_supported');
  const scopes = textsIn(document, 'scopes_supported');
  const isSeen = flow !== undefined && flow.pkce !== 'unknown';
  return {
    issuer: textIn(document, 'issuer') ?? (flow?.type === 'oidc' ? issuer : null),
    authorization_endpoint: textIn(document, 'authorization_endpoint') ?? (flow?.authorization ? endpointUrl(flow.authorization) : null),
    token_endpoint: textIn(document, 'token_endpoint') ?? (flow?.token ? endpointUrl(flow.token) : null),
    scopes_supported: scopes.length > 0 ? scopes : (flow?.scopes ?? []),
    pkce: isSeen ? flow.pkce : methods.includes('S256') ? 'S256' : methods.includes('plain') ? 'plain' : 'unknown',
    discovery: discovery !== null,
    confidence: flow ? 'high' : 'medium',
    evidence: toEvidence([discovery?.exchange ?? null, ...(flow?.exchanges ?? [])]),
  };
}

const endpointUrl = ({ url }: CapturedExchange): string => `${url.origin}${url.path}`;

/** Calls that exchanged a credential for a new one. */
export function readRefreshes(input: ReportInput, endpointOf: (exchange: CapturedExchange) => string | null): InspectAuth['token_refresh'] {
  const groups = new Map<string, CapturedExchange[]>();
  for (const exchange of input.exchanges) {
    if (!isRefresh(exchange)) continue;
    const key = `${exchange.method} ${exchange.url.origin}${exchange.url.path}`;
    groups.set(key, [...(groups.get(key) ?? []), exchange]);
  }
  return [...groups.values()].slice(0, 20).flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    return {
      endpoint_id: endpointOf(first),
      url: withoutValues(first.url),
      method: first.method,
      interval_s: medianInterval(group),
      confidence: hasRefreshToken(first) ? ('high' as const) : ('medium' as const),
      evidence: toEvidence(group),
    };
  });
}

const refreshPath = /(?:^|[/_.-])(?:refresh|renew)(?:[-_]?(?:token|session))?(?:$|[/_.-])|token[-_/]?refresh/i;

function hasRefreshToken(exchange: CapturedExchange): boolean {
  const fields = bodyFields(exchange);
  return fields.some(([name, value]) => (name === 'grant_type' && value === 'refresh_token') || /^refresh[-_]?token$/i.test(name));
}

function isRefresh(exchange: CapturedExchange): boolean {
  const { isFirstParty, method, resourceType, statusCode, url } = exchange;
  if (method === 'OPTIONS' || method === 'GET' || !/^(?:xhr|fetch|other)$/.test(resourceType)) return false;
  if (hasRefreshToken(exchange)) return true;
  if (!isFirstParty || (statusCode ?? 500) >= 300 || !refreshPath.test(url.path)) return false;
  return issuesToken(exchange);
}

function issuesToken({ responseJson, responseHeaders }: CapturedExchange): boolean {
  if (responseHeaders.has('set-cookie')) return true;
  return isObject(responseJson) && Object.keys(responseJson).some((key) => /token|jwt/i.test(key));
}

function medianInterval(group: readonly CapturedExchange[]): number | null {
  const gaps = group.slice(1).map(({ startedMs }, index) => startedMs - (group[index]?.startedMs ?? 0));
  if (gaps.length === 0) return null;
  return Math.round((gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 0) / 1000);
}
