/**
 * The API as a plain model, from which the emitters write clients: operations, named types and error codes. It is read from the
 * contract's OpenAPI document, which has settled the names of schemas, and from the endpoints for what that document cannot say.
 */
import {
  acceptsIdempotencyKey,
  apiVersion,
  createOpenApiDocument,
  endpoints,
  errorDetails,
  errors,
  errorsOf,
  SessionEvent,
  type Endpoint,
  type ErrorCode,
} from '@berth/contract';
import { z } from 'zod';
import { names } from './names.ts';
import { pascalCased, Types, type Field, type JsonSchema, type NamedType, type Type } from './types.ts';

export interface Model {
  version: string;
  operations: readonly Operation[];
  types: readonly NamedType[];
  errors: readonly ErrorKind[];
}

export interface ErrorKind {
  code: string;
  status: number;
  /** Whether such an error is usually retryable. A reply says it of itself. */
  retryable: boolean;
  description: string;
  /** Fields of `error.details`; null where there are none. */
  details: Type | null;
}

/** What a client sends: an API key or an admin key. `login`: a login token in place of the key. `link`: a token in the address. */
export type Credential = 'none' | 'key' | 'admin' | 'login' | 'link';

/** What comes back. `text` includes HTML; `events` are server-sent, each of the reply's type. */
export type ReplyForm = 'json' | 'text' | 'file' | 'events' | 'empty' | 'socket';

export interface Operation {
  id: string;
  /** The method's place in a client, such as `['sessions', 'tabs', 'list']`; null where people or sockets open the address. */
  place: readonly string[] | null;
  method: Endpoint['method'];
  path: string;
  summary: string;
  description: string;
  pathFields: readonly Field[];
  /** Whether the last field of the path takes the rest of it, with its slashes. */
  isPathOpen: boolean;
  queryFields: readonly Field[];
  /** A prefix of further query parameters: `metadata.` for `metadata.KEY`. */
  queryPrefix: string | null;
  body: RequestBody | null;
  reply: { form: ReplyForm; type: Type | null };
  status: number;
  credential: Credential;
  takesIdempotencyKey: boolean;
  /** A paged list: `type` of its items. The next page is asked for with `cursor`, the value of the header `x-next-cursor`. */
  pagedItems: Type | null;
  /** Whether a field `async` of the body makes it a job. */
  isJob: boolean;
  /** Time after which the service itself gives up, in milliseconds. */
  deadlineMs: number | null;
  errorCodes: readonly string[];
}

export interface RequestBody {
  type: Type;
  required: boolean;
  /** Fields of the body as arguments, where it is one object; null where it is not. */
  fields: readonly Field[] | null;
  /** The form in which a file may be sent instead: the part `file`, and a part with the name of the field `name`. */
  upload: { bytes: string; name: string; bytesMax: number } | null;
  /** The body that the documentation shows; undefined where the contract has none. */
  example: unknown;
}

interface OperationDocument {
  parameters?: ({ $ref: string } | Parameter)[];
  requestBody?: { content: Record<string, { schema: JsonSchema; example?: unknown }> };
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: JsonSchema }> }>;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: JsonSchema;
}

interface Document {
  paths: Record<string, Record<string, OperationDocument>>;
  components: { schemas: Record<string, JsonSchema>; parameters: Record<string, Parameter>; responses: OperationDocument['responses'] };
}

/** Returns the whole API as a model. */
export function readModel(): Model {
  // An event has a schema, which the document cannot give to a stream.
  const readable = endpoints.map((endpoint): Endpoint => {
    return endpoint.replyKind === 'events' ? { ...endpoint, replyKind: 'json', reply: SessionEvent } : endpoint;
  });
  const document = createOpenApiDocument({ endpoints: readable, version: apiVersion }) as unknown as Document;
  const reader = new Reader(document);
  const operations = endpoints.map((endpoint) => reader.operation(endpoint));
  const places = operations.flatMap(({ place }) => (place ? [place.join('.')] : []));
  const twice = places.find((place, index) => places.indexOf(place) !== index);
  if (twice !== undefined) throw new Error(`two operations are called ${twice}: see names.ts`);
  const unknown = Object.keys(names).find((id) => !endpoints.some((endpoint) => endpoint.id === id));
  if (unknown !== undefined) throw new Error(`names.ts names the operation ${unknown}, which does not exist`);
  const kinds = Object.entries(errors).map(([code, { status, retryable, description }]) => {
    const schema = errorDetails[code as ErrorCode];
    const details = schema
      ? reader.types.read(z.toJSONSchema(schema, { io: 'output' }) as JsonSchema, pascalCased(`${code}.Details`))
      : null;
    return { code, status, retryable, description, details };
  });
  return { version: apiVersion, operations, types: reader.types.list(), errors: kinds };
}

class Reader {
  readonly types: Types;
  #document: Document;

  constructor(document: Document) {
    this.#document = document;
    this.types = new Types(document.components.schemas);
  }

