/** JSON Schema from samples: types, required fields, formats, and lists of values where few different ones were seen often. */
import type { JsonValue } from '../exchange.ts';

export type JsonSchema = Record<string, unknown>;

const depthMax = 24;
const propertiesMax = 300;
const nodesMax = 20_000;
/** Elements read of one array. */
const itemsMax = 300;
const enumSamplesMin = 8;
const enumValuesMax = 8;
const enumCharsMax = 40;
/** An object whose keys are ids is a map, if it has at least so many. */
const mapKeysMin = 2;

interface Node {
  counts: { string: number; integer: number; number: number; boolean: number; null: number; object: number; array: number };
  formats: Set<string>;
  /** Distinct strings; null when there are too many for a list of values. */
  values: Map<string, number> | null;
  properties: Map<string, Node>;
  /** Number of objects in which each property stood. */
  present: Map<string, number>;
  items: Node | null;
  isCut: boolean;
}

const createNode = (): Node => ({
  counts: { string: 0, integer: 0, number: 0, boolean: 0, null: 0, object: 0, array: 0 },
  formats: new Set(),
  values: new Map(),
  properties: new Map(),
  present: new Map(),
  items: null,
  isCut: false,
});

/** Collects samples; bounded in depth, width and size whatever they are. */
export class SchemaBuilder {
  readonly #root = createNode();
  #nodes = 1;
  #samples = 0;

  get samples(): number {
    return this.#samples;
  }

  add(value: JsonValue): void {
    this.#samples += 1;
    this.#read(this.#root, value, 0);
  }

  #read(node: Node, value: JsonValue, depth: number): void {
    if (depth > depthMax) {
      node.isCut = true;
      return;
    }
    if (value === null) node.counts.null += 1;
    else if (Array.isArray(value)) this.#readArray(node, value, depth);
    else if (typeof value === 'object') this.#readObject(node, value, depth);
    else if (typeof value === 'string') readString(node, value);
    else if (typeof value === 'boolean') node.counts.boolean += 1;
    else node.counts[Number.isInteger(value) ? 'integer' : 'number'] += 1;
  }

  #readArray(node: Node, values: JsonValue[], depth: number): void {
    node.counts.array += 1;
    if (values.length === 0) return;
    node.items ??= this.#create();
    if (node.items) for (const value of values.slice(0, itemsMax)) this.#read(node.items, value, depth + 1);
  }

  #readObject(node: Node, object: Record<string, JsonValue>, depth: number): void {
    node.counts.object += 1;
    for (const [key, value] of Object.entries(object)) {
      let property = node.properties.get(key);
      if (!property) {
        const created = node.properties.size < propertiesMax ? this.#create() : null;
        if (!created) {
          node.isCut = true;
          continue;
        }
        property = created;
        node.properties.set(key, property);
      }
      node.present.set(key, (node.present.get(key) ?? 0) + 1);
      this.#read(property, value, depth + 1);
    }
  }

  #create(): Node | null {
    if (this.#nodes >= nodesMax) return null;
    this.#nodes += 1;
    return createNode();
  }

  toSchema(): JsonSchema {
    return schemaOf(this.#root);
  }
}

function readString(node: Node, value: string): void {
  node.counts.string += 1;
  node.formats.add(formatOf(value) ?? '');
  if (!node.values) return;
  if (value.length > enumCharsMax) node.values = null;
  else {
    node.values.set(value, (node.values.get(value) ?? 0) + 1);
    if (node.values.size > enumValuesMax) node.values = null;
  }
}

const formats: readonly (readonly [string, RegExp])[] = [
  ['uuid', /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i],
  ['date-time', /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/],
  ['date', /^\d{4}-\d\d-\d\d$/],
  ['email', /^\{\{email_\d+\}\}$/],
  ['uri', /^https?:\/\/\S+$/],
  ['ipv4', /^(?:\d{1,3}[.]){3}\d{1,3}$/],
];

export function formatOf(value: string): string | null {
  if (value.length > 2048) return null;
  return formats.find(([, pattern]) => pattern.test(value))?.[0] ?? null;
}

/** A word rather than a text. */
const isEnumValue = (value: string): boolean => /^[A-Za-z][\w.:/-]*$/.test(value);

/** Values that repeat: each seen, on average, at least twice, and more samples than a list of values needs. */
export function enumOf(values: ReadonlyMap<string, number> | null, samples: number): string[] | null {
  if (!values || samples < enumSamplesMin || values.size < 2 || values.size * 2 > samples) return null;
  const all = [...values.keys()];
  return all.every(isEnumValue) ? all.toSorted() : null;
}

function schemaOf(node: Node): JsonSchema {
  const { counts } = node;
  const types: string[] = [];
  if (counts.object > 0) types.push('object');
  if (counts.array > 0) types.push('array');
  if (counts.string > 0) types.push('string');
  if (counts.number > 0) types.push('number');
  else if (counts.integer > 0) types.push('integer');
  if (counts.boolean > 0) types.push('boolean');
  if (counts.null > 0) types.push('null');
  if (types.length === 0) return {};
  return {
    type: types.length === 1 ? types[0] : types,
    ...(counts.string > 0 && stringRules(node)),
    ...(counts.object > 0 && objectRules(node)),
    ...(counts.array > 0 && { items: node.items ? schemaOf(node.items) : {} }),
  };
}

function stringRules({ counts, formats: seen, values }: Node): JsonSchema {
  const [format] = seen;
  const only = seen.size === 1 && format ? format : null;
  const isOnlyString = counts.object + counts.array + counts.integer + counts.number + counts.boolean === 0;
  const list = isOnlyString && only === null ? enumOf(values, counts.string) : null;
  return { ...(only && { format: only }), ...(list && { enum: counts.null > 0 ? [...list, null] : list }) };
}

const idKey = /^(?:\d+|[\da-f]{8}-[\da-f-]{27}|\d{4}-\d\d(?:-\d\d)?|[\da-f]{24,64}|\{\{[a-z_]+_\d+\}\}|[A-Za-z]{1,10}[-_]\d{2,20})$/;

function objectRules(node: Node): JsonSchema {
  const keys = [...node.properties.keys()];
  if (keys.length >= mapKeysMin && keys.every((key) => key.length <= 80 && idKey.test(key))) {
    const [first] = node.properties.values();
    return { additionalProperties: first ? schemaOf(first) : {} };
  }
  const required = keys.filter((key) => node.present.get(key) === node.counts.object).toSorted();
  const properties = Object.fromEntries(keys.toSorted().map((key) => [key, schemaOf(node.properties.get(key) ?? createNode())]));
  return { properties, ...(required.length > 0 && { required }), ...(node.isCut && { additionalProperties: true }) };
}
