/** Large bodies are read a few at a time for each caller, and parsed beside the event loop. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createSession, fetchPage, uploadFile, type Endpoint } from '@berth/contract';
import { measureLeastDelay } from '../../../../../tests/hostile-text/delay.ts';
import { yardsticksOf } from '../../../../../tests/yardstick.ts';
import { parseFileForm } from './file-form.ts';
import { parseJsonBody } from './json-body.ts';
import { smallBodyBytesMax } from './large-bodies.ts';
import { auth, serve } from '../../../testing/server.ts';

/** Maximum bodies of one caller: those that are read at once, and those that wait. */
const [readAtOnce, waitingMax] = [4, 128];
const ordinary = 'brt_live_good';

async function start(t: TestContext) {
  const bodies: unknown[] = [];
  const served = await serve(t, (http) => {
    for (const endpoint of [createSession, fetchPage, uploadFile] as unknown as Endpoint[])
      http.on(endpoint, ({ body }) => {
        bodies.push(body);
        return {};
      });
  });
  const post = (path: string, body: string): Promise<Response> =>
    fetch(served.origin + path, { method: 'POST', headers: { ...auth, 'content-type': 'application/json' }, body });
  return { ...served, bodies, post };
}

/** A request whose body is announced and not sent: the server asks for it when it reads it. */
function announce(t: TestContext, port: number, { key = ordinary, bytes = 2 * smallBodyBytesMax } = {}) {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.write(
    `POST /v1/fetch HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n` +
      `content-length: ${bytes}\r\nexpect: 100-continue\r\n\r\n`,
  );
  const status = once(socket, 'data').then(([data]: Buffer[]) => Number(data?.toString('latin1', 9, 12)));
  return { socket, status };
}

async function finish(socket: Socket, bytes = 2 * smallBodyBytesMax): Promise<number> {
  const replied = once(socket, 'data') as Promise<[Buffer]>;
  socket.write('1'.padEnd(bytes));
  return Number((await replied)[0].toString('latin1', 9, 12));
}

const countOf = async (statuses: Promise<number>[], status: number): Promise<number> => {
  const none = Symbol('none');
  const now = await Promise.all(statuses.map((each) => Promise.race([each, Promise.resolve(none)])));
  return now.filter((each) => each === status).length;
};

test('large bodies of one caller are read four at a time, and nobody else’s wait for them', async (t) => {
  const { port } = await start(t);
  const own = Array.from({ length: readAtOnce + 3 }, () => announce(t, port));
  const other = announce(t, port, { key: 'other' });
  const small = announce(t, port, { bytes: 100 });
  assert.deepEqual([await other.status, await small.status], [100, 100]);
  await Promise.all(own.slice(0, readAtOnce).map(({ status }) => status));
  const statuses = own.map(({ status }) => status);
  assert.equal(await countOf(statuses, 100), readAtOnce);
  const [first, , , , fifth] = own;
  assert.ok(first && fifth);
  assert.equal(await finish(first.socket), 422);
  assert.equal(await fifth.status, 100, 'the next is read when one is answered');
  assert.equal(await countOf(statuses, 100), readAtOnce + 1);
  fifth.socket.destroy();
  assert.equal(await own[5]?.status, 100, 'the next is read when one has left');
});

test('more than a hundred waiting large bodies of one caller are refused, and others’ are not', async (t) => {
  const { port } = await start(t);
  const own = Array.from({ length: readAtOnce + waitingMax + 1 }, () => announce(t, port));
  assert.equal(await Promise.any(own.map(({ status }) => status.then((each) => (each === 429 ? each : Promise.reject(new Error()))))), 429);
  assert.equal(await announce(t, port, { key: 'other' }).status, 100);
  assert.equal(
    await countOf(
      own.map(({ status }) => status),
      429,
    ),
    1,
  );
});

