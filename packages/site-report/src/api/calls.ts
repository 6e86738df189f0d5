/** Which requests are calls of an API, and which of them are of the same endpoint. */
import type { CapturedExchange, JsonValue, ReportInput } from '../exchange.ts';
import { PathTree, toTemplate } from './templates.ts';

export type ApiKind = 'rest' | 'graphql' | 'jsonrpc' | 'grpc_web' | 'trpc' | 'form' | 'rpc';

export interface EndpointCalls {
  id: string;
  method: string;
  origin: string;
  host: string;
  template: string;
  kind: ApiKind;
  /** Names of the path's parameters with the positions of their segments. */
  pathParams: { name: string; at: number }[];
  calls: CapturedExchange[];
}

export const endpointsMax = 1000;

const staticTypes = /^(?:image|font|audio|video)\/|css$|javascript$|^application\/wasm$/;
const staticPaths = /[.](?:js|mjs|css|map|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|wasm|mp4|webm)$/i;

/** A call is what scripts fetch that is no file, or a form that is sent. */
export function isCall(exchange: CapturedExchange): boolean {
  const { resourceType, method, url, responseType } = exchange;
  if (!/^https?:$/.test(url.protocol) || url.host === '') return false;
  if (resourceType === 'document') return method !== 'GET' && method !== 'HEAD';
  if (resourceType !== 'xhr' && resourceType !== 'fetch') return false;
  return method !== 'OPTIONS' && responseType !== 'text/event-stream' && !staticTypes.test(responseType) && !staticPaths.test(url.path);
}

export const segmentsOf = (path: string): string[] => path.split('/').slice(1);

export function groupCalls({ exchanges }: ReportInput): { endpoints: EndpointCalls[]; omitted: number } {
  const calls = exchanges.filter(isCall);
  const trees = new Map<string, PathTree>();
  for (const call of calls) {
    const tree = trees.get(call.url.origin) ?? new PathTree();
    trees.set(call.url.origin, tree);
    tree.add({ segments: segmentsOf(call.url.path), signature: signatureOf(call) });
  }
  const groups = new Map<string, EndpointCalls>();
  let omitted = 0;
  for (const call of calls) {
    const segments = segmentsOf(call.url.path);
    const values = trees.get(call.url.origin)?.classify(segments) ?? [];
    const { template, names } = toTemplate(segments, values);
    const key = `${call.method} ${call.url.origin} ${template}`;
    const group = groups.get(key);
    if (group) group.calls.push(call);
    else if (groups.size >= endpointsMax) omitted += 1;
    else {
      const positions = [...values.keys()].filter((i) => values[i]);
      groups.set(key, {
        ...{
          id: `E${groups.size + 1}`,
          method: call.method,
          origin: call.url.origin,
          host: call.url.host,
          template,
          kind: 'rest' as const,
        },
        pathParams: names.map((name, i) => ({ name, at: positions[i] ?? 0 })),
        calls: [call],
      });
    }
  }
  const endpoints = [...groups.values()].map((group) => ({ ...group, kind: kindOf(group) }));
  return { endpoints, omitted };
}

const signatureKeysMax = 30;

/** Method, status class and keys of the reply. */
function signatureOf({ method, statusCode, responseJson }: CapturedExchange): string {
  if (statusCode === null || statusCode >= 400 || responseJson === undefined) return '';
  const shape = Array.isArray(responseJson) ? ['[]', ...keysOf(responseJson[0])] : keysOf(responseJson);
  return `${method} ${shape.join(',')}`;
}

const keysOf = (value: JsonValue | undefined): string[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value).slice(0, signatureKeysMax).toSorted() : [];

function kindOf({ calls, template }: EndpointCalls): ApiKind {
  const [first] = calls;
  if (!first) return 'rest';
  if (calls.some(isGraphql)) return 'graphql';
  if (calls.some(isJsonRpc)) return 'jsonrpc';
  if (first.requestType.startsWith('application/grpc-web')) return 'grpc_web';
  if (/\/trpc\//.test(template)) return 'trpc';
  if (isProcedure(template)) return 'rpc';
  if (first.resourceType === 'document' || (/form/.test(first.requestType) && !/json/.test(first.responseType))) return 'form';
  return 'rest';
}

/** `/rpc/search`, as PostgREST has it, or `/shop.v1.Orders/List`, as gRPC, Connect and Twirp have it. */
const isProcedure = (template: string): boolean => /\/rpc\/[A-Za-z]\w*$|\/(?:[A-Za-z_]\w*\.)+[A-Z]\w*\/[A-Z]\w*$/.test(template);

const objectOf = (value: JsonValue | undefined): Record<string, JsonValue> | null => {
  const one = Array.isArray(value) ? value[0] : value;
  return typeof one === 'object' && one !== null && !Array.isArray(one) ? one : null;
};

export function isGraphql({ url, requestJson, requestType, method }: CapturedExchange): boolean {
  const body = objectOf(requestJson);
  if (requestType === 'application/graphql') return true;
  if (body && typeof body['query'] === 'string' && /^\s*(?:query|mutation|subscription|fragment|\{|#)/.test(body['query'])) return true;
  if (body && hasPersisted(body['extensions'])) return true;
  if (method !== 'GET') return false;
  return url.query.some(
    ([name, value]) =>
      (name === 'extensions' && value.includes('persistedQuery')) || (name === 'query' && /^\s*(?:query\b|\{)/.test(value)),
  );
}

const hasPersisted = (extensions: JsonValue | undefined): boolean => objectOf(extensions)?.['persistedQuery'] !== undefined;

export function isJsonRpc({ requestJson }: CapturedExchange): boolean {
  const body = objectOf(requestJson);
  return body !== null && body['jsonrpc'] === '2.0' && typeof body['method'] === 'string';
}

export const bodyObject = objectOf;
