import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, endpoint } from '@berth/contract';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { assertPrompt } from '../../../../../tests/yardstick.ts';
import { auth, sendRaw, serve } from '../../../testing/server.ts';
import type { FileReply, ServerEvent } from '../call.ts';
import { defaultLimits } from './server.ts';

const common = { tag: 'Health', summary: 'A test.', status: 200, errors: [] } as const;
const file = endpoint({ ...common, id: 'file', method: 'GET', path: '/file', auth: 'bearer', replyKind: 'bytes' });
const events = endpoint({ ...common, id: 'events', method: 'GET', path: '/events', auth: 'bearer', replyKind: 'events' });
const content = Buffer.from('0123456789'.repeat(1000));

const fileOf = (over: Partial<FileReply> = {}): FileReply => ({
  bytes: content.length,
  contentType: 'application/octet-stream',
  filename: 'data.bin',
  stream: () => Readable.from([content]),
  close: () => Promise.resolve(),
  ...over,
});

const serveFile = (t: TestContext, over?: Partial<FileReply>) => serve(t, (http) => http.onFile(file, () => fileOf(over)));

/** Events that a test emits one by one, and whether the stream has let go of them. */
class Source implements AsyncIterable<ServerEvent> {
  closed = 0;
  asked = 0;
  #waiting: ((result: IteratorResult<ServerEvent>) => void) | undefined;
  #queued: ServerEvent[] = [];
  #over = false;

  emit(id: number, text = ''): void {
    this.#queued.push({ id, type: 'thing', ...{ text } });
    this.#wake();
  }

  end(): void {
    this.#over = true;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) void this.#next().then(waiting);
  }

  #next(): Promise<IteratorResult<ServerEvent>> {
    const event = this.#queued.shift();
    if (event) return Promise.resolve({ done: false, value: event });
    if (this.#over) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => (this.#waiting = resolve));
  }

