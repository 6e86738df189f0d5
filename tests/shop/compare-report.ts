/** Compares a report with the answer key: precision and recall by kind of claim. */
import type { InspectResponse } from '@berth/contract';
import { endpoints as endpointKeys, mechanisms, streams, type EndpointKey } from './answer-key.ts';

/** The sections that the key covers. */
export interface KeyedReport {
  api: Pick<NonNullable<InspectResponse['api']>, 'endpoints' | 'websockets' | 'event_streams'>;
  auth: Pick<NonNullable<InspectResponse['auth']>, 'mechanisms'>;
}

interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

export interface Score {
  claim: string;
  precision: number;
  recall: number;
  /** Claims of the report that are not in the key, and the key's that the report lacks. */
  wrong: string[];
  missing: string[];
}

type Endpoint = KeyedReport['api']['endpoints'][number];

const claimKinds = ['endpoints', 'parameters', 'schemas', 'pagination', 'dependencies', 'authentication', 'streams'] as const;
type Claims = Record<(typeof claimKinds)[number], Set<string>>;

const noClaims = (): Claims => ({
  endpoints: new Set(),
  parameters: new Set(),
  schemas: new Set(),
  pagination: new Set(),
  dependencies: new Set(),
  authentication: new Set(),
  streams: new Set(),
});

/** `siteHost` is `127.0.0.1:PORT`. */
export function compareReport(report: KeyedReport, siteHost: string): Score[] {
  const truth = claimsOfKey();
  const reported = claimsOfReport(report, siteHost);
  return claimKinds.map((claim) => {
    const wrong = [...reported[claim]].filter((each) => !truth[claim].has(each));
    const missing = [...truth[claim]].filter((each) => !reported[claim].has(each));
    const right = reported[claim].size - wrong.length;
    return { claim, precision: right / reported[claim].size, recall: right / truth[claim].size, wrong, missing };
  });
}

const nameOf = (method: string, path: string, operation?: string | null): string => `${method} ${path}${operation ? ` ${operation}` : ''}`;

function claimsOfKey(): Claims {
  const claims = noClaims();
  for (const key of endpointKeys) addKey(claims, key);
  for (const { type, in: place, name } of mechanisms) claims.authentication.add(`${type} ${place ?? '-'} ${name ?? '-'}`);
  for (const { path, protocol, messages } of streams) {
    claims.streams.add(`${path} ${protocol}`);
    for (const [message, fields] of Object.entries(messages)) {
      claims.streams.add(`${path} ${message}`);
      for (const field of fields) claims.streams.add(`${path} ${message} ${field}`);
    }
  }
  return claims;
}

function addKey(claims: Claims, key: EndpointKey): void {
  const name = nameOf(key.method, key.path, key.operation);
  claims.endpoints.add(`${key.host} ${name}`);
  for (const [at, param] of (key.params ?? []).entries())
    claims.parameters.add(`${name} ${param.startsWith('path') ? `${at} ` : ''}${param}`);
  for (const field of key.request ?? []) claims.schemas.add(`${name} request ${field}`);
  for (const [status, fields] of Object.entries(key.responses))
    for (const field of fields) claims.schemas.add(`${name} ${status} ${field}`);
  if (key.pagination) claims.pagination.add(`${name} ${key.pagination}`);
  if (key.auth) claims.authentication.add(`${name} ${key.auth}`);
  for (const dependency of key.dependsOn ?? []) claims.dependencies.add(`${name} < ${dependency}`);
}

const templateOf = (path: string): string => path.replaceAll(/\{[^}]*\}/g, '{}');

