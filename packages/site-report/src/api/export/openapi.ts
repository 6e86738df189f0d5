/** An OpenAPI 3.1 document of the endpoints. */
import type { ApiEndpoint, ApiParameter } from '@berth/contract';
import { operationNames } from '../operation-names.ts';
import type { JsonSchema } from '../schema.ts';

type Json = Record<string, unknown>;

const originOf = ({ example_url: url }: ApiEndpoint): string =>
  /^[a-z]+:\/\/(?:[^/?#]*@)?([^/?#]+)/i.exec(url)?.[0].replace(/\/\/[^/]*@/, '//') ?? 'https://localhost';

export function toOpenApi(endpoints: readonly ApiEndpoint[], site: string): Json {
  const origins = [...new Set(endpoints.filter(({ first_party: isOwn }) => isOwn).map(originOf)), ...new Set(endpoints.map(originOf))];
  const servers = [...new Set(origins)];
  const paths = new Map<string, Map<string, Json>>();
  const schemes = new Map<string, Json>();
  const names = operationNames(endpoints);
  const omitted: string[] = [];
  for (const endpoint of endpoints) {
    const { method, path_template: template, id } = endpoint;
    const verb = method.toLowerCase();
    const item = paths.get(template) ?? new Map<string, Json>();
    if (!verbs.has(verb) || item.has(verb)) {
      omitted.push(id);
      continue;
    }
    paths.set(template, item);
    const origin = originOf(endpoint);
    item.set(verb, {
      ...toOperation(endpoint, names.get(id) ?? id, schemes),
      ...(origin !== servers[0] && { servers: [{ url: origin }] }),
    });
  }
  return {
    openapi: '3.1.0',
    info: {
      title: `API of ${site === '' ? 'the site' : site}`,
      version: '1.0.0',
      description: 'Inferred from the traffic of a browser. Not published by the site.',
    },
    servers: servers.length === 0 ? [{ url: '/' }] : servers.slice(0, 1).map((url) => ({ url })),
    paths: Object.fromEntries([...paths].map(([path, item]) => [path, Object.fromEntries(item)])),
    ...(schemes.size > 0 && { components: { securitySchemes: Object.fromEntries(schemes) } }),
    ...(omitted.length > 0 && { 'x-omitted-endpoints': omitted }),
  };
}

const verbs = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);
const ignoredHeaders = new Set(['accept', 'content-type', 'authorization']);

function toOperation(endpoint: ApiEndpoint, operationId: string, schemes: Map<string, Json>): Json {
  const { params, request, responses, confidence, calls, id } = endpoint;
  const security = securityOf(endpoint, schemes);
  const secured = new Set(endpoint.auth_refs.map(({ in: where, name }) => `${where} ${name}`));
  const parameters = [
    ...params.path.map((param) => toParameter(param, 'path')),
    ...params.query.filter(({ name }) => !secured.has(`query ${name}`)).map((param) => toParameter(param, 'query')),
    ...params.header
      .filter(({ name }) => !secured.has(`header ${name}`) && !ignoredHeaders.has(name))
      .map((param) => toParameter(param, 'header')),
  ];
  return {
    operationId,
    summary: `${endpoint.method} ${endpoint.path_template}`,
    ...(parameters.length > 0 && { parameters }),
    ...(request && {
      requestBody: {
        required: request.body_required,
        content: { [request.content_type || 'application/octet-stream']: content(request.schema) },
      },
    }),
    responses: toResponses(responses),
    ...(security && { security }),
    'x-endpoint-id': id,
    'x-confidence': confidence,
    'x-sample-count': calls,
    'x-observed-auth': endpoint.auth_refs.map(({ in: where, name }) => `${where}:${name}`),
  };
}

const content = (schema: JsonSchema | null): Json => (schema ? { schema } : {});

function toParameter({ name, type, format, enum: values, required, example }: ApiParameter, where: 'path' | 'query' | 'header'): Json {
  return {
    name,
    in: where,
    required: where === 'path' || required,
    schema: { type, ...(format !== null && { format }), ...(values && { enum: values }) },
    ...(!example.includes('{{') && example !== '' && { example: type === 'string' ? example : (JSON.parse(example) as unknown) }),
  };
}

function toResponses(responses: ApiEndpoint['responses']): Json {
  if (responses.length === 0) return { default: { description: 'No response was seen.' } };
  return Object.fromEntries(
    responses.map(({ status_code: status, count, content_type: type, schema }) => [
      String(status),
      { description: `Seen ${count} times.`, ...(type !== '' && { content: { [type]: content(schema) } }) },
    ]),
  );
}

/** All credentials that were sent are needed together; an endpoint that works without them has an empty alternative. */
function securityOf({ auth_refs: credentials, auth_required: required }: ApiEndpoint, schemes: Map<string, Json>): Json[] | null {
  if (credentials.length === 0) return null;
  const needed: Json = {};
  for (const { in: where, name, scheme } of credentials) {
    const key = `${where}_${name}${scheme === null ? '' : `_${scheme}`}`.replaceAll(/[^\w.-]/g, '_');
    const isHttp = name === 'authorization' && (scheme === 'bearer' || scheme === 'basic');
    schemes.set(key, isHttp ? { type: 'http', scheme } : { type: 'apiKey', in: where, name });
    needed[key] = [];
  }
  return required === 'yes' ? [needed] : [needed, {}];
}
