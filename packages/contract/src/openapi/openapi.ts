import { z } from 'zod';
import {
  acceptsIdempotencyKey,
  acceptsLinks,
  authErrors,
  bodyErrors,
  callerErrors,
  commonErrors,
  errorsOf,
  ignoresAll,
} from '../endpoint.ts';
import type { Endpoint } from '../endpoint.ts';
import { ErrorBody, ValidationBody, errors } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { examples } from './examples.ts';
import {
  extendSchema,
  extractBase,
  shareHeaders,
  shareParameters,
  shareProperties,
  shareResponses,
  sortByName,
} from './openapi-sharing.ts';

type Json = Record<string, unknown>;

export interface OpenApiOptions {
  endpoints: readonly Endpoint[];
  version: string;
  /** Base URL of the API. Default: `/`, the server that the document comes from. */
  serverUrl?: string;
}

/** Returns the whole API as an OpenAPI 3.1 document. */
export function createOpenApiDocument({ endpoints, version, serverUrl = '/' }: OpenApiOptions): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const endpoint of sortByTag(endpoints))
    (paths[endpoint.path] ??= {})[endpoint.method.toLowerCase()] = createOperation(endpoint, components);
  const schemas = components.schemas();
  extractBase(schemas, { name: 'StepFields', description: 'Fields of every step.', members: stepSchemasOf(schemas) });
  // A document of some endpoints has not all of them.
  for (const [base, extended] of extensions) if (base in schemas && extended in schemas) extendSchema(schemas, extended, base);
  shareProperties(schemas);
  for (const base of bases) extractBase(schemas, base);
  const parameters = shareParameters(paths);
  const headers = shareHeaders(paths, headerComponents);
  const responses = { ...components.responses(), ...shareResponses(paths) };
  return {
    openapi: '3.1.1',
    info: {
      title: 'Berth',
      version,
      description:
        'Remote browsers, each in its own machine, controlled over HTTP. Every response has the header `X-Request-Id`, ' +
        'the id of the request in the logs, and every error `X-Should-Retry`. Where calls are limited, `RateLimit` says how many are left.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    // An operation that names no credential takes this one.
    security: security.bearer,
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: sortByName(schemas),
      responses: sortByName(responses),
      parameters,
      headers,
      securitySchemes,
    },
  };
}

/** Schemas of what others have in common. */
const bases = [
  { name: 'RunFields', description: 'Fields of a request to run a flow or a template.', members: ['AgentRequest', 'TemplateRequest'] },
  { name: 'RunResponse', description: 'Result of a flow or a template.', members: ['AgentResponse', 'TemplateResponse'] },
  { name: 'LinkResponse', description: 'A link to watch or control a session.', members: ['ViewTokenResponse', 'VncTokenResponse'] },
];

/** Schemas that others extend. Those that are extended themselves come last. */
export const extensions: readonly [base: string, extended: string][] = [
  ['SessionResponse', 'AdminSessionResponse'],
  ['ConnectTokenResponse', 'CreatedConnectTokenResponse'],
  ['CreatedKeyResponse', 'RotatedKeyResponse'],
  ['KeyResponse', 'CreatedKeyResponse'],
  ['PdfOptions', 'PdfRequest'],
  ['AgentTaskResponse', 'TemplateItemResponse'],
  ['JobItemResponse', 'JobResponse'],
];

/** Names of the schemas of all kinds of steps. */
const stepSchemasOf = ({ Step }: Record<string, Json>): string[] =>
  ((Step?.['oneOf'] ?? []) as { $ref: string }[]).map(({ $ref }) => $ref.slice('#/components/schemas/'.length));