  [Symbol.asyncIterator](): AsyncIterator<ServerEvent> {
    return {
      next: () => {
        this.asked += 1;
        return this.#next();
      },
      return: () => {
        this.closed += 1;
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }
}

describe('a file', () => {
  test('a file response is whole, with its length, and is to be saved and not shown', async (t) => {
    const { origin } = await serveFile(t);
    const response = await fetch(`${origin}/file`, { headers: auth });
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), content);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-length'), '10000');
    assert.equal(response.headers.get('content-type'), 'application/octet-stream');
    assert.equal(response.headers.get('content-disposition'), 'attachment; filename=data.bin');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.match(response.headers.get('x-request-id') ?? '', /^req_/);
  });

  for (const [name, header] of [
    [
      'Preisliste € café.csv',
      /^attachment; filename="Preisliste \? caf.\.csv"; filename\*=UTF-8''Preisliste%20%E2%82%AC%20caf%C3%A9\.csv$/,
    ],
    ['a"b\\c.txt', /^attachment; filename="(?:a\\"b\\\\)?c\.txt"$/],
    ['half \ud800 a pair', /^attachment; filename="half \? a pair"; filename\*=UTF-8''half%20%EF%BF%BD%20a%20pair$/],
  ] as const)
    test(`a file response may have the name ${JSON.stringify(name)}`, async (t) => {
      const { origin } = await serveFile(t, { filename: name });
      const response = await fetch(`${origin}/file`, { headers: auth });
      assert.match(response.headers.get('content-disposition') ?? '', header);
      await response.arrayBuffer();
    });

  test('a file response is described and not sent for HEAD', async (t) => {
    let closed = 0;
    const { origin } = await serveFile(t, { close: async () => void (closed += 1) });
    const response = await fetch(`${origin}/file`, { method: 'HEAD', headers: auth });
    assert.equal(response.headers.get('content-length'), '10000');
    assert.equal((await response.arrayBuffer()).byteLength, 0);
    await eventually('it is closed', () => closed === 1);
  });

  test('a file that cannot be opened is answered like any other error', async (t) => {
    const { origin } = await serve(t, (http) =>
      http.onFile(file, () => {
        throw new ServiceError('download_not_found', 'There is no such download.');
      }),
    );
    const response = await fetch(`${origin}/file`, { headers: auth });
    assert.equal(response.status, 404);
    assert.equal(((await response.json()) as { code: string }).code, 'download_not_found');
  });

  test('a file is not sent to a caller without a key', async (t) => {
    const { origin } = await serveFile(t);
    assert.equal((await fetch(`${origin}/file`)).status, 401);
  });

  for (const [how, bytes] of [
    ['shorter', content.length + 1],
    ['longer', content.length - 1],
  ] as const)
    test(`a file that is ${how} than declared is cut off, so that nobody takes it for whole`, async (t) => {
      const { port } = await serveFile(t, { bytes });
      const reply = await sendRaw(port, `GET /file HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\n\r\n`);
      assert.ok(reply.body.length < bytes);
    });

  test('a file response whose source breaks is cut off', async (t) => {
    const { origin } = await serveFile(t, {
      stream: () =>
        Readable.from(
          (async function* () {
            yield content.subarray(0, 100);
            await sleep(10);
            throw new Error('the disk is gone');
          })(),
        ),
    });
    const response = await fetch(`${origin}/file`, { headers: auth });
    await assert.rejects(response.arrayBuffer());
  });

  test('a file is read no faster than the caller takes it, and closed when the caller goes away', async (t) => {
    let read = 0;
    let closed = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const endless = async function* (): AsyncGenerator<Buffer> {
      for (;;) {
        read += chunk.length;
        yield chunk;
        await sleep(0);
      }
    };
    const { port } = await serveFile(t, {
      bytes: 2 ** 40,
      stream: () => Readable.from(endless(), { objectMode: false }),
      close: async () => void (closed += 1),
    });
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /file HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\n\r\n`);
    await once(socket, 'readable');
    let before = -1;
    for (; before !== read; await sleep(100)) before = read;
    assert.ok(read < 32 * 1024 * 1024, `${read} bytes were read ahead`);
    assert.equal(closed, 0);
    socket.destroy();
    await eventually('it is closed', () => closed === 1);
  });
});

describe('a file of which parts may be asked for', () => {
  const from = (part?: { start: number; end: number }): Buffer => (part ? content.subarray(part.start, part.end + 1) : content);
  const open = (t: TestContext, over?: Partial<FileReply>) =>
    serveFile(t, { ranges: true, stream: (part) => Readable.from([from(part)]), ...over });
  const ask = async (origin: string, headers: Record<string, string>) => {
    const response = await fetch(`${origin}/file`, { headers: { ...auth, ...headers } });
    return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
  };

  for (const [range, start, end] of [
    ['bytes=0-', 0, 9999],
    ['bytes=0-0', 0, 0],
    ['bytes=9999-9999', 9999, 9999],
    ['bytes=17-4200', 17, 4200],
    ['bytes=9000-99999999999999999999', 9000, 9999],
    ['bytes=-10', 9990, 9999],
    ['bytes=-10000', 0, 9999],
    ['bytes=-99999', 0, 9999],
    ['Bytes=5-6', 5, 6],
  ] as const)
    test(`a file asked for ${range} returns bytes ${start} to ${end} and not one more`, async (t) => {
      const { origin } = await open(t);
      const { status, headers, body } = await ask(origin, { range });
      assert.equal(status, 206);
      assert.equal(headers.get('content-range'), `bytes ${start}-${end}/10000`);
      assert.equal(headers.get('content-length'), String(end - start + 1));
      assert.equal(headers.get('accept-ranges'), 'bytes');
      assert.deepEqual(body, content.subarray(start, end + 1));
    });

  for (const range of ['bytes=10000-', 'bytes=10000-10001', 'bytes=-0', 'bytes=20-10'])
    test(`a file asked for ${range} is not satisfiable, and its length is reported`, async (t) => {
      let closed = 0;
      const { origin } = await open(t, { close: async () => void (closed += 1) });
      const { status, headers, body } = await ask(origin, { range });
      const { code, error } = JSON.parse(body.toString()) as { code: string; error: { details: object } };
      assert.deepEqual([status, code, error.details], [416, 'range_not_satisfiable', { size_bytes: 10_000 }]);
      assert.equal(headers.get('content-range'), 'bytes */10000');
      assert.equal(closed, 1);
    });

  for (const range of [
    'bytes=0-1,5-6',
    'bytes=0-1, 99999-',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=a-b',
    'bytes=0x1-3',
    'bytes=1.5-3',
    'items=0-1',
    '0-1',
  ])
    test(`a file asked for the range ${range} is returned whole`, async (t) => {
      const { origin } = await open(t);
      const { status, headers, body } = await ask(origin, { range });
      assert.deepEqual([status, headers.get('content-range'), headers.get('accept-ranges')], [200, null, 'bytes']);
      assert.deepEqual(body, content);
    });

  test('a range that depends on a version returns the file whole', async (t) => {
    const { origin } = await open(t);
    assert.equal((await ask(origin, { range: 'bytes=0-1', 'if-range': '"one"' })).status, 200);
  });

  test('an empty file has no ranges', async (t) => {
    const { origin } = await open(t, { bytes: 0, stream: () => Readable.from([]) });
    for (const range of ['bytes=0-', 'bytes=-1', 'bytes=0-0']) assert.equal((await ask(origin, { range })).status, 416, range);
    assert.equal((await ask(origin, {})).status, 200);
  });

  test('HEAD describes a file as a whole, with accept-ranges', async (t) => {
    const { origin } = await open(t);
    const response = await fetch(`${origin}/file`, { method: 'HEAD', headers: { ...auth, range: 'bytes=0-1' } });
    assert.deepEqual(
      [response.status, response.headers.get('content-length'), response.headers.get('accept-ranges')],
      [200, '10000', 'bytes'],
    );
  });

  test('a range is cut off where its source gives other bytes than the part', async (t) => {
    const { origin } = await open(t, { stream: () => Readable.from([content]) });
    await assert.rejects(ask(origin, { range: 'bytes=0-1' }));
  });

  test('ranges are ignored where the handler does not offer them', async (t) => {
    const { origin } = await serveFile(t);
    const { status, headers } = await ask(origin, { range: 'bytes=0-1' });
    assert.deepEqual([status, headers.get('accept-ranges')], [200, null]);
  });
});

describe('a file that is shown', () => {
  test('a file that is shown says so, with the policy of its page and how long it may be cached', async (t) => {
    const { origin } = await serveFile(t, {
      inline: true,
      policy: "default-src 'self'",
      cacheControl: 'private, max-age=60',
      filename: 'index.html',
    });
    const response = await fetch(`${origin}/file`, { headers: auth });
    await response.arrayBuffer();
    assert.deepEqual(
      ['content-disposition', 'content-security-policy', 'cache-control', 'x-content-type-options'].map((name) =>
        response.headers.get(name),
      ),
      ['inline; filename=index.html', "default-src 'self'", 'private, max-age=60', 'nosniff'],
    );
  });

  test('a file that is shown without a policy can do nothing, and is not cached', async (t) => {
    const { origin } = await serveFile(t, { inline: true });
    const response = await fetch(`${origin}/file`, { headers: auth });
    await response.arrayBuffer();
    assert.equal(response.headers.get('content-security-policy'), "default-src 'none'; sandbox");
    assert.equal(response.headers.get('cache-control'), 'no-store');
  });
});

describe('a stream of events', () => {
  const open = async (t: TestContext, options: { keepAliveMs?: number } = {}) => {
    const source = new Source();
    const served = await serve(t, (http) => http.onEvents(events, () => source), {
      limits: { ...defaultLimits, keepAliveMs: options.keepAliveMs ?? defaultLimits.keepAliveMs },
    });
    return { source, ...served };
  };

  test('an event stream sends each event as it comes, and ends with its source', async (t) => {
    const { source, origin } = await open(t);
    const response = await fetch(`${origin}/events`, { headers: auth });
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    source.emit(7, 'two\nlines');
    source.emit(8);
    source.end();
    assert.equal(
      await response.text(),
      'retry: 2000\n\n' +
        'id: 7\nevent: thing\ndata: {"id":7,"type":"thing","text":"two\\nlines"}\n\n' +
        'id: 8\nevent: thing\ndata: {"id":8,"type":"thing","text":""}\n\n',
    );
    assert.equal(source.closed, 1);
  });

  test('an event stream sends a keep-alive now and then', async (t) => {
    const { origin, source } = await open(t, { keepAliveMs: 20 });
    const response = await fetch(`${origin}/events`, { headers: auth });
    const reader = (response.body ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes(': keep-alive\n\n: keep-alive\n\n')) text += (await reader.read()).value ?? assert.fail('it ended');
    source.end();
    await reader.cancel();
  });

  test('an event stream is closed when the caller goes away', async (t) => {
    const { origin, source } = await open(t);
    const controller = new AbortController();
    await fetch(`${origin}/events`, { headers: auth, signal: controller.signal });
    assert.equal(source.closed, 0);
    controller.abort();
    await eventually('it is closed', () => source.closed === 1);
  });

  test('an event stream ends when the service stops, which does not wait for it', async (t) => {
    const { origin, http, source } = await open(t);
    const response = await fetch(`${origin}/events`, { headers: auth });
    const startMs = performance.now();
    const closing = http.close(60_000);
    assert.equal(await response.text(), 'retry: 2000\n\n');
    await closing;
    assertPrompt(startMs, 50_000);
    assert.equal(source.closed, 1);
  });

  test('an event stream is cut when the caller reads nothing of it, before it fills the memory', async (t) => {
    const { port, source } = await open(t);
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\n\r\n`);
    await once(socket, 'readable');
    const text = 'x'.repeat(100_000);
    let summarize = 0;
    for (; source.closed === 0 && summarize < 1000; await sleep(1)) source.emit(++summarize, text);
    assert.equal(source.closed, 1, 'after 100 MB it still is not cut');
    socket.destroy();
  });

