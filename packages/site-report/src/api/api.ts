/** The API of a site: endpoints with parameters and schemas, GraphQL, WebSockets, event streams, OpenAPI and a client. */
import type { InspectApi } from '@berth/contract';
import type { CapturedExchange, ReportInput } from '../exchange.ts';
import { groupCalls } from './calls.ts';
import { anonymousCookies } from './credentials.ts';
import { toClient } from './export/client.ts';
import { readDependencies } from './dependencies.ts';
import { toEndpoint } from './endpoint.ts';
import { readGraphql } from './graphql.ts';
import { toOpenApi } from './export/openapi.ts';
import { readEventStreams, readWebSockets } from './sockets.ts';
import { readSpecs } from './specs.ts';

export interface ApiOptions {
  openapi: boolean;
  client: boolean;
  /** Whether redacted bodies are shown, not only their schemas. */
  samples: boolean;
}

export interface ApiReport {
  section: InspectApi;
  /** The id of the endpoint in the section that a request is a call of, else null. */
  endpointOf: (exchange: CapturedExchange) => string | null;
}

export function createApi(input: ReportInput, options: ApiOptions): ApiReport {
  const { endpoints: groups, omitted } = groupCalls(input);
  const preflights = new Set(
    input.exchanges.filter(({ resourceType }) => resourceType === 'preflight').map(({ url }) => url.origin + url.path),
  );
  const anonymous = anonymousCookies(input);
  const dependencies = readDependencies(groups);
  const endpoints = groups.map((group) => toEndpoint(group, { input, preflights, dependencies, anonymous, withSamples: options.samples }));
  const graphql = readGraphql(input);
  const websockets = readWebSockets(input);
  const streams = readEventStreams(input);
  const calls = groups.flatMap((group) => group.calls);
  const ids = new Map(groups.flatMap(({ id, calls: own }) => own.map((call) => [call.index, id] as const)));
  const failed = (from: number): number =>
    calls.filter(({ statusCode }) => statusCode !== null && statusCode >= from && statusCode < from + 100).length;
  const firstParty = endpoints.filter(({ first_party: isOwn }) => isOwn).length;
  const section = {
    summary: {
      endpoints: endpoints.length,
      hosts: [...new Set(endpoints.map(({ host }) => host))].toSorted(),
      first_party: firstParty,
      third_party: endpoints.length - firstParty,
      graphql_operations: graphql.reduce((sum, { operations }) => sum + operations.length, 0),
      websockets: websockets.length,
      event_streams: streams.length,
      total_calls: calls.length,
      errors_4xx: failed(400),
      errors_5xx: failed(500),
      json_bytes: calls.reduce((sum, call) => sum + (call.responseJson === undefined ? 0 : call.responseText.length), 0),
      omitted_endpoints: omitted,
    },
    endpoints,
    graphql,
    websockets,
    event_streams: streams,
    specs_found: readSpecs(input),
    openapi: options.openapi ? toOpenApi(endpoints, input.site) : null,
    client: options.client ? toClient(endpoints) : null,
  };
  return { section, endpointOf: ({ index }) => ids.get(index) ?? null };
}
