/** Values of a JSON Schema, and values that are nearly of it. */
import * as fc from 'fast-check';

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  propertyNames?: Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
}

type Value = fc.Arbitrary<unknown>;

/** Values of properties that a schema alone would make slow, costly or always wrong, by name. */
export type Overrides = (name: string, schema: Schema) => Value | undefined;

const texts = [
  'a',
  '',
  ' ',
  '#a',
  'text/x',
  'xpath///a',
  'aria/x[role="button"]',
  '{{inputs.a}}',
  '{{vars.a.0|trim}}',
  '{{',
  '*',
  '/a+/i',
  'é'.repeat(60),
];

/** Maximum of items and entries, of characters, and of optional fields, where the schema allows more. */
const itemsMax = 3;
const charactersMax = 40;
const optionalMax = 3;

/** Values of the schema. References to `$defs` may be recursive. */
export function valuesOf(schema: Schema, overrides: Overrides): Value {
  const depthIdentifier = fc.createDepthIdentifier();
  const names = Object.keys(schema.$defs ?? {});
  const { root } = fc.letrec<Record<string, unknown>>((tie) => {
    const of = (inner: Schema, name = ''): Value => overrides(name, inner) ?? create(inner, name);
    const create = (inner: Schema, name: string): Value => {
      if (inner.$ref) return inner.$ref === '#' ? tie('root') : tie(inner.$ref.replace('#/$defs/', ''));
      if (inner.const !== undefined) return fc.constant(inner.const);
      if (inner.enum) return fc.constantFrom(...inner.enum);
      const options = inner.anyOf ?? inner.oneOf;
      if (options) return fc.oneof({ depthIdentifier }, ...options.map((option) => of(option, name)));
      if (inner.allOf?.[0]) return of(inner.allOf[0], name);
      return byType(inner, { of, name, depthIdentifier });
    };
    return { root: of({ ...schema, $defs: {} }), ...Object.fromEntries(names.map((name) => [name, of(schema.$defs?.[name] ?? {})])) };
  });
  return root ?? fc.anything();
}

interface Context {
  of: (schema: Schema, name?: string) => Value;
  name: string;
  depthIdentifier: fc.DepthIdentifier;
}

function byType(schema: Schema, { of, name, depthIdentifier }: Context): Value {
  switch (schema.type) {
    case 'string':
      return textOf(schema);
    case 'integer':
      return fc.integer({ min: Math.max(schema.minimum ?? -1000, -1e9), max: Math.min(schema.maximum ?? 1000, 1e9) });
    case 'number':
      return fc.double({ min: schema.minimum ?? schema.exclusiveMinimum ?? -1000, max: schema.maximum ?? 1000, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array': {
      const minLength = schema.minItems ?? 0;
      const maxLength = Math.max(minLength, Math.min(schema.maxItems ?? itemsMax, itemsMax));
      return fc.array(of(schema.items ?? {}, name), { minLength, maxLength, depthIdentifier });
    }
    case 'object':
      return objectOf(schema, of);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function objectOf(schema: Schema, of: Context['of']): Value {
  const { properties, required = [], additionalProperties, propertyNames } = schema;
  if (properties) {
    // Without a timeout, a call waits as long as its default says; actions or a recording are required.
    const isAlways = (name: string): boolean =>
      required.includes(name) || name === 'timeout_ms' || (name === 'actions' && 'recording' in properties);
    const always = Object.keys(properties).filter(isAlways);
    const sometimes = Object.keys(properties).filter((name) => !always.includes(name));
    const fields = Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, of(inner, name)]));
    // Few at a time: of many, one would always be wrong together with another.
    return fc
      .subarray(sometimes, { maxLength: Math.min(sometimes.length, optionalMax) })
      .chain((names) => fc.record(Object.fromEntries([...always, ...names].map((name) => [name, fields[name] ?? fc.constant(null)]))));
  }
  const key = propertyNames ? (of(propertyNames) as fc.Arbitrary<string>) : fc.string({ maxLength: 8 });
  return fc.dictionary(key, of(typeof additionalProperties === 'object' ? additionalProperties : {}), { maxKeys: itemsMax });
}

function textOf({ pattern, format, minLength = 0, maxLength = charactersMax }: Schema): fc.Arbitrary<string> {
  if (format === 'base64') return fc.base64String({ maxLength: charactersMax });
  if (pattern !== undefined) return matching(pattern);
  const max = Math.max(minLength, Math.min(maxLength, charactersMax));
  return fc.oneof(fc.constantFrom(...texts), fc.string({ unit: 'grapheme', minLength, maxLength: max }));
}

/** A pattern that fast-check cannot invert gets texts that mostly do not match it. */
function matching(pattern: string): fc.Arbitrary<string> {
  try {
    return fc.stringMatching(new RegExp(pattern));
  } catch {
    return fc.string();
  }
}

export type Mutation = { kind: 'replace' | 'remove' | 'add' | 'wrap'; at: number; junk: unknown };

export const junk: Value = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0,
    1.5,
    1e308,
    2 ** 53,
    -0,
    '',
    '\0',
    '\ud800',
    'x'.repeat(10_000),
    '__proto__',
    [],
    {},
    [[[[]]]],
    [null],
  ),
  fc.string({ unit: 'binary' }),
  fc.array(fc.integer(), { minLength: 60, maxLength: 120 }),
  fc.jsonValue({ maxDepth: 3 }),
);

export const mutations: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom('replace', 'remove', 'add', 'wrap'),
  at: fc.nat(1000),
  junk,
});

/** Changes one of the values inside, or the value itself. */
export function mutate(value: unknown, mutation: Mutation): unknown {
  let left = mutation.at % countNodes(value);
  const visit = (node: unknown): unknown => {
    if (left-- === 0) return change(node, mutation);
    if (Array.isArray(node)) return node.map(visit);
    if (typeof node !== 'object' || node === null) return node;
    return Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, visit(inner)]));
  };
  return visit(value);
}

function change(node: unknown, { kind, junk: other }: Mutation): unknown {
  if (kind === 'wrap') return [node];
  if (kind === 'remove') return undefined;
  if (kind === 'add' && typeof node === 'object' && node !== null && !Array.isArray(node)) return { ...node, extra: other };
  return other;
}

const countNodes = (value: unknown): number =>
  typeof value === 'object' && value !== null ? Object.values(value).reduce<number>((sum, inner) => sum + countNodes(inner), 1) : 1;
