/** Writes the types and the table of operations of the TypeScript client. */
import type { Model, Operation } from './document.ts';
import { pascalCased, type Field, type NamedType, type ObjectType, type Type } from './types.ts';

const heading = '// Made from the contract by `npm run clients`. Do not edit.\n\n';

export const emitTypeScript = (model: Model): Record<string, string> => ({
  'packages/sdk/src/generated/types.ts': emitTypes(model),
  'packages/sdk/src/generated/calls.ts': emitCalls(model),
  'packages/sdk/src/generated/operations.ts': emitTable(model),
});

function emitTypes(model: Model): string {
  const byName = new Map(model.types.map((type) => [type.name, type]));
  return `${heading}${[...model.types.map((type) => emitNamed(type, byName)), ...emitErrors(model)].join('\n\n')}\n`;
}

function write(type: Type): string {
  switch (type.kind) {
    case 'integer':
      return 'number';
    case 'literal':
      return type.values.map((value) => quote(value)).join(' | ');
    case 'list':
      return `Array<${write(type.items)}>`;
    case 'map':
      return `Record<string, ${write(type.values)}>`;
    case 'union':
      return type.members.map(write).join(' | ');
    case 'named':
      return type.name;
    default:
      return type.kind;
  }
}

const quote = (value: string | number | boolean): string =>
  typeof value === 'string' ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'` : String(value);
const propertyName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name));

/** A text as a comment, which it cannot end. */
const comment = (text: string, indent = ''): string => (text === '' ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`);

function emitNamed({ name, description, definition }: NamedType, types: ReadonlyMap<string, NamedType>): string {
  const head = comment(description);
  if (definition.kind !== 'object') return `${head}export type ${name} = ${write(definition)};`;
  const bases = definition.extends.map((base) => {
    // An interface cannot redefine a field of its base as another type, as steps do.
    const redefined = definition.fields.filter((field) => fieldNames(base, types).includes(field.name));
    return redefined.length === 0 ? base : `Omit<${base}, ${redefined.map((field) => quote(field.name)).join(' | ')}>`;
  });
  const extended = bases.length === 0 ? '' : ` extends ${bases.join(', ')}`;
  if (!definition.others) return `${head}export interface ${name}${extended} ${writeFields(definition)}`;
  return `${head}export type ${name} = ${[...bases, writeFields(definition), `Record<string, ${writeOthers(definition)}>`].join(' & ')};`;
}

function fieldNames(name: string, types: ReadonlyMap<string, NamedType>): string[] {
  const definition = types.get(name)?.definition;
  if (definition?.kind !== 'object') return [];
  return [...definition.fields.map((field) => field.name), ...definition.extends.flatMap((base) => fieldNames(base, types))];
}

/** The type of further fields must admit those that are listed. */
const writeOthers = ({ others, fields }: ObjectType): string =>
  [...new Set([others ? write(others) : 'unknown', ...fields.map(({ type }) => write(type))])].join(' | ');

function writeFields({ fields }: Pick<ObjectType, 'fields'>): string {
  const lines = fields.map(
    ({ name, type, required, description }) =>
      `${comment(description, '  ')}  ${propertyName(name)}${required ? '' : '?'}: ${write(type)}${required ? '' : ' | undefined'};\n`,
  );
  return `{\n${lines.join('')}}`;
}

function emitErrors({ errors }: Model): string[] {
  const typed = errors.flatMap(({ code, details }) => (details ? [`  ${code}: ${write(details)};\n`] : []));
  return [
    `/** A code of an error of the service. Newer services may have others. */\nexport type ErrorCode = ${errors.map(({ code }) => quote(code)).join(' | ')};`,
    `/** What \`details\` has by the code of the error. */\nexport interface ErrorDetails {\n${typed.join('')}}`,
  ];
}

/** A group of methods and of further groups. */
interface Group {
  methods: Map<string, Operation>;
  groups: Map<string, Group>;
}

function groupOf(operations: readonly Operation[]): Group {
  const root: Group = { methods: new Map(), groups: new Map() };
  for (const operation of operations) {
    const [name = '', ...groups] = (operation.place ?? []).toReversed();
    let group = root;
    for (const part of groups.toReversed()) {
      const inner = group.groups.get(part) ?? { methods: new Map<string, Operation>(), groups: new Map<string, Group>() };
      group.groups.set(part, inner);
      group = inner;
    }
    group.methods.set(name, operation);
  }
  return root;
}

const hasPlace = ({ place }: Operation): boolean => place !== null;
/** An operation of one session, which the handle of a session has, too. */
const isOfSession = ({ place, pathFields }: Operation): boolean => place?.[0] === 'sessions' && pathFields[0]?.name === 'session_id';

function emitCalls({ operations, types }: Model): string {
  const listed = operations.filter(hasPlace);
  const queries = listed.filter(({ queryFields }) => queryFields.length > 0).map(emitQuery);
  const root = groupOf(listed);
  const ofSession = groupOf(listed.filter(isOfSession)).groups.get('sessions');
  const interfaces = [
    ...emitGroup('Calls', root, { skipped: 0, description: 'Every operation of the API by its place in a client.' }),
    ...(ofSession
      ? emitGroup('SessionCalls', ofSession, { skipped: 1, description: 'Every operation of one session, without its id.' })
      : []),
  ];
  const text = [...queries, ...interfaces].join('\n\n');
  const used = types.map(({ name }) => name).filter((name) => new RegExp(`\\b${name}\\b`).test(text));
  return (
    `${heading}import type { Call, EventOptions, Events, Pages, RequestOptions } from '../call.ts';\n` +
    `import type {\n${used.map((name) => `  ${name},\n`).join('')}} from './types.ts';\n\n${text}\n`
  );
}

const queryName = ({ id }: Operation): string => `${pascalCased(id)}Query`;

function emitQuery(operation: Operation): string {
  const { summary, queryFields, queryPrefix } = operation;
  const prefix = queryPrefix?.replace(/\.$/, '');
  const further: Field[] =
    prefix === undefined
      ? []
      : [
          {
            name: prefix,
            required: false,
            type: { kind: 'map', values: { kind: 'string' } },
            description: 'Only those with these entries.',
          },
        ];
  return `/** Options of “${summary}”. */\nexport interface ${queryName(operation)} ${writeFields({ fields: [...queryFields, ...further] })}`;
}

function emitGroup(name: string, { methods, groups }: Group, { skipped, description }: { skipped: number; description: string }): string[] {
  const inner = [...groups].map(([part, group]) => ({ part, group, name: `${name}${pascalCased(part)}` }));
  const lines = [
    ...[...methods].map(([method, operation]) => emitMethod(method, operation, skipped)),
    ...inner.map(({ part, name: type }) => `  readonly ${part}: ${type};\n`),
  ];
  const own = `${comment(description)}export interface ${name} {\n${lines.join('')}}`;
  return [
    own,
    ...inner.flatMap(({ part, group, name: type }) => emitGroup(type, group, { skipped, description: `The operations of \`${part}\`.` })),
  ];
}

