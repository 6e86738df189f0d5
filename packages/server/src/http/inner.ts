/**
 * Requests of the service to itself, for a caller whom it has authenticated: they pass through the server like those
 * from outside, over a connection within this process. So they are limited, charged, audited and, in a fleet, passed on
 * as any other, and no port has to be reached and no credential repeated.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { duplexPair, Readable, type Duplex } from 'node:stream';
import type { Principal } from '../accounts/principals/principals.ts';

export interface InnerCall {
  principal: Principal;
  /** The origin by which the caller reaches the service, for the addresses in replies. */
  origin: string;
}

/** Statuses whose replies have no body. */
const bodyless: ReadonlySet<number> = new Set([204, 205, 304]);

/** The two ends of a connection. One that is destroyed takes the other along, as sockets do. */
export function connectionPair(): [client: Duplex, server: Duplex] {
  const [client, server] = duplexPair();
  const link = (from: Duplex, to: Duplex): void => {
    // A broken connection is reported by the request and by the response.
    // What was written is taken before the other end closes.
    from.on('error', () => {}).once('close', () => setImmediate(() => to.destroy()));
  };
  link(client, server);
  link(server, client);
  return [client, server];
}

/** A `fetch` whose requests take the connections that `connect` opens, one each. */
export const fetchOver =
  (connect: () => Duplex): typeof fetch =>
  async (input, init) => {
    const request = new Request(input, init);
    const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
    const reply = await send(request, body, connect);
    const headers = Object.entries(reply.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    const status = reply.statusCode ?? 500;
    if (bodyless.has(status)) reply.resume();
    return new Response(bodyless.has(status) ? null : (Readable.toWeb(reply) as ReadableStream<Uint8Array>), { status, headers });
  };

function send({ method, url, headers, signal }: Request, body: Buffer | undefined, connect: () => Duplex): Promise<IncomingMessage> {
  const { pathname, search, host } = new URL(url);
  const fields = { ...Object.fromEntries(headers), host, ...(body === undefined ? {} : { 'content-length': body.length }) };
  return new Promise((resolve, reject) => {
    const options = { method, path: pathname + search, headers: fields, signal, createConnection: connect as never };
    httpRequest(options, resolve).once('error', reject).end(body);
  });
}
