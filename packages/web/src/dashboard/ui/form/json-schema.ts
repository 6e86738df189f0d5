/** The part of JSON Schema that the contract and the flows use, and that a form needs to know. */
export interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  examples?: unknown[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  /** A secret: sent, but never returned. */
  writeOnly?: boolean;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
}

/** How a field is edited. `json`: as text, for what has no better form. */
export type FieldForm =
  | { kind: 'text' | 'long-text' | 'secret' | 'url' }
  | { kind: 'number'; isInteger: boolean; min: number | undefined; max: number | undefined }
  | { kind: 'check' }
  | { kind: 'choice'; options: readonly string[] }
  | { kind: 'choices'; options: readonly string[] }
  | { kind: 'lines' }
  | { kind: 'pairs' | 'secret-pairs' }
  | { kind: 'group'; schema: JsonSchema }
  | { kind: 'json' };

const longTextChars = 2000;

/** The schema without null as an alternative, which stands for an absent field. */
export function withoutNull(schema: JsonSchema): JsonSchema {
  const options = schema.anyOf ?? schema.oneOf;
  if (options) {
    const rest = options.filter(({ type }) => type !== 'null');
    if (rest.length === 1 && rest[0]) {
      const { anyOf: _anyOf, oneOf: _oneOf, ...outside } = schema;
      return withoutNull({ ...rest[0], ...outside });
    }
    return schema;
  }
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== 'null');
    return types.length === 1 && types[0] !== undefined ? { ...schema, type: types[0] } : schema;
  }
  return schema;
}

/** How to edit a field of this schema. `name` decides what the schema leaves open. */
export function formOf(full: JsonSchema, name: string): FieldForm {
  const schema = withoutNull(full);
  if (schema.enum) return { kind: 'choice', options: schema.enum.map(String) };
  switch (schema.type) {
    case 'boolean':
      return { kind: 'check' };
    case 'integer':
    case 'number':
      return { kind: 'number', isInteger: schema.type === 'integer', min: schema.minimum, max: schema.maximum };
    case 'string':
      return { kind: textKind(schema, name) };
    case 'array':
      return listForm(withoutNull(schema.items ?? {}));
    case 'object':
      if (schema.properties && Object.keys(schema.properties).length > 0) return { kind: 'group', schema };
      return objectForm(schema);
    default:
      return { kind: 'json' };
  }
}

const isSecret = ({ writeOnly, format }: JsonSchema): boolean => writeOnly === true || format === 'password';

function objectForm({ additionalProperties: values, ...schema }: JsonSchema): FieldForm {
  if (typeof values !== 'object' || values.type !== 'string') return { kind: 'json' };
  return { kind: isSecret(schema) || isSecret(values) ? 'secret-pairs' : 'pairs' };
}

function textKind(schema: JsonSchema, name: string): 'text' | 'long-text' | 'secret' | 'url' {
  if (isSecret(schema) || /password|secret|token/.test(name)) return 'secret';
  if (schema.format === 'uri' || /(^|_)url$/.test(name)) return 'url';
  return (schema.maxLength ?? 0) > longTextChars && schema.pattern === undefined ? 'long-text' : 'text';
}

function listForm(items: JsonSchema): FieldForm {
  if (items.enum) return { kind: 'choices', options: items.enum.map(String) };
  return items.type === 'string' ? { kind: 'lines' } : { kind: 'json' };
}

/** A body without what was left empty. Objects that are empty after that are dropped, too. */
export function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value;
  if (typeof value !== 'object' || value === null) return value === '' || value === null ? undefined : value;
  const entries = Object.entries(value)
    .map(([key, inner]) => [key, compact(inner)] as const)
    .filter(([, inner]) => inner !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
