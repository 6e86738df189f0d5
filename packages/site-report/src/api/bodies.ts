/** Request and response bodies of an endpoint. */
import type { ApiEndpoint } from '@berth/contract';
import type { CapturedExchange, JsonValue } from '../exchange.ts';
import { readAttributes } from '@berth/lib/secrets/redact/attributes.ts';
import { SchemaBuilder, type JsonSchema } from './schema.ts';

/** Bodies that a schema is inferred from. */
const samplesMax = 200;
const fieldsMax = 300;

const exampleCharsMax = 2000;

export function readRequest(calls: readonly CapturedExchange[], withSamples: boolean): ApiEndpoint['request'] {
  const withBody = calls.filter(
    ({ requestText, requestType, entry }) => requestText !== '' || (requestType !== '' && entry.request.bodySize > 0),
  );
  const [first] = withBody;
  if (!first) return null;
  return {
    content_type: first.requestType,
    schema: requestSchema(withBody, first.requestType),
    body_required: withBody.length === calls.length,
    example: withSamples ? exampleOf(withBody.map(({ requestText }) => requestText)) : null,
  };
}

function requestSchema(calls: readonly CapturedExchange[], type: string): JsonSchema | null {
  const builder = new SchemaBuilder();
  for (const call of calls.slice(0, samplesMax)) {
    const value = call.requestJson ?? (type === 'application/x-www-form-urlencoded' ? formOf(call.requestText) : undefined);
    if (value !== undefined) builder.add(value);
  }
  if (builder.samples > 0) return builder.toSchema();
  return type === 'multipart/form-data' ? multipartSchema(calls) : null;
}

function formOf(text: string): JsonValue {
  const fields = new Map<string, JsonValue>();
  for (const [name, value] of new URLSearchParams(text)) if (fields.size < fieldsMax) fields.set(name, value);
  return Object.fromEntries(fields);
}

const partHeader = 'content-disposition:';
const partHeaderCharsMax = 1000;

/** The fields of one multipart body. */
function* partsOf(text: string): Generator<{ name: string; isFile: boolean }> {
  const lower = text.toLowerCase();
  for (let at = lower.indexOf(partHeader); at >= 0; at = lower.indexOf(partHeader, at + partHeader.length)) {
    const line = text.slice(at, at + partHeaderCharsMax).split(/[\r\n]/, 1)[0] ?? '';
    const attributes = new Map(readAttributes(line, /[;\s]/).map(({ name, value }) => [name.toLowerCase(), value]));
    const name = attributes.get('name');
    if (name !== undefined) yield { name, isFile: attributes.has('filename') };
  }
}

function multipartSchema(calls: readonly CapturedExchange[]): JsonSchema | null {
  const properties = new Map<string, JsonSchema>();
  const counts = new Map<string, number>();
  for (const { requestText } of calls.slice(0, samplesMax)) {
    const names = new Set<string>();
    for (const { name, isFile } of partsOf(requestText)) {
      if (properties.size >= fieldsMax) break;
      properties.set(name, isFile ? { type: 'string', format: 'binary' } : { type: 'string' });
      names.add(name);
    }
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  if (properties.size === 0) return null;
  const required = [...properties.keys()].filter((name) => counts.get(name) === Math.min(calls.length, samplesMax)).toSorted();
  return { type: 'object', properties: Object.fromEntries([...properties].toSorted(([a], [b]) => (a < b ? -1 : 1))), required };
}

const exampleOf = (texts: readonly string[]): string | null => texts.find((text) => text !== '')?.slice(0, exampleCharsMax) ?? null;

export function readResponses(calls: readonly CapturedExchange[], withSamples: boolean): ApiEndpoint['responses'] {
  const byStatus = Map.groupBy(calls, ({ statusCode }) => statusCode ?? 0);
  return [...byStatus]
    .filter(([status]) => status > 0)
    .toSorted(([a], [b]) => a - b)
    .map(([status, list]) => toReply(status, list, withSamples));
}

function toReply(statusCode: number, calls: readonly CapturedExchange[], withSamples: boolean): ApiEndpoint['responses'][number] {
  const builder = new SchemaBuilder();
  for (const { responseJson } of calls.slice(0, samplesMax)) if (responseJson !== undefined) builder.add(responseJson);
  const last = calls.at(-1);
  return {
    status_code: statusCode,
    count: calls.length,
    content_type: calls.find(({ responseType }) => responseType !== '')?.responseType ?? '',
    schema: builder.samples > 0 ? builder.toSchema() : null,
    size_p50: median(calls.map(({ entry }) => Math.max(0, entry.response.content.size))),
    latency_p50_ms: median(calls.map(({ entry }) => Math.max(0, entry.time))),
    cache_control: last?.responseHeaders.get('cache-control') ?? null,
    etag: calls.some(({ responseHeaders }) => responseHeaders.has('etag')),
    example: withSamples ? exampleOf(calls.map(({ responseText }) => responseText)) : null,
  };
}

function median(values: readonly number[]): number {
  const sorted = values.filter(Number.isFinite).toSorted((a, b) => a - b);
  return Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0);
}
