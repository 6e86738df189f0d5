import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { boundedList, boundedRecord, boundedString } from './bounds.ts';
import { endpoints } from './contract.ts';

interface Bounded {
  path: string;
  kind: 'string' | 'list' | 'record';
  schema: z.core.$ZodType;
  max: number | undefined;
}

/** The strings, lists and records of a request schema. */
function* boundedIn(schema: z.core.$ZodType, path: string, seen: Set<z.core.$ZodType>): Generator<Bounded> {
  if (seen.has(schema)) return;
  seen.add(schema);
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const maximum = (def.checks ?? [])
    .map(({ _zod: { def: check } }) => ('maximum' in check ? Number(check.maximum) : undefined))
    .find(Number.isFinite);
  const inside = (inner: z.core.$ZodType, name = ''): Generator<Bounded> => boundedIn(inner, path + name, seen);
  switch (def.type) {
    case 'string':
      yield { path, kind: 'string', schema, max: maximum };
      break;
    case 'array':
      yield { path, kind: 'list', schema, max: maximum };
      yield* inside(def.element, '[]');
      break;
    case 'record':
      yield { path, kind: 'record', schema, max: 'entriesMax' in def ? Number(def.entriesMax) : undefined };
      yield* inside(def.keyType, '[key]');
      yield* inside(def.valueType, '[value]');
      break;
    case 'object':
      for (const [name, field] of Object.entries(def.shape)) yield* inside(field, `.${name}`);
      if (def.catchall) yield* inside(def.catchall, '.*');
      break;
    case 'union':
      for (const option of def.options) yield* inside(option, '|');
      break;
    case 'lazy':
      yield* inside(def.getter());
      break;
    case 'pipe':
      yield* inside(def.in);
      yield* inside(def.out);
      break;
    default:
      if ('innerType' in def) yield* inside(def.innerType);
      else assert.ok(['enum', 'literal', 'boolean', 'number', 'unknown', 'never', 'transform'].includes(def.type), `${path}: ${def.type}`);
  }
}

const inRequests = endpoints.flatMap(({ id, params, query, body }) =>
  Object.entries({ params, query, body }).flatMap(([part, schema]) => (schema ? [...boundedIn(schema, `${id} ${part}`, new Set())] : [])),
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
