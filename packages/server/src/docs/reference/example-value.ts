/** An example of what a schema allows, made from its own examples, defaults and values. */
import { SchemaReader, type JsonSchema, type Schemas } from './schema-shape.ts';

/** Objects within objects beyond this are empty lists and nulls where the schema allows these. */
const depthMax = 5;
const time = '2026-11-28T09:30:00.000Z';

export function exampleOf(schema: JsonSchema, schemas: Schemas): unknown {
  const reader = new SchemaReader(schemas);
  const write = (part: JsonSchema, name: string, depth: number): unknown => {
    const resolved = reader.resolve(part);
    const { type, items, properties, required = [] } = resolved;
    if (ofFailures.test(name) && allowsNull(resolved)) return null;
    const [given] = part.examples ?? resolved.examples ?? [];
    if (given !== undefined) return given;
    if (resolved.const !== undefined) return resolved.const;
    if (resolved.default !== undefined) return resolved.default;
    // What goes well is the better example.
    if (resolved.enum)
      return ['ok', 'ready'].find((value) => resolved.enum?.includes(value)) ?? resolved.enum.find((value) => value !== null) ?? null;
    const choices = [...(resolved.anyOf ?? []), ...(resolved.oneOf ?? [])];
    if (choices.length > 0) {
      const none = choices.some((choice) => choice.type === 'null');
      // What may be absent is left out where it would make the example long.
      const [first = {}] = choices.filter((choice) => choice.type !== 'null');
      const isLarge = reader.resolve(first).properties !== undefined || reader.resolve(first).items !== undefined;
      return none && isLarge ? null : write(first, name, depth);
    }
    const types = typeof type === 'string' ? [type] : (type ?? []);
    if (types.includes('object') || properties) {
      if (!properties) return {};
      const entries = Object.entries(properties).filter(([key]) => required.includes(key));
      return Object.fromEntries(entries.map(([key, value]) => [key, write(value, key, depth + 1)]));
    }
    if (types.includes('array')) return items && depth < depthMax && isWorthShowing(reader, items) ? [write(items, name, depth + 1)] : [];
    if (types.includes('boolean')) return false;
    if (name === 'status_code') return 200;
    if (types.includes('integer') || types.includes('number')) return numberOf(resolved, name);
    if (types.includes('string')) return types.includes('null') && !hasForm(resolved, name) ? null : textOf(resolved, name);
    return null;
  };
  return write(schema, '', 0);
}

/** A list shows one item, unless that is a text of which nothing is known. */
const isWorthShowing = (reader: SchemaReader, items: JsonSchema): boolean => {
  const { type, enum: values, examples, properties, anyOf, oneOf } = reader.resolve(items);
  return type !== 'string' || values !== undefined || examples !== undefined || (properties ?? anyOf ?? oneOf) !== undefined;
};

/** Fields that have a value once something has ended or gone wrong: the examples show what runs well. */
const ofFailures = /^(?:ended|error|failed|revoked|deleted|fallback|block)(?:_|$)/;

const allowsNull = ({ type, enum: values, anyOf = [], oneOf = [] }: JsonSchema): boolean =>
  type === 'null' ||
  (Array.isArray(type) && type.includes('null')) ||
  values?.includes(null) === true ||
  [...anyOf, ...oneOf].some((choice) => choice.type === 'null');

/** Numbers by the name of their field. */
const numbers: Readonly<Record<string, number>> = { timeout_seconds: 900, idle_timeout_seconds: 300, width: 1280, height: 800 };

const numberOf = ({ minimum, exclusiveMinimum, maximum }: JsonSchema, name: string): number => {
  const least = minimum ?? (exclusiveMinimum === undefined ? 0 : exclusiveMinimum + 1);
  return Math.min(Math.max(least, numbers[name] ?? 0), maximum ?? Number.POSITIVE_INFINITY);
};

/** Texts by the name of their field. */
const texts: Readonly<Record<string, string>> = {
  url: 'https://example.com/',
  final_url: 'https://example.com/',
  current_url: 'https://example.com/',
  title: 'Example Domain',
  markdown: '# Example Domain',
  text: 'Example Domain',
  region: 'local',
  owner: 'local',
  name: 'shop',
  data_base64: 'iVBORw0KGgo=',
};
const prefixes: Readonly<Record<string, string>> = {
  session_id: 'ses',
  tab_id: 'tab',
  job_id: 'job',
  profile_id: 'pro',
  worker_id: 'wrk',
  key_id: 'key',
};

const hasForm = ({ format }: JsonSchema, name: string): boolean =>
  format === 'date-time' || texts[name] !== undefined || prefixes[name] !== undefined;

function textOf({ format, minLength = 0, contentEncoding }: JsonSchema, name: string): string {
  if (format === 'date-time') return time;
  if (format === 'date') return time.slice(0, 10);
  if (format === 'uri' || name.endsWith('_url')) return 'https://example.com/';
  if (contentEncoding === 'base64') return 'SGVsbG8K';
  const prefix = prefixes[name];
  if (prefix !== undefined) return `${prefix}_3k2v9q0d7m5x1c8b4n6z2f7h`;
  return (texts[name] ?? '…').padEnd(minLength, '…');
}
