import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formOf } from '../../ui/form/json-schema.ts';
import { toFormSchema, withoutSecrets } from './schema-refs.ts';

const selectors = { type: 'array', items: { $ref: '#/$defs/Selector' }, description: 'The `next` link.' };
const flow = {
  type: 'object',
  properties: {
    next: selectors,
    page: { $ref: '#/$defs/Page', description: 'Where.' },
    password: { type: 'string', writeOnly: true },
    secrets: { type: 'object', writeOnly: true },
    node: { $ref: '#/$defs/Node' },
    missing: { $ref: '#/$defs/Missing' },
  },
  $defs: {
    Selector: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    Page: { type: 'object', properties: { url: { type: 'string' } } },
    Node: { type: 'object', properties: { child: { $ref: '#/$defs/Node' } } },
  },
};

test('a form edits selectors as lines and defined objects as groups', () => {
  const { properties } = toFormSchema(flow);
  assert.equal(formOf(properties?.['next'] ?? {}, 'next').kind, 'lines');
  assert.equal(properties?.['next']?.description, 'The `next` link.');
  assert.equal(formOf(properties?.['page'] ?? {}, 'page').kind, 'group');
  assert.equal(properties?.['page']?.description, 'Where.');
  assert.equal(formOf(properties?.['missing'] ?? {}, 'missing').kind, 'json');
});

test('a selector is a text in a form, also where its schema is inlined', () => {
  const { anyOf } = flow.$defs.Selector;
  const { properties } = toFormSchema({
    properties: { wait_for: { anyOf, description: 'What.' }, other: { anyOf: [{ type: 'string' }, { type: 'boolean' }] } },
  });
  assert.deepEqual(properties?.['wait_for'], { type: 'string', description: 'What.' });
  assert.equal(formOf(properties?.['other'] ?? {}, 'other').kind, 'json');
});

test('the schema of a form ends where a definition refers to itself', () => {
  assert.ok(JSON.stringify(toFormSchema(flow)).length < 5000);
});

test('inputs of a flow to be copied have names in the place of secrets', () => {
  const inputs = { url: 'a', password: 'correct horse', secrets: { pin: '1234' } };
  assert.deepEqual(withoutSecrets(inputs, toFormSchema(flow)), {
    url: 'a',
    password: 'YOUR_PASSWORD',
    secrets: { pin: 'YOUR_SECRETS' },
  });
});
