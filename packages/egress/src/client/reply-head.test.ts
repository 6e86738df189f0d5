import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import { test } from 'node:test';
import fc from 'fast-check';
import { yardsticksOf } from '../../../../tests/yardstick.ts';
import { bareSite, client } from '../../testing/client.ts';
import { endOfHead, readHead, replyHeadBytesMax } from './reply-head.ts';
import { direct, listen } from '../../testing/gate.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');
const written = (...lines: string[]): string => {
  const head = readHead(bytesOf(`${lines.join('\r\n')}\r\n\r\n`));
  return typeof head === 'string' ? head : head.text;
};

test('a reply head that keeps to the standard is written as it came', () => {
  const head = 'HTTP/1.1 200 Quite OK\r\nX-One: a, b\r\nx-two:\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 3\r\n\r\n';
  assert.equal(written(...head.trimEnd().split('\r\n')), head.replace('x-two:', 'x-two: '));
});

test('headers that frame a body are written once, or refused where two readers could differ', () => {
  const framing = (...headers: string[]): string => written('HTTP/1.1 200 OK', ...headers).slice('HTTP/1.1 200 OK\r\n'.length);
  assert.equal(framing('Content-Length: 7', 'content-length:7'), 'Content-Length: 7\r\n\r\n');
  assert.equal(framing('Content-Length: 7, 7', 'Transfer-Encoding: gzip'), 'Content-Length: 7\r\n\r\n');
  assert.equal(framing('Content-Length: 7', 'Content-Length: 8', 'Transfer-Encoding: CHUNKED'), 'Transfer-Encoding: chunked\r\n\r\n');
  for (const odd of ['+7', '-7', '0x7', '7 bytes', '7.0', '', '9'.repeat(20)]) assert.equal(framing(`Content-Length: ${odd}`), '\r\n', odd);
  for (const other of ['8', '07', '', '7;', '7, 8'])
    assert.equal(written('HTTP/1.1 200', 'Content-Length: 7', `Content-Length: ${other}`), 'lengths');
  assert.equal(
    written('HTTP/1.0 200 OK', 'Transfer-Encoding: chunked', 'Content-Length: 7'),
    'HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\n',
  );
});

test('a reply head of more than 5,000 lines is refused, since each is written with two bytes more', () => {
  // The two empty lines at its end count.
  const withLines = (count: number): string => written('HTTP/1.1 200 OK', ...Array.from({ length: count - 2 }, () => 'a:')).slice(0, 12);
  assert.deepEqual([withLines(5000), withLines(5001)], ['HTTP/1.1 200', 'too_big']);
});

test('whatever a reply head is, what is written of it frames the body in one way', () => {
  const piece = fc.constantFrom(
    ...[
      'HTTP/1.1 200 OK',
      'Content-Length',
      'Transfer-Encoding',
      'X',
      ':',
      ' ',
      '\t',
      '\r',
      '\n',
      '\r\n',
      'chunked',
      ',',
      '5',
      '05',
      '\x01',
      '\xe9',
    ],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const head = readHead(bytesOf(`HTTP/1.1 200 OK\r\n${pieces.join('')}\r\n\r\n`));
      if (typeof head === 'string') return;
      assert.match(head.text, /^HTTP\/1\.[01] \d{3} [^\r\n]*\r\n(?:[^\s:]+: [^\r\n]*\r\n)*\r\n$/);
      const lines = head.text.split('\r\n').filter((line) => /^(content-length|transfer-encoding):/i.test(line));
      assert.ok(lines.length <= 1 && lines.every((line) => /^(Content-Length: \d+|Transfer-Encoding: chunked)$/.test(line)), head.text);
    }),
  );
});

test('a reply head ends at its first empty line, however that is written, and wherever its bytes are cut', () => {
  for (const end of ['\r\n\r\n', '\n\n', '\n\r\n', '\r\n\n']) {
    const bytes = bytesOf(`HTTP/1.1 200 OK\r\nX: 1${end}body\n\nmore`);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const result = endOfHead(bytes.subarray(0, cut), 0) ?? endOfHead(bytes, cut);
      assert.equal(result, bytes.indexOf('body'), JSON.stringify([end, cut]));
    }
  }
  assert.equal(endOfHead(bytesOf('HTTP/1.1 200 OK\r\r\nX: 1\r\r\n\r\r\n'), 0), null);
});

test('a hostile reply head costs no more than a page of ordinary ones', async () => {
  const units = [
    'a:\n',
    'a:b\n',
    'a:\n b\n',
    ' \n',
    '\r',
    ':\n',
    `a:${' '.repeat(999)}\n`,
    'Content-Length: 1,1,1\n',
    'Transfer-Encoding:,,\n',
  ];
  for (const unit of units) {
    const bytes = bytesOf(`HTTP/1.1 200 OK\n${unit.repeat(Math.floor((replyHeadBytesMax - 20) / unit.length))}\n`);
    const yardsticks = await yardsticksOf(() => readHead(bytes), { tries: 3 });
    assert.ok(yardsticks < 5, `${JSON.stringify(unit.slice(0, 20))}: ${yardsticks}`);
  }
});

test('a reply head is read byte by byte, after others on the same connection, and after a flood of informational ones', async (t) => {
  const inform = 'HTTP/1.1 103 Early Hints\nContent-Length: 4\nContent-Length: 4\n\n';
  const head = 'HTTP/1.1 200 OK\nContent-Length: 4\nContent-Length: 4\nX-Long: ' + 'x'.repeat(3000) + '\n\n';
  const target = await bareSite(t, (socket) => {
    const bytes = bytesOf(`${inform.repeat(9)}${head}body`);
    const send = (at: number): void => void (at < bytes.length && socket.write(bytes.subarray(at, at + 1), () => send(at + 1)));
    send(0);
  });
  const { fetch } = client(t);
  for (let turn = 0; turn < 3; turn += 1) {
    const reply = await fetch(`http://127.0.0.1:${target.port}/`);
    assert.deepEqual([reply.body.toString(), reply.headers['x-long']?.length, reply.headers['content-length']], ['body', 3000, '4']);
  }
  assert.equal(target.accepted(), 1);
});

test('a request whose reply is refused is sent once, on a kept connection too', async (t) => {
  let asked = 0;
  const target = await bareSite(t, (socket) => {
    asked += 1;
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 4\r\n${asked > 1 ? 'Content-Length: 5\r\n' : ''}\r\nbody`);
  });
  const { fetch, failure } = client(t);
  await fetch(`http://127.0.0.1:${target.port}/`);
  const { reason, netError, message } = await failure(`http://127.0.0.1:${target.port}/`);
  assert.deepEqual([reason, netError, asked], ['connection_reset', 'net::ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH', 2]);
  assert.equal(message, `The address could not be fetched: 127.0.0.1:${target.port} sent different \`Content-Length\` headers.`);
});

test('what a site says together with its proxy’s reply is read as well', async (t) => {
  const proxyServer = createHttpServer();
  proxyServer.on('connect', (_request, socket) =>
    socket.write('HTTP/1.1 200 Connected\r\n\r\nhttp/1.1 200 Hasty\nContent-Length: 4\nContent-Length: 4\n\nbody'),
  );
  const { port } = await listen(t, proxyServer);
  // A proxy inside gets the address instead of the whole request.
  const upstreams = [{ url: `http://127.0.0.1:${port}`, ip: null, country: null, isTrusted: true }];
  const { fetch } = client(t, { policy: { ...direct, upstreams } });
  assert.equal((await fetch('http://127.0.0.2:8080/')).body.toString(), 'body');
});
