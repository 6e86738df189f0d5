import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { bareSite, client, type Client } from '../../testing/client.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { site } from '../../testing/gate.ts';

const words = 'The quick brown fox jumps over the lazy dog. '.repeat(500);

async function answered(t: TestContext, listener: RequestListener): Promise<Client & { url: string; open: () => number }> {
  const { port, open } = await site(t, listener);
  return { ...client(t), url: `http://127.0.0.1:${port}/`, open };
}

const encoded =
  (encoding: string, body: Buffer | string): RequestListener =>
  (_request, response) =>
    void response.writeHead(200, { 'content-encoding': encoding }).end(body);

const encodings: [name: string, body: Buffer][] = [
  ['gzip', gzipSync(words)],
  ['X-GZip', gzipSync(words)],
  ['br', brotliCompressSync(words)],
  ['zstd', zstdCompressSync(words)],
  ['deflate', deflateSync(words)],
  ['deflate', deflateRawSync(words)],
  ['deflate, gzip', gzipSync(deflateSync(words))],
  ['gzip, identity', gzipSync(words)],
];

test('the HTTP client decodes what sites send, in one and in more layers', async (t) => {
  for (const [encoding, body] of encodings) {
    const { fetch, url } = await answered(t, encoded(encoding, body));
    const reply = await fetch(url);
    assert.deepEqual([reply.body.toString(), reply.truncated, reply.warnings], [words, false, []], encoding);
  }
});

test('the HTTP client warns where a browser shows less or more of compressed data', async (t) => {
  const [begin, rest] = [words.slice(0, 1000), words.slice(1000)];
  for (const [encoding, body, expected] of [
    ['gzip', Buffer.concat([gzipSync(begin), gzipSync(rest)]), words],
    ['x-gzip', Buffer.concat([gzipSync(begin), gzipSync(rest), gzipSync('more')]), `${words}more`],
    ['zstd', Buffer.concat([zstdCompressSync(begin), zstdCompressSync(rest)]), begin],
    ['br', Buffer.concat([brotliCompressSync(words), Buffer.from('more')]), words],
    ['deflate', Buffer.concat([deflateSync(words), Buffer.from('more')]), words],
    ['deflate', Buffer.concat([deflateRawSync(words), Buffer.from('more')]), words],
  ] as const) {
    const { fetch, url } = await answered(t, encoded(encoding, body));
    const reply = await fetch(url);
    assert.deepEqual([reply.body.toString(), reply.warnings], [expected, ['content_decoding_failed']], encoding);
  }
});

test('the HTTP client returns the bytes as they are when they are not what Content-Encoding says', async (t) => {
  for (const encoding of ['gzip', 'br', 'zstd', 'deflate', 'gzip, br']) {
    const { fetch, url } = await answered(t, encoded(encoding, `<html>${words}`));
    const reply = await fetch(url);
    assert.deepEqual(
      [reply.body.toString(), reply.truncated, reply.warnings],
      [`<html>${words}`, false, ['content_encoding_mismatch']],
      encoding,
    );
    assert.equal((await fetch(url, { bodyBytesMax: 10 })).body.toString(), '<html>The ', encoding);
  }
  for (const encoding of ['compress', 'utf-8', 'gzip, gzip, gzip, gzip']) {
    const { fetch, url } = await answered(t, encoded(encoding, words));
    const reply = await fetch(url);
    assert.deepEqual([reply.body.toString(), reply.warnings], [words, ['content_encoding_unknown']], encoding);
  }
});

test('the HTTP client decodes gzip that is followed by other bytes, or has a wrong checksum', async (t) => {
  const large = Array.from({ length: 60_000 }, (_, at) => (at * 7919) % 10_007).join(' ');
  for (const text of [words, large]) {
    const wrong = gzipSync(text);
    wrong.writeUInt8((wrong.at(-6) ?? 0) ^ 0xff, wrong.length - 6);
    const named = Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]), Buffer.from('name\0'), gzipSync(text).subarray(10)]);
    const bodies: [string, Buffer][] = [
      ['text', Buffer.concat([gzipSync(text), Buffer.from('trailing')])],
      ['a line', Buffer.concat([gzipSync(text), Buffer.from('\r\n')])],
      ['text after a named file', Buffer.concat([named, Buffer.from('trailing')])],
      ['a wrong checksum', wrong],
    ];
    for (const [name, body] of bodies) {
      const { fetch, url } = await answered(t, encoded('gzip', body));
      const reply = await fetch(url);
      assert.deepEqual([reply.body.toString() === text, reply.truncated, reply.warnings], [true, false, ['content_decoding_failed']], name);
      assert.equal((await fetch(url, { bodyBytesMax: 10 })).body.toString(), text.slice(0, 10), name);
    }
  }
});