test('a large body whose head is already wrong is refused at once', async (t) => {
  const { port } = await start(t);
  const own = Array.from({ length: readAtOnce + 1 }, () => announce(t, port));
  await Promise.all(own.slice(0, readAtOnce).map(({ status }) => status));
  assert.equal(await announce(t, port, { bytes: 1e9 }).status, 413);
  assert.equal(await announce(t, port, { key: 'wrong' }).status, 403);
});

const url = 'https://example.com/';
const items = Array.from({ length: 5000 }, (_, i) => ({ name: `name ${i}`, value: 'é'.repeat(50) }));
const manyKeys = `{${Array.from({ length: 9999 }, (_, i) => `"k${i}":1`).join(',')}}`;

test('a valid large body reaches its handler like a small one', async (t) => {
  const { post, bodies } = await start(t);
  const storage_state = { cookies: [], origins: [{ origin: 'https://example.com', localStorage: items }] };
  assert.equal((await post('/v1/session', JSON.stringify({ kind: 'headless', storage_state, metadata: null }))).status, 201);
  const [taken] = bodies as { storage_state: unknown; timeout_seconds: unknown; metadata: unknown }[];
  assert.deepEqual(taken?.storage_state, storage_state);
  const small = await post('/v1/session', JSON.stringify({ kind: 'headless' }));
  assert.equal(small.status, 201);
  assert.deepEqual({ ...taken, storage_state: null }, { ...(bodies[1] as object), storage_state: null }, 'with the same defaults');
});

test('a refused large body gets the reply of a small one', async (t) => {
  const { post } = await start(t);
  const faultsOf = async (body: string): Promise<unknown> => {
    const response = await post('/v1/fetch', body);
    assert.equal(response.status, 422);
    const { detail, code } = (await response.json()) as Record<string, unknown>;
    return { detail, code };
  };
  for (const body of [
    { url, headers: { 'bad name': 'x' } },
    { url: 1, formats: ['nothing'], wrong: null },
  ]) {
    const text = JSON.stringify(body);
    assert.deepEqual(await faultsOf(text.padEnd(smallBodyBytesMax + 1)), await faultsOf(text));
  }
  assert.deepEqual(await faultsOf(`${'['.repeat(70)}${' '.repeat(smallBodyBytesMax)}`), await faultsOf('['.repeat(70)));
});

test('the event loop runs while large bodies are parsed', async (t) => {
  const { post } = await start(t);
  const body = `{"url":"${url}","headers":[${Array(20).fill(manyKeys).join(',')}]}`;
  const parsed = await yardsticksOf(() => parseJsonBody(fetchPage, Buffer.from(body)));
  // The first starts the thread.
  await post('/v1/fetch', body);
  const main = await yardsticksOf(async () => assert.equal((await post('/v1/fetch', body)).status, 422));
  t.diagnostic(`${parsed.toFixed(1)} yardsticks to parse, ${main.toFixed(1)} of the main thread`);
  assert.ok(main < parsed / 2);
});

test('the event loop runs while large forms with files are parsed', async (t) => {
  const { origin, bodies } = await start(t);
  const data = Buffer.alloc(12 * 1024 * 1024, 'a file');
  const type = 'multipart/form-data; boundary=b';
  const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\ncontent-type: application/octet-stream\r\n\r\n';
  const form = Buffer.concat([Buffer.from(head), data, Buffer.from('\r\n--b--\r\n')]);
  const parsed = await yardsticksOf(() => parseFileForm(uploadFile, type, form));
  const headers = { ...auth, 'content-type': type };
  const send = (): Promise<Response> => fetch(`${origin}/v1/session/ses_a/uploads`, { method: 'POST', headers, body: form });
  // The first starts the thread.
  assert.equal((await send()).status, 201);
  const { max } = await measureLeastDelay(send);
  t.diagnostic(`${parsed.toFixed(1)} yardsticks to take one apart, at most ${max.toFixed(1)} of the main thread in one turn`);
  assert.ok(max < parsed);
  assert.deepEqual(bodies.at(-1), { name: 'a.bin', data_base64: data.toString('base64') });
});
