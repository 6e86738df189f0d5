import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { boundedIn } from '../testing/bounded-schemas.ts';
import { boundedList, boundedRecord, boundedString } from './bounds.ts';
import { endpoints } from './contract.ts';

const inRequests = endpoints.flatMap(({ id, params, query, body }) =>
  Object.entries({ params, query, body }).flatMap(([part, schema]) => (schema ? [...boundedIn(schema, `${id} ${part}`)] : [])),
);

const issuesOf = (schema: z.core.$ZodType, value: unknown): z.core.$ZodRawIssue[] => {
  const result = schema._zod.run({ value, issues: [] }, { async: false });
  assert.ok(!(result instanceof Promise));
  return result.issues;
};

test('every string, list and record of a request has a maximum', () => {
  assert.ok(inRequests.length > 200, 'the walk finds next to nothing');
  assert.deepEqual(
    inRequests.filter(({ max }) => max === undefined).map(({ path }) => path),
    [],
  );
});

test('a list or record that is too long is refused before any of its elements is examined', () => {
  for (const { path, kind, schema, max = 0 } of inRequests) {
    if (kind === 'string') continue;
    const names = Array.from({ length: max + 1 }, (_, index) => `\0${index}`);
    const value = kind === 'list' ? names.map(() => Symbol(path)) : Object.fromEntries(names.map((name) => [name, Symbol(path)]));
    assert.deepEqual(
      issuesOf(schema, value).map(({ code }) => code),
      ['too_big'],
      path,
    );
  }
});

test('a string that is too long is not examined further', () => {
  const examined: string[] = [];
  const schema = boundedString(1, 3).refine((text) => examined.push(text) > 0);
  assert.deepEqual(
    issuesOf(schema, 'abcd').map(({ code }) => code),
    ['too_big'],
  );
  assert.deepEqual([issuesOf(schema, 'abc'), examined], [[], ['abc']]);
});

test('lists and records stop when they have found far more issues than a reply lists', () => {
  const words = boundedList(boundedString(1, 3), 5000);
  assert.equal(issuesOf(words, Array(5000).fill('')).length, 1001);
  const nested = boundedRecord(boundedString(1, 9), words, 100);
  assert.equal(
    issuesOf(nested, Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, Array(5000).fill('')]))).length,
    1001,
  );
});

test('a record keeps its maximum when it is described or extended', () => {
  const schema = boundedRecord(z.string(), z.int(), 2).describe('Two.').meta({ examples: [] }).optional();
  assert.deepEqual(z.toJSONSchema(schema)['maxProperties'], 2);
  assert.deepEqual(schema.parse({ a: 1, b: 2 }), { a: 1, b: 2 });
  assert.equal(schema.safeParse({ a: 1, b: 2, c: 3 }).success, false);
  assert.equal(schema.safeParse({ a: 'x' }).success, false);
});
