/** Compares replies with the OpenAPI document, as a client that was generated from it sees them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { endpoints, type Endpoint } from '@berth/contract';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

interface Response {
  description: string;
  content?: Record<string, { schema: object }>;
}
type Responses = Record<string, Response | { $ref: string }>;

interface Document {
  paths: Record<string, Record<string, { responses: Responses }>>;
  components: { responses: Record<string, Response> };
}

// `scripts/openapi.ts --check` compares it with the contract. To make it anew takes each process of tests a third of a second.
const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as Document;
const { paths } = document;
const shared = document.components.responses;

// Each validator is used a few times and in many processes: it is made fast, not made to be fast.
const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false, inlineRefs: false, code: { optimize: false } });
ajv.addSchema(document, 'openapi');
const validators = new Map<object, ValidateFunction>();

/** Fails unless the document declares the status, the media type and the form of the body. */
export function assertInDocument(
  { method, path }: Pick<Endpoint, 'method' | 'path'>,
  reply: { status: number; headers: Headers; text: string },
): void {
  const where = `${method} ${path} answered ${reply.status}: ${reply.text.slice(0, 2000)}`;
  const responses = paths[path]?.[method.toLowerCase()]?.responses ?? {};
  const declared = resolve(responses[reply.status]) ?? commonError(resolve(responses['default']), reply);
  assert.ok(declared, `the status is not in the OpenAPI document: ${where}`);
  const { content } = declared;
  if (!content) return assert.equal(reply.text, '', `a body that is not in the OpenAPI document: ${where}`);
  const type = reply.headers.get('content-type')?.split(';', 1)[0] ?? '';
  const { schema } = content[type] ?? content['*/*'] ?? {};
  assert.ok(schema, `the type ${type} is not in the OpenAPI document: ${where}`);
  // A file is bytes, whatever they mean.
  if (type !== 'application/json' || !content[type]) return;
  const validate = validatorOf(schema);
  assert.ok(
    validate(JSON.parse(reply.text)),
    `the body is not what the OpenAPI document says: ${ajv.errorsText(validate.errors)}: ${where}`,
  );
}

/** The response `default` if it lists the error of the reply. A page for people has the status alone. */
function commonError(response: Response | undefined, { status, text }: { status: number; text: string }): Response | undefined {
  const line = text.startsWith('{') ? `- ${status} \`${(JSON.parse(text) as { code: string }).code}\`:` : `- ${status} `;
  return response?.description.includes(line) ? response : undefined;
}

function resolve(response: Response | { $ref: string } | undefined): Response | undefined {
  if (!response || !('$ref' in response)) return response;
  const component = shared[response.$ref.replace('#/components/responses/', '')];
  assert.ok(component, response.$ref);
  return component;
}

function validatorOf(schema: object): ValidateFunction {
  const existing = validators.get(schema);
  if (existing) return existing;
  // References inside the document are relative to it.
  const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')) as object;
  const validate = ajv.compile(absolute);
  validators.set(schema, validate);
  return validate;
}

const patterns = endpoints.map((endpoint) => {
  const path = endpoint.path.replace(/[.]/g, '\\.');
  const pattern = endpoint.isPathOpen === true ? path.replace(/\/\{\w+\}$/, '(?:/.*)?') : path;
  return { endpoint, pattern: new RegExp(`^${pattern.replace(/\{\w+\}/g, '[^/]+')}/?$`) };
});

/** The same for a request that names no endpoint. Replies from addresses without one are not checked. */
export function assertIfDeclared(method: string, address: string, reply: { status: number; headers: Headers; text: string }): void {
  const path = address.replace(/^\w+:\/\/[^/]*/, '').split('?', 1)[0] ?? '';
  // Fixed paths go before those with parameters.
  const [match] = patterns
    .filter(({ endpoint, pattern }) => endpoint.method === method && pattern.test(path))
    .sort((one, other) => one.endpoint.path.split('{').length - other.endpoint.path.split('{').length);
  if (match) assertInDocument(match.endpoint, reply);
}
