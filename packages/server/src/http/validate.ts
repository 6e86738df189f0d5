import { ValidationError } from '@berth/contract';
import type { Endpoint, Fault } from '@berth/contract';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { bodyText, checkBodyType, hasBody, readBody } from './body.ts';
import type { BodyLimits } from './body.ts';
import type { Exchange } from './exchange.ts';
import { extraForbidden, fault, missing, parsePart } from './faults.ts';
import type { Parsed, Part } from './faults.ts';
import { isStorableText, readJson } from './json.ts';

/** What came, before any schema has looked at it. */
export interface RawRequest {
  params: Record<string, string>;
  query: Record<string, unknown>;
}

const methodsWithBody = new Set(['POST', 'PATCH', 'DELETE']);
const noFields = z.strictObject({});
const none: Parsed = { ok: true, value: undefined };

/**
 * Puts params, query and body into the exchange, or throws all their faults at
 * once. Answers the raw body, for whoever compares requests.
 */
export async function validate(endpoint: Endpoint, exchange: Exchange, raw: RawRequest, limits: BodyLimits): Promise<Buffer | undefined> {
  const { request, response } = exchange;
  let body: Parsed = none;
  let bytes: Buffer | undefined;
  if (response && methodsWithBody.has(endpoint.method)) {
    bytes = await takeBody(endpoint, request, response, limits);
    if (endpoint.rawBody === undefined) body = parseBody(endpoint, request, bytes);
    else if (bytes === undefined) body = { ok: false, faults: [fault(['body'], missing)] };
    else exchange.rawBody = bytes;
  }
  fill(exchange, endpoint, raw, body);
  return bytes;
}

/** The same for a request that can have no body. */
export function fill(exchange: Exchange, endpoint: Endpoint, raw: RawRequest, body: Parsed = none): void {
  const params = endpoint.params ? parseText('path', endpoint.params, raw.params) : none;
  const query = endpoint.query ? parseText('query', endpoint.query, raw.query) : none;
  const headers = endpoint.method === 'POST' ? parseIdempotencyKey(exchange.request) : none;
  if (!params.ok || !query.ok || !headers.ok || !body.ok)
    throw new ValidationError([params, query, headers, body].flatMap((part) => (part.ok ? [] : part.faults)));
  // The contract's types say what the schemas make of a request; the handler was mounted with the same endpoint.
  Object.assign(exchange, { params: params.value, query: query.value, body: body.value });
}

const visibleAscii = '^[\\x21-\\x7e]{1,255}$';

function parseIdempotencyKey({ headers }: IncomingMessage): Parsed {
  const key = headers['idempotency-key'];
  if (key === undefined || (typeof key === 'string' && new RegExp(visibleAscii).test(key))) return none;
  const words = {
    type: 'string_pattern_mismatch',
    msg: 'The header should be 1 to 255 visible ASCII characters',
    ctx: { pattern: visibleAscii },
  };
  return { ok: false, faults: [fault(['header', 'idempotency-key'], words, key)] };
}

function parseText(part: Part, schema: z.ZodType, values: Record<string, unknown>): Parsed {
  // An id with a NUL in it is unknown like any other: whoever looks it up checks its form first.
  const faults = part === 'path' ? [] : unstorable(part, values);
  return faults.length > 0 ? { ok: false, faults } : parsePart(part, schema, values);
}

/** A NUL in an address would break the database's text, not the request. */
const unstorable = (part: Part, values: Record<string, unknown>): Fault[] =>
  Object.entries(values)
    .filter(([name, value]) => !isStorableText(name) || (typeof value === 'string' && !isStorableText(value)))
    .map(([name, value]) =>
      fault([part, name.toWellFormed()], { type: 'value_error', msg: 'Input should not hold a NUL character' }, value),
    );

async function takeBody(
  endpoint: Endpoint,
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
): Promise<Buffer | undefined> {
  if (!hasBody(request)) return undefined;
  if (endpoint.body ?? endpoint.rawBody) checkBodyType(request, endpoint.rawBody);
  const bytes = await readBody(
    request,
    response,
    endpoint.bodyLimitBytes === undefined ? limits : { ...limits, bytes: endpoint.bodyLimitBytes },
  );
  return bytes.length > 0 ? bytes : undefined;
}

function parseBody(endpoint: Endpoint, request: IncomingMessage, bytes: Buffer | undefined): Parsed {
  if (bytes === undefined) {
    if (!endpoint.body) return none;
    return endpoint.bodyOptional ? parsePart('body', endpoint.body, {}) : { ok: false, faults: [fault(['body'], missing)] };
  }
  if (!endpoint.body) checkBodyType(request);
  const text = bodyText(bytes);
  const reading = text === null ? { ok: false as const, problem: 'not valid UTF-8' } : readJson(text);
  if (reading.ok) return parsePart('body', endpoint.body ?? noFields, reading.value);
  if ('forbiddenKey' in reading) return { ok: false, faults: [fault(['body', ...reading.forbiddenKey], extraForbidden)] };
  // The broken text may hold secrets that no field name marks as such, so none of it is shown.
  return { ok: false, faults: [fault(['body'], { type: 'json_invalid', msg: 'JSON decode error', ctx: { error: reading.problem } }, {})] };
}

/** A query as an object: a name that comes twice is a list. */
export function parseQuery(text: string): Record<string, unknown> {
  const values: Record<string, unknown> = Object.create(null);
  if (text === '') return values;
  for (const [name, value] of new URLSearchParams(text)) {
    const before = values[name];
    values[name] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
  }
  return values;
}