test('the HTTP client keeps what was decoded before the rest turns out broken', async (t) => {
  const whole = gzipSync(Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 7919) % 251)));
  const { fetch, url } = await answered(t, encoded('gzip', whole.fill(0xff, whole.length - 200, whole.length - 100)));
  const reply = await fetch(url);
  assert.ok(reply.body.length > 10_000, `${reply.body.length} bytes were decoded`);
  assert.deepEqual([reply.truncated, reply.warnings], [true, ['content_decoding_failed']]);
});

test('the HTTP client returns what there is of a packed body that ends early, and says so', async (t) => {
  for (const [encoding, packed] of encodings) {
    const { fetch, url } = await answered(t, encoded(encoding, packed.subarray(0, packed.length - 20)));
    const { body, truncated, warnings, unreadable } = await fetch(url);
    assert.ok(words.startsWith(body.toString()), encoding);
    assert.deepEqual([truncated, warnings, unreadable], [true, ['body_truncated'], null], encoding);
  }
});

test('the HTTP client reports an error for a body of which browsers show nothing', async (t) => {
  const nothing = 'Content-Encoding: gzip\r\n';
  const cases: [error: string | null, head: string, body: string][] = [
    ['net::ERR_CONTENT_LENGTH_MISMATCH', 'Content-Length: 100', ''],
    ['net::ERR_INCOMPLETE_CHUNKED_ENCODING', 'Transfer-Encoding: chunked', ''],
    ['net::ERR_CONTENT_LENGTH_MISMATCH', `${nothing}Content-Length: 100`, ''],
    ['net::ERR_CONTENT_DECODING_FAILED', `${nothing}Content-Length: 5`, 'plain'],
    [null, 'Content-Length: 100', 'half'],
    [null, 'Content-Length: 0', ''],
  ];
  for (const [error, head, body] of cases) {
    const { port } = await bareSite(t, (socket) => socket.end(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`));
    assert.equal((await client(t).fetch(`http://127.0.0.1:${port}/`)).unreadable, error, `${head} ${body}`);
  }
});

test('the HTTP client takes a body for whole whose length is the one that it has without its compression', async (t) => {
  for (const [encoding, packed] of encodings.filter(([, body]) => body.length < words.length))
    for (const [length, warnings] of [
      [words.length, []],
      [words.length + 1, ['body_truncated']],
    ] as const) {
      const { port } = await bareSite(t, (socket) =>
        socket.end(
          Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Encoding: ${encoding}\r\nContent-Length: ${length}\r\n\r\n`), packed]),
        ),
      );
      const reply = await client(t).fetch(`http://127.0.0.1:${port}/`);
      assert.deepEqual([reply.body.toString() === words, reply.truncated, reply.warnings], [true, warnings.length > 0, warnings], encoding);
    }
});

/** Much in little. */
const bombs: [name: string, body: Buffer][] = [
  ['gzip', gzipSync(Buffer.alloc(50_000_000))],
  ['br', brotliCompressSync(Buffer.alloc(50_000_000), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['zstd', zstdCompressSync(Buffer.alloc(50_000_000))],
  ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(50_000_000)))],
];

test('the HTTP client cuts a decompression bomb at the bytes that are wanted and closes the connection', async (t) => {
  for (const [encoding, body] of bombs) {
    const { fetch, url, open } = await answered(t, encoded(encoding, body));
    const reply = await fetch(url, { bodyBytesMax: 100_000 });
    assert.deepEqual([reply.body.length, reply.truncated, reply.warnings], [100_000, true, ['truncated_at_max_bytes']], encoding);
    await eventually('nothing hangs', () => open() <= 1);
  }
});

test('the HTTP client refuses a zstd window that no browser would accept', async (t) => {
  const params = { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_compressionLevel]: 1 };
  const { fetch, url } = await answered(t, encoded('zstd', zstdCompressSync(Buffer.alloc(20_000_000), { params })));
  assert.deepEqual((await fetch(url)).warnings, ['content_encoding_mismatch']);
});

test('the HTTP client keeps a body of exactly the bytes that are wanted whole', async (t) => {
  const { fetch, url } = await answered(t, (_request, response) => response.end('12345'));
  const exact = await fetch(url, { bodyBytesMax: 5, wireBytesMax: 5 });
  assert.deepEqual([exact.body.toString(), exact.truncated], ['12345', false]);
  const less = await fetch(url, { bodyBytesMax: 4 });
  assert.deepEqual([less.body.toString(), less.truncated], ['1234', true]);
});

test('the HTTP client cuts an endless body by what was sent, and by what was decoded', async (t) => {
  const { fetch, url, open } = await answered(t, (_request, response) => {
    const pour = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', pour);
    pour();
  });
  const wire = await fetch(url, { wireBytesMax: 1_000_000 });
  assert.deepEqual([wire.body.length, wire.truncated, wire.warnings], [1_000_000, true, ['truncated_at_max_wire_bytes']]);
  const decoded = await fetch(url, { bodyBytesMax: 1_000_000 });
  assert.deepEqual([decoded.body.length, decoded.warnings], [1_000_000, ['truncated_at_max_bytes']]);
  await eventually('the site is closed', () => open() === 0);
});

test('the HTTP client returns what came of a body when time runs out, packed or not', async (t) => {
  for (const encoding of ['identity', 'gzip']) {
    const part = encoding === 'gzip' ? gzipSync(words).subarray(0, -30) : 'the first half';
    const { fetch, url, open } = await answered(t, (_request, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).write(part),
    );
    const reply = await fetch(url, { timeoutMs: 1000 });
    assert.deepEqual([reply.status, reply.truncated, reply.warnings], [200, true, ['timeout_while_reading']], encoding);
    assert.ok(reply.body.length > 0 && (words.startsWith(reply.body.toString()) || reply.body.toString() === part), encoding);
    await eventually('the site is closed', () => open() === 0);
  }
});

test('the HTTP client cuts a body that is dribbled for ever by time', async (t) => {
  const { fetch, url } = await answered(t, (_request, response) => {
    const dribble = setInterval(() => response.write('.'), 5);
    response.once('close', () => clearInterval(dribble));
  });
  const reply = await fetch(url, { timeoutMs: 1000 });
  assert.match(reply.body.toString(), /^\.+$/);
  assert.deepEqual(reply.warnings, ['timeout_while_reading']);
});

const broken: [what: string, head: string, end: (socket: Socket) => void][] = [
  ['a reset', 'Content-Length: 100', (socket) => socket.resetAndDestroy()],
  ['a length that is too long', 'Content-Length: 100', (socket) => socket.end()],
  ['chunks without an end', 'Transfer-Encoding: chunked', (socket) => socket.end()],
  ['a chunk that is none', 'Transfer-Encoding: chunked', (socket) => socket.end('nonsense\r\n')],
];

test('the HTTP client returns what came before the connection broke', async (t) => {
  for (const [what, head, end] of broken) {
    const held: Socket[] = [];
    const half = `HTTP/1.1 200 OK\r\n${head}\r\n\r\n${head.includes('chunked') ? '4\r\nhalf\r\n' : 'half'}`;
    const { port } = await bareSite(t, (socket) => {
      socket.write(half);
      held.push(socket);
    });
    const { fetch, route } = client(t);
    const reading = fetch(`http://127.0.0.1:${port}/`);
    await eventually('the half has come', () => route.stats().bytesIn === half.length);
    for (const socket of held) end(socket);
    const reply = await reading;
    assert.deepEqual([reply.body.toString(), reply.truncated, reply.warnings], ['half', true, ['body_truncated']], what);
  }
});

test('the HTTP client reads no more than Content-Length says, and ignores it beside chunks', async (t) => {
  const short = await bareSite(t, (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nreal and more'));
  const both = await bareSite(t, (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n'),
  );
  const { fetch } = client(t);
  for (let turn = 0; turn < 2; turn += 1) {
    assert.equal((await fetch(`http://127.0.0.1:${short.port}/`)).body.toString(), 'real');
    assert.equal((await fetch(`http://127.0.0.1:${both.port}/`)).body.toString(), 'whole');
  }
});

test('the HTTP client waits for no body where there is none', async (t) => {
  const { fetch, url } = await answered(t, (request, response) => {
    const status = Number(request.url?.slice(1)) || 200;
    response.writeHead(status, { 'content-encoding': 'gzip', ...(status === 200 ? { 'content-length': '1000' } : {}) }).end();
  });
  for (const [path, method] of [
    ['204', 'GET'],
    ['304', 'GET'],
    ['404', 'GET'],
    ['', 'HEAD'],
  ] as const) {
    const reply = await fetch(`${url}${path}`, { method, timeoutMs: 20_000 });
    assert.deepEqual([reply.body.length, reply.truncated, reply.warnings], [0, false, []], `${method} ${path}`);
  }
});

test('the HTTP client throws the caller’s reason when it aborts while a body is read', async (t) => {
  const { http, url, open } = await answered(t, (_request, response) => response.writeHead(200).write('x'));
  const caller = new AbortController();
  const request = {
    url,
    method: 'GET',
    headers: {},
    body: null,
    cookies: [],
    bodyBytesMax: 9,
    wireBytesMax: 9,
    redirectsMax: 0,
    timeoutMs: 30_000,
  } as const;
  const reading = http.request(request, { signal: caller.signal });
  await eventually('the site answers', () => open() === 1);
  caller.abort(new Error('caller left'));
  await assert.rejects(reading, /caller left/);
  await eventually('the site is closed', () => open() === 0);
});
