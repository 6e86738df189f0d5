/** GraphQL operations that were sent. */
import { Kind, parse, type OperationDefinitionNode } from 'graphql';
import type { InspectApi } from '@berth/contract';
import type { CapturedExchange, JsonValue, ReportInput } from '../exchange.ts';
import { isCall, isGraphql } from './calls.ts';
import { SchemaBuilder } from './schema.ts';

type GraphqlApi = InspectApi['graphql'][number];
type Operation = GraphqlApi['operations'][number];

/** Maximum tokens of one document: more than any real operation has, and parsed in milliseconds. */
const tokensMax = 10_000;
const documentCharsMax = 200_000;
const operationsMax = 500;
const parsedMax = 2000;
const evidenceMax = 20;
const rootFieldsMax = 50;
const batchMax = 50;

interface Group {
  operation: Operation;
  variables: SchemaBuilder;
}

export function readGraphql({ exchanges }: ReportInput): GraphqlApi[] {
  const documents = new Map<string, Document>();
  const byEndpoint = Map.groupBy(
    exchanges.filter((one) => isCall(one) && isGraphql(one)),
    ({ url }) => url.origin + url.path,
  );
  return [...byEndpoint].map(([endpoint, calls]) => {
    const groups = new Map<string, Group>();
    for (const call of calls) for (const request of requestsOf(call).slice(0, batchMax)) addRequest(groups, request, documents);
    return {
      endpoint,
      operations: [...groups.values()].map(({ operation, variables }) => ({
        ...operation,
        variables_schema: variables.samples > 0 ? variables.toSchema() : null,
      })),
      introspection: introspectionOf(calls),
      evidence: calls.slice(0, evidenceMax).map(({ id }) => id),
    };
  });
}

interface GraphqlRequest {
  query: string | null;
  name: string | null;
  variables: JsonValue | undefined;
  hash: string | null;
}

const isObject = (value: JsonValue | undefined): value is Record<string, JsonValue> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value: JsonValue | undefined): string | null => (typeof value === 'string' && value !== '' ? value : null);

function requestsOf({ requestJson, requestText, requestType, url }: CapturedExchange): GraphqlRequest[] {
  if (requestType === 'application/graphql') return [{ query: requestText, name: null, variables: undefined, hash: null }];
  const bodies = requestJson === undefined ? [fromQuery(url.query)] : Array.isArray(requestJson) ? requestJson : [requestJson];
  return bodies.filter(isObject).map((body) => {
    const extensions = isObject(body['extensions']) ? body['extensions'] : {};
    const persisted = isObject(extensions['persistedQuery']) ? extensions['persistedQuery'] : {};
    return {
      query: textOf(body['query']),
      name: textOf(body['operationName']),
      variables: body['variables'],
      hash: textOf(persisted['sha256Hash']) ?? textOf(body['documentId']) ?? textOf(body['doc_id']),
    };
  });
}

function fromQuery(query: readonly [string, string][]): JsonValue {
  return Object.fromEntries(
    query.map(([name, value]): [string, JsonValue] => {
      if (name !== 'variables' && name !== 'extensions') return [name, value];
      try {
        return [name, JSON.parse(value) as JsonValue];
      } catch {
        return [name, null];
      }
    }),
  );
}

type Document = Pick<Operation, 'name' | 'type' | 'root_fields'>;

function addRequest(groups: Map<string, Group>, request: GraphqlRequest, documents: Map<string, Document>): void {
  const document = request.query === null ? unread : readDocument(request.query, request.name, documents);
  const name = request.name ?? document.name;
  const key = `${document.type} ${name} ${name === null ? (request.hash ?? document.root_fields.join(',')) : ''}`;
  let group = groups.get(key) ?? (request.query === null ? sameName(groups, name) : undefined);
  if (!group) {
    if (groups.size >= operationsMax) return;
    group = { operation: { ...document, name, hash: null, variables_schema: null, calls: 0 }, variables: new SchemaBuilder() };
    groups.set(key, group);
  }
  group.operation.calls += 1;
  group.operation.hash ??= request.hash;
  if (isObject(request.variables) && Object.keys(request.variables).length > 0) group.variables.add(request.variables);
}

/** A persisted operation is of the type that its document had when it was sent in full. */
const sameName = (groups: ReadonlyMap<string, Group>, name: string | null): Group | undefined =>
  name === null ? undefined : [...groups.values()].find(({ operation }) => operation.name === name);

const unread: Document = { name: null, type: 'unknown', root_fields: [] };

function readDocument(text: string, name: string | null, documents: Map<string, Document>): Document {
  const key = `${name} ${text}`;
  const cached = documents.get(key);
  if (cached) return cached;
  const document = text.length > documentCharsMax || documents.size >= parsedMax ? unread : parseDocument(text, name);
  documents.set(key, document);
  return document;
}

function parseDocument(text: string, name: string | null): Document {
  try {
    const { definitions } = parse(text, { noLocation: true, maxTokens: tokensMax });
    const operations = definitions.filter((one): one is OperationDefinitionNode => one.kind === Kind.OPERATION_DEFINITION);
    const operation = operations.find((one) => one.name?.value === name) ?? operations[0];
    if (!operation) return unread;
    const fields = operation.selectionSet.selections.flatMap((one) => (one.kind === Kind.FIELD ? [one.name.value] : []));
    return { name: operation.name?.value ?? null, type: operation.operation, root_fields: fields.slice(0, rootFieldsMax) };
  } catch {
    return unread;
  }
}

function introspectionOf(calls: readonly CapturedExchange[]): GraphqlApi['introspection'] {
  const asked = calls.filter(({ requestText }) => /__schema\b/.test(requestText));
  if (asked.length === 0) return 'not_tested';
  return asked.some(({ responseText }) => responseText.includes('"__schema"')) ? 'open' : 'closed';
}
