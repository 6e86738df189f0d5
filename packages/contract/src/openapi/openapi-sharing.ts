/**
 * Writes parts of the OpenAPI document once that many operations or schemas
 * have. Written out, the document is more than three times as large.
 */
type Json = Record<string, unknown>;

interface Operation {
  operationId: string;
  parameters?: Json[];
  responses: Record<string, Json>;
}

/** A place in the document whose value may be replaced by a reference. */
interface Occurrence {
  value: Json;
  /** Preferred name of the component. */
  name: string;
  operationId: string;
  replace: (reference: Json) => void;
}

const operationsOf = (paths: Record<string, Json>): Operation[] =>
  Object.values(paths).flatMap((methods) => Object.values(methods) as Operation[]);

/** Replaces each parameter that several operations have by a reference, and returns the components. */
export function shareParameters(paths: Record<string, Json>): Record<string, Json> {
  const occurrences = operationsOf(paths).flatMap(({ operationId, parameters = [] }) =>
    parameters.map((value, index) => ({
      value,
      name: String(value['name']),
      operationId,
      replace: (reference: Json): void => void (parameters[index] = reference),
    })),
  );
  return share(occurrences, 'parameters');
}

/** Replaces each header that responses of several operations have by a reference, and returns it with the components that there are. */
export function shareHeaders(paths: Record<string, Json>, known: Record<string, Json>): Record<string, Json> {
  const occurrences = operationsOf(paths).flatMap(({ operationId, responses }) =>
    Object.values(responses).flatMap(({ headers = {} }) =>
      Object.entries(headers as Record<string, Json>)
        .filter(([, header]) => !('$ref' in header))
        .map(([name, value]) => ({
          value,
          name,
          operationId,
          replace: (reference: Json): void => void ((headers as Record<string, Json>)[name] = reference),
        })),
    ),
  );
  return share(occurrences, 'headers', known);
}

/** Replaces each response that several operations have by a reference, and returns the components. */
export function shareResponses(paths: Record<string, Json>): Record<string, Json> {
  const occurrences = operationsOf(paths).flatMap(({ operationId, responses }) =>
    Object.entries(responses)
      .filter(([, response]) => !('$ref' in response))
      .map(([status, value]) => ({
        value,
        name: statusNames[status] ?? `Status${status}`,
        operationId,
        replace: (reference: Json): void => void (responses[status] = reference),
      })),
  );
  return share(occurrences, 'responses');
}

/** Names of statuses in RFC 9110 and RFC 6585, as names of components. */
const statusNames: Record<string, string> = {
  101: 'SwitchingProtocols',
  200: 'Ok',
  204: 'NoContent',
  401: 'Unauthorized',
  402: 'PaymentRequired',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Gone',
  413: 'ContentTooLarge',
  415: 'UnsupportedMediaType',
  429: 'TooManyRequests',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
  504: 'GatewayTimeout',
};

/**
 * Replaces values that are used more than once by references to components of
 * this kind. A name that is taken by a more frequent value is preceded by the
 * id of the first operation that has the value.
 */
function share(occurrences: readonly Occurrence[], kind: string, known: Record<string, Json> = {}): Record<string, Json> {
  const byValue = Map.groupBy(occurrences, ({ value }) => JSON.stringify(value));
  const components = { ...known };
  for (const equal of [...byValue.values()].toSorted((one, other) => other.length - one.length)) {
    const [first] = equal;
    if (!first || equal.length === 1) continue;
    const id = first.name in components ? `${first.operationId}.${first.name}` : first.name;
    components[id] = first.value;
    for (const { replace } of equal) replace({ $ref: `#/components/${kind}/${id}` });
  }
  return sortByName(components);
}

export const sortByName = (components: Record<string, Json>): Record<string, Json> =>
  Object.fromEntries(Object.entries(components).toSorted(([one], [other]) => (one < other ? -1 : 1)));

type ObjectSchema = Json & { properties: Record<string, Json>; required?: string[] };