/** Tags with their descriptions, in the order of the documentation. */
const tags: Record<Endpoint['tag'], string> = {
  Sessions: 'Create, read, update and end browser sessions.',
  Profiles: 'List and delete what browsers keep between sessions.',
  Driving: 'Navigate, run actions, and read pages, files and events of a session.',
  Connect: 'Connect Playwright, Puppeteer and other DevTools clients to a session.',
  Viewing: 'Watch and control sessions in a live view, over VNC, or in a recording.',
  Fetch: 'Turn a page into HTML, Markdown, data, screenshots or PDF with one request.',
  Inspect: 'Report on a site’s API, authentication and assets.',
  Agent: 'Run named flows and templates in a browser, without a language model.',
  Jobs: 'Poll and cancel asynchronous work.',
  Regions: 'List the regions in which browsers run.',
  Usage: 'Read usage and credits, and redeem credit codes.',
  Keys: 'Create, list, rotate and revoke API keys.',
  Billing: 'Buy and manage plans with a payment provider.',
  Operators: 'Read the overview and economics, and manage sessions, credits, codes and the warm pool of all owners.',
  'Self-heal': 'Read how often sites block requests, and which strategies succeed.',
  Health: 'Read the health of the worker and the description of this API.',
};

const sortByTag = (endpoints: readonly Endpoint[]): Endpoint[] => {
  const names = Object.keys(tags);
  return endpoints.toSorted((a, b) => names.indexOf(a.tag) - names.indexOf(b.tag));
};

const securitySchemes = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'API key of an owner.' },
  adminKey: { type: 'apiKey', in: 'header', name: 'x-admin-key', description: 'Admin key of the operator.' },
  connectToken: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description:
      'Connect token from `POST /v1/connect-tokens`, or short-lived token for one session from `GET /v1/session/{session_id}/connect`.',
  },
  viewToken: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'Short-lived token of a link, from `view-token` or `vnc-token`, or in a `report_url`.',
  },
  loginToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'Login token of the identity provider.' },
  metricsToken: { type: 'http', scheme: 'bearer', description: 'Metrics token of the operator.' },
  viewCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'berth-view',
    description: 'Set by the first request with a token. Named `__Secure-berth-view` behind TLS.',
  },
};

const security: Record<Endpoint['auth'], Json[]> = {
  none: [],
  bearer: [{ apiKey: [] }],
  admin: [{ adminKey: [] }],
  connect: [{ apiKey: [] }, { connectToken: [] }],
  // The token is a parameter of the path, which no security scheme describes.
  connectPath: [],
  view: [{ viewToken: [] }, { viewCookie: [] }],
  vnc: [{ viewToken: [] }, { viewCookie: [] }],
  login: [{ loginToken: [] }],
  metrics: [{ metricsToken: [] }, { adminKey: [] }],
  recording: [{ viewToken: [] }, { viewCookie: [] }, { apiKey: [] }],
  report: [{ viewToken: [] }, { apiKey: [] }],
  agent: [{ apiKey: [] }, { connectToken: [] }],
};

