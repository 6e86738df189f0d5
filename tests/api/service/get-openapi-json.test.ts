import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { apiVersion, createOpenApiDocument, endpoints, openapi, type Endpoint } from '@berth/contract';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { nameOf } from '../../contract/contract-table.ts';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp({ environment: { BERTH_DEV_IDP: 'false' } });
});
after(() => served.close());

type Content = Record<string, { example?: unknown }>;

interface Document {
  openapi: string;
  servers: { url: string }[];
  paths: Record<
    string,
    Record<string, { operationId: string; security?: unknown[]; requestBody?: { content: Content }; responses: Record<string, unknown> }>
  >;
}

const read = async (): Promise<Document> => (await served.call(openapi, { key: null })).body as unknown as Document;
/** The schemas of parameters, bodies and components. */
function schemasIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return [];
  const { schema, schemas = {} } = value as { schema?: object; schemas?: Record<string, object> };
  return [...(schema ? [schema] : []), ...Object.values(schemas), ...Object.values(value).flatMap(schemasIn)];
}
const operationOf = ({ paths }: Document, { path, method }: Endpoint) => paths[path]?.[method.toLowerCase()];

describe('200', () => {
  it('GET /openapi.json describes exactly the endpoints of the contract', async () => {
    const document = await read();
    assert.match(document.openapi, /^3\.1\./);
    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    assert.deepEqual(described.toSorted(), endpoints.map(nameOf).toSorted());
    for (const endpoint of endpoints) assert.equal(operationOf(document, endpoint)?.operationId, endpoint.id);
  });

  it('GET /openapi.json describes exactly the served paths', async () => {
    assert.deepEqual([...served.app.http.mounted].toSorted(), endpoints.map(({ id }) => id).toSorted());
  });

  it('GET /openapi.json declares the success status of each endpoint', async () => {
    const document = await read();
    for (const endpoint of endpoints) assert.ok(operationOf(document, endpoint)?.responses[String(endpoint.status)], nameOf(endpoint));
  });

  it('GET /openapi.json has examples that the service accepts as they stand', async (t) => {
    const app = await startApp();
    t.after(() => app.close());
    const document = await read();
    for (const endpoint of endpoints) {
      const content = operationOf(document, endpoint)?.requestBody?.content;
      if (!content) continue;
      const { session_id } = await app.create();
      const [{ example } = {}] = Object.values(content);
      const reply = await app.call(endpoint, { params: { session_id }, rawBody: JSON.stringify(example) });
      assert.ok(![400, 422].includes(reply.status), `${nameOf(endpoint)} ${JSON.stringify(example)}: ${reply.text}`);
    }
  });

  it('GET /openapi.json has valid schemas', async () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const schemas = schemasIn(await read());
    assert.ok(schemas.length > endpoints.length);
    for (const schema of schemas) assert.ok(ajv.validateSchema(schema), JSON.stringify([ajv.errors, schema]).slice(0, 2000));
  });

  it('GET /openapi.json contains the requested address', async () => {
    assert.deepEqual((await read()).servers, [{ url: served.url }]);
  });

  it('GET /openapi.json is made from the contract, except for the address', async () => {
    const { servers: _, ...reported } = await read();
    // As JSON: undefined values are absent.
    const { servers: _default, ...created } = createOpenApiDocument({ endpoints, version: apiVersion });
    assert.deepEqual(reported, JSON.parse(JSON.stringify(created)));
  });
});
