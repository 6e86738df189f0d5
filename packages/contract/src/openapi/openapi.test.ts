import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { apiVersion, endpoints, errors, errorsOf, createOpenApiDocument } from '../contract.ts';
import { examples } from './examples.ts';
import { extensions } from './openapi.ts';

type Json = Record<string, unknown>;
interface Header {
  description?: string;
}
interface Response {
  description: string;
  headers?: Record<string, Header | { $ref: string }>;
  content?: Record<string, { schema: Json }>;
}
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Json;
}
interface Operation {
  operationId: string;
  summary?: string;
  description?: string;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: Json;
  responses: Record<string, Response | { $ref: string }>;
  /** Absent: that of the document. */
  security?: Json[];
}
const document = createOpenApiDocument({ endpoints, version: apiVersion, serverUrl: 'http://localhost:8080' });
const paths = document['paths'] as Record<string, Record<string, Operation>>;
const {
  responses: shared,
  headers: headerComponents,
  parameters: parameterComponents,
} = document['components'] as {
  responses: Record<string, Response>;
  headers: Record<string, Header>;
  parameters: Record<string, Parameter>;
};
const parametersOf = ({ parameters = [] }: Operation): Parameter[] =>
  parameters.map((parameter) => {
    if (!('$ref' in parameter)) return parameter;
    const component = parameterComponents[parameter.$ref.replace('#/components/parameters/', '')];
    assert.ok(component, parameter.$ref);
    return component;
  });
const responsesOf = ({ responses }: Operation): [string, Response][] =>
  Object.entries(responses).map(([status, response]) => [status, '$ref' in response ? resolve(response.$ref) : response]);
const resolve = (reference: string): Response => {
  const response = shared[reference.replace('#/components/responses/', '')];
  assert.ok(response, reference);
  return response;
};
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

test('the OpenAPI document contains every endpoint once, with a unique operation id', () => {
  assert.deepEqual(
    new Set(operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`)),
    new Set(endpoints.map(({ method, path }) => `${method} ${path}`)),
  );
  assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, endpoints.length);
});

test('the OpenAPI document has an example for each request body, which its schema accepts', () => {
  for (const endpoint of endpoints) {
    const content = (paths[endpoint.path]?.[endpoint.method.toLowerCase()]?.requestBody as { content?: Record<string, Json> } | undefined)
      ?.content;
    for (const [type, { example }] of Object.entries(content ?? {})) {
      // A file has none.
      if (type === 'multipart/form-data') continue;
      assert.notEqual(example, undefined, endpoint.id);
      assert.ok(endpoint.rawBody || endpoint.body?.safeParse(example).success, `${endpoint.id}: ${JSON.stringify(example)}`);
    }
  }
  const withBody = endpoints.filter(({ body, rawBody }) => body || rawBody).map(({ id }) => id);
  assert.deepEqual(Object.keys(examples).toSorted(), withBody.toSorted());
});

test('the OpenAPI document declares exactly the parameters of each path', () => {
  for (const { path, operation } of operations) {
    const declared = parametersOf(operation).filter((parameter) => parameter.in === 'path');
    assert.deepEqual(declared.map(({ name }) => name).sort(), [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '').sort(), path);
    assert.ok(declared.every(({ required }) => required));
  }
});

test('the OpenAPI document references every component, and only existing ones', () => {
  const references = new Set([...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference ?? ''));
  const { schemas, securitySchemes } = document['components'] as { schemas: Json; securitySchemes: Json };
  assert.deepEqual(
    [...references].sort(),
    [
      ...Object.keys(schemas).map((name) => `#/components/schemas/${name}`),
      ...Object.keys(shared).map((name) => `#/components/responses/${name}`),
      ...Object.keys(headerComponents).map((name) => `#/components/headers/${name}`),
      ...Object.keys(parameterComponents).map((name) => `#/components/parameters/${name}`),
    ].sort(),
  );
  for (const { operation } of operations)
    for (const scheme of operation.security ?? (document['security'] as Json[]))
      assert.ok(Object.keys(scheme).every((name) => name in securitySchemes));
  for (const [name, schema] of Object.entries(schemas)) assert.notEqual((schema as Json)['$ref'], `#/components/schemas/${name}`);
});

