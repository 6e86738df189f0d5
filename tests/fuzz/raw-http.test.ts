/**
 * Connections with malformed, pipelined and cut requests. Whatever comes back
 * must be whole replies in our own forms, and the service goes on.
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrorBody, ValidationBody, errors } from '@berth/contract';
import * as fc from 'fast-check';
import { adminKey, startApp, type TestApp } from '../harness.ts';
import { assertUnharmed, explore, Failures, heapBytes } from './fuzz-run.ts';
import { readReplies, type RawReply } from './raw-replies.ts';

let served: TestApp;
const failures = new Failures();
before(async () => {
  served = await startApp({ log: failures.log, environment: { BERTH_AUTH_FAILURES_PER_MINUTE_MAX: '1000000' } });
});
after(() => served.close());

/** Replaced by the owner's key. */
const keyMark = '@key';
/** Time without a byte after which the service waits for more of a request that was cut. */
const quietMs = 60;
const closeMsMax = 30_000;

const methods = fc.constantFrom('GET', 'POST', 'HEAD', 'DELETE', 'PATCH', 'OPTIONS', 'PUT', 'BREW', 'get', 'CONNECT', 'TRACE', 'G\0T', '');
const targets = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('/livez', '/health', '/v1/sessions', '/v1/credits/redeem', '/v1/session/x/navigate', '/v1/session/x/cdp'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '*',
      '/',
      '//',
      '/v1/session/%',
      '/%ff',
      '/v1/../livez',
      'http://a.test/livez',
      'a.test:443',
      '/a b',
      '/é',
      '/?',
      '/docs?#',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(`/${'a'.repeat(8300)}`, `/livez?${'a=1&'.repeat(2000)}`, `/${'a'.repeat(20_000)}`) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary-ascii' }) },
);
const versions = fc.oneof(
  { weight: 8, arbitrary: fc.constant('HTTP/1.1') },
  { weight: 1, arbitrary: fc.constantFrom('HTTP/1.0', 'HTTP/2.0', 'HTTP/1.', '') },
);
const headerLines = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      'Host: a.test',
      `Authorization: Bearer ${keyMark}`,
      `x-admin-key: ${adminKey}`,
      'Content-Type: application/json',
      'Content-Length: 2',
      'Transfer-Encoding: chunked',
      'Accept: text/html',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'Content-Length: -1',
      'Content-Length: 2, 2',
      'Content-Length: 99999999999999999999',
      'Content-Length: 300000000',
      'Transfer-Encoding: gzip, chunked',
      'Transfer-Encoding: xchunked',
      'Connection: close',
      'Connection: keep-alive, upgrade',
      'Upgrade: websocket',
      'Upgrade: h2c',
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Protocol: ,,',
      'Expect: 100-continue',
      'Expect: 200-ok',
      'Idempotency-Key: k1',
      'Content-Encoding: gzip',
      'Authorization: Basic x',
      'Cookie: berth-view=x',
      'A : b',
      ' folded',
      'no colon',
      'X-Nul: \0',
      'X-Bare: a\rb',
      `X-Long: ${'x'.repeat(17_000)}`,
      'Content-Type: application/json\tx',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary-ascii' }) },
);
const bodies = fc.constantFrom(
  '',
  '{}',
  '2\r\n{}\r\n0\r\n\r\n',
  '0\r\n\r\n',
  'zz\r\n',
  'ffffffffffffffff\r\n',
  '{"code":"x"}',
  '\0\0',
  '2\r\n{}\r\n0\r\nX: y\r\n\r\n',
);

interface RawRequest {
  method: string;
  target: string;
  version: string;
  headers: string[];
  body: string;
  lineEnd: string;
}
const requests: fc.Arbitrary<RawRequest> = fc.record({
  method: methods,
  target: targets,
  version: versions,
  headers: fc
    .array(headerLines, { maxLength: 6 })
    .chain((more) => fc.constantFrom(['Host: a.test', ...more], ['Host: a.test', ...more], more)),
  body: bodies,
  lineEnd: fc.oneof({ weight: 12, arbitrary: fc.constant('\r\n') }, { weight: 1, arbitrary: fc.constantFrom('\n', '\r') }),
});

const connections = fc.record({
  requests: fc.array(requests, { minLength: 1, maxLength: 4 }),
  tail: fc.oneof(
    { weight: 4, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.constantFrom('\x16\x03\x01\x02', '\r\n\r\n', 'GET / HT', '\0') },
  ),
  /** Where the bytes are cut into packets, in thousandths. */
  cuts: fc.array(fc.nat(1000), { maxLength: 3 }),
});
type Connection = typeof connections extends fc.Arbitrary<infer T> ? T : never;

const textOf = ({ method, target, version, headers, body, lineEnd }: RawRequest): string =>
  [`${method} ${target} ${version}`, ...headers, '', body].join(lineEnd);

/** Sends all and returns what came back, and whether the service closed the connection by itself. */
async function exchange({ requests: list, tail, cuts }: Connection): Promise<{ text: string; isClosed: boolean }> {
  const text = list.map(textOf).join('').replaceAll(keyMark, served.key) + tail;
  const bytes = Buffer.from(text, 'latin1');
  const ends = [...cuts.map((cut) => Math.floor((cut * bytes.length) / 1000)).sort((a, b) => a - b), bytes.length];
  const socket = connect(Number(new URL(served.url).port), '127.0.0.1');
  let received = '';
  let lastMs = performance.now();
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined);
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk;
    lastMs = performance.now();
  });
  for (const [index, end] of ends.entries()) {
    socket.write(bytes.subarray(ends[index - 1] ?? 0, end));
    await new Promise((resolve) => setImmediate(resolve));
  }
  while (!socket.closed && performance.now() - lastMs < quietMs) await Promise.race([closed, sleep(5)]);
  const isClosed = socket.closed;
  socket.end();
  const late = sleep(closeMsMax, undefined, { ref: false }).then(() =>
    assert.fail('the connection stays open although the client has closed it'),
  );
  await Promise.race([closed, late]);
  return { text: received, isClosed };
}

const known = new Set<number>([101, 200, 204, 422, ...Object.values(errors).map(({ status }) => status)]);

function assertOurs({ status, headers, body, isHead }: RawReply): void {
  assert.ok(known.has(status), `status ${status}`);
  assert.notEqual(status, 500, failures.text);
  assert.ok(headers.has('x-request-id') || status === 101, 'no request id');
  if (status < 400 || isHead || headers.get('content-type')?.startsWith('text/html')) return;
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  if (status === 422) ValidationBody.parse(JSON.parse(body));
  else if (status !== 503 || !body.startsWith('{"status"'))
    assert.equal(errors[ErrorBody.parse(JSON.parse(body)).error.code].status, status);
}

async function play(connection: Connection): Promise<void> {
  const { text, isClosed } = await exchange(connection);
  const { replies, rest } = readReplies(
    text,
    connection.requests.some(({ method }) => method === 'HEAD'),
  );
  for (const reply of replies) assertOurs(reply);
  // A reply that was under way when the client closed the connection is cut.
  if (isClosed) assert.equal(rest, '', 'a reply is not whole');
}

it('the service answers malformed HTTP in its own forms', { timeout: 86_400_000 }, async () => {
  for (const connection of fc.sample(connections, { seed: 1, numRuns: 30 })) await play(connection);
  const before = heapBytes();
  await explore('raw connections', connections, play, 150);
  await assertUnharmed(served, before);
});