function createOperation(endpoint: Endpoint, components: Components): Json {
  const parameters = [
    ...createParameters('path', endpoint, components),
    ...createParameters('query', endpoint, components),
    ...createHeaderParameters(endpoint),
  ];
  return {
    operationId: endpoint.id,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    ...(endpoint.description === undefined ? {} : { description: endpoint.description }),
    ...(endpoint.auth === 'bearer' ? {} : { security: security[endpoint.auth] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...createRequestBody(endpoint, components),
    responses: createResponses(endpoint, components),
  };
}

const formContent = ({ multipart }: Endpoint): Json =>
  multipart
    ? {
        'multipart/form-data': {
          schema: {
            type: 'object',
            properties: {
              file: { type: 'string', format: 'binary', description: 'The file.' },
              [multipart.name]: { type: 'string', description: 'Name of the file. Default: the one that the form gives it.' },
            },
            required: ['file'],
          },
        },
      }
    : {};

const rawTypes = { json: 'application/json', form: 'application/x-www-form-urlencoded' };

function createRequestBody(endpoint: Endpoint, components: Components): Json {
  const { id, body, rawBody, bodyOptional } = endpoint;
  if (!body && !rawBody) return {};
  const schema = body ? components.reference(body, 'input') : { type: 'object', additionalProperties: true };
  const example = examples[id];
  const content = { [rawTypes[rawBody ?? 'json']]: { schema, ...(example === undefined ? {} : { example }) }, ...formContent(endpoint) };
  return { requestBody: { required: bodyOptional !== true, content } };
}

/** The fields of the path or query schema as parameters. */
function createParameters(location: 'path' | 'query', endpoint: Endpoint, components: Components): Json[] {
  const schema = location === 'path' ? endpoint.params : endpoint.query;
  if (!schema) return [];
  const { properties = {}, required = [] } = components.inline(schema, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties)
    .filter(([name]) => !(name === 'token' && endpoint.auth.startsWith('connect') && location === 'query'))
    .map(([name, { description, ...shape }]) => ({
      name,
      in: location,
      // A parameter is optional by default.
      ...(location === 'path' || required.includes(name) ? { required: true } : {}),
      ...(description === undefined ? {} : { description }),
      schema: shape,
    }));
}

const createHeaderParameters = (endpoint: Endpoint): Json[] =>
  acceptsIdempotencyKey(endpoint)
    ? [
        {
          name: 'Idempotency-Key',
          in: 'header',
          description:
            'Key of the request, 1 to 255 visible ASCII characters. A repeated request with the same key within 24 hours ' +
            'returns the first response again without a second effect.',
          schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
        },
      ]
    : [];

function createResponses(endpoint: Endpoint, components: Components): Json {
  const statuses: Json = { [endpoint.status]: createSuccessResponse(endpoint, components) };
  for (const status of endpoint.alsoStatus ?? [])
    statuses[status] = {
      ...createSuccessResponse(endpoint, components),
      description: endpoint.replyKind === 'bytes' ? 'Part of the file.' : 'The same body; the status reports a failure.',
    };
  const isLink = acceptsLinks(endpoint.auth);
  const common = commonResponses[commonResponseOf(endpoint.auth)];
  for (const [status, codes] of Object.entries(groupByStatus(errorsOf(endpoint))))
    if (!codes.every((code) => common.codes.includes(code)))
      statuses[status] ??= createErrorResponse({ status: Number(status), codes, isLink }, components);
  // Others refuse at least unknown query parameters.
  if (!ignoresAll(endpoint.query))
    statuses['422'] = isLink
      ? components.response('ValidationFailedOrPage', () => createValidationResponse(components, htmlPage))
      : components.response('ValidationFailed', () => createValidationResponse(components));
  statuses['default'] = components.response(commonResponseOf(endpoint.auth), () => createCommonResponse(common, isLink, components));
  return statuses;
}

interface CommonResponse {
  /** Names the calls that may end with these codes, such as those with an API key. */
  calls: string;
  codes: readonly ErrorCode[];
}

const commonCodes: readonly ErrorCode[] = [...commonErrors, ...bodyErrors];
const commonCallerCodes: readonly ErrorCode[] = [...callerErrors, ...commonCodes];

/**
 * The responses `default`, by the names of their components: the errors of any call with such a credential. Where one of their
 * statuses has further codes, that status is declared by itself, with all of them.
 */
const commonResponses = {
  CommonError: { calls: 'any call', codes: commonCodes },
  CommonErrorOfKey: { calls: 'any call with an API key', codes: [...new Set([...authErrors.bearer, ...commonCallerCodes])] },
  CommonErrorOfAdmin: { calls: 'any call with the admin key', codes: [...new Set([...authErrors.admin, ...commonCallerCodes])] },
  CommonErrorOfToken: { calls: 'any call with a token', codes: commonCallerCodes },
  CommonErrorOrPage: { calls: 'any call by a link', codes: commonCallerCodes },
} satisfies Record<string, CommonResponse>;

function commonResponseOf(auth: Endpoint['auth']): keyof typeof commonResponses {
  if (acceptsLinks(auth)) return 'CommonErrorOrPage';
  if (auth === 'none') return 'CommonError';
  if (auth === 'bearer') return 'CommonErrorOfKey';
  return auth === 'admin' ? 'CommonErrorOfAdmin' : 'CommonErrorOfToken';
}

const createCommonResponse = ({ calls, codes }: CommonResponse, isLink: boolean, components: Components): Json => ({
  description:
    `Errors of ${calls}. The guide “Errors” says what to do about each code.\n` +
    codes
      .toSorted((one, other) => errors[one].status - errors[other].status)
      .map((code) => `- ${errors[code].status} \`${code}\`: ${causeOf(code)}`)
      .join('\n'),
  headers: headersNamed(
    ...(['X-Request-Id', 'X-Should-Retry', 'Retry-After'] as const),
    ...(codes.includes('rate_limited') ? rateHeaders : []),
    ...(codes.some((code) => errors[code].status === 401) ? (['WWW-Authenticate'] as const) : []),
  ),
  content: { ...json(components.reference(ErrorBody, 'output')), ...(isLink ? htmlPage : {}) },
});

/** The first sentence of the description. What to do is in the message of a reply, and in the guide. */
const causeOf = (code: ErrorCode): string => errors[code].description.split(/(?<=\.) (?=[A-Z`])/, 1).join('');

/** The page for a person who opened the endpoint by a link. */
const htmlPage: Json = { 'text/html': { schema: { type: 'string' } } };

const createValidationResponse = (components: Components, page: Json = {}): Json => ({
  description: 'The request does not match its schema. All errors are reported at once, up to a hundred of them.',
  content: { ...json(components.reference(ValidationBody, 'output')), ...page },
});

/** Headers that many responses have, each written once. */
const headerComponents = {
  'X-Request-Id': {
    description: 'Id of the request in the logs: the one that was sent, if it is valid, or a new one.',
    schema: { type: 'string' },
  },
  'X-Should-Retry': {
    description: '`true` if the same request may succeed later, else `false`: the same as `error.retryable`.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  'Retry-After': {
    description: 'Seconds to wait before a retry. Sent where a retry can help and the time is known.',
    schema: { type: 'integer' },
  },
  'RateLimit-Policy': {
    description: 'The limit: `q` requests in `w` seconds.',
    schema: { type: 'string' },
    example: '"default";q=600;w=60',
  },
  RateLimit: {
    description:
      '`r`: requests left in this window; `t`: seconds until it ends. Absent where there is no limit; else `RateLimit-Policy`, ' +
      '`X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` are sent beside it, as with 429.',
    schema: { type: 'string' },
    example: '"default";r=599;t=60',
  },
  'X-RateLimit-Limit': { description: 'Requests in a minute.', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'Requests left in this minute.', schema: { type: 'integer' } },
  'X-RateLimit-Reset': { description: 'Seconds until the count starts anew.', schema: { type: 'integer' } },
  'WWW-Authenticate': { description: 'Authentication scheme that the endpoint requires.', schema: { type: 'string' } },
  'Idempotent-Replayed': {
    description: '`true` if this is the stored response to an earlier request with the same `Idempotency-Key`. Absent otherwise.',
    schema: { type: 'string', enum: ['true'] },
  },
};

const headersNamed = (...names: (keyof typeof headerComponents)[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
const rateHeaders = ['RateLimit-Policy', 'RateLimit', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

const createCommonHeaders = (endpoint: Endpoint): Json =>
  headersNamed(...(acceptsIdempotencyKey(endpoint) ? (['Idempotent-Replayed'] as const) : []));

function createSuccessResponse(endpoint: Endpoint, components: Components): Json {
  const { summary, reply, replyKind, replyHeaders = {} } = endpoint;
  const own = Object.entries(replyHeaders).map(([name, description]) => [name, { description, schema: { type: 'string' } }]);
  const headers = withHeaders({ ...createCommonHeaders(endpoint), ...Object.fromEntries(own) });
  const text = { schema: { type: 'string' } };
  if (replyKind === 'websocket') return { description: 'The connection switches to the WebSocket protocol.' };
  if (replyKind === 'empty') return { description: 'The request succeeded. The response has no body.', ...headers };
  if (replyKind === 'html') return { description: summary, ...headers, content: { 'text/html': text } };
  if (replyKind === 'text') return { description: summary, ...headers, content: { 'text/plain': text } };
  if (replyKind === 'bytes')
    return { description: summary, ...headers, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } };
  if (replyKind === 'events') return { description: summary, ...headers, content: { 'text/event-stream': text } };
  return { description: summary, ...headers, content: json(reply ? components.reference(reply, 'output') : {}) };
}

/** The headers of a response, where it has any of its own. */
const withHeaders = (headers: Json): Json => (Object.keys(headers).length === 0 ? {} : { headers });

interface ErrorResponseOptions {
  status: number;
  codes: readonly ErrorCode[];
  /** Whether a person may open the endpoint by a link, and get the error as a page. */
  isLink?: boolean;
}

function createErrorResponse({ status, codes, isLink = false }: ErrorResponseOptions, components: Components): Json {
  const headers = headersNamed(
    ...(codes.some((code) => errors[code].retryable) ? (['Retry-After'] as const) : []),
    ...(status === 429 ? rateHeaders : []),
    ...(status === 401 ? (['WWW-Authenticate'] as const) : []),
  );
  const description = codes.map((code) => `- \`${code}\`: ${causeOf(code)}`).join('\n');
  const page = isLink ? htmlPage : {};
  return { description, ...withHeaders(headers), content: { ...json(components.reference(ErrorBody, 'output')), ...page } };
}

function groupByStatus(codes: readonly ErrorCode[]): Record<number, ErrorCode[]> {
  const grouped: Record<number, ErrorCode[]> = {};
  for (const code of codes) (grouped[errors[code].status] ??= []).push(code);
  return grouped;
}

const json = (schema: Json): Json => ({ 'application/json': { schema } });

/**
 * The schemas with an id and the responses that most endpoints have, each written once.
 *
 * A field with a default is optional in requests and always present in responses,
 * so a schema that both use can have two forms. The request form is then named `…Input`.
 */
class Components {
  #forms: Record<'input' | 'output', Map<string, Json>> = { input: new Map(), output: new Map() };
  /** References of requests. Their names are known when all schemas have been converted. */
  #references: { reference: Json; id: string }[] = [];
  #responses = new Map<string, Json>();

  response(name: string, create: () => Json): Json {
    if (!this.#responses.has(name)) this.#responses.set(name, create());
    return { $ref: `#/components/responses/${name}` };
  }

  responses(): Record<string, Json> {
    return Object.fromEntries([...this.#responses].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  reference(schema: z.ZodType, io: 'input' | 'output'): Json {
    const id = schema.meta()?.id;
    const root = this.#convert(schema, io, io === 'input');
    if (id === undefined || typeof root['$ref'] === 'string') return root;
    this.#forms[io].set(id, root);
    return this.#createReference(id, io);
  }

  /** Returns the schema itself, not a reference to it. */
  inline(schema: z.ZodType, io: 'input' | 'output'): Json {
    const shape = this.#convert(schema, io);
    const named = typeof shape['$ref'] === 'string' ? this.#forms[io].get(shape['$ref'].slice('#/components/schemas/'.length)) : undefined;
    return named ?? shape;
  }

  #createReference(id: string, io: 'input' | 'output'): Json {
    const reference = { $ref: `#/components/schemas/${id}` };
    if (io === 'input') this.#references.push({ reference, id });
    return reference;
  }

  /** `isBody`: null stands for an absent field. */
  #convert(schema: z.ZodType, io: 'input' | 'output', isBody = false): Json {
    const {
      $schema: _draft,
      $defs = {},
      id: _id,
      ...root
    } = z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => normalizeSchema(jsonSchema as Json, zodSchema, io),
    }) as Json & { $defs?: Record<string, Json> };
    const finish = (shape: Json): Json => (isBody ? (withNulls(this.#relink(shape, io)) as Json) : this.#relink(shape, io));
    for (const [id, { id: _own, ...shape }] of Object.entries($defs)) this.#forms[io].set(id, finish(shape));
    return finish(root);
  }

  /** zod's references point into `$defs` of the schema; here they point to components. */
  #relink(value: Json, io: 'input' | 'output'): Json {
    const walk = (inner: unknown): unknown => {
      if (Array.isArray(inner)) return inner.map(walk);
      if (typeof inner !== 'object' || inner === null) return inner;
      const ref = (inner as Json)['$ref'];
      if (typeof ref === 'string' && ref.startsWith('#/$defs/'))
        return Object.assign(this.#createReference(ref.slice('#/$defs/'.length), io), walk(omit(inner as Json, '$ref')));
      return Object.fromEntries(Object.entries(inner).map(([name, part]) => [name, walk(part)]));
    };
    return walk(value) as Json;
  }

  schemas(): Record<string, Json> {
    const { input, output } = this.#forms;
    const twoForms = new Set([...input.keys()].filter((id) => output.has(id) && this.#differ(id)));
    for (const { reference, id } of this.#references) if (twoForms.has(id)) reference['$ref'] = `#/components/schemas/${id}Input`;
    const named = [
      ...output,
      ...[...input]
        .filter(([id]) => !output.has(id) || twoForms.has(id))
        .map(([id, shape]) => [twoForms.has(id) ? `${id}Input` : id, shape] as const),
    ];
    return Object.fromEntries(named.sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  #differ(id: string): boolean {
    return JSON.stringify(this.#forms.input.get(id)) !== JSON.stringify(this.#forms.output.get(id));
  }
}

/** Optional fields of requests may be null: see `dropNulls`. References stay the same objects, because they are renamed later. */
function withNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNulls);
  if (typeof value !== 'object' || value === null || '$ref' in value) return value;
  const { properties, required = [], ...rest } = value as Json & { properties?: Record<string, Json>; required?: string[] };
  const walked = Object.fromEntries(Object.entries(rest).map(([name, part]) => [name, withNulls(part)]));
  if (!properties) return required.length === 0 ? walked : { ...walked, required };
  const fields = Object.entries(properties).map(([name, field]): [string, unknown] => {
    const inner = withNulls(field) as Json;
    return [name, required.includes(name) ? inner : orNull(inner)];
  });
  return { ...walked, properties: Object.fromEntries(fields), ...(required.length === 0 ? {} : { required }) };
}

/**
 * The field with null as a further value. Its description moves outside, where
 * it is read. Its default stays with the value: generators of clients take a
 * property that has one itself as present, and would require it in requests.
 */
function orNull(field: Json): Json {
  if (isNullable(field)) return omit(field, 'default');
  const { description, ...value } = field;
  const outside = description === undefined ? {} : { description };
  if (Object.keys(value).length === 0) return field;
  if (isPlainType(value)) return { ...field, type: [value['type'], 'null'] };
  // The same object: see `#createReference`.
  delete field['description'];
  return { ...outside, anyOf: [field, { type: 'null' }] };
}

/** Whether the schema takes any value of one type, perhaps within bounds. */
const isPlainType = (schema: Json): boolean =>
  typeof schema['type'] === 'string' && !('enum' in schema || 'const' in schema || 'default' in schema || '$ref' in schema);

const isNullable = ({ type, anyOf }: Json): boolean =>
  type === 'null' ||
  (Array.isArray(type) && type.includes('null')) ||
  (Array.isArray(anyOf) && anyOf.some((one) => isNullable(one as Json)));

const omit = (value: Json, name: string): Json => Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));

/** Removes artefacts of zod's conversion and restores defaults that it drops. */
function normalizeSchema(schema: Json, source: z.core.$ZodType, io: 'input' | 'output'): void {
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  mergeNull(schema);
  // Responses may gain fields; a client generated from a closed schema would reject them.
  if (io === 'output' && schema['additionalProperties'] === false) delete schema['additionalProperties'];
  // zod drops the default of a transformed field, such as a number in a query.
  const { def } = source._zod;
  if (io === 'input' && def.type === 'default' && 'defaultValue' in def) schema['default'] ??= def.defaultValue;
  // The format says it.
  if (schema['format'] === 'date-time') delete schema['examples'];
}

/** Writes a plain type or null as one schema. A description of the field itself is more exact than that of its type. */
function mergeNull(schema: Json): void {
  const [value, nothing, ...others] = (schema['anyOf'] ?? []) as Json[];
  if (!value || nothing?.['type'] !== 'null' || others.length > 0 || !isPlainType(value)) return;
  delete schema['anyOf'];
  Object.assign(schema, { ...value, ...schema, type: [value['type'], 'null'] });
}