/** Moves the properties that all members have alike, and require alike, into a schema of their own, which they extend. */
export function extractBase(
  schemas: Record<string, Json>,
  { name, description, members }: { name: string; description: string; members: readonly string[] },
): void {
  const [first, ...others] = members.map((member) => schemas[member] as ObjectSchema | undefined);
  // A document of some endpoints has not all of them.
  if (!first || others.includes(undefined)) return;
  const common = Object.entries(first.properties).filter(([property, schema]) =>
    others.every(
      (other) => other && isSame(other.properties[property], schema) && isRequired(other, property) === isRequired(first, property),
    ),
  );
  const required = common.map(([property]) => property).filter((property) => isRequired(first, property));
  schemas[name] = {
    type: 'object',
    description,
    properties: Object.fromEntries(common),
    ...(required.length === 0 ? {} : { required }),
  };
  for (const member of members) extendSchema(schemas, member, name);
}

const isRequired = ({ required = [] }: ObjectSchema, property: string): boolean => required.includes(property);
const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/**
 * Replaces the properties of a schema that another one has by a reference to that one.
 *
 * @throws Error unless the schema has all of them alike, so that the reference says the same.
 */
export function extendSchema(schemas: Record<string, Json>, name: string, baseName: string): void {
  const { properties, required = [], additionalProperties, ...rest } = schemas[name] as ObjectSchema;
  const base = schemas[baseName] as ObjectSchema;
  const missing = Object.entries(base.properties).find(([property, schema]) => !isSame(properties[property], schema));
  if (missing) throw new Error(`${name} differs from ${baseName} in ${missing[0]}`);
  const own = required.filter((property) => !base.required?.includes(property));
  schemas[name] = {
    ...rest,
    allOf: [{ $ref: `#/components/schemas/${baseName}` }],
    properties: Object.fromEntries(Object.entries(properties).filter(([property]) => !(property in base.properties))),
    ...(own.length === 0 ? {} : { required: own }),
    // `additionalProperties` does not see the properties of the base.
    ...(additionalProperties === false ? { unevaluatedProperties: false } : {}),
  };
}

/** Minimum uses and size of a shared property: below it, a reference makes the document hardly smaller and harder to read. */
const sharedPropertyMin = { owners: 3, characters: 100 };

/** Writes a property that several schemas have alike once, as a schema that is named after it. */
export function shareProperties(schemas: Record<string, Json>): void {
  const occurrences = Object.entries(schemas).flatMap(([owner, schema]) =>
    propertiesIn(schema).map((property) => ({ ...property, owner })),
  );
  const byValue = Map.groupBy(occurrences, ({ owned, name }) => `${name}${JSON.stringify(owned[name])}`);
  for (const [key, equal] of byValue) {
    const [first] = equal;
    const owners = [...new Set(equal.map(({ owner }) => owner))];
    if (!first || owners.length < sharedPropertyMin.owners || key.length < sharedPropertyMin.characters) continue;
    const value = first.owned[first.name] as Json;
    if ('$ref' in value) continue;
    const preferred = nameOfProperty(first.name, owners);
    const id = preferred in schemas ? `${first.owner}${pascalCased(first.name)}` : preferred;
    schemas[id] = value;
    for (const { owned, name } of equal) owned[name] = { $ref: `#/components/schemas/${id}` };
  }
}

interface Property {
  /** The properties that it is one of. */
  owned: Record<string, unknown>;
  name: string;
}

/** The properties of a schema at any depth. */
function propertiesIn(schema: unknown): Property[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {}, items, additionalProperties, anyOf = [], oneOf = [] } = schema as Nested;
  const inner = [...Object.values(properties), items, additionalProperties, ...anyOf, ...oneOf];
  return [...Object.keys(properties).map((name) => ({ owned: properties, name })), ...inner.flatMap(propertiesIn)];
}

interface Nested {
  properties?: Record<string, unknown>;
  items?: unknown;
  additionalProperties?: unknown;
  anyOf?: unknown[];
  oneOf?: unknown[];
}

/** `StepTimeoutMs` of steps, `InspectEvidence` of parts of an inspection, else `Metadata`. */
function nameOfProperty(name: string, owners: readonly string[]): string {
  if (owners.every((owner) => owner.endsWith('Step'))) return `Step${pascalCased(name)}`;
  if (owners.every((owner) => owner.startsWith('Inspect'))) return `Inspect${pascalCased(name)}`;
  return pascalCased(name);
}

const pascalCased = (name: string): string => name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
