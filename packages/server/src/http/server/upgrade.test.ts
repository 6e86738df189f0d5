import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { PathId, ServiceError, endpoint } from '@berth/contract';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { auth, sendRaw, serve } from '../../../testing/server.ts';
import type { Http } from './server.ts';

const socket = endpoint({
  id: 'socket',
  method: 'GET',
  path: '/s/{id}/cdp',
  tag: 'Connect',
  summary: 'A test.',
  auth: 'connect',
  params: z.object({ id: PathId }),
  query: z.object({ token: z.string().max(20).optional() }),
  status: 101,
  replyKind: 'websocket',
  errors: [],
});

const mount = (http: Http): void =>
  http.onSocket(socket, async ({ params, signal }, { accept }) => {
    if (params.id === 'gone') throw new ServiceError('session_not_found', 'There is no such session.');
    const webSocket = await accept();
    signal.addEventListener('abort', () => webSocket.close(1012, 'service_restart'));
    webSocket.on('message', (data, isBinary) => webSocket.send(data, { binary: isBinary }));
    webSocket.send(params.id);
    if (params.id === 'broken') throw new Error('secret inside');
  });

const opened = async (url: string, headers: Record<string, string> = {}): Promise<{ webSocket: WebSocket; first: string }> => {
  const webSocket = new WebSocket(url, { headers });
  const [data] = (await once(webSocket, 'message')) as [Buffer];
  return { webSocket, first: data.toString() };
};

/** The status and body that the upgrade was refused with. */
const refusal = async (
  url: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; code: string; type: string | undefined }> => {
  const webSocket = new WebSocket(url, { headers });
  webSocket.on('error', () => {});
  const [, response] = (await once(webSocket, 'unexpected-response')) as [
    unknown,
    AsyncIterable<Buffer> & { statusCode: number; headers: Record<string, string> },
  ];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as { code?: string; detail: { type: string }[] };
  assert.match(response.headers['x-request-id'] ?? '', /^req_/);
  return { status: response.statusCode, code: body.code ?? '', type: Array.isArray(body.detail) ? body.detail[0]?.type : undefined };
};

test('a WebSocket opens for a key or a token, and carries messages both ways', async (t) => {
  const { origin } = await serve(t, mount);
  const url = `${origin.replace('http', 'ws')}/s/a%20b/cdp`;
  for (const [address, headers] of [
    [url, auth],
    [`${url}?token=good`, {}],
    [`${url}/`, auth],
    [url, { ...auth, origin }],
  ] as [string, Record<string, string>][]) {
    const { webSocket, first } = await opened(address, headers);
    assert.equal(first, 'a b');
    webSocket.send('ping');
    const [data] = (await once(webSocket, 'message')) as [Buffer];
    assert.equal(data.toString(), 'ping');
    webSocket.close();
    await once(webSocket, 'close');
  }
});

test('a WebSocket is refused before the handshake with an ordinary answer', async (t) => {
  const { origin } = await serve(t, mount);
  const base = origin.replace('http', 'ws');
  const short = async (path: string, headers: Record<string, string> = auth): Promise<string> => {
    const { status, code, type } = await refusal(`${base}${path}`, headers);
    return `${status} ${type ?? code}`;
  };
  assert.equal(await short('/s/a/cdp', {}), '401 missing_api_key');
  assert.equal(await short('/s/a/cdp', { authorization: 'Bearer wrong' }), '403 invalid_api_key');
  assert.equal(await short('/s/a/cdp?token=wrong', {}), '403 invalid_connect_token');
  assert.equal(await short('/s/a/cdp?api_key=good', {}), '401 missing_api_key');
  assert.equal(await short('/s/a/cdp?token=good&token=good'), '422 string_type');
  assert.equal(await short('/s/gone/cdp'), '404 session_not_found');
  assert.equal(await short('/nowhere'), '404 route_not_found');
  assert.equal(await short('/s/%ff/cdp'), '400 bad_request');
  assert.equal(await short('/s/a/cdp', { ...auth, origin: 'https://evil.example' }), '403 origin_not_allowed');
  assert.equal(await short('/s/a/cdp', { ...auth, origin: 'null' }), '403 origin_not_allowed');
  const plain = await fetch(`${origin}/s/a/cdp`, { headers: auth });
  assert.equal(plain.status, 400);
});

