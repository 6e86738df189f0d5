/** The request that repeats a call of an inspected API, from its description and the caller's values. */
import type { ApiEndpoint, ApiParameter } from '@berth/contract';
import { FlowError } from '../failure.ts';

export interface ReplayValues {
  path: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  headers: Readonly<Record<string, string>>;
  body?: unknown;
}

export interface ReplayedRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | null;
}

/** Methods that change nothing at the site (RFC 9110). Others need the caller's word. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** @throws FlowError not_allowed, invalid_value */
export function toReplayedRequest(endpoint: ApiEndpoint, values: ReplayValues, allowUnsafe: boolean): ReplayedRequest {
  const { id, method, replayable } = endpoint;
  if (replayable === 'no') throw new FlowError('not_allowed', `The endpoint ${id} cannot be repeated: see its replayable.`);
  if (!safeMethods.has(method) && !allowUnsafe)
    throw new FlowError('not_allowed', `A ${method} request may change data of the site. Send allow_unsafe if you want that.`);
  const body = toBody(endpoint, values.body);
  const type = endpoint.request?.content_type ?? '';
  const headers = {
    ...valuesOf('header', endpoint.params.header, values.headers, headerNamesOf(endpoint)),
    ...(body === null ? {} : { 'content-type': type === '' ? 'application/json' : type }),
  };
  return { method, url: toUrl(endpoint, values), headers, body };
}

function toUrl(endpoint: ApiEndpoint, { path, query }: ReplayValues): string {
  const segments = valuesOf('path', endpoint.params.path, path);
  const filled = endpoint.path_template.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const value = segments[name];
    if (value === undefined || /^\.{0,2}$/.test(value)) throw invalid('path', name);
    return encodeURIComponent(value.toWellFormed());
  });
  const { protocol } = new URL(endpoint.example_url);
  const url = URL.parse(`${protocol}//${endpoint.host}${filled}`);
  if (!url || !/^https?:$/.test(protocol)) throw new FlowError('invalid_value', 'The endpoint has no usable URL in this report.');
  for (const [name, value] of Object.entries(valuesOf('query', endpoint.params.query, query))) url.searchParams.set(name, value);
  return url.href;
}

/** Names of the headers that carry credentials and tokens: a caller may give them, although they are no parameters. */
const headerNamesOf = ({ auth_refs: credentials, csrf }: ApiEndpoint): string[] => [
  ...credentials.filter((each) => each.in === 'header').map(({ name }) => name),
  ...(csrf?.in === 'header' ? [csrf.name] : []),
];

/** The given values, and what was seen for required ones without. */
function valuesOf(
  place: 'path' | 'query' | 'header',
  params: readonly ApiParameter[],
  given: Readonly<Record<string, string>>,
  otherNames: readonly string[] = [],
): Record<string, string> {
  const nameOf = (name: string): string => (place === 'header' ? name.toLowerCase() : name);
  const known = new Set([...params.map(({ name }) => name), ...otherNames].map(nameOf));
  const values = new Map(Object.entries(given).map(([name, value]) => [nameOf(name), value]));
  for (const name of values.keys())
    if (!known.has(name))
      throw new FlowError('invalid_value', `The endpoint has no ${place} parameter ${name.slice(0, 100)}.`, {
        details: { known: [...known] },
      });
  for (const { name, required, example } of params) {
    if (values.has(nameOf(name)) || !required) continue;
    // What was a secret has to be given.
    if (example === '' || example.includes('{{')) throw invalid(place, name);
    values.set(nameOf(name), example);
  }
  return Object.fromEntries(values);
}

function toBody({ request, method }: ApiEndpoint, body: unknown): string | null {
  if (body === undefined) {
    if (request?.body_required) throw invalid('body', 'body');
    return null;
  }
  if (method === 'GET' || method === 'HEAD') throw new FlowError('invalid_value', `A ${method} request has no body. Omit it.`);
  return typeof body === 'string' ? body : JSON.stringify(body);
}

const invalid = (place: string, name: string): FlowError =>
  new FlowError('invalid_value', `The endpoint needs a value for the ${place} parameter ${name}. Send it in params.`);