  test('an event stream loses nothing for a caller that reads slowly', async (t) => {
    const { origin, source } = await open(t);
    const response = await fetch(`${origin}/events`, { headers: auth });
    for (let id = 1; id <= 50; id += 1) source.emit(id, 'x'.repeat(10_000));
    await sleep(20);
    source.end();
    const ids = [...(await response.text()).matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    assert.deepEqual(
      ids,
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
  });

  test('an event stream can resume where the caller was', async (t) => {
    const seen: (string | undefined)[] = [];
    const { origin } = await serve(t, (http) =>
      http.onEvents(events, (call) => {
        seen.push(call.header('last-event-id'));
        return (async function* () {})();
      }),
    );
    await (await fetch(`${origin}/events`, { headers: { ...auth, 'last-event-id': '41' } })).text();
    await (await fetch(`${origin}/events`, { headers: auth })).text();
    assert.deepEqual(seen, ['41', undefined]);
  });

  test('an event stream is not begun where its handler refuses, nor sent for HEAD', async (t) => {
    const source = new Source();
    let refuse = true;
    const { origin } = await serve(t, (http) =>
      http.onEvents(events, () => {
        if (refuse) throw new ServiceError('too_many_streams', 'Too many.');
        return source;
      }),
    );
    const refused = await fetch(`${origin}/events`, { headers: auth });
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('x-should-retry'), 'true');
    refuse = false;
    const head = await fetch(`${origin}/events`, { method: 'HEAD', headers: auth });
    assert.equal(head.headers.get('content-type'), 'text/event-stream');
    await eventually('it is closed', () => source.closed === 1);
    assert.equal(source.asked, 0);
  });
});