function claimsOfReport({ api, auth }: KeyedReport, siteHost: string): Claims {
  const claims = noClaims();
  const { endpoints } = api;
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  for (const endpoint of endpoints) addEndpoint(claims, endpoint, { siteHost, byId });
  const keyed = new Set(endpointKeys.filter(({ auth: key }) => key).map(({ method, path, operation }) => nameOf(method, path, operation)));
  for (const endpoint of endpoints) {
    const name = nameOfEndpoint(endpoint);
    if (keyed.has(name)) claims.authentication.add(`${name} ${endpoint.auth_required}`);
  }
  for (const { type, in: place, name } of auth.mechanisms)
    if (type !== 'none')
      claims.authentication.add(
        `${type} ${type === 'oidc' ? '-' : (place ?? '-')} ${type === 'oidc' ? '-' : (name?.toLowerCase() ?? '-')}`,
      );
  addStreams(claims, api);
  return claims;
}

function addStreams(claims: Claims, { websockets, event_streams: eventStreams }: KeyedReport['api']): void {
  const addMessage = (name: string, schema: Schema | null): void => {
    claims.streams.add(name);
    for (const field of fieldsOf(schema ?? {})) claims.streams.add(`${name} ${field}`);
  };
  for (const { url, protocol_guess: protocol, message_types: types } of websockets) {
    const { pathname } = new URL(url);
    claims.streams.add(`${pathname} ${protocol}`);
    for (const { direction, discriminator, schema } of types) addMessage(`${pathname} ${direction} ${discriminator ?? '-'}`, schema);
  }
  for (const { url, events } of eventStreams) {
    const { pathname } = new URL(url);
    claims.streams.add(`${pathname} event stream`);
    for (const { name, discriminator, schema } of events) addMessage(`${pathname} ${name} ${discriminator ?? '-'}`, schema);
  }
}

const nameOfEndpoint = ({ method, path_template: path, operation_name: operation }: Endpoint): string =>
  nameOf(method, templateOf(path), operation);

function addEndpoint(
  claims: Claims,
  endpoint: Endpoint,
  { siteHost, byId }: { siteHost: string; byId: ReadonlyMap<string, Endpoint> },
): void {
  const name = nameOfEndpoint(endpoint);
  claims.endpoints.add(`${endpoint.host === siteHost ? 'site' : 'sibling'} ${name}`);
  for (const [at, { type }] of endpoint.params.path.entries()) claims.parameters.add(`${name} ${at} path ${type}`);
  for (const place of ['query', 'header'] as const)
    for (const param of endpoint.params[place])
      claims.parameters.add(`${name} ${place} ${place === 'header' ? param.name.toLowerCase() : param.name} ${param.type}`);
  if (endpoint.request?.schema) for (const field of fieldsOf(endpoint.request.schema)) claims.schemas.add(`${name} request ${field}`);
  for (const { status_code: status, schema } of endpoint.responses)
    if (schema) for (const field of fieldsOf(schema)) claims.schemas.add(`${name} ${status} ${field}`);
  if (endpoint.pagination) claims.pagination.add(`${name} ${endpoint.pagination.style}`);
  for (const { endpoint_id: id, json_path: path } of endpoint.depends_on) {
    const source = byId.get(id);
    const field = path.replace(/^\$\.?/, '').replaceAll(/\[(\d+|\*)\]/g, '[]');
    if (source) claims.dependencies.add(`${name} < ${nameOfEndpoint(source)} ${field}`);
  }
}

/** `path type` for each part of a schema; the root only where it is a list. */
function fieldsOf(schema: Schema, path = ''): string[] {
  const variants = [schema, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  const types = [...new Set(variants.flatMap(({ type }) => type ?? []))].toSorted((a, b) => Number(a === 'null') - Number(b === 'null'));
  const own = path === '' || types.length === 0 ? [] : [`${path} ${types.join('|')}`];
  const inner = variants.flatMap(({ properties = {}, items }) => [
    ...Object.entries(properties).flatMap(([name, each]) => fieldsOf(each, path === '' ? name : `${path}.${name}`)),
    ...(items ? fieldsOf(items, `${path}[]`) : []),
  ]);
  return [...new Set([...own, ...inner])];
}
