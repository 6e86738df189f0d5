import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { assertPrompt } from '../../../../../tests/yardstick.ts';
import { NoDisplayError, NoSuchFileError } from '../../runtime.ts';
import { until } from '../../../testing/machines.ts';
import { agent, hello, newLink, socketPair, type StreamHandler, type LinkUnderTest } from '../../../testing/guest/link.ts';
import { GuestError, GuestLink } from './link.ts';

const { signal } = new AbortController();
const links: LinkUnderTest[] = [];
after(() => links.forEach(({ close }) => close()));

/** A link to an agent with this handler. */
async function linkTo(handle: StreamHandler, options: Parameters<typeof newLink>[0] = {}): Promise<GuestLink> {
  const under = await newLink(options);
  links.push(under);
  agent(under.control, handle);
  return under.link;
}

const saying =
  (body: string | object, status = 200): StreamHandler =>
  (stream) => {
    stream.respond({ ':status': status });
    stream.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

const json = async (stream: ServerHttp2Stream): Promise<Record<string, unknown>> =>
  JSON.parse((await buffer(stream)).toString()) as Record<string, unknown>;

describe('a link to a machine', () => {
  it('a link to a machine takes an agent of the same protocol and no other', async () => {
    const link = await linkTo(saying(hello));
    assert.deepEqual(await link.hello({ signal }), { protocol: 1, browser: 'Chrome/1' });
    await assert.rejects((await linkTo(saying({ protocol: 2, browser: '' }))).hello({ signal }), GuestError);
  });

  it('a link to a machine reports the agent’s error message, and stays open', async () => {
    const link = await linkTo((stream, headers) =>
      (headers[':path'] === '/hello' ? saying(hello) : saying({ error: 'no such program' }, 500))(stream, headers),
    );
    await assert.rejects(link.start('headless', { signal }), /no such program/);
    assert.ok(await link.hello({ signal }));
  });

  const nonsense: Record<string, string | object> = {
    'no JSON': 'hello',
    nothing: '',
    'another type': [],
    'a number too large': '{"protocol":1e400,"browser":"x"}',
    'too long a text': { protocol: 1, browser: 'x'.repeat(201) },
    'a text of a megabyte': { protocol: 1, browser: 'x'.repeat(1_000_000) },
    'sixty thousand brackets': '['.repeat(60_000),
    'objects within objects': `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
    'a prototype': '{"__proto__":{"protocol":1,"browser":""}}',
  };
  for (const [what, body] of Object.entries(nonsense)) {
    it(`a link to a machine closes when the agent answers with ${what}`, async () => {
      const link = await linkTo(saying(body));
      await assert.rejects(link.hello({ signal }), GuestError);
      assert.match(await link.closed, /^\/hello: /);
      assert.equal(({} as Record<string, unknown>)['protocol'], undefined);
    });
  }

  it('a link to a machine closes when the agent does not answer in time, and stays open when a caller aborts', async () => {
    const patient = await linkTo((stream, headers) => headers[':path'] === '/hello' && saying(hello)(stream, headers));
    const impatience = new AbortController();
    const settled = patient.waitForQuiet({ signal: impatience.signal });
    const reason = new Error('called off');
    impatience.abort(reason);
    await assert.rejects(settled, (error) => error === reason);
    await assert.rejects(patient.waitForQuiet({ signal: impatience.signal }), (error) => error === reason);
    assert.ok(await patient.hello({ signal }));
    const link = await linkTo(() => {}, { slowdown: 0.01 });
    await assert.rejects(link.hello({ signal }), /no answer within 200 ms/);
    assert.match(await link.closed, /no answer within 200 ms/);
  });

  it('a link to a machine rejects every call after it is closed', async () => {
    const link = await linkTo(saying(hello));
    const unanswered = assert.rejects(link.hello({ signal }), GuestError);
    link.close();
    assert.equal(await link.closed, 'closed');
    await unanswered;
    await assert.rejects(link.hello({ signal }), GuestError);
    await assert.rejects(link.openVnc(), NoDisplayError);
    await assert.rejects(link.openDevtools(), GuestError);
    await assert.rejects(link.files.openDownload('a'), GuestError);
  });

  it('a link to a machine closes with either port', async () => {
    for (const port of ['control', 'egress'] as const) {
      const under = await newLink();
      under[port].destroy();
      assert.match(await under.link.closed, /closed/);
      under.close();
    }
  });

  it('a link to a machine is closed from the start when the machine has already ended', async () => {
    for (const dead of ['control', 'egress'] as const) {
      const [[control, far], [egress, farEgress]] = await Promise.all([socketPair(), socketPair()]);
      const port = { control, egress }[dead];
      port.destroy();
      if (dead === 'egress') await once(port, 'close');
      const link = new GuestLink({ control, egress, acceptEgress: () => {}, slowdown: 1 });
      await assert.rejects(link.hello({ signal }), GuestError);
      assert.equal(typeof (await link.closed), 'string');
      far.destroy();
      farEgress.destroy();
    }
  });

  it('a link gives each machine its own identity, and rejects one that does not apply it', async () => {
    const identities: Record<string, unknown>[] = [];
    const taking =
      (change: object): StreamHandler =>
      async (stream, headers) => {
        if (headers[':path'] !== '/identity') return;
        const identity = await json(stream);
        identities.push(identity);
        saying({ time_ms: identity['time_ms'], machine_id: identity['machine_id'], boot_id: identity['boot_id'], ...change })(
          stream,
          headers,
        );
      };
    const takes = await linkTo(taking({}));
    for (let times = 0; times < 50; times += 1) await takes.identify({ signal });
    for (const key of ['entropy', 'machine_id', 'boot_id', 'hostname'])
      assert.equal(new Set(identities.map((identity) => identity[key])).size, 50, key);
    for (const change of [{ machine_id: '0'.repeat(32) }, { boot_id: '0' }, { time_ms: Date.now() - 5000 }, { time_ms: Date.now() + 5000 }])
      await assert.rejects((await linkTo(taking(change))).identify({ signal }), GuestError);
  });

  it('a link sends the time again to a machine whose answer is late', async () => {
    let asked = 0;
    const link = await linkTo((stream, headers) => {
      if (headers[':path'] !== '/identity') return;
      asked += 1;
      void json(stream).then((identity) =>
        saying({ ...identity, time_ms: Number(identity['time_ms']) - (asked === 1 ? 3000 : 0) })(stream, headers),
      );
    });
    await link.identify({ signal });
    assert.equal(asked, 2);
  });

  it('a link to a machine reports how the browser exited', async () => {
    const asked = Promise.withResolvers<ServerHttp2Stream>();
    const link = await linkTo((stream, headers) => {
      if (headers[':path'] === '/exit') asked.resolve(stream);
      else saying({ product: 'Chrome/1' })(stream, headers);
    });
    await link.start('headless', { signal });
    const exit = { code: null, signal: 'SIGKILL', out_of_memory: true, log: 'Out of memory' };
    saying(exit)(await asked.promise, {});
    assert.deepEqual(await link.browserExit, exit);
  });

  it('a link to a machine has no display where the agent has none', async () => {
    const none = await linkTo(saying({ error: 'no display' }, 409));
    await assert.rejects(none.openVnc(), NoDisplayError);
    await assert.rejects(none.resizeDisplay({ width: 800, height: 600 }), NoDisplayError);
    const one = await linkTo((stream) => stream.respond({ ':status': 204 }, { endStream: true }));
    await one.resizeDisplay({ width: 800, height: 600 });
  });

  it('a link ends a stream that the agent ends, and cuts one that the agent cuts', async () => {
    for (const how of ['end', 'cut', 'lost'] as const) {
      const under = await newLink();
      links.push(under);
      agent(under.control, (stream) => {
        stream.respond({ ':status': 200 });
        stream.write('some', () =>
          how === 'end' ? stream.end() : how === 'cut' ? stream.destroy(new Error('cut off')) : under.control.destroy(),
        );
      });
      const stream = await under.link.openDevtools();
      let ended = false;
      stream.once('end', () => (ended = true)).resume();
      await once(stream, 'close');
      assert.equal(ended, how === 'end');
    }
  });

  it('a link carries a message of 20 MB each way in a moment', async () => {
    const message = randomBytes(20_000_000);
    const link = await linkTo((stream) => {
      stream.respond({ ':status': 200 });
      void buffer(Readable.from(first(stream, message.length))).then((same) => stream.end(same));
    });
    const startedMs = performance.now();
    const stream = await link.openDevtools();
    stream.write(message);
    assert.ok((await buffer(stream)).equals(message));
    assertPrompt(startedMs, 20_000);
  });
});

async function* first(stream: Readable, bytes: number): AsyncGenerator<Buffer> {
  let received = 0;
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    yield chunk;
    received += chunk.length;
    if (received >= bytes) return;
  }
}

describe('files of a machine behind a link', () => {
  const serving =
    (body: (stream: ServerHttp2Stream) => void, headers: IncomingHttpHeaders): StreamHandler =>
    (stream) => {
      stream.respond({ ':status': 200, ...headers });
      body(stream);
    };

  it('files go into a machine under the name that was asked for', async () => {
    const received: { path: string; bytes: Buffer }[] = [];
    const link = await linkTo(async (stream, headers) => {
      const path = String(headers[':path']);
      received.push({ path, bytes: await buffer(stream) });
      saying({ path: path.includes('lie') ? '/etc/passwd' : decodeURIComponent(path) })(stream, headers);
    });
    const data = randomBytes(3_000_000);
    assert.equal(await link.files.put('file_1', 'a file %2F & ü.txt', data), '/uploads/file_1/a file %2F & ü.txt');
    assert.equal(received[0]?.path, '/uploads/file_1/a%20file%20%252F%20%26%20%C3%BC.txt');
    assert.ok(received[0].bytes.equals(data));
    await assert.rejects(link.files.put('file_1', 'lie', data), GuestError);
    for (const [id, name] of [
      ['file_1', '..'],
      ['file_1', 'a/b'],
      ['../x', 'a'],
      ['file_1', ''],
    ] as const)
      await assert.rejects(link.files.put(id, name, data), NoSuchFileError);
  });

  it('files come out of a machine whole, and not at all where there is none', async () => {
    const data = randomBytes(50_000_000);
    const link = await linkTo((stream, headers) => {
      if (headers[':path'] === '/downloads/a')
        serving((out) => void Readable.from(pieces(data)).pipe(out), { 'content-length': String(data.length) })(stream, headers);
      else if (headers[':path'] === '/downloads/empty') serving((out) => out.end(), { 'content-length': '0' })(stream, headers);
      else saying({ error: 'no such download' }, 404)(stream, headers);
    });
    const startedMs = performance.now();
    const file = await link.files.openDownload('a');
    assert.equal(file.bytes, data.length);
    assert.ok((await buffer(file.stream())).equals(data));
    await file.close();
    assertPrompt(startedMs, 20_000);
    assert.equal((await buffer((await link.files.openDownload('empty')).stream())).length, 0);
    await assert.rejects(link.files.openDownload('b'), NoSuchFileError);
    await assert.rejects(link.files.openDownload('../a'), NoSuchFileError);
  });

  it('files come out of a machine whole to a reader that is slower than the agent', async () => {
    const data = randomBytes(1_000_000);
    const link = await linkTo(serving((out) => out.end(data), { 'content-length': String(data.length) }));
    const file = await link.files.openDownload('a');
    const received: Buffer[] = [];
    for await (const chunk of file.stream()) {
      received.push(chunk as Buffer);
      // Meanwhile the agent's stream ends and closes.
      await setTimeout(50);
    }
    assert.ok(Buffer.concat(received).equals(data));
  });

  it('files of a machine apply backpressure, and are released when nobody reads them', async () => {
    const block = Buffer.alloc(64 * 1024);
    let sent = 0;
    const streams: ServerHttp2Stream[] = [];
    const endless = function* (): Generator<Buffer> {
      for (;;) {
        sent += block.length;
        yield block;
      }
    };
    const link = await linkTo((stream, headers) => {
      if (headers[':path'] === '/hello') return saying(hello)(stream, headers);
      streams.push(stream);
      serving((out) => void Readable.from(endless()).pipe(out), { 'content-length': '100000000000' })(stream, headers);
    });
    const files = await Promise.all(Array.from({ length: 20 }, () => link.files.openDownload('a')));
    assert.ok(await link.hello({ signal }));
    let last = -1;
    await until(async () => {
      const stands = sent === last;
      last = sent;
      await link.hello({ signal });
      return stands;
    }, 60_000);
    assert.ok(sent < files.length * 3 * 1024 ** 2, `${sent} bytes were sent to nobody`);
    for (const [at, file] of files.entries()) {
      if (at % 2 === 0) await file.close();
      else for await (const chunk of file.stream()) if ((chunk as Buffer).length > 0) break;
    }
    await until(() => streams.every(({ destroyed }) => destroyed), 20_000);
    assert.ok(await link.hello({ signal }));
  });

  const lies: Record<string, StreamHandler> = {
    'is shorter than reported': serving((stream) => stream.end('short'), { 'content-length': '100' }),
    'is longer than reported': serving((stream) => stream.end('x'.repeat(100_000)), { 'content-length': '10' }),
    'is cut off': serving((stream) => stream.write('some', () => stream.destroy(new Error('cut off'))), { 'content-length': '100' }),
    'stands still': serving((stream) => stream.write('some'), { 'content-length': '100' }),
  };
  for (const [how, handle] of Object.entries(lies)) {
    it(`a file that an agent sends is refused when it ${how}`, async () => {
      // Only a file that stands still takes its whole time; to open it must not.
      const link = await linkTo(handle, { slowdown: how === 'stands still' ? 0.05 : 1 });
      const file = await link.files.openDownload('a');
      await assert.rejects(buffer(file.stream()), GuestError);
    });
  }

  it('files of a machine without a length are refused', async () => {
    for (const headers of [{}, { 'content-length': '99999999999999999999' }]) {
      const link = await linkTo(serving((stream) => stream.end('some'), headers));
      await assert.rejects(link.files.openDownload('a'), GuestError);
    }
  });
});

function* pieces(data: Buffer): Generator<Buffer> {
  for (let at = 0; at < data.length; at += 64 * 1024) yield data.subarray(at, at + 64 * 1024);
}
