/** What the tests of the client share: a client behind a gate, and sites that say what they like. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { silentLog } from '../lib/log.ts';
import { createEgressGate, createHttpClient, HttpFailure, parseAllowList } from './egress.ts';
import type { EgressGateOptions, EgressPolicy, EgressWay, HttpClient, HttpOrder, HttpOutcome } from './egress.ts';
import { direct, listen } from './testing.ts';
import type { Listening } from './testing.ts';

export interface Client {
  way: EgressWay;
  http: HttpClient;
  fetch: (url: string, order?: Partial<HttpOrder>) => Promise<HttpOutcome>;
  /** The failure of a request that must not be answered. */
  failure: (url: string, order?: Partial<HttpOrder>) => Promise<HttpFailure>;
}

const patient: Omit<HttpOrder, 'url'> = {
  method: 'GET',
  headers: {},
  body: null,
  cookies: [],
  maxBytes: 4_000_000,
  maxWireBytes: 4_000_000,
  redirectsMax: 20,
  timeoutMs: 5000,
};

export function client(
  t: TestContext,
  options: Partial<EgressGateOptions> & { allowText?: string; policy?: EgressPolicy | null; ca?: string } = {},
): Client {
  const { allowText = '127.0.0.0/8', policy = direct, ca, ...rest } = options;
  const gate = createEgressGate({ allow: parseAllowList(allowText), log: silentLog, ...rest });
  const way = gate.open('test');
  if (policy) way.apply(policy);
  const http = createHttpClient(way, { userAgent: 'test/1', ...(ca === undefined ? {} : { ca }) });
  t.after(() => {
    http.close();
    return gate.close();
  });
  const fetch: Client['fetch'] = (url, order = {}) => http.request({ ...patient, url, ...order }, { signal: t.signal });
  const failure: Client['failure'] = async (url, order) => {
    const error = await fetch(url, order).then(
      ({ status }) => assert.fail(`${url} was answered with ${status}`),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof HttpFailure, String(error));
    return error;
  };
  return { way, http, fetch, failure };
}

/** A site that is told of each head and says what it likes on the bare connection. */
export const bareSite = (t: TestContext, answer: (socket: Socket, head: string) => void): Promise<Listening> =>
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