function emitMethod(name: string, operation: Operation, skipped: number): string {
  const { summary, description, pathFields } = operation;
  const ids = pathFields.slice(skipped).map((field) => `${camelCased(field.name)}: ${write(field.type)}`);
  const args = [...ids, ...paramsOf(operation), `options?: ${operation.reply.form === 'events' ? 'EventOptions' : 'RequestOptions'}`];
  return `${comment(`${summary}. ${description}`.trim(), '  ')}  ${name}(${args.join(', ')}): ${replyOf(operation)};\n`;
}

const camelCased = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

function paramsOf(operation: Operation): string[] {
  const { body, queryFields } = operation;
  const types = [...(body ? [write(body.type)] : []), ...(queryFields.length > 0 ? [queryName(operation)] : [])];
  if (types.length === 0) return [];
  const isRequired = [...(body?.fields ?? []), ...queryFields].some(({ required }) => required);
  return [`params${isRequired ? '' : '?'}: ${types.join(' & ')}`];
}

function replyOf({ reply, pagedItems }: Operation): string {
  if (pagedItems) return `Pages<${write(pagedItems)}>`;
  switch (reply.form) {
    case 'events':
      return `Events<${reply.type ? write(reply.type) : 'unknown'}>`;
    case 'file':
      return 'Call<Response>';
    case 'text':
      return 'Call<string>';
    case 'empty':
      return 'Call<void>';
    default:
      return `Call<${reply.type ? write(reply.type) : 'unknown'}>`;
  }
}

const replyFlags = { json: '', text: 't', file: 'f', events: 's', empty: 'e', socket: '' };
const credentialFlags = { key: '', admin: 'a', login: '', none: '', link: '' };

/** A line for each operation, which is half the size of objects: its place, method, path, flags, and names of a query beside a body. */
function emitTable({ operations, version }: Model): string {
  const lines = operations.filter(hasPlace).map((operation) => {
    const { place, method, path, reply, credential, queryFields, body, deadlineMs } = operation;
    const flags = [
      replyFlags[reply.form],
      credentialFlags[credential],
      operation.takesIdempotencyKey ? 'i' : '',
      operation.pagedItems ? 'p' : '',
      body ? 'b' : '',
      queryFields.length > 0 ? 'q' : '',
      operation.isPathOpen ? 'o' : '',
    ].join('');
    const query = body ? queryFields.map(({ name }) => name).join(',') : '';
    return [place?.join('.'), method, path, flags || '-', reply.form === 'events' ? 0 : Math.round((deadlineMs ?? 0) / 1000), query]
      .join(' ')
      .trimEnd();
  });
  return (
    `${heading}/** Version of the API. */\nexport const version = ${quote(version)};\n\n/**\n * An operation a line: its place, method, path, flags, seconds after which the service gives up, and names of the query beside a body.\n` +
    ' * Flags: `a` admin key, `b` body, `f` file, `i` takes an idempotency key, `o` its last parameter is the rest of the path, `p` paged,\n' +
    ` * \`q\` query, \`s\` events, \`t\` text.\n */\nexport const operations = \`\n${lines.join('\n')}\n\`;\n`
  );
}
