/** Which reply's field feeds which call's parameter: the same value, seen first in the reply and then in the call. */
import type { ApiEndpoint } from '@berth/contract';
import type { CapturedExchange, JsonValue } from '../exchange.ts';
import { decoded } from '@berth/lib/secrets/redact/hit.ts';
import { segmentsOf, type EndpointCalls } from './calls.ts';

type Dependency = ApiEndpoint['depends_on'][number];

interface Source {
  endpointId: string;
  exchange: CapturedExchange;
  path: string;
  key: string;
}

const sourcesMax = 300_000;
const scalarsPerReplyMax = 5000;
const depthMax = 12;
const perEndpointMax = 50;
const sourcesPerValueMax = 8;

/** People's own data depends on no reply, and cookies travel by themselves. */
const ownData = /\{\{(?:email|phone|username|password|card|iban|cookie|otp)_\d+\}\}/;
const placeholder = /\{\{[a-z_]+_\d+\}\}/;

/** Dependencies by the id of the endpoint, in time linear in the replies and calls. */
export function readDependencies(endpoints: readonly EndpointCalls[]): Map<string, Dependency[]> {
  const byValue = new Map<string, Source[]>();
  const dependencies = new Map<string, Map<string, Dependency>>(endpoints.map(({ id }) => [id, new Map()]));
  const calls = endpoints.flatMap((endpoint) => endpoint.calls.map((call) => ({ endpoint, call })));
  calls.sort((a, b) => a.call.index - b.call.index);
  let size = 0;
  for (const { endpoint, call } of calls) {
    for (const input of inputsOf(endpoint, call)) link(dependencies.get(endpoint.id), input, { endpoint, call, byValue });
    if (size < sourcesMax) size += index(byValue, endpoint.id, call);
  }
  return new Map([...dependencies].map(([id, own]) => [id, [...own.values()]]));
}

interface Input {
  in: Dependency['in'];
  field: string;
  value: string;
}

interface LinkContext {
  endpoint: EndpointCalls;
  call: CapturedExchange;
  byValue: ReadonlyMap<string, Source[]>;
}

function link(dependencies: Map<string, Dependency> | undefined, input: Input, { endpoint, call, byValue }: LinkContext): void {
  if (!dependencies || dependencies.size >= perEndpointMax || !isDistinct(input)) return;
  const sources = (byValue.get(input.value) ?? []).filter((source) => source.endpointId !== endpoint.id || isPaging(source, input));
  const source = sources.find(({ key }) => isRelated(key, input)) ?? sources.find(() => isTelling(input.value));
  if (!source) return;
  const key = `${source.endpointId} ${source.path} ${input.in} ${input.field}`;
  if (dependencies.has(key)) return;
  dependencies.set(key, {
    ...{ endpoint_id: source.endpointId, json_path: source.path, in: input.in, field: input.field },
    evidence: [source.exchange.id, call.id],
  });
}

/** An endpoint feeds itself only with the position of its next page. */
const isPaging = ({ key }: Source, { in: where }: Input): boolean =>
  where === 'query' && /cursor|next|token|after|marker|continuation/i.test(key);

/** A value that is equal by chance proves nothing: small numbers, words, flags. */
function isDistinct({ value }: Input): boolean {
  if (ownData.test(value)) return false;
  if (placeholder.test(value)) return true;
  if (/^\d+$/.test(value)) return value.length >= 3;
  return value.length >= 4 && !/^(?:true|false|null)$/.test(value);
}

/** A value that is not equal by chance under any name. */
const isTelling = (value: string): boolean =>
  placeholder.test(value) || (value.length >= 6 && /\d/.test(value) && /[A-Za-z]/.test(value)) || value.length >= 20;

const words = (name: string): string => name.toLowerCase().replaceAll(/[^a-z\d]/g, '');

/** `id` feeds any id; other keys feed a parameter of their own name. */
function isRelated(key: string, { field, value }: Input): boolean {
  const from = words(key);
  const to = words(field);
  if (placeholder.test(value) || from === to || (from.length >= 3 && (to.endsWith(from) || to.startsWith(from)))) return true;
  return (
    /(?:id|slug|sku|code|handle|key|uuid|number)$/.test(from) && (/(?:id|slug|sku|code|handle|key|uuid|number)$/.test(to) || to === 'id')
  );
}

const bodyScalarsMax = 500;

function* inputsOf(endpoint: EndpointCalls, call: CapturedExchange): Generator<Input> {
  const segments = segmentsOf(call.url.path);
  for (const { name, at } of endpoint.pathParams) yield { in: 'path', field: name, value: decoded(segments[at] ?? '', false) };
  for (const [name, value] of call.url.query) yield { in: 'query', field: name, value };
  for (const [name, value] of call.requestHeaders) {
    if (name === 'cookie' || name === 'referer') continue;
    for (const [token] of value.matchAll(/\{\{[a-z_]+_\d+\}\}/g)) yield { in: 'header', field: name, value: token };
  }
  if (call.requestJson !== undefined) {
    const scalars: Scalar[] = [];
    readScalars(call.requestJson, { path: '$', key: '', depth: 0, max: bodyScalarsMax }, scalars);
    for (const { key, value } of scalars) yield { in: 'body', field: key, value };
  } else if (call.requestType === 'application/x-www-form-urlencoded')
    for (const [name, value] of [...new URLSearchParams(call.requestText)].slice(0, bodyScalarsMax))
      yield { in: 'body', field: name, value };
}

interface Scalar {
  path: string;
  key: string;
  value: string;
}

/** The nearest call that had the value first keeps it; later ones are alternatives. */
function index(byValue: Map<string, Source[]>, endpointId: string, exchange: CapturedExchange): number {
  const { responseJson, statusCode } = exchange;
  if (responseJson === undefined || (statusCode !== null && statusCode >= 400)) return 0;
  const scalars: Scalar[] = [];
  readScalars(responseJson, { path: '$', key: '', depth: 0, max: scalarsPerReplyMax }, scalars);
  for (const { path, key, value } of scalars) {
    const sources = byValue.get(value);
    const source = { endpointId, exchange, path, key };
    if (!sources) byValue.set(value, [source]);
    else if (sources.length < sourcesPerValueMax && !sources.some((one) => one.endpointId === endpointId && one.path === path))
      sources.push(source);
  }
  return scalars.length;
}

const valueCharsMax = 400;

function readScalars(value: JsonValue, at: { path: string; key: string; depth: number; max: number }, into: Scalar[]): void {
  if (into.length >= at.max || at.depth > depthMax || value === null || typeof value === 'boolean') return;
  if (Array.isArray(value)) {
    for (const item of value) readScalars(item, { ...at, path: `${at.path}[*]`, depth: at.depth + 1 }, into);
  } else if (typeof value === 'object') {
    for (const [key, item] of Object.entries(value))
      readScalars(item, { ...at, path: `${at.path}${step(key)}`, key, depth: at.depth + 1 }, into);
  } else {
    const text = String(value);
    if (text.length >= 3 && text.length <= valueCharsMax) into.push({ path: at.path, key: at.key, value: text });
  }
}

const step = (key: string): string => (/^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`);
