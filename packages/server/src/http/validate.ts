import { ValidationError, dropNulls, type Endpoint, type ValidationIssue } from '@berth/contract';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { isStorableText } from '../lib/text.ts';
import { bodyText, checkBodyType, checkUncompressed, hasBody, readBody } from './body.ts';
import type { BodyLimits } from './body.ts';
import type { Exchange } from './exchange.ts';
import { isMultipart, readFileForm } from './file-form.ts';
import { bodyHint } from './hints.ts';
import { extraForbidden, validationIssue, missing, parsePart } from './validation-issues.ts';
import type { Parsed, RequestPart } from './validation-issues.ts';
import { section } from '../lib/sections.ts';
import { parseJson } from './json.ts';

/** The unvalidated request. */
export interface RawRequest {
  params: Record<string, string>;
  query: Record<string, unknown>;
}

const methodsWithBody = new Set(['POST', 'PATCH', 'DELETE']);
const noFields = z.strictObject({});
const none: Parsed = { ok: true, value: undefined };
const failed = (...issues: ValidationIssue[]): Parsed => ({ ok: false, issues, omitted: 0 });

/**
 * Puts params, query and body into the exchange. Returns the raw body, by which
 * idempotency compares requests.
 *
 * @throws ValidationError with all issues at once
 */
export async function validate(endpoint: Endpoint, exchange: Exchange, raw: RawRequest, limits: BodyLimits): Promise<Buffer | undefined> {
  const { request, response } = exchange;
  let body: Parsed = none;
  let bytes: Buffer | undefined;
  if (response && methodsWithBody.has(endpoint.method)) {
    bytes = await takeBody(endpoint, request, response, limits);
    const taken = bytes;
    if (taken && takesForm(endpoint, request)) ({ body, bytes } = await parseForm(endpoint, request, taken));
    else if (endpoint.rawBody === undefined) body = section('validate', () => parseBody(endpoint, request, taken));
    else if (bytes === undefined) body = failed(validationIssue(['body'], missing));
    else exchange.rawBody = bytes;
  }
  fill(exchange, endpoint, raw, body);
  return bytes;
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
  const issues = part === 'path' ? [] : unstorable(part, values);
  return issues.length > 0 ? failed(...issues) : parsePart(part, schema, values);
}

/** The database's text type cannot store a NUL. */
const unstorable = (part: RequestPart, values: Record<string, unknown>): ValidationIssue[] =>
  Object.entries(values)
    .filter(([name, value]) => !isStorableText(name) || (typeof value === 'string' && !isStorableText(value)))
    .map(([name, value]) => validationIssue([part, name], { type: 'value_error', msg: 'Input should not contain a NUL character' }, value));

async function takeBody(
  endpoint: Endpoint,
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
): Promise<Buffer | undefined> {
  if (!hasBody(request)) return undefined;
  if (takesForm(endpoint, request)) checkUncompressed(request);
  else if (endpoint.body ?? endpoint.rawBody) checkBodyType(request, endpoint.rawBody);
  const bytes = await readBody(
    request,
    response,
    endpoint.bodyLimitBytes === undefined ? limits : { ...limits, bytesMax: endpoint.bodyLimitBytes },
  );
  return bytes.length > 0 ? bytes : undefined;
}

const takesForm = ({ multipart }: Endpoint, request: IncomingMessage): boolean => multipart !== undefined && isMultipart(request);

/** The body that the form stands for. Its bytes are the file's, because the form has another boundary each time. */
async function parseForm(endpoint: Endpoint, request: IncomingMessage, form: Buffer): Promise<{ body: Parsed; bytes: Buffer }> {
  const { multipart, body: schema = noFields } = endpoint;
  const file = multipart && (await readFileForm(request, form, multipart));
  if (!multipart || !file) return { body: failed(validationIssue(['body'], notAFileForm, {})), bytes: form };
  const { value, bytes } = file;
  const { [multipart.bytes]: _, ...texts } = value;
  const issues = unstorable('body', texts);
  return { body: issues.length > 0 ? failed(...issues) : section('validate', () => parsePart('body', schema, value)), bytes };
}

const notAFileForm = { type: 'value_error', msg: 'Input should be a form with one file, in the part `file`' };

function parseBody(endpoint: Endpoint, request: IncomingMessage, bytes: Buffer | undefined): Parsed {
  if (bytes === undefined) {
    if (!endpoint.body) return none;
    return endpoint.bodyOptional ? parsePart('body', endpoint.body, {}) : failed(missingBodyIssue(endpoint.body));
  }
  if (!endpoint.body) checkBodyType(request);
  const text = bodyText(bytes);
  const reading = text === null ? { ok: false as const, problem: 'not valid UTF-8' } : parseJson(text, endpoint.exactTextFields);
  if (reading.ok) {
    if (endpoint.body) dropNulls(endpoint.body, reading.value);
    return parsePart('body', endpoint.body ?? noFields, reading.value);
  }
  if ('forbiddenKey' in reading) return failed(validationIssue(['body', ...reading.forbiddenKey], extraForbidden));
  // Invalid JSON may contain secrets that no field name marks, so none of it is shown.
  return failed(validationIssue(['body'], { type: 'json_invalid', msg: 'JSON decode error', ctx: { error: reading.problem } }, {}));
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