  operation(endpoint: Endpoint): Operation {
    const { id, method, path, summary, description = '', status, isPathOpen = false, deadlineMs = null } = endpoint;
    const document = this.#document.paths[path]?.[method.toLowerCase()];
    if (!document) throw new Error(`the document has no operation ${id}`);
    const body = this.#body(endpoint, document);
    const queryFields = this.#parameters(document, 'query', id).filter(({ name }) => name !== 'token');
    const shared = queryFields.find(({ name }) => body?.fields?.some((field) => field.name === name));
    if (shared) throw new Error(`${id} has ${shared.name} in its query and in its body, which clients take as one object`);
    const type = this.#replyType(endpoint, document);
    const isPaged = endpoint.replyHeaders !== undefined && 'X-Next-Cursor' in endpoint.replyHeaders;
    return {
      id,
      place: placeOf(endpoint),
      method,
      path,
      summary,
      description,
      pathFields: this.#parameters(document, 'path', id),
      isPathOpen,
      queryFields,
      queryPrefix: takesFurtherQuery(endpoint) ? 'metadata.' : null,
      body,
      reply: { form: formOf(endpoint), type },
      status,
      credential: credentialOf(endpoint),
      takesIdempotencyKey: acceptsIdempotencyKey(endpoint),
      pagedItems: isPaged && type?.kind === 'list' ? type.items : null,
      isJob: endpoint.replyHeaders !== undefined && 'Location' in endpoint.replyHeaders,
      deadlineMs,
      errorCodes: errorsOf(endpoint),
    };
  }

  #parameters({ parameters = [] }: OperationDocument, location: string, id: string): Field[] {
    return parameters
      .map((parameter) =>
        '$ref' in parameter ? this.#document.components.parameters[parameter.$ref.slice('#/components/parameters/'.length)] : parameter,
      )
      .filter((parameter) => parameter?.in === location)
      .map((parameter) => {
        const { name, required = false, description = '', schema } = parameter as Parameter;
        return { name, required, description, type: this.types.read(schema, pascalCased(`${id}.${name}`)) };
      });
  }

  #body({ id, bodyOptional, multipart }: Endpoint, { requestBody }: OperationDocument): RequestBody | null {
    const { schema, example } = requestBody?.content['application/json'] ?? {};
    if (!schema) return null;
    const type = this.types.read(schema, pascalCased(`${id}.Body`));
    const upload = multipart ? { ...multipart } : null;
    return { type, required: bodyOptional !== true, fields: this.#fieldsOf(type), upload, example };
  }

  /** The fields of an object, with those that it extends. */
  #fieldsOf(type: Type): Field[] | null {
    const definition = type.kind === 'named' ? this.types.find(type.name).definition : type;
    if (definition.kind !== 'object' || definition.others) return null;
    const inherited = definition.extends.flatMap((name) => this.#fieldsOf({ kind: 'named', name }) ?? []);
    return [...inherited.filter(({ name }) => !definition.fields.some((field) => field.name === name)), ...definition.fields];
  }

  #replyType({ id, status }: Endpoint, { responses }: OperationDocument): Type | null {
    const response = responses[status];
    const { content } =
      (response?.$ref === undefined
        ? response
        : this.#document.components.responses[response.$ref.slice('#/components/responses/'.length)]) ?? {};
    const schema = content?.['application/json']?.schema;
    return schema ? this.types.read(schema, pascalCased(`${id}.Reply`)) : null;
  }
}

/** A query that takes names which are not listed takes those of metadata. */
const takesFurtherQuery = ({ query }: Endpoint): boolean =>
  query instanceof z.ZodObject && query.def.catchall !== undefined && !(query.def.catchall instanceof z.ZodNever);

function formOf({ replyKind = 'json' }: Endpoint): ReplyForm {
  if (replyKind === 'websocket') return 'socket';
  if (replyKind === 'bytes') return 'file';
  return replyKind === 'html' ? 'text' : replyKind;
}

const credentials: Record<Endpoint['auth'], Credential> = {
  none: 'none',
  bearer: 'key',
  connect: 'key',
  recording: 'key',
  report: 'key',
  agent: 'key',
  admin: 'admin',
  metrics: 'admin',
  login: 'login',
  view: 'link',
  vnc: 'link',
  connectPath: 'link',
};
const credentialOf = ({ auth }: Endpoint): Credential => credentials[auth];

/** Where a client has the method. People open pages and links in a browser, other programs open sockets and send events of payments. */
function placeOf(endpoint: Endpoint): string[] | null {
  const { id, path, auth } = endpoint;
  const isForOthers = credentialOf(endpoint) === 'link' || endpoint.replyKind === 'websocket' || endpoint.rawBody !== undefined;
  const isPage = auth === 'none' && (endpoint.replyKind === 'html' || path.startsWith('/dashboard'));
  // The discovery of DevTools clients, at the root because they ask there.
  if (isForOthers || isPage || path.startsWith('/json/')) return null;
  const known = names[id];
  if (known !== undefined) return known.split('.');
  if (path.startsWith('/v1/session/')) return ['sessions', id];
  return path.includes('/admin/') ? ['admin', id] : [id];
}
