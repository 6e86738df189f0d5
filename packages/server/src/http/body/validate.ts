import { ValidationError, ignoresAll, type Endpoint, type ValidationIssue } from '@berth/contract';
import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { checkBodyLength, checkBodyType, checkUncompressed, hasBody, readBody, type BodyLimits } from './body.ts';
import type { Exchange } from '../server/exchange.ts';
import { isMultipart } from './file-form.ts';
import { bodyHint } from '@berth/lib/validation/hints.ts';
import { failed, noFields } from './json-body.ts';
import type { LargeBodies } from './large-bodies.ts';
import { validationIssue, missing, parsePart, unstorable, type Parsed, type RequestPart } from '@berth/lib/validation/issues.ts';
import { section } from '@berth/lib/turns/sections.ts';

/** The unvalidated request. */
export interface RawRequest {
  params: Record<string, string>;
  query: Record<string, unknown>;
}

/** How bodies are read. */
export interface Bodies {
  limits: BodyLimits;
  large: LargeBodies;
}

interface ParsedBody {
  body: Parsed;
  bytes: Buffer | undefined;
}

const methodsWithBody = new Set(['POST', 'PATCH', 'DELETE']);
const none: Parsed = { ok: true, value: undefined };

/**
 * Puts params, query and body into the exchange. Returns the raw body, by which
 * idempotency compares requests.
 *
 * @throws ValidationError with all issues at once
 */
export async function validate(endpoint: Endpoint, exchange: Exchange, raw: RawRequest, bodies: Bodies): Promise<Buffer | undefined> {
  if (!exchange.response || !methodsWithBody.has(endpoint.method)) {
    fill(exchange, endpoint, raw);
    return undefined;
  }
  const { request, response } = exchange;
  const limits = { ...bodies.limits, bytesMax: bodyBytesMax(endpoint, request, bodies.limits) };
  checkHead(endpoint, request, limits);
  const read = (): Promise<Buffer | null> => (hasBody(request) ? readBody(request, response, limits) : Promise.resolve(null));
  const { body, bytes } = await bodies.large.take(exchange, async () => parse(endpoint, exchange, await read(), bodies.large));
  fill(exchange, endpoint, raw, body);
  return bytes;
}

/** The boundaries and the other fields of a form. */
const formOverheadBytesMax = 64 * 1024;

function bodyBytesMax(endpoint: Endpoint, request: IncomingMessage, limits: BodyLimits): number {
  const { multipart, bodyLimitBytes = limits.bytesMax } = endpoint;
  return multipart && takesForm(endpoint, request) ? multipart.bytesMax + formOverheadBytesMax : bodyLimitBytes;
}

/** What can be said of a body before it is read. */
function checkHead(endpoint: Endpoint, request: IncomingMessage, { bytesMax }: BodyLimits): void {
  if (!hasBody(request)) return;
  if (takesForm(endpoint, request)) checkUncompressed(request);
  else if (endpoint.body ?? endpoint.rawBody) checkBodyType(request, endpoint.rawBody);
  checkBodyLength(request, bytesMax);
}

/** The same for a request without a body. */
export function fill(exchange: Exchange, endpoint: Endpoint, raw: RawRequest, body: Parsed = none): void {
  const params = endpoint.params ? parseText('path', endpoint.params, raw.params) : none;
  const query = parseText('query', endpoint.query ?? noFields, raw.query);
  const headers = endpoint.method === 'POST' ? parseIdempotencyKey(exchange.request) : none;
  if (!params.ok || !query.ok || !headers.ok || !body.ok) throw toValidationError([params, query, headers, body]);
  // Safe: the handler was mounted with the same endpoint whose schemas produced these values.
  Object.assign(exchange, { params: params.value, query: query.value, body: body.value });
}

function toValidationError(parts: readonly Parsed[]): ValidationError {
  const rejected = parts.filter((part) => !part.ok);
  return new ValidationError(
    rejected.flatMap(({ issues }) => issues),
    rejected.reduce((sum, { omitted }) => sum + omitted, 0),
  );
}

const visibleAscii = '^[\\x21-\\x7e]{1,255}$';

function parseIdempotencyKey({ headers }: IncomingMessage): Parsed {
  const key = headers['idempotency-key'];
  if (key === undefined || (typeof key === 'string' && new RegExp(visibleAscii).test(key))) return none;
  const description = {
    type: 'string_pattern_mismatch',
    msg: 'The header should be 1 to 255 visible ASCII characters',
    ctx: { pattern: visibleAscii },
  };
  return failed(validationIssue(['header', 'idempotency-key'], description, key));
}

function parseText(part: RequestPart, schema: z.ZodType, values: Record<string, unknown>): Parsed {
  // Path ids are checked where they are looked up: one with a NUL is simply unknown.
  const issues = part === 'path' || ignoresAll(schema) ? [] : unstorable(part, values);
  return issues.length > 0 ? failed(...issues) : parsePart(part, schema, values);
}

async function parse(endpoint: Endpoint, exchange: Exchange, read: Buffer | null, large: LargeBodies): Promise<ParsedBody> {
  const bytes = read && read.length > 0 ? read : undefined;
  if (bytes && takesForm(endpoint, exchange.request)) return section('validate', () => large.parseForm(endpoint, exchange, bytes));
  if (endpoint.rawBody === undefined) return { body: await parseBody(endpoint, exchange, bytes, large), bytes };
  if (bytes === undefined) return { body: failed(validationIssue(['body'], missing)), bytes };
  exchange.rawBody = bytes;
  return { body: none, bytes };
}

const takesForm = ({ multipart }: Endpoint, request: IncomingMessage): boolean => multipart !== undefined && isMultipart(request);

async function parseBody(endpoint: Endpoint, exchange: Exchange, bytes: Buffer | undefined, large: LargeBodies): Promise<Parsed> {
  if (bytes === undefined) {
    if (!endpoint.body) return none;
    return endpoint.bodyOptional ? parsePart('body', endpoint.body, {}) : failed(missingBodyIssue(endpoint.body));
  }
  if (!endpoint.body) checkBodyType(exchange.request);
  return section('validate', () => large.parse(endpoint, exchange, bytes));
}

function missingBodyIssue(schema: z.ZodType): ValidationIssue {
  const parsed = parsePart('body', schema, {});
  const required = parsed.ok ? [] : parsed.issues.filter(({ type }) => type === missing.type).map(({ loc }) => loc[1] ?? '');
  return validationIssue(['body'], { ...missing, hint: bodyHint([...new Set(required)]) });
}

/** Parses a query string; a repeated name becomes a list. */
export function parseQuery(text: string): Record<string, unknown> {
  const values: Record<string, unknown> = Object.create(null);
  if (text === '') return values;
  for (const [name, value] of new URLSearchParams(text)) {
    const before = values[name];
    if (Array.isArray(before)) before.push(value);
    else values[name] = before === undefined ? value : [before, value];
  }
  return values;
}
