/** The options of session creation as query parameters, for clients that can send nothing but an address. */
import { z } from 'zod';
import { boundedString } from '../bounds.ts';
import { ReconnectSeconds } from '../fields.ts';
import { CreateSessionRequest } from './session-request.ts';

/** A storage state does not fit into an address. */
const tooLarge: ReadonlySet<string> = new Set(['storage_state']);

interface Parameter {
  schema: z.core.$ZodType;
  description: string | undefined;
}

const wrappers: ReadonlySet<string> = new Set(['default', 'prefault', 'optional', 'nullable', 'nonoptional', 'readonly', 'catch']);

/** The schema of a value that is present. */
function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const { def } = schema._zod;
  return wrappers.has(def.type) && 'innerType' in def ? unwrap(def.innerType as z.core.$ZodType) : schema;
}

const descriptionOf = (schema: z.core.$ZodType): string | undefined => (schema as z.ZodType).description;

/** `viewport.width` for a field of a field. A record's names are its owner's, so it has no parameters here. */
function parametersOf(shape: Readonly<Record<string, z.core.$ZodType>>, prefix = ''): [name: string, parameter: Parameter][] {
  return Object.entries(shape).flatMap(([field, wrapped]): [string, Parameter][] => {
    const name = prefix + field;
    const schema = unwrap(wrapped);
    if (tooLarge.has(name) || schema instanceof z.ZodRecord) return [];
    if (schema instanceof z.ZodObject) return parametersOf(schema.shape, `${name}.`);
    return [[name, { schema, description: descriptionOf(wrapped) ?? descriptionOf(schema) }]];
  });
}

/** What an address may say: the options of a session, and whether it is found again there. */
const ConnectRequest = CreateSessionRequest.safeExtend({
  reconnect_seconds: ReconnectSeconds.optional().describe(
    'Seconds for which the session waits at this address for its clients after the last has disconnected, 0 to 3600. ' +
      'Whoever connects to the address meanwhile finds its browser. Excludes `keep_alive`. Default: that of the connect token, else 0.',
  ),
}).check(({ value, issues }) => {
  const { keep_alive: keepAlive, reconnect_seconds: seconds = 0 } = value;
  if (keepAlive && seconds > 0)
    issues.push({
      code: 'custom',
      message: 'A session with `keep_alive` does not end with its last connection. Omit one of the two',
      path: ['reconnect_seconds'],
      input: seconds,
      params: { type: 'value_error' },
    });
});
export type ConnectRequest = z.infer<typeof ConnectRequest>;

const parameters = new Map(parametersOf(ConnectRequest.shape));

const isTrue = (text: string): boolean => text === 'true' || text === '1';

/** A value of the type that its field has. One that cannot be is left for the schema to refuse. */
function toValue(name: string, value: unknown): unknown {
  const schema = parameters.get(name)?.schema;
  if (typeof value !== 'string') return value;
  if (schema instanceof z.ZodBoolean) return isTrue(value) || value === 'false' || value === '0' ? isTrue(value) : value;
  if (schema instanceof z.ZodNumber) return /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value;
  return schema instanceof z.ZodArray ? value.split(',') : value;
}

/** `viewport.width=800` becomes `{viewport: {width: 800}}`. */
function toRequest(query: Record<string, unknown>): Record<string, unknown> {
  const fields: [string, unknown][] = [];
  const nested = new Map<string, [string, unknown][]>();
  for (const [name, value] of Object.entries(query)) {
    if (name === 'token') continue;
    const [field = '', ...path] = name.split('.');
    if (path.length === 0) fields.push([field, toValue(name, value)]);
    else nested.set(field, [...(nested.get(field) ?? []), [path.join('.'), toValue(name, value)]]);
  }
  const objects = [...nested].map(([field, entries]): [string, unknown] => [field, Object.fromEntries(entries)]);
  return Object.fromEntries([['keep_alive', false], ...fields, ...objects]);
}

const keepAlive = 'Whether the session continues after its last DevTools client disconnects. Default here: `false`.';
const isList = ({ schema }: Parameter): boolean => schema instanceof z.ZodArray;

/** Only describes the parameter: the request is checked as a whole. */
function describe(name: string, parameter: Parameter): z.ZodType {
  const {
    default: _,
    $schema: _draft,
    ...shape
  } = z.toJSONSchema(parameter.schema, { io: 'input', unrepresentable: 'any', reused: 'inline' });
  const { description = '' } = parameter;
  const text = name === 'keep_alive' ? keepAlive : isList(parameter) ? `${description} Comma-separated.` : description;
  return z
    .unknown()
    .optional()
    .meta({ ...(isList(parameter) ? { type: 'string' } : shape), description: text });
}

/**
 * Every option of `POST /v1/session` but `storage_state`, by the same rules and
 * with the same defaults, except that `keep_alive` is false. Fields of objects
 * are named `viewport.width`, entries of records `metadata.KEY`, and items of
 * lists are separated by commas.
 */
export const CreateSessionQuery = z
  .object({
    token: boundedString(0, 2048).optional().describe('Connect token. API keys are not accepted in URLs.'),
    ...Object.fromEntries([...parameters].map(([name, parameter]) => [name, describe(name, parameter)])),
  })
  .catchall(z.unknown())
  .transform(toRequest)
  .pipe(ConnectRequest);
