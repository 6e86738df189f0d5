/** A site's API, as an inspection reports it. Values of secrets are placeholders such as `{{token_1}}`. */
import { z } from 'zod';
import {
  claimFields,
  confidenceField,
  countField,
  countOrNull,
  csrfSources,
  csrfSourceText,
  flagField,
  RequestIds,
  textField,
  textOrNull,
  textsField,
} from './inspect-claims.ts';

export const apiKinds = ['rest', 'graphql', 'jsonrpc', 'grpc_web', 'trpc', 'form', 'rpc'] as const;
export const paginationStyles = ['page', 'offset', 'cursor', 'link'] as const;

const Schema = z
  .record(z.string(), z.unknown())
  .meta({ id: 'InspectJsonSchema', description: 'JSON Schema, draft 2020-12, inferred from what was seen.' });

const Parameter = z
  .object({
    name: textField('Name of the parameter; of a header, in lower case.'),
    type: z.enum(['string', 'integer', 'number', 'boolean']).describe('Type of all values that were seen.'),
    format: textOrNull('Format of all values, such as `uuid` or `date-time`; null for none.'),
    enum: z.array(z.string()).nullable().describe('All values, where few different ones were seen often; else null.'),
    required: flagField('Whether each call had it.'),
    example: textField('A value that was seen, without secrets.'),
    observed_values: countField('Number of different values.'),
  })
  .meta({ id: 'InspectParameter' });

const Reply = z
  .object({
    status_code: z.int().describe('HTTP status.'),
    count: countField('Number of such responses.'),
    content_type: textField('Media type; empty without a body.'),
    schema: Schema.nullable().describe('Schema of the body; null if it is not JSON, or was not captured.'),
    size_p50: countField('Median size of the body in bytes.'),
    latency_p50_ms: countField('Median time to the end of the response in milliseconds.'),
    cache_control: textOrNull('`Cache-Control` of the last response.'),
    etag: flagField('Whether responses have an entity tag.'),
    example: textOrNull('Start of a body without secrets; null unless `capture_bodies` is `samples`.'),
  })
  .meta({ id: 'InspectReply' });

const Credential = z
  .object({
    in: z.enum(['header', 'query', 'cookie']).describe('Where it is sent.'),
    name: textField('Name of the header, parameter or cookie.'),
    scheme: textOrNull('Scheme of an `Authorization` header, in lower case.'),
  })
  .meta({ id: 'InspectCredential' });

const Dependency = z
  .object({
    endpoint_id: textField('Id of the endpoint whose reply has the value.'),
    json_path: textField('Where the value stands in that reply, such as `$.data[*].id`.'),
    in: z.enum(['path', 'query', 'header', 'body']).describe('Where this endpoint takes the value.'),
    field: textField('Name of the parameter, header or body field that takes it.'),
    evidence: RequestIds.describe('The request that had the value in its reply, and the request that sent it.'),
  })
  .meta({ id: 'InspectDependency' });

