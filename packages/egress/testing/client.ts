/** Shared by the tests of the client: a client behind a gate, and sites that answer freely. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { silentLog } from '@berth/lib/log.ts';
import {
  createEgressGate,
  createHttpClient,
  HttpError,
  parseAllowList,
  type EgressGateOptions,
  type EgressPolicy,
  type EgressRoute,
  type HttpClient,
  type HttpRequestOptions,
  type HttpResult,
} from '../src/egress.ts';
import { direct, listen, type TestServer } from './gate.ts';

export interface Client {
  route: EgressRoute;
  http: HttpClient;
  fetch: (url: string, overrides?: Partial<HttpRequestOptions>) => Promise<HttpResult>;
  /** The failure of a request that must not be answered. */
  failure: (url: string, overrides?: Partial<HttpRequestOptions>) => Promise<HttpError>;
}

const patient: Omit<HttpRequestOptions, 'url'> = {
  method: 'GET',
  headers: {},
  body: null,
  cookies: [],
  bodyBytesMax: 4_000_000,
  wireBytesMax: 4_000_000,
  redirectsMax: 20,
  timeoutMs: 30_000,
};

export function client(
  t: TestContext,
  options: Partial<EgressGateOptions> & { allowText?: string; policy?: EgressPolicy | null; ca?: string } = {},
): Client {
  const { allowText = '127.0.0.0/8', policy = direct, ca, ...rest } = options;
  const gate = createEgressGate({ allowList: parseAllowList(allowText), log: silentLog, ...rest });
  const route = gate.open('test');
  if (policy) route.apply(policy);
  const http = createHttpClient(route, { userAgent: 'test/1', ...(ca === undefined ? {} : { ca }) });
  t.after(() => {
    http.close();
    return gate.close();
  });
  const fetch: Client['fetch'] = (url, overrides = {}) => http.request({ ...patient, url, ...overrides }, { signal: t.signal });
  const failure: Client['failure'] = async (url, overrides) => {
    const error = await fetch(url, overrides).then(
      ({ status }) => assert.fail(`${url} was answered with ${status}`),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof HttpError, String(error));
    return error;
  };
  return { route, http, fetch, failure };
}

/** A site that gets each request head and writes its response to the bare connection. */
export const bareSite = (t: TestContext, answer: (socket: Socket, head: string) => void): Promise<TestServer> =>
  listen(
    t,
    createServer({ noDelay: true }, (socket) => {
      socket.on('data', (chunk) => answer(socket, chunk.toString('latin1')));
    }),
  );

/** Answers when all of a request's body has come. */
export function withBody(request: IncomingMessage, answer: (body: string) => void): void {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString())).once('end', () => answer(body));
}
