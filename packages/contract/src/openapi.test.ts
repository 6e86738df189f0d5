import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiVersion, endpoints, openApiDocument } from './contract.ts';

type Json = Record<string, unknown>;
interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; required: boolean; schema: Json }[];
  requestBody?: Json;
  responses: Record<string, { description: string }>;
  security: Json[];
}
const document = openApiDocument({ endpoints, version: apiVersion, serverUrl: 'http://localhost:8080' });
const paths = document['paths'] as Record<string, Record<string, Operation>>;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

test('holds every endpoint once, under a name of its own', () => {
  assert.deepEqual(
    new Set(operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`)),
    new Set(endpoints.map(({ method, path }) => `${method} ${path}`)),
  );
  assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, endpoints.length);
});

test('declares exactly the parameters that a path has', () => {
  for (const { path, operation } of operations) {
    const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
    assert.deepEqual(declared.map(({ name }) => name).sort(), [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '').sort(), path);
    assert.ok(declared.every(({ required }) => required));
  }
});

test('points only at what is there, and keeps nothing that nobody points at', () => {
  const references = new Set([...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference ?? ''));
  const { schemas, securitySchemes } = document['components'] as { schemas: Json; securitySchemes: Json };
  assert.deepEqual(
    [...references].sort(),
    Object.keys(schemas)
      .map((name) => `#/components/schemas/${name}`)
      .sort(),
  );
  for (const { operation } of operations)
    for (const scheme of operation.security) assert.ok(Object.keys(scheme).every((name) => name in securitySchemes));
  for (const [name, schema] of Object.entries(schemas)) assert.notEqual((schema as Json)['$ref'], `#/components/schemas/${name}`);
});

test('says nothing that zod only says to itself', () => {
  const text = JSON.stringify(document);
  assert.doesNotMatch(text, /9007199254740991|\$defs|\$schema|"~standard"/);
});

test('tells what a request may leave out and a reply always has', () => {
  const { schemas } = document['components'] as { schemas: Record<string, { required?: string[]; additionalProperties?: unknown }> };
  assert.deepEqual(schemas['ViewportInput']?.required, ['width', 'height']);
  assert.deepEqual(schemas['Viewport']?.required, ['width', 'height', 'device_scale_factor']);
  assert.equal(schemas['CreateSessionRequest']?.required, undefined);
  assert.equal(schemas['CreateSessionRequest']?.additionalProperties, false);
  assert.equal(schemas['Session']?.additionalProperties, undefined);
});

test('tells the codes of every status', () => {
  const create = paths['/v1/session']?.['post'];
  assert.ok(create);
  assert.deepEqual(Object.keys(create.responses), ['201', '401', '402', '403', '408', '409', '413', '415', '422', '429', '503', '504']);
  assert.match(create.responses['429']?.description ?? '', /concurrency_limit.*create_rate_limit.*rate_limited/);
});
