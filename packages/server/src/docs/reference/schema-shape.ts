/** Schemas of the OpenAPI document as what people read: fields with their type, bounds and what they contain. */

export interface JsonSchema {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  examples?: readonly unknown[];
  format?: string;
  pattern?: string;
  contentEncoding?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  items?: JsonSchema;
  additionalProperties?: boolean | JsonSchema;
  anyOf?: readonly JsonSchema[];
  oneOf?: readonly JsonSchema[];
  allOf?: readonly JsonSchema[];
}

export type Schemas = Readonly<Record<string, JsonSchema>>;

export interface FieldShape {
  name: string;
  type: string;
  isRequired: boolean;
  description: string;
  /** Sentences about default, bounds and values. */
  facts: readonly string[];
  content: Content | null;
}

/** What an object, a list of objects or a choice of objects contains. */
export type Content =
  | { kind: 'fields'; anchor: string | null; fields: readonly FieldShape[] }
  | { kind: 'variants'; anchor: string | null; common: readonly FieldShape[]; variants: readonly Variant[] }
  /** A schema that the page has already described. */
  | { kind: 'repeated'; name: string; anchor: string };

interface Variant {
  title: string;
  description: string;
  /** null where it has nothing beside what is common to all. */
  content: Content | null;
}

const prefix = '#/components/schemas/';
const nameOf = ({ $ref }: JsonSchema): string | null => $ref?.slice(prefix.length) ?? null;

/** Values that are listed in full; the OpenAPI document has the others. */
const valuesMax = 40;
/** The specification puts this on every text that has no bound of its own, so it tells nobody anything. */
const unremarkableLength = 8192;

/** Reads the schemas of one page, each of which is described once. */
export class SchemaReader {
  readonly #schemas: Schemas;
  readonly #described = new Set<string>();

  constructor(schemas: Schemas) {
    this.#schemas = schemas;
  }