test('the OpenAPI document writes a parameter that several operations have once', () => {
  const written = operations.flatMap(({ operation }) => (operation.parameters ?? []).filter((parameter) => !('$ref' in parameter)));
  const all = [...written, ...Object.values(parameterComponents)].map((parameter) => JSON.stringify(parameter));
  assert.equal(new Set(all).size, all.length);
  assert.ok('viewport.width' in parameterComponents);
});

test('the OpenAPI document writes a response that several operations have once', () => {
  const written = operations.flatMap(({ operation }) => Object.values(operation.responses).filter((response) => !('$ref' in response)));
  const all = [...written, ...Object.values(shared)].map((response) => JSON.stringify(response));
  assert.equal(new Set(all).size, all.length);
  assert.ok('Unauthorized' in shared);
});

test('the OpenAPI document writes the fields of every step once, and a schema that extends another without the fields of that one', () => {
  const { schemas } = document['components'] as { schemas: Record<string, Json & { properties?: Json }> };
  const { StepFields, ClickStep, IfStep, SessionResponse, AdminSessionResponse } = schemas;
  assert.deepEqual(ClickStep?.['allOf'], [{ $ref: '#/components/schemas/StepFields' }]);
  assert.ok(StepFields?.properties && 'on_error' in StepFields.properties && !('on_error' in (ClickStep.properties ?? {})));
  // Other fields than those of its base and its own are refused.
  assert.equal(ClickStep['unevaluatedProperties'], false);
  assert.ok(!('additionalProperties' in ClickStep));
  // Required in this step alone.
  assert.deepEqual(IfStep?.['required'], ['type', 'if', 'steps']);
  assert.ok(!('if' in StepFields.properties));
  assert.deepEqual(AdminSessionResponse?.['allOf'], [{ $ref: '#/components/schemas/SessionResponse' }]);
  for (const name of Object.keys(SessionResponse?.properties ?? {})) assert.ok(!(name in (AdminSessionResponse.properties ?? {})), name);
});

test('the OpenAPI document writes what the replies of flows and templates have in common once, with what both require', () => {
  const { schemas } = document['components'] as { schemas: Record<string, Json & { properties?: Json; required?: string[] }> };
  const { RunResponse, AgentResponse, TemplateResponse, RunFields } = schemas;
  for (const [extended, own] of [
    [AgentResponse, 'task'],
    [TemplateResponse, 'template'],
  ] as const) {
    assert.deepEqual(extended?.['allOf'], [{ $ref: '#/components/schemas/RunResponse' }]);
    assert.deepEqual(Object.keys(extended?.properties ?? {}), [own]);
    assert.deepEqual(extended?.required, [own]);
  }
  assert.deepEqual(RunResponse?.required, Object.keys(RunResponse?.properties ?? {}));
  assert.ok(RunFields?.properties && !('required' in RunFields));
});

test('the OpenAPI document has every extension that the contract names: one with a name that has changed would be written out again', () => {
  const { schemas } = document['components'] as { schemas: Record<string, Json> };
  for (const [base, extended] of extensions)
    assert.deepEqual(schemas[extended]?.['allOf'], [{ $ref: `#/components/schemas/${base}` }], extended);
});

test('the OpenAPI document has at most 500 KB as the file of the repository', () => {
  const { size } = statSync(new URL('../../../../openapi.json', import.meta.url));
  assert.ok(size <= 500_000, `${size} bytes: share what schemas repeat (\`openapi-sharing.ts\`), or shorten descriptions`);
});

