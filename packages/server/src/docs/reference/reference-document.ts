/** The operations of the API as their pages show them, read from the OpenAPI document, the contract and the samples. */
import { readFile } from 'node:fs/promises';
import { endpoints, errors, errorsOf, type Endpoint, type ErrorCode } from '@berth/contract';
import { languages, type CodeBlock, type Language } from '../code.ts';
import { exampleOf } from './example-value.ts';
import { SchemaReader, type Content, type FieldShape, type JsonSchema, type Schemas } from './schema-shape.ts';

/** An operation in lists. */
export interface OperationEntry {
  id: string;
  tag: string;
  method: string;
  path: string;
  summary: string;
  description: string;
}

export interface OperationPage extends OperationEntry {
  credential: string;
  parameters: readonly { title: string; fields: readonly FieldShape[] }[];
  body: BodyShape | null;
  reply: ReplyShape;
  errors: readonly { code: ErrorCode; status: number; isRetryable: boolean; description: string }[];
  samples: readonly CodeBlock[];
}

interface BodyShape {
  isRequired: boolean;
  types: readonly string[];
  content: Content | null;
}

interface ReplyShape {
  status: string;
  type: string;
  headers: readonly FieldShape[];
  content: Content | null;
  /** null where the reply is not JSON. */
  example: string | null;
}

export interface TagEntry {
  name: string;
  description: string;
  operations: readonly OperationEntry[];
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: JsonSchema;
}

interface Media {
  schema: JsonSchema;
  example?: unknown;
}

interface Reply {
  $ref?: string;
  description: string;
  headers?: Record<string, { $ref?: string; description?: string; schema?: JsonSchema }>;
  content?: Record<string, Media>;
}

interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: ({ $ref: string } | Parameter)[];
  requestBody?: { required?: boolean; content: Record<string, Media> };
  responses: Record<string, Reply>;
}

interface OpenApi {
  info: { description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Schemas;
    parameters: Record<string, Parameter>;
    headers: Record<string, { description: string; schema: JsonSchema }>;
    responses: Record<string, Reply>;
  };
}

const credentials: Readonly<Record<Endpoint['auth'], string>> = {
  none: 'No credential.',
  bearer: 'An API key: `Authorization: Bearer KEY`.',
  connect: 'An API key, `Authorization: Bearer KEY`, or a connect token or a token of the session as `?token=`.',
  connectPath: 'A connect token in the path.',
  admin: 'The admin key of the operator, in the header `x-admin-key`.',
  view: 'The token of a link from `POST /v1/session/{session_id}/view-token`, or the cookie that the first request sets.',
  vnc: 'The token of a link from `POST /v1/session/{session_id}/vnc-token`, or the cookie that the first request sets.',
  recording: 'An API key, `Authorization: Bearer KEY`, or the token of a link.',
  report: 'An API key, `Authorization: Bearer KEY`, or the token of the `report_url`.',
  login: 'A login token of the identity provider: `Authorization: Bearer TOKEN`.',
  metrics:
    'The admin key in the header `x-admin-key`. Where the operator has set a metrics token, that alone: `Authorization: Bearer TOKEN`.',
  agent: 'An API key, `Authorization: Bearer KEY` or `X-API-Key: KEY`, or a connect token.',
};

/** The document as it is served: without the addresses of servers, which depend on the request. */
export interface DocumentFile {
  json: string;
  reference: ReferenceDocument;
}

const repository = new URL('../../../../../', import.meta.url);

/** Reads the document of the repository. To make it from the contract takes a fifth of a second; the checks keep both equal. */
export async function readDocument(): Promise<DocumentFile> {
  const [text, samples] = await Promise.all([
    readFile(new URL('openapi.json', repository), 'utf8'),
    readFile(new URL('packages/server/src/docs/generated/samples.json', repository), 'utf8'),
  ]);
  const { servers: _, ...document } = JSON.parse(text) as Record<string, unknown>;
  const parsed = document as unknown as OpenApi;
  return { json: JSON.stringify(document), reference: new ReferenceDocument(parsed, JSON.parse(samples) as Samples) };
}

type Samples = Readonly<Record<string, Partial<Record<Language, string>>>>;

