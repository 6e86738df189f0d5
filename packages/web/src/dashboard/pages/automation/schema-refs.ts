/** JSON Schemas of flows as a form takes them. */
import type { JsonSchema } from '../../ui/form/json-schema.ts';

type Definitions = Readonly<Record<string, Record<string, unknown>>>;

/** Definitions may refer to themselves. */
const depthMax = 8;

/**
 * Replaces references by what they refer to. A selector of the step language is a text, or a
 * path of texts through frames: a form takes the text alone, and JSON takes both.
 */
export function toFormSchema(schema: object): JsonSchema {
  const { $defs: definitions = {} } = schema as { $defs?: Definitions };
  return inline(schema, definitions, 0) as JsonSchema;
}

function inline(value: unknown, definitions: Definitions, depth: number): unknown {
  if (Array.isArray(value)) return value.map((item) => inline(item, definitions, depth));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref: ref, ...others } = value as Record<string, unknown>;
  if (typeof ref !== 'string') {
    const { anyOf, ...outside } = others;
    const form = isTextOrPath(anyOf) ? { type: 'string', ...outside } : others;
    return mapValues(form, (entry) => inline(entry, definitions, depth));
  }
  if (depth >= depthMax) return {};
  const target = definitions[ref.replace('#/$defs/', '')] ?? {};
  return { ...(inline(target, definitions, depth + 1) as object), ...others };
}

const isTextOrPath = (options: unknown): boolean =>
  Array.isArray(options) &&
  (options as JsonSchema[]).map(({ type, items }) => (type === 'array' ? items?.type : type)).join() === 'string,string';

const mapValues = (value: Record<string, unknown>, map: (entry: unknown) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, map(entry)]));

/** Where inputs have a secret, a name to fill in: what is copied is pasted into chats and scripts. */
export function withoutSecrets(inputs: Readonly<Record<string, unknown>>, schema: JsonSchema): Record<string, unknown> {
  const isSecret = (name: string): boolean => (schema.properties?.[name] as { writeOnly?: unknown } | undefined)?.writeOnly === true;
  return Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, isSecret(name) ? toPlaceholder(name, value) : value]));
}

const toPlaceholder = (name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null ? mapValues({ ...value }, () => `YOUR_${name.toUpperCase()}`) : `YOUR_${name.toUpperCase()}`;
