/** A TypeScript client of the endpoints: one module, without imports. Names and texts of sites stand in it only as JSON. */
import type { ApiEndpoint, ApiParameter } from '@berth/contract';
import { operationNames } from '../operation-names.ts';
import type { JsonSchema } from '../schema.ts';

const depthMax = 12;
const head = `/* oxlint-disable */
/** Generated from the traffic of a browser. Pass credentials as headers. */
export interface ClientOptions {
  /** Replaces the origin of each URL, such as \`http://localhost:8080\`. */
  baseUrl?: string;
  /** Sent with each request. */
  headers?: Record<string, string>;
  fetch?: typeof fetch;
}

export interface ApiResponse<T> {
  status: number;
  headers: Headers;
  body: T;
}

interface Call {
  method: string;
  origin: string;
  path: string;
  query?: Record<string, unknown>;
  headers?: Record<string, unknown>;
  contentType?: string;
  body?: unknown;
}

export class ApiClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions = {}) {
    this.#options = options;
  }

  async #send<T>(call: Call): Promise<ApiResponse<T>> {
    const url = new URL(call.path, this.#options.baseUrl ?? call.origin);
    for (const [name, value] of Object.entries(call.query ?? {})) if (value !== undefined) url.searchParams.append(name, String(value));
    const headers = new Headers(this.#options.headers);
    for (const [name, value] of Object.entries(call.headers ?? {})) if (value !== undefined) headers.set(name, String(value));
    const body = toBody(call);
    if (call.contentType !== undefined && body !== undefined && !(body instanceof FormData)) headers.set('content-type', call.contentType);
    const send = this.#options.fetch ?? fetch;
    const response = await send(url, { method: call.method, headers, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    const isJson = (response.headers.get('content-type') ?? '').includes('json') && text !== '';
    return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(text) : text) as T };
  }
`;
const tail = `
function toBody({ body, contentType }: Call): string | URLSearchParams | FormData | undefined {
  if (body === undefined || typeof body === 'string') return body;
  if (body instanceof FormData || body instanceof URLSearchParams) return body;
  if (contentType === 'application/x-www-form-urlencoded')
    return new URLSearchParams(Object.entries(body as object).map(([name, value]): [string, string] => [name, String(value)]));
  return JSON.stringify(body);
}

const segment = (value: unknown): string => encodeURIComponent(String(value));
`;

export function toClient(endpoints: readonly ApiEndpoint[]): string {
  const names = operationNames(endpoints);
  const methods = endpoints.map((endpoint) => toMethod(endpoint, names.get(endpoint.id) ?? endpoint.id));
  const types = endpoints.map((endpoint) => toTypes(endpoint, names.get(endpoint.id) ?? endpoint.id));
  return `${head}${methods.join('')}}\n${tail}${types.join('')}`;
}

const typeName = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1);

/** Parameters that a caller passes as arguments: credentials in headers are set once for the client. */
function argumentsOf({ params, auth_refs: credentials }: ApiEndpoint): {
  path: ApiParameter[];
  query: ApiParameter[];
  header: ApiParameter[];
} {
  const secured = new Set(credentials.filter(({ in: where }) => where === 'header').map(({ name }) => name));
  return { ...params, header: params.header.filter(({ name }) => !secured.has(name)) };
}