export class ReferenceDocument {
  readonly #document: OpenApi;
  readonly #samples: Samples;
  readonly #operations = new Map<string, { entry: OperationEntry; operation: Operation; endpoint: Endpoint }>();

  constructor(document: OpenApi, samples: Samples) {
    this.#document = document;
    this.#samples = samples;
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, operation] of Object.entries(methods)) {
        const { operationId: id, tags, summary, description = '' } = operation;
        const endpoint = endpoints.find((one) => one.id === id);
        if (!endpoint) throw new Error(`the contract has no operation ${id}`);
        const entry = { id, tag: tags[0] ?? '', method: method.toUpperCase(), path, summary, description };
        this.#operations.set(id, { entry, operation, endpoint });
      }
  }

  get introduction(): string {
    return this.#document.info.description;
  }

  get tags(): TagEntry[] {
    const all = [...this.#operations.values()].map(({ entry }) => entry);
    return this.#document.tags.map((tag) => ({ ...tag, operations: all.filter((entry) => entry.tag === tag.name) }));
  }

  /** @throws Error for an id that is none of `tags`. */
  page(id: string): OperationPage {
    const known = this.#operations.get(id);
    if (!known) throw new Error(`no operation ${id}`);
    const { entry, operation, endpoint } = known;
    const reader = new SchemaReader(this.#document.components.schemas);
    const samples = this.#samples[id] ?? {};
    return {
      ...entry,
      credential: credentials[endpoint.auth],
      parameters: this.#parametersOf(operation, reader),
      body: this.#bodyOf(operation, reader),
      reply: this.#replyOf(operation, endpoint, reader),
      errors: errorsOf(endpoint).map((code) => {
        const { status, retryable, description } = errors[code];
        return { code, status, isRetryable: retryable, description };
      }),
      samples: (Object.keys(languages) as Language[]).flatMap((language) => {
        const code = samples[language];
        return code === undefined ? [] : [{ language, code }];
      }),
    };
  }

  #parametersOf({ parameters = [] }: Operation, reader: SchemaReader): OperationPage['parameters'] {
    const all = parameters.flatMap((parameter) => {
      const resolved = '$ref' in parameter ? this.#document.components.parameters[lastOf(parameter.$ref)] : parameter;
      return resolved ? [resolved] : [];
    });
    const places = [
      ['path', 'Path'],
      ['query', 'Query'],
      ['header', 'Headers'],
    ] as const;
    return places.flatMap(([place, title]) => {
      const fields = all
        .filter((parameter) => parameter.in === place)
        .map(({ name, schema, required = false, description }) => reader.field(name, described(schema, description), required));
      return fields.length === 0 ? [] : [{ title, fields }];
    });
  }

  #bodyOf({ requestBody }: Operation, reader: SchemaReader): BodyShape | null {
    if (!requestBody) return null;
    const types = Object.keys(requestBody.content);
    const schema = (requestBody.content['application/json'] ?? Object.values(requestBody.content)[0])?.schema;
    return { isRequired: requestBody.required ?? false, types, content: schema ? reader.content(schema) : null };
  }

  #replyOf({ responses }: Operation, { status }: Endpoint, reader: SchemaReader): ReplyShape {
    const response = this.#resolveReply(responses[status] ?? { description: '' });
    const [type = 'no body', media] = Object.entries(response.content ?? {})[0] ?? [];
    const headers = Object.entries(response.headers ?? {}).map(([name, header]) => {
      const resolved = header.$ref === undefined ? header : this.#document.components.headers[lastOf(header.$ref)];
      return reader.field(name, described(resolved?.schema ?? {}, resolved?.description), true);
    });
    const { schema } = media ?? {};
    const isJson = schema !== undefined && type === 'application/json';
    const example = isJson ? JSON.stringify(exampleOf(schema, this.#document.components.schemas), null, 2) : null;
    return { status: String(status), type, headers, content: schema ? reader.content(schema) : null, example };
  }

  #resolveReply(reply: Reply): Reply {
    return reply.$ref === undefined ? reply : (this.#document.components.responses[lastOf(reply.$ref)] ?? reply);
  }
}

/** Parameters and headers are described beside their schemas. */
const described = (schema: JsonSchema, description: string | undefined): JsonSchema =>
  description === undefined ? schema : { ...schema, description };
const lastOf = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);
