import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { createOpenApiDocument, endpoints, type Endpoint } from '../contract.ts';
import { acceptsNull, dropNulls, isOptional } from './nulls.ts';

const dropped = (schema: z.ZodType, value: unknown): unknown => {
  dropNulls(schema, value);
  return value;
};

describe('null', () => {
  const shape = { text: z.string().optional(), count: z.int().default(1), name: z.string().nullable().default(null), id: z.string() };
  const plain = z.strictObject(shape);

  it('null is absent in an optional field, a value in a nullable one, and stays an error in a required one', () => {
    assert.deepEqual(dropped(plain, { text: null, count: null, name: null, id: null }), { name: null, id: null });
    assert.equal(plain.safeParse({ name: null, id: null }).success, false);
  });

  it('null is absent below objects, lists, records, unions and wrappers', () => {
    const step = z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('a'), text: z.string().optional() }),
      z.strictObject({ type: z.literal('b'), text: z.string().nullable().optional() }),
    ]);
    const nested = z
      .strictObject({
        inner: plain.nullable().default(null),
        list: z.array(plain).default([]),
        record: z.record(z.string(), plain).optional(),
        steps: z.lazy(() => z.array(step)).optional(),
        either: z.union([z.string(), plain]).optional(),
        free: z.unknown(),
      })
      .check(() => {});
    const some = { text: null, id: 'x' };
    assert.deepEqual(
      dropped(nested, {
        inner: { ...some },
        list: [{ ...some }, null],
        record: { one: { ...some } },
        steps: [
          { type: 'a', text: null },
          { type: 'b', text: null },
          { type: 'c', text: null },
        ],
        either: { ...some },
        free: { text: null },
      }),
      {
        inner: { id: 'x' },
        list: [{ id: 'x' }, null],
        record: { one: { id: 'x' } },
        steps: [{ type: 'a' }, { type: 'b', text: null }, { type: 'c', text: null }],
        either: { id: 'x' },
        free: { text: null },
      },
    );
  });

  it('a value of another kind is not changed by the handling of null', () => {
    for (const value of ['text', 7, true, null, [], { no: 'such' }]) assert.deepEqual(dropped(plain, structuredClone(value)), value);
  });
});

interface Schema {
  $ref?: string;
  type?: string | string[];
  anyOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
}
const document = createOpenApiDocument({ endpoints, version: '0' }) as unknown as {
  paths: Record<
    string,
    Record<string, { requestBody?: { content: Record<string, { schema: Schema }> }; parameters?: { schema?: Schema }[] }>
  >;
  components: { schemas: Record<string, Schema>; parameters: Record<string, { schema?: Schema }> };
};
const resolve = (schema: Schema = {}): Schema =>
  schema.$ref === undefined ? schema : (document.components.schemas[schema.$ref.replace('#/components/schemas/', '')] ?? {});
/** The properties of a schema and of those that it extends. */
const propertiesOf = ({ properties, allOf = [] }: Schema): Record<string, Schema> =>
  Object.assign({}, ...allOf.map((base) => propertiesOf(resolve(base))), properties) as Record<string, Schema>;
const takesNull = (schema: Schema): boolean =>
  schema.type === 'null' ||
  (Array.isArray(schema.type) && schema.type.includes('null')) ||
  (schema.anyOf ?? []).some((one) => takesNull(resolve(one)));

describe('a request body', () => {
  const bodies = endpoints.filter((endpoint): endpoint is Endpoint & { body: z.ZodObject } => endpoint.body instanceof z.ZodObject);

  it('a request body takes null in every optional field, and the document says so', () => {
    let fields = 0;
    for (const { id, method, path, body } of bodies) {
      const declared = propertiesOf(
        resolve(document.paths[path]?.[method.toLowerCase()]?.requestBody?.content['application/json']?.schema),
      );
      for (const [name, field] of Object.entries(body.shape)) {
        if (!isOptional(field)) continue;
        fields += 1;
        const sent = { [name]: null };
        dropNulls(body, sent);
        assert.ok(!(name in sent) || acceptsNull(field), `${id} ${name}`);
        // `unknown` has no type at all.
        assert.ok(name in declared, `${id} ${name} is not declared`);
        const schema = resolve(declared[name]);
        assert.ok(
          takesNull(schema) || Object.keys(schema).every((key) => key === 'description'),
          `${id} ${name}: ${JSON.stringify(schema)}`,
        );
      }
    }
    assert.ok(fields > 80, `${fields} fields`);
  });

  it('a request body is not nullable where the field is required, and neither is a parameter', () => {
    const properties = propertiesOf(resolve(document.paths['/v1/fetch']?.['post']?.requestBody?.content['application/json']?.schema));
    assert.equal(takesNull(resolve(properties['url'])), false);
    const inOperations = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ parameters = [] }) => parameters),
    );
    for (const { schema } of [...inOperations, ...Object.values(document.components.parameters)])
      if (schema) assert.equal(takesNull(resolve(schema)), false);
  });
});
