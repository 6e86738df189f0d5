import assert from 'node:assert/strict';
import { it } from 'node:test';
import { compact, formOf, type FieldForm, type JsonSchema } from './json-schema.ts';

const kindOf = (schema: JsonSchema, name = 'field'): FieldForm['kind'] => formOf(schema, name).kind;
const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] });

it('each schema has the form field that fits it, also when it may be null', () => {
  const cases: [JsonSchema, FieldForm['kind']][] = [
    [{ type: 'boolean' }, 'check'],
    [{ type: 'integer', minimum: 1 }, 'number'],
    [{ type: 'string', enum: ['a', 'b'] }, 'choice'],
    [{ type: 'string', maxLength: 100_000 }, 'long-text'],
    [{ type: 'array', items: { type: 'string' } }, 'lines'],
    [{ type: 'array', items: { type: 'string', enum: ['a'] } }, 'choices'],
    [{ type: 'array', items: { type: 'object' } }, 'json'],
    [{ type: 'object', properties: { a: { type: 'string' } } }, 'group'],
    [{ type: 'object', additionalProperties: { type: 'string' } }, 'pairs'],
    [{ type: 'string', writeOnly: true }, 'secret'],
    [{ type: 'string', format: 'password', maxLength: 100_000 }, 'secret'],
    [{ type: 'object', writeOnly: true, additionalProperties: { type: 'string' } }, 'secret-pairs'],
    [{ type: 'object', additionalProperties: { type: 'string', format: 'password' } }, 'secret-pairs'],
    [{ anyOf: [{ type: 'string' }, { type: 'integer' }] }, 'json'],
  ];
  for (const [schema, kind] of cases) {
    assert.equal(kindOf(schema), kind, JSON.stringify(schema));
    assert.equal(kindOf(orNull(schema)), kind, `${JSON.stringify(schema)} or null`);
  }
  assert.equal(kindOf({ type: ['string', 'null'] }, 'start_url'), 'url');
  assert.equal(kindOf({ type: 'string' }, 'password'), 'secret');
});

it('form fields that were left empty are not sent', () => {
  const value = {
    name: '',
    record: false,
    timeout: 0,
    proxy: { type: undefined, server: '' },
    list: [],
    viewport: { width: 800, height: null },
  };
  assert.deepEqual(compact(value), { record: false, timeout: 0, viewport: { width: 800 } });
  assert.equal(compact({ a: { b: '' } }), undefined);
});