test('a handshake finds its path as a request does: with a slash, percent-encoded or after a host, and 405 says what the path allows', async (t) => {
  const { port } = await serve(t, mount);
  const handshake = `Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nAuthorization: ${auth.authorization}\r\n\r\n`;
  const ask = async (method: string, target: string): Promise<string> => {
    const { status, headers, body } = await sendRaw(port, `${method} ${target} HTTP/1.1\r\n${handshake}`);
    const { code } = JSON.parse(body) as { code: string };
    return `${status} ${code} ${/^allow: (.*)$/m.exec(headers)?.[1] ?? ''}`.trim();
  };
  // Without a key the handshake is malformed, which is said where the path is found and the caller let in.
  for (const target of ['/s/a/cdp', '/s/a/cdp/', '/s/a%2Fb/%63dp?x=/', 'http://x/s/a/cdp'])
    assert.equal(await ask('GET', target), '400 bad_request');
  for (const method of ['POST', 'PUT', 'OPTIONS'])
    for (const target of ['/s/a/cdp', '/s/a/%63dp/']) assert.equal(await ask(method, target), '405 method_not_allowed get, head');
  for (const target of ['/s/a/cdp/more', '/S/a/cdp', '/s/cdp']) assert.equal(await ask('POST', target), '404 route_not_found', target);
});

test('a handshake at an endpoint that is no WebSocket is 404, without a credential too', async (t) => {
  const { origin } = await serve(t, (http) => {
    http.asset('/s/plain/file', { contentType: 'text/plain', headers: {}, load: () => 'a file' });
  });
  const { status, code } = await refusal(`${origin.replace('http', 'ws')}/s/plain/file`);
  assert.equal(`${status} ${code}`, '404 route_not_found');
});

test('an offer to upgrade to HTTP/2 is ignored and the request served', async (t) => {
  const { port } = await serve(t, mount);
  const reply = await sendRaw(port, `GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n`);
  assert.equal(reply.status, 404);
  const versionless = await sendRaw(
    port,
    `GET /s/a/cdp HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  );
  assert.equal(versionless.status, 400);
});

test('a WebSocket closes with 1011 when its handler breaks, without a reason', async (t) => {
  const { origin } = await serve(t, mount);
  const { webSocket } = await opened(`${origin.replace('http', 'ws')}/s/broken/cdp`, auth);
  const [code, reason] = (await once(webSocket, 'close')) as [number, Buffer];
  assert.equal(code, 1011);
  assert.equal(reason.toString(), 'internal_error');
});

test('a WebSocket is closed with a code when the service stops', async (t) => {
  const { http, origin } = await serve(t, mount);
  const { webSocket } = await opened(`${origin.replace('http', 'ws')}/s/a/cdp`, auth);
  const closed = once(webSocket, 'close') as Promise<[number, Buffer]>;
  await http.close(30_000);
  const [code] = await closed;
  assert.equal(code, 1012);
});

test('a WebSocket handler does not wait for a client that has left before the handshake', async (t) => {
  const outcome = Promise.withResolvers<unknown>();
  const { port } = await serve(t, (http) =>
    http.onSocket(socket, async (_call, { accept, socket: connection }) => {
      await once(connection, 'end');
      outcome.resolve(await accept().catch((error: unknown) => error));
    }),
  );
  const client = connect(port, '127.0.0.1');
  const handshake = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${'A'.repeat(22)}==`];
  client.write(`GET /s/a/cdp HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\n${handshake.join('\r\n')}\r\n\r\n`);
  setImmediate(() => client.end());
  assert.equal(((await outcome.promise) as Error).name, 'ClientDisconnectedError');
});

test('the query of a WebSocket may contain further question marks', async (t) => {
  const { origin } = await serve(t, mount);
  const { webSocket, first } = await opened(`${origin.replace('http', 'ws')}/s/a/cdp?x=?&token=good`);
  assert.equal(first, 'a');
  webSocket.close();
});
