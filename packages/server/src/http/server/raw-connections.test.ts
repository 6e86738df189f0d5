/** What a client gets that sends more than it may on one connection: every reply that it earned, in order. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { PathId, endpoint } from '@berth/contract';
import { z } from 'zod';
import { auth, sendRaw, serve } from '../../../testing/server.ts';
import type { Http } from './server.ts';

const common = { tag: 'Sessions', summary: 'A test.', status: 200, errors: [] } as const;
const post = endpoint({
  ...common,
  id: 'post',
  method: 'POST',
  path: '/things',
  auth: 'bearer',
  body: z.object({ name: z.string() }),
  reply: z.object({ made: z.string() }),
});
const socket = endpoint({
  ...common,
  id: 'socket',
  method: 'GET',
  path: '/s/{id}',
  auth: 'connect',
  params: z.object({ id: PathId }),
  status: 101,
  replyKind: 'websocket',
});

/** Replies take longer than the parser needs for the rest of the connection. */
const mount = (http: Http): void => {
  http.on(post, async ({ body }) => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return { made: body.name };
  });
  http.onSocket(socket, async (_call, { accept }) => {
    (await accept()).close(1000);
  });
};

const making = (name: string): string => {
  const body = JSON.stringify({ name });
  return `POST /things HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};
const upgrade = (...headers: string[]): string =>
  ['GET /s/a HTTP/1.1', 'Host: x', `Authorization: ${auth.authorization}`, 'Connection: Upgrade', 'Upgrade: websocket']
    .concat('Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', ...headers, '', '')
    .join('\r\n');

/** Status lines and bodies in the order in which they came. */
const replies = (text: string): string[] => text.match(/HTTP\/1\.1 \d+|"made":"\w+"|"code":"\w+"/g) ?? [];

describe('replies leave in order before the connection closes', () => {
  const endings: Record<string, [string, string[]]> = {
    garbage: ['\x16\x03\x01 garbage\r\n\r\n', ['HTTP/1.1 400', '"code":"bad_request"', '"code":"bad_request"']],
    CONNECT: [
      'CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n',
      ['HTTP/1.1 501', '"code":"not_implemented"', '"code":"not_implemented"'],
    ],
    'a refused upgrade': [
      upgrade('Origin: https://evil.test'),
      ['HTTP/1.1 403', '"code":"origin_not_allowed"', '"code":"origin_not_allowed"'],
    ],
    'an upgrade': [upgrade(), ['HTTP/1.1 101']],
  };
  for (const [name, [ending, expected]] of Object.entries(endings))
    test(`replies leave in order before the connection closes when requests are followed by ${name}`, async (t) => {
      const { port } = await serve(t, mount);
      const connection = connect(port, '127.0.0.1');
      connection.write(making('first') + making('second') + ending);
      let text = '';
      connection.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk;
        // The service has closed the WebSocket.
        if (text.includes(' 101 ') && text.endsWith('\x88\x02\x03\xe8')) connection.destroy();
      });
      await once(connection, 'close');
      assert.deepEqual(replies(text), ['HTTP/1.1 200', '"made":"first"', 'HTTP/1.1 200', '"made":"second"', ...expected]);
    });

  test('replies leave in order before the connection closes when garbage keeps coming', async (t) => {
    const { port } = await serve(t, mount);
    const connection = connect(port, '127.0.0.1');
    connection.write(making('first'));
    for (let n = 0; n < 50; n += 1) connection.write('\0'.repeat(100));
    let text = '';
    connection.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    await once(connection, 'close');
    assert.deepEqual(replies(text).slice(0, 3), ['HTTP/1.1 200', '"made":"first"', 'HTTP/1.1 400']);
  });
});

test('a handshake that the WebSocket library refuses gets an error in the form of the API', async (t) => {
  const { port } = await serve(t, mount);
  for (const protocol of [',', 'a,,b', 'a, a', 'a b', '"a"']) {
    const reply = await sendRaw(port, upgrade(`Sec-WebSocket-Protocol: ${protocol}`));
    assert.equal(reply.status, 400, protocol);
    assert.equal((JSON.parse(reply.body) as { code: string }).code, 'bad_request');
    assert.match(reply.headers, /x-request-id: req_/);
  }
});

test('a CONNECT request is answered with 501 and a request id', async (t) => {
  const { port } = await serve(t, mount);
  const reply = await sendRaw(port, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n');
  assert.equal(reply.status, 501);
  assert.match(reply.headers, /x-request-id: req_/);
});

test('a body with a further transfer coding is 501, and its bytes are not read as JSON', async (t) => {
  const { port } = await serve(t, mount);
  for (const coding of ['gzip, chunked', 'deflate,chunked', 'identity, chunked']) {
    const head = `POST /things HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${auth.authorization}\r\nContent-Type: application/json\r\n`;
    const reply = await sendRaw(port, `${head}Transfer-Encoding: ${coding}\r\n\r\n`, 'c\r\n{"name":"a"}\r\n0\r\n\r\n');
    assert.equal(reply.status, 501, coding);
    assert.ok(reply.body.includes('not_implemented'));
  }
});

test('HTTP/1.0 gets no interim response', async (t) => {
  const { port } = await serve(t, mount);
  const reply = await sendRaw(port, making('old').replace('HTTP/1.1', 'HTTP/1.0').replace('Host: x', 'Host: x\r\nExpect: 100-continue'));
  assert.equal(reply.status, 200);
  assert.match(reply.body, /"made":"old"/);
});