test('the OpenAPI document has no default at an optional property of a request: generators of clients would require it', () => {
  const { schemas } = document['components'] as { schemas: Record<string, Json> };
  const withDefault = (schema: unknown, path: string): string[] => {
    if (typeof schema !== 'object' || schema === null) return [];
    const { properties = {}, required = [], items, anyOf = [], oneOf = [] } = schema as Record<string, never>;
    return [
      ...Object.entries<Json>(properties)
        .filter(([name, property]) => 'default' in property && !(required as string[]).includes(name))
        .map(([name]) => `${path}.${name}`),
      ...Object.entries(properties).flatMap(([name, property]) => withDefault(property, `${path}.${name}`)),
      ...[items, ...(anyOf as Json[]), ...(oneOf as Json[])].flatMap((part) => withDefault(part, path)),
    ];
  };
  assert.deepEqual(
    Object.entries(schemas).flatMap(([name, schema]) => withDefault(schema, name)),
    [],
  );
  // It stands with the values that the property takes.
  assert.match(JSON.stringify(schemas['CreateSessionRequest']), /"default":"headless"/);
});

test('the OpenAPI document contains no artefacts of the zod conversion', () => {
  const text = JSON.stringify(document);
  assert.doesNotMatch(text, /9007199254740991|\$defs|\$schema|"~standard"/);
});

test('the OpenAPI document requires fields with a default in responses, not in requests', () => {
  const { schemas } = document['components'] as { schemas: Record<string, { required?: string[]; additionalProperties?: unknown }> };
  assert.deepEqual(schemas['ViewportInput']?.required, ['width', 'height']);
  assert.deepEqual(schemas['Viewport']?.required, ['width', 'height', 'device_scale_factor']);
  assert.equal(schemas['CreateSessionRequest']?.required, undefined);
  assert.equal(schemas['CreateSessionRequest']?.additionalProperties, false);
  assert.equal(schemas['SessionResponse']?.additionalProperties, undefined);
});

test('the OpenAPI document lists the error codes of each status', () => {
  const create = paths['/v1/session']?.['post'];
  assert.ok(create);
  const statuses = ['201', '402', '403', '404', '409', '422', '429', '503', 'default'];
  const responses = Object.fromEntries(responsesOf(create));
  assert.deepEqual(Object.keys(responses), statuses);
  // A status of any call that has further codes here is declared with all of them, others with the errors of any call.
  assert.match(responses['403']?.description ?? '', /premium_egress_required.*invalid_api_key|invalid_api_key.*premium_egress_required/s);
  assert.match(responses['default']?.description ?? '', /- 401 `missing_api_key`.*- 504 `worker_unreachable`/s);
  assert.match(responses['429']?.description ?? '', /rate_limited.*concurrency_limit|concurrency_limit.*rate_limited/s);
});

const summaryVerbs = [
  'Cancel',
  'Check',
  'Close',
  'Cordon',
  'Create',
  'Delete',
  'Download',
  'Drain',
  'End',
  'Fetch',
  'Get',
  'Grant',
  'Inspect',
  'List',
  'Navigate',
  'Open',
  'Pin',
  'Receive',
  'Redeem',
  'Resize',
  'Revoke',
  'Rotate',
  'Run',
  'Stream',
  'Take',
  'Uncordon',
  'Unpin',
  'Update',
  'Upload',
];

