import { z } from 'zod';
import { errorsOf, repeats, validates } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { ErrorBody, ValidationBody, errors } from './errors.ts';
import type { ErrorCode } from './errors.ts';

type Json = Record<string, unknown>;

export interface OpenApiOptions {
  endpoints: readonly Endpoint[];
  version: string;
  /** Where the API is reached; left out of a document that belongs to no server. */
  serverUrl?: string;
}

/** The whole API as an OpenAPI 3.1 document. */
export function openApiDocument({ endpoints, version, serverUrl }: OpenApiOptions): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const endpoint of inOrder(endpoints)) (paths[endpoint.path] ??= {})[endpoint.method.toLowerCase()] = operation(endpoint, components);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Berth',
      version,
      description: 'Remote browsers, each in a machine of its own, driven over plain HTTP.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    ...(serverUrl === undefined ? {} : { servers: [{ url: serverUrl }] }),
    tags: tagOrder.map((name) => ({ name })),
    paths,
    components: { schemas: components.schemas(), securitySchemes },
  };
}

/** As a reader meets them. */
const tagOrder: readonly Endpoint['tag'][] = [
  'Sessions',
  'Driving',
  'Connect',
  'Viewing',
  'Fetch',
  'Jobs',
  'Regions',
  'Usage',
  'Keys',
  'Billing',
  'Operators',
  'Self-heal',
  'Health',
];

const inOrder = (endpoints: readonly Endpoint[]): Endpoint[] =>
  endpoints.toSorted((one, other) => tagOrder.indexOf(one.tag) - tagOrder.indexOf(other.tag));

const securitySchemes = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'An owner’s API key.' },
  adminKey: { type: 'apiKey', in: 'header', name: 'x-admin-key', description: 'The operator’s key.' },
  connectToken: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'A short-lived token of one session, from its `connect` endpoint.',
  },
  viewToken: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'A short-lived token for watching, from `view-token` or `vnc-token`.',
  },
  loginToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A login token of the identity provider.' },
  metricsToken: { type: 'http', scheme: 'bearer', description: 'The token for metrics.' },
  viewCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'berth-view',
    description: 'Set by the first load with a token; named `__Secure-berth-view` behind TLS.',
  },
};

const security: Record<Endpoint['auth'], Json[]> = {
  none: [],
  bearer: [{ apiKey: [] }],
  admin: [{ adminKey: [] }],
  connect: [{ apiKey: [] }, { connectToken: [] }],
  view: [{ viewToken: [] }, { viewCookie: [] }],
  vnc: [{ viewToken: [] }, { viewCookie: [] }],
  login: [{ loginToken: [] }],
  metrics: [{ metricsToken: [] }, { adminKey: [] }],
  recording: [{ viewToken: [] }, { viewCookie: [] }, { apiKey: [] }],
};

function operation(endpoint: Endpoint, components: Components): Json {
  const parameters = [
    ...parametersOf('path', endpoint, components),
    ...parametersOf('query', endpoint, components),
    ...headerParameters(endpoint),
  ];
  return {
    operationId: endpoint.id,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    ...(endpoint.description === undefined ? {} : { description: endpoint.description }),
    security: security[endpoint.auth],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(endpoint.rawBody ? { requestBody: { required: true, content: rawContent[endpoint.rawBody] } } : {}),
    ...(endpoint.body
      ? { requestBody: { required: endpoint.bodyOptional !== true, content: json(components.reference(endpoint.body, 'input')) } }
      : {}),
    responses: responses(endpoint, components),
  };
}

const rawContent = {
  json: { 'application/json': { schema: { type: 'object' } } },
  form: { 'application/x-www-form-urlencoded': { schema: { type: 'object' } } },
};

/** Fields of an object schema, each as a parameter of its own. */
function parametersOf(place: 'path' | 'query', endpoint: Endpoint, components: Components): Json[] {
  const schema = place === 'path' ? endpoint.params : endpoint.query;
  if (!schema) return [];
  const { properties = {}, required = [] } = components.inline(schema, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties)
    .filter(([name]) => !(name === 'token' && endpoint.auth === 'connect'))
    .map(([name, { description, ...shape }]) => ({
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: shape,
    }));
}

const headerParameters = (endpoint: Endpoint): Json[] =>
  repeats(endpoint)
    ? [
        {
          name: 'Idempotency-Key',
          in: 'header',
          required: false,
          description: 'Repeating a request under the same key within 24 hours answers what the first one did, without doing it again.',
          schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
        },
      ]
    : [];

function responses(endpoint: Endpoint, components: Components): Json {
  const answers: Json = { [endpoint.status]: success(endpoint, components) };
  for (const status of endpoint.alsoStatus ?? [])
    answers[status] = { ...success(endpoint, components), description: 'The same body, told as a failure.' };
  for (const [status, codes] of Object.entries(byStatus(errorsOf(endpoint))))
    answers[status] ??= failure(Number(status), codes, components);
  if (validates(endpoint) || endpoint.method === 'POST')
    answers['422'] = {
      description: 'The request breaks its schema. All faults are told at once.',
      headers: commonHeaders,
      content: json(components.reference(ValidationBody, 'output')),
    };
  return answers;
}