function toMethod(endpoint: ApiEndpoint, name: string): string {
  const { method, path_template: template, request } = endpoint;
  const { path, query, header } = argumentsOf(endpoint);
  const type = typeName(name);
  const all = [...path, ...query, ...header];
  const isOptional = path.length === 0 && all.every(({ required }) => !required) && !request?.body_required;
  const fields = (list: readonly ApiParameter[]): string =>
    list.map((param) => `${JSON.stringify(param.name)}: options[${JSON.stringify(param.name)}]`).join(', ');
  const lines = [
    `      method: ${JSON.stringify(method)},`,
    `      origin: ${JSON.stringify(/^[a-z]+:\/\/[^/?#]+/i.exec(endpoint.example_url)?.[0] ?? '')},`,
    `      path: ${pathExpression(template)},`,
    ...(query.length > 0 ? [`      query: { ${fields(query)} },`] : []),
    ...(header.length > 0 ? [`      headers: { ${fields(header)} },`] : []),
    ...(request ? [`      contentType: ${JSON.stringify(request.content_type)},`, '      body: options.body,'] : []),
  ];
  return `
  async ${name}(${all.length > 0 || request ? `options: ${type}Options${isOptional ? ' = {}' : ''}` : ''}): Promise<ApiResponse<${type}Result>> {
    return await this.#send<${type}Result>({
${lines.join('\n')}
    });
  }
`;
}

function pathExpression(template: string): string {
  const pieces = template.split(/(\{[a-z\d_]+\})/);
  const texts = pieces.map((piece, i) => (i % 2 === 1 ? `segment(options[${JSON.stringify(piece.slice(1, -1))}])` : JSON.stringify(piece)));
  return texts.filter((text) => text !== '""').join(' + ') || '""';
}

function toTypes(endpoint: ApiEndpoint, name: string): string {
  const { path, query, header } = argumentsOf(endpoint);
  const { request, responses } = endpoint;
  const type = typeName(name);
  const params = new Map([...header, ...query, ...path].map((param) => [param.name, param]));
  const fields = [...params.values()].map(
    (param) => `  ${JSON.stringify(param.name)}${path.includes(param) || param.required ? '' : '?'}: ${parameterType(param)};\n`,
  );
  const isForm = request !== null && /multipart/.test(request.content_type);
  const body = request
    ? [`  body${request.body_required ? '' : '?'}: ${isForm ? 'FormData' : request.schema ? toType(request.schema, 0) : 'string'};\n`]
    : [];
  const done = responses.filter(({ status_code: status }) => status < 400);
  const results = new Set((done.length > 0 ? done : responses).map(({ schema }) => (schema ? toType(schema, 0) : 'string')));
  const options =
    fields.length + body.length > 0
      ? `\nexport interface ${type}Options {\n${[...fields, ...(params.has('body') ? [] : body)].join('')}}\n`
      : '';
  return `${options}\nexport type ${type}Result = ${results.size === 0 ? 'unknown' : [...results].join(' | ')};\n`;
}

function parameterType({ type, enum: values }: ApiParameter): string {
  if (values) return values.map((value) => JSON.stringify(value)).join(' | ');
  return type === 'integer' ? 'number' : type;
}

/** A TypeScript type of a schema that was inferred here. */
function toType(schema: JsonSchema, depth: number): string {
  if (depth > depthMax) return 'unknown';
  if (Array.isArray(schema['enum'])) return schema['enum'].map((value) => JSON.stringify(value)).join(' | ');
  const types = [schema['type']].flat().filter((type) => typeof type === 'string');
  if (types.length === 0) return 'unknown';
  return types.map((type) => typeOf(type, schema, depth)).join(' | ');
}

function typeOf(type: string, schema: JsonSchema, depth: number): string {
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'array') return `Array<${toType(asSchema(schema['items']), depth + 1)}>`;
  if (type !== 'object') return type;
  const properties = Object.entries(asSchema(schema['properties']));
  const extra = schema['additionalProperties'];
  if (properties.length === 0)
    return `Record<string, ${extra === undefined || extra === true ? 'unknown' : toType(asSchema(extra), depth + 1)}>`;
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  return `{ ${properties.map(([key, value]) => `${JSON.stringify(key)}${required.has(key) ? '' : '?'}: ${toType(asSchema(value), depth + 1)}`).join('; ')} }`;
}

const asSchema = (value: unknown): JsonSchema => (typeof value === 'object' && value !== null ? (value as JsonSchema) : {});