export const ApiEndpoint = z
  .object({
    id: textField('Id in this report, such as `E3`.'),
    method: textField('HTTP method.'),
    host: textField('Host, with the port if it is not the default one.'),
    path_template: textField('Path with parameters in braces, such as `/orders/{order_id}`.'),
    example_url: textField('URL of a call, without secrets.'),
    kind: z
      .enum(apiKinds)
      .describe('Style of the API. `rpc`: the path names a procedure, such as `/rpc/search` or `/shop.v1.Orders/List`. `rest`: any other.'),
    operation_name: textOrNull('Operation of GraphQL, or method of JSON-RPC, if all calls have the same; else null.'),
    first_party: flagField('Whether the host belongs to the site.'),
    params: z
      .object({
        path: z.array(Parameter).describe('Parameters of the path, in its order.'),
        query: z.array(Parameter).describe('Parameters of the query.'),
        header: z.array(Parameter).describe('Request headers that the API defines: no headers that browsers send by themselves.'),
      })
      .describe('Parameters.'),
    request: z
      .object({
        content_type: textField('Media type of the body.'),
        schema: Schema.nullable().describe('Schema of the body; null if it is not JSON or a form.'),
        body_required: flagField('Whether each call had a body.'),
        example: textOrNull('Start of a body without secrets; null unless `capture_bodies` is `samples`.'),
      })
      .nullable()
      .describe('Request body; null without one.'),
    responses: z.array(Reply).describe('Responses by status.'),
    pagination: z
      .object({
        style: z.enum(paginationStyles).describe('How the next page is named. `link`: by a URL in the response.'),
        params: textsField('Parameters of the query that choose the page.'),
        next: textOrNull('Where the response names the next page, such as `$.next_cursor` or `header link`; null if it does not.'),
        ...claimFields,
      })
      .nullable()
      .describe('Pagination; null for none that was seen.'),
    auth_required: z.enum(['yes', 'no', 'unknown']).describe('Whether calls need a credential.'),
    auth_reason: textField('What that is inferred from.'),
    auth_refs: z.array(Credential).describe('Credentials that calls had; `auth.mechanisms` describes each.'),
    csrf: z
      .object({
        in: z.enum(['header', 'query', 'body']).describe('Where the token is sent.'),
        name: textField('Name of the header, parameter or field.'),
        source: z.enum(csrfSources).describe(csrfSourceText),
      })
      .nullable()
      .describe('Token against cross-site requests; null for none.'),
    idempotent_hint: flagField('Whether a call can be repeated by the rules of HTTP, or has an `Idempotency-Key`.'),
    rate_limit: z
      .object({
        headers: textsField('Names of the headers.'),
        limit: countOrNull('Calls per window.'),
        remaining: countOrNull('Calls that were left after the last response.'),
        reset: textOrNull('When the window ends, as the header has it.'),
      })
      .nullable()
      .describe('Rate limit that responses state; null for none.'),
    cors: z
      .object({
        allow_origin: textField('`Access-Control-Allow-Origin`.'),
        credentials: flagField('Whether credentials are allowed.'),
        preflight: flagField('Whether the browser sent a preflight request.'),
      })
      .nullable()
      .describe('Cross-origin rules of the responses; null for none.'),
    initiator: z
      .object({
        type: textField('Type of what sent the request, such as `script`.'),
        script_url: textOrNull('URL of the script.'),
        line: countOrNull('Line in the script, from 0.'),
        action_index: countOrNull('Index of the action that ran before; null for none.'),
      })
      .nullable()
      .describe('What sent the first call; null if it is not known.'),
    triggered_by: textOrNull('URL of the page that made the first call; null if it is not known.'),
    calls: countField('Number of calls.'),
    first_seen_ms: countField('Start of the first call, in milliseconds after the start of the capture.'),
    flags: textsField('What is unusual: `cached`, `deprecated`, `failed`, `redirected`, `slow`, `third_party`.'),
    depends_on: z.array(Dependency).describe('Replies of other endpoints that this one takes values from.'),
    replayable: z.enum(['yes', 'no', 'needs_token']).describe('Whether a program can repeat the call outside of the browser.'),
    curl: textField(
      'Command that repeats a call, with placeholders for secrets. It has the body only if `capture_bodies` is `samples`, else the name of a file.',
    ),
    ...claimFields,
  })
  .meta({ id: 'InspectEndpoint' });
export type ApiEndpoint = z.infer<typeof ApiEndpoint>;
export type ApiParameter = z.infer<typeof Parameter>;

