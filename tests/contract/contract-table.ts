/** Helpers of the table tests, derived from the contract. */
import { z } from 'zod';
import { endpoints, errorsOf, ignoresAll, type Endpoint, type ErrorCode } from '@berth/contract';
import { newRawKey } from '../../packages/server/src/accounts/keys/keys.ts';
import { connectTokenPrefix, signInLinkPrefix } from '@berth/lib/secrets/credential-prefixes.ts';

/** `GET /v1/session/{session_id}` as a title. */
export const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`;

/** The file that tests an endpoint: `get-v1-session-id.test.ts`. */
export function fileOf({ method, path }: Endpoint): string {
  const segments = path.replace(/\{\w+\}/g, 'id').split(/[/._-]/);
  return `${[method.toLowerCase(), ...segments.filter(Boolean)].join('-')}.test.ts`;
}

/** The titles of the suites that an endpoint's file must have. */
export function suitesOf(endpoint: Endpoint, coveredOnce: ReadonlySet<ErrorCode>, statusOf: (code: ErrorCode) => number): string[] {
  const codes = errorsOf(endpoint).filter((code) => !coveredOnce.has(code));
  return [
    String(endpoint.status),
    ...(endpoint.alsoStatus ?? []).map(String),
    ...codes.map((code) => `${statusOf(code)} ${code}`),
    ...((endpoint.body ?? endpoint.query ?? endpoint.rawBody) && !ignoresAll(endpoint.query) ? ['422'] : []),
  ];
}

export const withBody = endpoints.filter((endpoint): endpoint is Endpoint & { body: z.ZodType } => endpoint.body !== undefined);

/** All endpoints except WebSockets. */
export const overHttp = endpoints.filter((endpoint) => endpoint.replyKind !== 'websocket');

/** A minimal valid request for an endpoint with the given ids. */
export function goodRequest(
  endpoint: Endpoint,
  ids: { session_id?: string; tab_id?: string; key_id?: string; job_id?: string },
): { params: Record<string, string>; query?: Record<string, string>; body?: Record<string, unknown> } {
  const { [endpoint.id]: body } = goodBodies;
  const { [endpoint.id]: query } = goodQueries;
  return { params: { ...unknownIds, ...ids }, ...(query ? { query } : {}), ...(body ? { body } : {}) };
}

/** Well-formed ids that do not exist. */
const unknownIds = {
  tab_id: 'no-tab',
  key_id: 'key_000000000000000000000000',
  job_id: 'ses_000000000000000000000000.00000000-0000-4000-8000-000000000000',
  domain: 'site.test',
  rec_id: 'rec_000000000000000000000000',
  asset_path: 'index.html',
  name: 'openapi.json',
  path: 'vnc.html',
  worker_id: 'wrk_000000000000000000000000',
  token_id: 'tok_000000000000000000000000',
  profile_id: 'pro_000000000000000000000000',
  skill_id: 'skl_000000000000000000000000',
  token: newRawKey(connectTokenPrefix),
};

const goodBodies: Record<string, Record<string, unknown>> = {
  createSession: {},
  updateSession: { metadata: { touched: 'yes' } },
  navigate: { url: 'about:blank' },
  openTab: {},
  createKey: { owner: 'somebody' },
  redeemSignInLink: { token: newRawKey(signInLinkPrefix) },
  createPromoCodes: { tier: 'developer', trial_days: 7 },
  redeemPromo: { code: 'no-such-code' },
  checkout: { tier: 'developer' },
  billingWebhook: {
    id: 'evt_1',
    type: 'customer.subscription.deleted',
    created: 1_767_225_600,
    data: { object: { id: 'sub_1', created: 1_767_225_600, status: 'canceled', customer: 'cus_1', metadata: { owner: 'somebody' } } },
  },
  fetchPage: { url: 'http://status-204.test/' },
  runAgent: { task: 'custom', inputs: { steps: [{ type: 'wait', ms: 1 }] } },
  runTemplate: { template: 'page_snapshot', inputs: { url: 'http://fail-ERR_CONNECTION_REFUSED.test/' } },
  inspect: { url: 'http://status-204.test/', settle_ms: 0 },
  runActions: { actions: [{ type: 'wait', ms: 1 }] },
  useComputer: {},
  screenshot: {},
  pdf: {},
  uploadFile: { name: 'note.txt', data_base64: 'aGVsbG8=' },
  redeemCredits: { code: 'CREDIT-00000' },
  grantCredits: { owner: 'somebody', amount: 0.000001 },
  createCreditCodes: { amount: 0.000001 },
  resizePool: { target: 0 },
  updateOwner: { tier: 'developer' },
  pinOwner: { worker_id: 'wrk_000000000000000000000000' },
};

/** Valid queries of the endpoints with required query parameters. */
const goodQueries: Record<string, Record<string, string>> = {
  getSiteHealth: { owner: 'local' },
  openTunnel: { port: '3000' },
  getStrategies: { owner: 'local', domain: 'site.test' },
};

export interface JsonSchema {
  type?: string;
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
  required?: string[];
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  minItems?: number;
  items?: JsonSchema;
}

export const bodySchemaOf = (endpoint: Endpoint & { body: z.ZodType }): JsonSchema =>
  resolved(z.toJSONSchema(endpoint.body, { io: 'input', reused: 'inline' }) as JsonSchema & Definitions);

type Definitions = { $ref?: string; $defs?: Record<string, JsonSchema> };

/** Inlines schema references. */
function resolved(schema: JsonSchema & Definitions, named: Record<string, JsonSchema> = schema.$defs ?? {}): JsonSchema {
  const target = schema.$ref ? (named[schema.$ref.replace('#/$defs/', '')] ?? schema) : schema;
  const inner = (child: JsonSchema): JsonSchema => resolved(child, named);
  return {
    ...target,
    ...(target.anyOf ? { anyOf: target.anyOf.map(inner) } : {}),
    ...(target.items ? { items: inner(target.items) } : {}),
    ...(target.properties
      ? { properties: Object.fromEntries(Object.entries(target.properties).map(([name, child]) => [name, inner(child)])) }
      : {}),
  };
}

export interface WrongValue {
  value: unknown;
  /** The acceptable issue types. */
  types: readonly string[];
  why: string;
}

/** Values that a field of this schema must refuse. null is absent in an optional one. */
export function wrongValues(schema: JsonSchema, { isOptional = true } = {}): WrongValue[] {
  const variants = variantsOf(schema);
  const nullable = variants.some((variant) => variant.type === 'null');
  const wrong = wrongByType(variants.filter((variant) => variant.type !== 'null'));
  return [...wrong, ...(nullable || isOptional ? [] : [{ value: null, types: Object.values(issueTypes).flat(), why: 'null' }])];
}

/** A union within a union is one union. */
const variantsOf = (schema: JsonSchema): JsonSchema[] => schema.anyOf?.flatMap(variantsOf) ?? [schema];

const issueTypes: Record<string, readonly string[]> = {
  string: ['string_type', 'literal_error'],
  integer: ['int_parsing'],
  number: ['float_parsing'],
  boolean: ['bool_parsing'],
  object: ['dict_type'],
  array: ['list_type'],
};

/** The bounds are those of the first variant. No one type is named where a value may have several. */
function wrongByType(variants: readonly JsonSchema[]): WrongValue[] {
  const [schema = {}] = variants;
  const types = new Set(variants.map(({ type }) => type));
  const acceptedTypes = types.size > 1 ? ['value_error'] : (issueTypes[schema.type ?? 'string'] ?? []);
  const samples: Record<string, unknown> = {
    string: 'zzz',
    integer: 3.5,
    number: 'ten',
    boolean: 'yes',
    object: { no_such_key: 1 },
    array: [[]],
  };
  const wrong: WrongValue[] = ['string', 'boolean', 'object', 'array', 'number']
    .filter((type) => !types.has(type) && !(type === 'number' && types.has('integer')))
    .map((type) => ({ value: samples[type], types: acceptedTypes, why: type === 'number' || type === 'boolean' ? 'a text' : `a ${type}` }))
    .filter(({ value }) => !(types.has('string') && typeof value === 'string'));
  const add = (value: unknown, types: string[], why: string): void => void wrong.push({ value, types, why });
  if (schema.type === 'integer') add(3.5, ['int_parsing'], 'a fraction');
  if (schema.type === 'string') add(7, [...acceptedTypes], 'a number');
  if (schema.enum) add('no-such-word', ['literal_error'], 'another word');
  const isNumber = schema.type === 'integer' || schema.type === 'number';
  if (isNumber && schema.minimum !== undefined) add(schema.minimum - 1, ['greater_than_equal'], 'below its bound');
  if (isNumber && schema.maximum !== undefined && schema.maximum < Number.MAX_SAFE_INTEGER)
    add(schema.maximum + 1, ['less_than_equal'], 'above its bound');
  if (schema.minLength) add('', ['string_too_short'], 'empty');
  if (schema.maxLength !== undefined) add('a'.repeat(schema.maxLength + 1), ['string_too_long'], 'too long');
  if (schema.maxItems !== undefined && schema.items)
    add(Array(schema.maxItems + 1).fill(schema.items.enum?.[0] ?? 'a.example'), ['too_long'], 'a list too long');
  if (schema.minItems) add([], ['too_short'], 'an empty list');
  return wrong;
}

/** Whether an endpoint is one of a session and takes an API key. Operators and links are refused in other words. */
export const isOfSession = ({ path, auth }: Endpoint): boolean =>
  path.includes('{session_id}') && !['admin', 'view', 'vnc', 'recording'].includes(auth);

/** What these answer alike when the session is unknown, not ready or over: `session-errors.test.ts` asks all of them. */
export const sessionErrors: readonly ErrorCode[] = ['session_not_found', 'session_not_ready', 'session_ended'];
