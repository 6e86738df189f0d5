/** Turns the schemas of the OpenAPI document into types that any language can write. */

/** A type. Objects are always named: what is written inline in the document is named after the field that has it. */
export type Type =
  | { kind: 'unknown' | 'string' | 'integer' | 'number' | 'boolean' | 'null' }
  | { kind: 'literal'; values: readonly (string | number | boolean)[] }
  | { kind: 'list'; items: Type }
  /** A record of any names. */
  | { kind: 'map'; values: Type }
  | { kind: 'union'; members: readonly Type[] }
  /** One of {@link NamedType}. */
  | { kind: 'named'; name: string };

export interface Field {
  name: string;
  type: Type;
  required: boolean;
  description: string;
}

export interface NamedType {
  name: string;
  description: string;
  /** An object has fields; every other type has a definition. */
  definition: Type | ObjectType;
}

export interface ObjectType {
  kind: 'object';
  /** Names of objects whose fields it has beside its own, which win. */
  extends: readonly string[];
  fields: readonly Field[];
  /** Type of further fields of any name, if they are promised. */
  others: Type | null;
}

export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: (string | number | boolean | null)[];
  const?: string | number | boolean | null;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  additionalProperties?: boolean | JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
}

const schemaPrefix = '#/components/schemas/';

export const pascalCased = (name: string): string =>
  name.replace(/(?:^|[^A-Za-z0-9])([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** The named types of a document, in the order of their names. */
export class Types {
  #named = new Map<string, NamedType>();

  constructor(schemas: Record<string, JsonSchema>) {
    // All names of the document are taken before any inline object is named.
    for (const name of Object.keys(schemas)) this.#reserve(name);
    for (const [name, schema] of Object.entries(schemas)) this.#define(name, schema);
  }

  list(): NamedType[] {
    return [...this.#named.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  find(name: string): NamedType {
    const found = this.#named.get(name);
    if (!found) throw new Error(`no type is named ${name}`);
    return found;
  }

  /** The type of a schema. `owner` names the object that it is, if it is one. */
  read(schema: JsonSchema, owner: string): Type {
    if (schema.$ref !== undefined) return { kind: 'named', name: schema.$ref.slice(schemaPrefix.length) };
    const alternatives = schema.anyOf ?? schema.oneOf;
    if (alternatives) return union(alternatives.map((one, index) => this.read(one, numbered(owner, alternatives, index))));
    if (schema.const !== undefined) return literal([schema.const]);
    if (schema.enum) return literal(schema.enum);
    const kinds = [schema.type ?? 'unknown'].flat();
    return union(kinds.map((kind) => this.#readKind(kind, schema, owner)));
  }

  #readKind(kind: string, schema: JsonSchema, owner: string): Type {
    if (kind === 'array') return { kind: 'list', items: this.read(schema.items ?? {}, `${owner}Item`) };
    if (kind !== 'object') return { kind: kind as 'string' };
    if (schema.properties || schema.allOf) {
      this.#reserve(owner);
      this.#define(owner, schema);
      return { kind: 'named', name: owner };
    }
    const { additionalProperties: values } = schema;
    return { kind: 'map', values: typeof values === 'object' ? this.read(values, `${owner}Value`) : { kind: 'unknown' } };
  }

  #reserve(name: string): void {
    if (this.#named.has(name)) throw new Error(`two types would be named ${name}`);
    this.#named.set(name, { name, description: '', definition: { kind: 'unknown' } });
  }

  #define(name: string, schema: JsonSchema): void {
    const definition = schema.properties || schema.allOf ? this.#readObject(name, schema) : this.read(schema, `${name}Value`);
    this.#named.set(name, { name, description: schema.description ?? '', definition });
  }

  #readObject(name: string, { properties = {}, required = [], allOf = [], additionalProperties }: JsonSchema): ObjectType {
    const fields = Object.entries(properties).map(([field, schema]) => ({
      name: field,
      type: this.read(schema, `${name}${pascalCased(field)}`),
      required: required.includes(field),
      description: schema.description ?? '',
    }));
    const others = typeof additionalProperties === 'object' ? this.read(additionalProperties, `${name}Other`) : null;
    return { kind: 'object', extends: allOf.map(({ $ref = '' }) => $ref.slice(schemaPrefix.length)), fields, others };
  }
}

/** Alternatives that are objects need names of their own; one beside null has the name alone. */
function numbered(owner: string, alternatives: readonly JsonSchema[], index: number): string {
  const objects = alternatives.filter(({ type, $ref }) => type !== 'null' && $ref === undefined);
  return objects.length > 1 ? `${owner}${index + 1}` : owner;
}

function literal(values: readonly (string | number | boolean | null)[]): Type {
  const others = values.filter((value) => value !== null);
  const members: Type[] = others.length === 0 ? [] : [{ kind: 'literal', values: others }];
  return union(others.length === values.length ? members : [...members, { kind: 'null' }]);
}

function union(members: readonly Type[]): Type {
  const flat = members.flatMap((member) => (member.kind === 'union' ? member.members : [member]));
  const unique = [...new Map(flat.map((member) => [JSON.stringify(member), member])).values()];
  return unique.length === 1 && unique[0] ? unique[0] : { kind: 'union', members: unique };
}