const GraphqlApi = z
  .object({
    endpoint: textField('URL of the endpoint, without query.'),
    operations: z
      .array(
        z.object({
          name: textOrNull('Name of the operation; null for none.'),
          type: z
            .enum(['query', 'mutation', 'subscription', 'unknown'])
            .describe('Type of the operation; `unknown` if only its hash was sent.'),
          hash: textOrNull('SHA-256 hash of a persisted operation; null for none.'),
          root_fields: textsField('Fields at the root of the operation.'),
          variables_schema: Schema.nullable().describe('Schema of the variables; null without any.'),
          calls: countField('Number of calls.'),
        }),
      )
      .describe('Operations that were sent.'),
    introspection: z.enum(['not_tested', 'open', 'closed']).describe('Whether the server describes its schema, if the page asked for it.'),
    evidence: RequestIds.describe('Ids of the requests, at most 20.'),
  })
  .meta({ id: 'InspectGraphql' });

const MessageType = z.object({
  direction: z.enum(['sent', 'received']).describe('Direction, from the page’s side.'),
  discriminator: textOrNull('What distinguishes the type, such as `type=update`; null if nothing does.'),
  count: countField('Number of messages.'),
  schema: Schema.nullable().describe('Schema of the messages; null if they are not JSON.'),
});

const ApiWebSocket = z
  .object({
    url: textField('URL, without secrets.'),
    subprotocol: textOrNull('Subprotocol that the server chose; null for none.'),
    frames_sent: countField('Frames that the page sent.'),
    frames_received: countField('Frames that the page received.'),
    bytes: countField('Characters of all frames.'),
    message_types: z.array(MessageType).describe('Types of messages.'),
    protocol_guess: z.enum(['socket.io', 'graphql-ws', 'signalr', 'phoenix', 'json', 'raw']).describe('Protocol of the messages.'),
    confidence: confidenceField('How sure the report is of the protocol.'),
    evidence: RequestIds.describe('Ids of the requests, at most 20.'),
  })
  .meta({ id: 'InspectWebSocket' });

const EventStream = z
  .object({
    url: textField('URL, without secrets.'),
    events: z
      .array(MessageType.omit({ direction: true }).extend({ name: textField('Name of the event; `message` by default.') }))
      .describe('Events by name.'),
    evidence: RequestIds.describe('Ids of the requests, at most 20.'),
  })
  .meta({ id: 'InspectEventStream' });

export const InspectApi = z
  .object({
    summary: z
      .object({
        endpoints: countField('Number of endpoints.'),
        hosts: textsField('Hosts of endpoints.'),
        first_party: countField('Endpoints of the site.'),
        third_party: countField('Endpoints of others.'),
        graphql_operations: countField('Number of GraphQL operations.'),
        websockets: countField('Number of WebSocket URLs.'),
        event_streams: countField('Number of event streams.'),
        total_calls: countField('Number of calls.'),
        errors_4xx: countField('Calls that failed with 4xx.'),
        errors_5xx: countField('Calls that failed with 5xx.'),
        json_bytes: countField('Characters of all JSON responses.'),
        omitted_endpoints: countField('Endpoints that were left out because of the limit of 1000.'),
      })
      .describe('Counts.'),
    endpoints: z.array(ApiEndpoint).describe('Endpoints, in order of their first call, at most 1000.'),
    graphql: z.array(GraphqlApi).describe('GraphQL endpoints.'),
    websockets: z.array(ApiWebSocket).describe('WebSockets.'),
    event_streams: z.array(EventStream).describe('Event streams.'),
    specs_found: z
      .array(
        z.object({
          url: textField('URL of the document.'),
          type: z.enum(['openapi', 'swagger', 'wsdl', 'graphql_schema', 'opensearch', 'asyncapi']).describe('Type of the document.'),
          version: textOrNull('Version of its format; null if it is not known.'),
          evidence: RequestIds.describe('Ids of the requests, at most 20.'),
        }),
      )
      .describe('Descriptions of the API that the site publishes.'),
    openapi: z.record(z.string(), z.unknown()).nullable().describe('OpenAPI 3.1 document of the endpoints; null if not requested.'),
    client: textOrNull('TypeScript client of the endpoints, one module without imports; null if not requested.'),
  })
  .meta({ id: 'InspectApi' });
export type InspectApi = z.infer<typeof InspectApi>;
