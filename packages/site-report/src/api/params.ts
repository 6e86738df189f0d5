/** Parameters of an endpoint, from all of its calls. */
import type { ApiParameter } from '@berth/contract';
import { type EndpointCalls, segmentsOf } from './calls.ts';
import { enumOf, formatOf } from './schema.ts';

const paramsMax = 100;
const distinctMax = 1000;
const exampleCharsMax = 200;

/** Headers that browsers, networks and tracing write: they do not belong to an API. */
const noise =
  /^(?::|sec-|accept|authorization$|access-control-|cache-control$|connection$|content-|cookie$|date$|dnt$|expect$|host$|if-|keep-alive$|last-event-id$|origin$|pragma$|priority$|purpose$|range$|referer$|save-data$|te$|trace|baggage$|transfer-encoding$|upgrade|user-agent$|via$|x-forwarded-|x-real-ip$|x-request-id$|x-correlation-id$|x-b3-|x-datadog-|x-amzn-trace|x-cloud-trace|x-client-data$|sentry-trace$|newrelic$|uber-trace-id$|dpr$|viewport-width$|width$|device-memory$|downlink$|ect$|rtt$|proxy-)/;
const meaningful = new Set(['accept-version', 'content-md5']);

interface Values {
  calls: number;
  distinct: Map<string, number>;
  types: Set<ApiParameter['type']>;
  formats: Set<string>;
  example: string;
  samples: number;
}

export interface EndpointParams {
  path: ApiParameter[];
  query: ApiParameter[];
  header: ApiParameter[];
}

export function readParams({ calls, pathParams }: EndpointCalls): EndpointParams {
  const path = new Map<string, Values>();
  const query = new Map<string, Values>();
  const header = new Map<string, Values>();
  for (const { url, requestHeaders } of calls) {
    const segments = segmentsOf(url.path);
    for (const { name, at } of pathParams) add(path, name, [decode(segments[at] ?? '')]);
    const values = new Map<string, string[]>();
    for (const [name, value] of url.query) {
      const list = values.get(name);
      if (list) list.push(value);
      else values.set(name, [value]);
    }
    for (const [name, list] of values) add(query, name, list);
    for (const [name, value] of requestHeaders) if (!noise.test(name) || meaningful.has(name)) add(header, name, [value]);
  }
  const count = calls.length;
  return { path: toParams(path, count), query: toParams(query, count), header: toParams(header, count) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function add(params: Map<string, Values>, name: string, values: readonly string[]): void {
  let known = params.get(name);
  if (!known) {
    if (params.size >= paramsMax) return;
    known = { calls: 0, distinct: new Map(), types: new Set(), formats: new Set(), example: '', samples: 0 };
    params.set(name, known);
  }
  known.calls += 1;
  for (const value of values) {
    known.samples += 1;
    known.types.add(typeOf(value));
    known.formats.add(formatOf(value) ?? '');
    if (known.example === '') known.example = value.slice(0, exampleCharsMax);
    if (known.distinct.size < distinctMax || known.distinct.has(value)) known.distinct.set(value, (known.distinct.get(value) ?? 0) + 1);
  }
}

function typeOf(value: string): ApiParameter['type'] {
  if (/^-?(?:0|[1-9]\d{0,15})$/.test(value)) return 'integer';
  if (/^-?\d{1,15}[.]\d{1,15}$/.test(value)) return 'number';
  return value === 'true' || value === 'false' ? 'boolean' : 'string';
}

function toParams(params: ReadonlyMap<string, Values>, calls: number): ApiParameter[] {
  return [...params].map(([name, values]) => {
    const [format] = values.formats;
    const type = commonType(values.types);
    return {
      name,
      type,
      format: type === 'string' && values.formats.size === 1 && format ? format : null,
      enum: type === 'string' ? enumOf(values.distinct.size <= 8 ? values.distinct : null, values.samples) : null,
      required: values.calls === calls,
      example: values.example,
      observed_values: values.distinct.size,
    };
  });
}

function commonType(types: ReadonlySet<ApiParameter['type']>): ApiParameter['type'] {
  const [only] = types;
  if (types.size === 1 && only) return only;
  return [...types].every((type) => type === 'integer' || type === 'number') ? 'number' : 'string';
}