const commonHeaders = {
  'X-Request-Id': { description: 'Names this request in the logs. A valid one that was sent comes back.', schema: { type: 'string' } },
};

function success({ summary, reply, replyKind, replyHeaders = {} }: Endpoint, components: Components): Json {
  const own = Object.entries(replyHeaders).map(([name, description]) => [name, { description, schema: { type: 'string' } }]);
  const headers = { ...commonHeaders, ...Object.fromEntries(own) };
  if (replyKind === 'websocket') return { description: 'Switching to a WebSocket.' };
  if (replyKind === 'empty') return { description: 'Done.', headers };
  if (replyKind === 'html') return { description: summary, headers, content: { 'text/html': { schema: { type: 'string' } } } };
  if (replyKind === 'text') return { description: summary, headers, content: { 'text/plain': { schema: { type: 'string' } } } };
  if (replyKind === 'bytes') return { description: summary, headers, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } };
  if (replyKind === 'events') return { description: summary, headers, content: { 'text/event-stream': { schema: { type: 'string' } } } };
  return { description: summary, headers, content: json(reply ? components.reference(reply, 'output') : {}) };
}

function failure(status: number, codes: ErrorCode[], components: Components): Json {
  const headers: Json = { ...commonHeaders };
  if (status === 429 || status === 503) headers['Retry-After'] = { description: 'Seconds to wait.', schema: { type: 'integer' } };
  if (status === 401) headers['WWW-Authenticate'] = { description: 'How to authenticate.', schema: { type: 'string' } };
  return { description: codes.map((code) => `\`${code}\``).join(', '), headers, content: json(components.reference(ErrorBody, 'output')) };
}

function byStatus(codes: readonly ErrorCode[]): Record<number, ErrorCode[]> {
  const grouped: Record<number, ErrorCode[]> = {};
  for (const code of codes) (grouped[errors[code].status] ??= []).push(code);
  return grouped;
}

const json = (schema: Json): Json => ({ 'application/json': { schema } });

/**
 * Schemas with an id, each written once.
 *
 * A request may leave out what has a default and a reply always holds it, so a
 * schema that both use can have two forms. Then the request's gets a name of its own.
 */
class Components {
  #forms: Record<'input' | 'output', Map<string, Json>> = { input: new Map(), output: new Map() };
  /** References of requests, whose names are only known once all schemas are. */
  #references: { reference: Json; id: string }[] = [];

  reference(schema: z.ZodType, io: 'input' | 'output'): Json {
    const id = schema.meta()?.id;
    const root = this.#convert(schema, io);
    if (id === undefined || typeof root['$ref'] === 'string') return root;
    this.#forms[io].set(id, root);
    return this.#referTo(id, io);
  }

  /** The schema in place, whatever its id. */
  inline(schema: z.ZodType, io: 'input' | 'output'): Json {
    const shape = this.#convert(schema, io);
    const named = typeof shape['$ref'] === 'string' ? this.#forms[io].get(shape['$ref'].slice('#/components/schemas/'.length)) : undefined;
    return named ?? shape;
  }

  #referTo(id: string, io: 'input' | 'output'): Json {
    const reference = { $ref: `#/components/schemas/${id}` };
    if (io === 'input') this.#references.push({ reference, id });
    return reference;
  }

  #convert(schema: z.ZodType, io: 'input' | 'output'): Json {
    const {
      $schema: _draft,
      $defs = {},
      id: _id,
      ...root
    } = z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => correct(jsonSchema as Json, zodSchema, io),
    }) as Json & { $defs?: Record<string, Json> };
    for (const [id, { id: _own, ...shape }] of Object.entries($defs)) this.#forms[io].set(id, this.#relink(shape, io));
    return this.#relink(root, io);
  }

  /** zod points into the schema's own `$defs`; here all of them are components. */
  #relink(value: Json, io: 'input' | 'output'): Json {
    const walk = (inner: unknown): unknown => {
      if (Array.isArray(inner)) return inner.map(walk);
      if (typeof inner !== 'object' || inner === null) return inner;
      const ref = (inner as Json)['$ref'];
      if (typeof ref === 'string' && ref.startsWith('#/$defs/'))
        return Object.assign(this.#referTo(ref.slice('#/$defs/'.length), io), walk(without(inner as Json, '$ref')));
      return Object.fromEntries(Object.entries(inner).map(([name, part]) => [name, walk(part)]));
    };
    return walk(value) as Json;
  }

  schemas(): Json {
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

const without = (value: Json, name: string): Json => Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));

/** Takes out what zod writes that says nothing about the wire, and puts back the defaults that it loses. */
function correct(schema: Json, source: z.core.$ZodType, io: 'input' | 'output'): void {
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  // Replies may grow fields; a client generated from a closed schema would break on them.
  if (io === 'output' && schema['additionalProperties'] === false) delete schema['additionalProperties'];
  // zod drops the default of what is transformed, such as a number that travels as text.
  const { def } = source._zod;
  if (io === 'input' && def.type === 'default' && 'defaultValue' in def) schema['default'] ??= def.defaultValue;
}
