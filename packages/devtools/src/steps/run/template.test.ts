import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Steps } from '@berth/contract';
import * as fc from 'fast-check';
import { fillStep, fillText, fillValue } from './template.ts';
import { matchesPlain } from '../locators/read.ts';

const values = {
  inputs: { name: ' Zoë Müller ', deep: { list: ['a', 'b'] }, price: '1.234,50 €' },
  vars: { when: '21.11.2026', count: 3, none: null, nested: { a: 1 }, braces: '{{inputs.name}}' },
};
const fill = (text: string): string => fillText(text, values);

test('a template fills in values and passes them through filters from left to right', () => {
  const cases: [string, string][] = [
    ['Hi {{inputs.name | trim}}!', 'Hi Zoë Müller!'],
    ['{{ inputs.name|slug }}', 'zoe-muller'],
    ['{{inputs.name | trim | lower}}', 'zoë müller'],
    ['{{inputs.deep.list.1}}{{vars.count}}', 'b3'],
    ['{{inputs.price | number}}', '1234.5'],
    ['{{vars.when | date}}', '2026-11-21'],
    ['{{vars.none}}', ''],
    ['{{vars.nested}}', '{"a":1}'],
    ['{{"{{"}} x }}', '{{ x }}'],
    ['a } b { c', 'a } b { c'],
  ];
  for (const [text, filled] of cases) assert.equal(fill(text), filled);
});

test('a template fills in secrets, which are apart from inputs', () => {
  const secret = { password: '{{inputs.name}} s3cret' };
  assert.equal(fillText('{{secret.password}}', { ...values, secret }), '{{inputs.name}} s3cret');
  for (const text of ['{{secret.pin}}', '{{inputs.password}}'])
    assert.throws(() => fillText(text, { ...values, secret }), { code: 'invalid_value' });
  assert.throws(() => fillText('{{secret.password}}', values), { code: 'invalid_value' });
});

test('a template does not fill in a value that looks like a template', () => assert.equal(fill('{{vars.braces}}'), '{{inputs.name}}'));

test('a template fails for an undefined value, and for one that a filter rejects', () => {
  for (const text of [
    '{{vars.nothing}}',
    '{{inputs.deep.list.9}}',
    '{{inputs.constructor}}',
    '{{vars.count.x}}',
    '{{inputs.name | number}}',
    '{{inputs.name | date}}',
  ])
    assert.throws(() => fill(text), { code: 'invalid_value' }, text);
});

test('a list that is the whole template stays a list', () => {
  assert.deepEqual(fillValue('{{inputs.deep.list}}', values), ['a', 'b']);
  assert.equal(fillValue('{{inputs.deep.list}}!', values), '["a","b"]!');
});

test('templates are not filled in in names, code and nested steps', () => {
  const steps = Steps.parse([
    { type: 'evaluate', expression: '`{{x}}`' },
    {
      type: 'repeat',
      steps: [{ type: 'fill', selectors: ['#{{vars.count}}'], value: '{{vars.nothing}}' }],
      until: { text: '{{vars.nothing}}' },
    },
    { type: 'fill', selectors: ['#a{{vars.count}}'], value: '{{vars.count}}', description: '{{vars.count}}' },
  ]);
  const [evaluate, repeat, field] = steps.map((step) => fillStep(step, values));
  assert.deepEqual([evaluate, repeat], steps.slice(0, 2));
  assert.deepEqual(field?.type === 'fill' && [field.selectors, field.value, field.description], [['#a3'], '3', '{{vars.count}}']);
});

test('filters match substrings and stars in linear time', () => {
  const cases: [string, string, boolean][] = [
    ['b', 'abc', true],
    ['a*c', 'abc', true],
    ['a*c', 'abcd', false],
    ['*/cart', 'https://x.example/cart', true],
    ['*/cart', 'https://x.example/cart?a', false],
    ['*', '', true],
    ['ab*ba', 'aba', false],
    ['a*b*c', 'a1b2b3c', true],
  ];
  for (const [pattern, text, matches] of cases) assert.equal(matchesPlain(pattern, text), matches, `${pattern} ${text}`);
  assert.equal(matchesPlain(`${'a*'.repeat(200)}b`, 'a'.repeat(200_000)), false);
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
  fc.assert(
    fc.property(letters, text, (pattern, of) => {
      const expected = pattern.includes('*') ? new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(of) : of.includes(pattern);
      assert.equal(matchesPlain(pattern, of), expected);
    }),
  );
});