  field(name: string, schema: JsonSchema, isRequired: boolean): FieldShape {
    const resolved = this.resolve(schema);
    const description = schema.description ?? resolved.description ?? '';
    return { name, type: this.typeOf(schema), isRequired, description, facts: this.#factsOf(schema), content: this.content(schema) };
  }

  /** The schema behind references, with the fields of all that it extends. */
  resolve(schema: JsonSchema): JsonSchema {
    const name = nameOf(schema);
    const target = name === null ? schema : this.resolve(this.#schemas[name] ?? {});
    if (!target.allOf) return target;
    const { allOf, ...rest } = target;
    const parts = [...allOf.map((part) => this.resolve(part)), rest];
    return {
      ...Object.assign({}, ...parts),
      properties: Object.assign({}, ...parts.map(({ properties }) => properties ?? {})) as Record<string, JsonSchema>,
      required: [...new Set(parts.flatMap(({ required = [] }) => required))],
    };
  }

  /** null where there is nothing below the type. */
  content(schema: JsonSchema): Content | null {
    const resolved = this.resolve(schema);
    const name = nameOf(schema);
    const choices = choicesOf(resolved);
    const [only] = choices;
    if (choices.length === 1 && only) return this.content(only);
    if (resolved.items) return this.content(resolved.items);
    const objects = choices.filter((choice) => this.#isStructured(choice));
    const [sole] = objects;
    if (objects.length === 1 && sole) return this.content(sole);
    const others = resolved.additionalProperties;
    if (objects.length === 0 && !resolved.properties)
      return typeof others === 'object' && this.#isStructured(others) ? this.content(others) : null;
    if (name !== null && this.#described.has(name)) return { kind: 'repeated', name, anchor: anchorOf(name) };
    if (name !== null) this.#described.add(name);
    const anchor = name === null ? null : anchorOf(name);
    if (objects.length > 0) return this.#variants(objects, anchor);
    const fields = this.#fields(resolved, new Set());
    return fields.length === 0 ? null : { kind: 'fields', anchor, fields };
  }

  #fields({ properties = {}, required = [] }: JsonSchema, left: ReadonlySet<string>): FieldShape[] {
    return Object.entries(properties)
      .filter(([name]) => !left.has(name))
      .map(([name, part]) => this.field(name, part, required.includes(name)));
  }

  /** What all variants extend is described once, before them. */
  #variants(objects: readonly JsonSchema[], anchor: string | null): Content {
    const [bases = [], ...others] = objects.map((object) => this.#basesOf(object));
    const shared = bases.filter((base) => others.every((names) => names.includes(base)));
    const common = this.resolve({ allOf: shared.map((name) => ({ $ref: `${prefix}${name}` })) });
    const described = objects.length > 1 && shared.length > 0 ? this.#fields(common, new Set()) : [];
    const left = new Set(described.map(({ name }) => name));
    const variants = objects.map((object): Variant => {
      const description = this.resolve(object).description ?? '';
      const title = this.#titleOf(object);
      const isOwn = left.size === 0 || this.resolve(object).properties === undefined;
      const fields = isOwn ? [] : this.#fields(this.resolve(object), left);
      return {
        title,
        description,
        content: isOwn ? this.content(object) : fields.length === 0 ? null : { kind: 'fields', anchor: null, fields },
      };
    });
    return { kind: 'variants', anchor, common: described, variants };
  }

  /** Names of the schemas that it extends. */
  #basesOf(schema: JsonSchema): string[] {
    const name = nameOf(schema);
    const target = name === null ? schema : (this.#schemas[name] ?? {});
    return (target.allOf ?? []).flatMap((part) => nameOf(part) ?? []);
  }

  /** Whether it has fields, at any depth of lists and choices. */
  #isStructured(schema: JsonSchema): boolean {
    const resolved = this.resolve(schema);
    if (resolved.properties) return Object.keys(resolved.properties).length > 0;
    if (resolved.items) return this.#isStructured(resolved.items);
    return choicesOf(resolved).some((choice) => this.#isStructured(choice));
  }

  /** A variant is known by the constant that only it has, such as the type of a step. */
  #titleOf(schema: JsonSchema): string {
    const constant = Object.values(this.resolve(schema).properties ?? {}).find((property) => typeof property.const === 'string');
    return typeof constant?.const === 'string' ? constant.const : (nameOf(schema) ?? this.typeOf(schema));
  }

  typeOf(schema: JsonSchema): string {
    const resolved = this.resolve(schema);
    const { type, items, const: constant, enum: values, format, additionalProperties: others } = resolved;
    const choices = [...(resolved.anyOf ?? []), ...(resolved.oneOf ?? [])];
    if (choices.length > 0) {
      // Twenty kinds of steps are one type, of which the variants tell.
      const types = [...new Set(choices.map((choice) => this.typeOf(choice)))];
      return types.join(' or ');
    }
    if (constant !== undefined) return typeof constant;
    if (values && type === undefined) return 'string';
    const types = typeof type === 'string' ? [type] : (type ?? ['any value']);
    return types
      .map((one) => {
        if (one === 'array') return items ? `list of ${plural(this.typeOf(items))}` : 'list';
        if (one === 'object')
          return typeof others === 'object' && !resolved.properties ? `map of ${plural(this.typeOf(others))}` : 'object';
        if (one === 'string' && format === 'date-time') return 'time';
        if (one === 'string' && format === 'uri') return 'URL';
        return one;
      })
      .join(' or ');
  }

  /** Only what the description does not say already. */
  #factsOf(schema: JsonSchema): string[] {
    const own = this.resolve(schema);
    const said = (schema.description ?? own.description ?? '').replaceAll(',', '');
    const choices = [own, ...choicesOf(own).map((choice) => this.resolve(choice))];
    const values = choices.flatMap(({ enum: listed = [], const: constant }) => [...listed, ...(constant === undefined ? [] : [constant])]);
    const named = values.filter((value) => value !== null && !said.includes(toCode(value)));
    const bounded = choices.find(({ minimum, maximum, exclusiveMinimum }) => (minimum ?? maximum ?? exclusiveMinimum) !== undefined) ?? {};
    const text = choices.find(({ maxLength }) => maxLength !== undefined && maxLength !== unremarkableLength) ?? {};
    const list = choices.find(({ maxItems, minItems }) => (maxItems ?? minItems) !== undefined) ?? {};
    const fallback = schema.default ?? own.default;
    const [example] = schema.examples ?? own.examples ?? [];
    const ranges = [
      rangeOf(bounded.minimum ?? bounded.exclusiveMinimum, safe(bounded.maximum), ''),
      rangeOf(text.minLength, text.maxLength, ' characters'),
      rangeOf(list.minItems, list.maxItems, ' items'),
    ].filter((range) => !isSaid(range, said));
    return [
      named.length > 0 && values.length <= valuesMax
        ? `${values.length === 1 ? 'Always' : 'One of'} ${values
            .filter((value) => value !== null)
            .map(toCode)
            .join(', ')}.`
        : '',
      ...ranges,
      fallback === undefined || said.includes('Default:') ? '' : `Default: ${toCode(fallback)}.`,
      example === undefined ? '' : `Example: ${toCode(example)}.`,
    ].filter((fact) => fact !== '');
  }
}

/** Whether a description has the numbers of a range. */
function isSaid(range: string, said: string): boolean {
  const numbers = new Set(said.match(/\d+/g));
  return (range.match(/\d+/g) ?? []).every((number) => numbers.has(number));
}

const choicesOf = ({ anyOf = [], oneOf = [] }: JsonSchema): JsonSchema[] => [...anyOf, ...oneOf].filter(({ type }) => type !== 'null');
const anchorOf = (name: string): string => `schema-${name}`;
const plural = (type: string): string => (/^(?:string|integer|number|object|boolean|time|URL)$/.test(type) ? `${type}s` : type);
const toCode = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
/** Every integer has this bound. */
const safe = (maximum: number | undefined): number | undefined => (maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum);

function rangeOf(least: number | undefined, most: number | undefined, unit: string): string {
  const minimum = least === -Number.MAX_SAFE_INTEGER || (unit !== '' && least === 0) ? undefined : least;
  if (most !== undefined && most === minimum) return `${most}${unit}.`;
  if (most !== undefined && minimum !== undefined) return `${minimum} to ${most}${unit}.`;
  if (most !== undefined) return `At most ${most}${unit}.`;
  return minimum === undefined ? '' : `At least ${minimum}${unit}.`;
}