test('the OpenAPI document summarises each operation with a verb and a noun, and describes it in sentences', () => {
  for (const { operation } of operations) {
    const { operationId, summary = '', description = '' } = operation;
    const [verb = '', ...noun] = summary.split(' ');
    assert.ok(summaryVerbs.includes(verb), `${operationId}: "${summary}" does not begin with one of ${summaryVerbs.join(', ')}`);
    assert.ok(noun.length > 0 && !/[.:;,]/.test(summary), `${operationId}: "${summary}" is not a verb and a noun`);
    assert.match(description, /^[A-Z`][^]*\.$/, `${operationId} lacks a description`);
  }
});

/** The properties below a schema that have no description, each as its path. */
function undescribed(schema: unknown, path: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const {
    properties = {},
    anyOf = [],
    oneOf = [],
    allOf = [],
    prefixItems = [],
    items,
    additionalProperties,
  } = schema as Record<string, never>;
  return [
    ...Object.entries<Json>(properties).flatMap(([name, property]) => [
      ...(isDescribed(property) ? [] : [`${path}.${name}`]),
      ...undescribed(property, `${path}.${name}`),
    ]),
    ...[...(anyOf as Json[]), ...(oneOf as Json[]), ...(allOf as Json[]), ...(prefixItems as Json[]), items, additionalProperties].flatMap(
      (part) => undescribed(part, path),
    ),
  ];
}

/** A constant needs no description: its one value says what it is. */
const isDescribed = (value: { description?: unknown; $ref?: unknown; const?: unknown }): boolean => {
  if (value.const !== undefined) return true;
  const { description } = typeof value.$ref === 'string' && value.description === undefined ? componentOf(value.$ref) : value;
  return typeof description === 'string' && /^[A-Z`][^]*\.$/.test(description);
};

const componentOf = (reference: string): { description?: unknown } => {
  const { schemas } = document['components'] as { schemas: Record<string, Json> };
  return schemas[reference.slice('#/components/schemas/'.length)] ?? {};
};

/** The schemas that stand in a request or response itself, not in the components. */
const inlineSchemas = (value: unknown): unknown[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => (name === 'schema' ? [part as unknown] : inlineSchemas(part)));
};

test('the OpenAPI document describes every property of every schema', () => {
  const { schemas } = document['components'] as { schemas: Record<string, Json> };
  const missing = [
    ...Object.entries(schemas).flatMap(([name, schema]) => undescribed(schema, name)),
    ...operations.flatMap(({ operation }) => inlineSchemas(operation).flatMap((schema) => undescribed(schema, operation.operationId))),
  ];
  assert.deepEqual([...new Set(missing)], []);
});

test('the OpenAPI document describes every parameter, response, header and tag', () => {
  const missing = operations.flatMap(({ operation }) => {
    const { operationId } = operation;
    return [
      ...parametersOf(operation)
        .filter((parameter) => !isDescribed(parameter))
        .map(({ name }) => `${operationId} ${name}`),
      ...responsesOf(operation).flatMap(([status, { description, headers = {} }]) => [
        ...(description === '' ? [`${operationId} ${status}`] : []),
        ...Object.entries(headers)
          .filter(([, header]) => !('$ref' in header) && !isDescribed(header))
          .map(([name]) => `${operationId} ${status} ${name}`),
      ]),
    ];
  });
  assert.deepEqual([...new Set(missing)], []);
  for (const tag of document['tags'] as { name: string; description?: string }[]) assert.ok(isDescribed(tag), tag.name);
});

test('the OpenAPI document describes every header that responses share', () => {
  for (const [name, header] of Object.entries(headerComponents)) assert.ok(isDescribed(header), name);
});

test('the OpenAPI document describes every error code', () => {
  for (const [code, { description }] of Object.entries(errors)) assert.match(description, /^[A-Z][^]*\.$/, code);
});

test('the OpenAPI document declares every error code of each operation: with its status, or as one of any call', () => {
  for (const endpoint of endpoints) {
    const operation = paths[endpoint.path]?.[endpoint.method.toLowerCase()];
    assert.ok(operation);
    const responses = Object.fromEntries(responsesOf(operation));
    for (const code of errorsOf(endpoint)) {
      const { status } = errors[code];
      // A reply that is no error may have the status, too.
      if (endpoint.alsoStatus?.includes(status)) continue;
      const { description } = responses[status] ?? responses['default'] ?? { description: '' };
      assert.ok(description.includes(`\`${code}\``), `${endpoint.id} ${status} ${code}`);
      if (!responses[status]) assert.ok(description.includes(`- ${status} \`${code}\``), `${endpoint.id} ${status} ${code}`);
    }
    if (endpoint.method !== 'GET') assert.ok(responses['422'], endpoint.id);
  }
});

test('the OpenAPI document declares pages for people who open links', () => {
  const player = paths['/v1/session/{session_id}/recordings/{rec_id}/{asset_path}']?.['get'];
  assert.ok(player);
  const responses = Object.fromEntries(responsesOf(player));
  for (const status of ['404', '422', 'default'])
    assert.deepEqual(Object.keys(responses[status]?.content ?? {}), ['application/json', 'text/html']);
});
