import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { AssetError } from './asset.ts';
import { GrowingLines } from './growing-lines.ts';

/** Serves one text, whatever is asked for, and notes the ranges. */
async function serve(
  t: TestContext,
  file: { text: string; status?: number; knowsRanges?: boolean },
): Promise<{ url: string; ranges: (string | undefined)[] }> {
  const ranges: (string | undefined)[] = [];
  const server = createServer(({ headers: { range } }, response) => {
    ranges.push(range);
    const bytes = Buffer.from(file.text);
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? NaN);
    if (file.status) response.writeHead(file.status).end('{}');
    else if (Number.isNaN(from) || file.knowsRanges === false) response.end(bytes);
    else if (from >= bytes.length) response.writeHead(416).end();
    else response.writeHead(206).end(bytes.subarray(from));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events.ndjson`, ranges };
}

for (const knowsRanges of [true, false]) {
  test(`growing lines are read from where the last read ended, from a server that knows ${knowsRanges ? '' : 'no '}ranges`, async (t) => {
    const file = { text: '', knowsRanges };
    const { url } = await serve(t, file);
    const lines = new GrowingLines<unknown>(url);
    assert.deepEqual(await lines.readNew(), []);
    file.text = '{"a":1}\n{"a":2';
    assert.deepEqual(await lines.readNew(), [{ a: 1 }]);
    assert.deepEqual(await lines.readNew(), []);
    file.text += '}\n{"a":"ü"}\n';
    assert.deepEqual(await lines.readNew(), [{ a: 2 }, { a: 'ü' }]);
    assert.deepEqual(await lines.readNew(), []);
  });
}

test('growing lines are requested only where they are new, and never for an empty range', async (t) => {
  const file = { text: '{"a":1}\n' };
  const { url, ranges } = await serve(t, file);
  const lines = new GrowingLines<unknown>(url);
  await lines.readNew();
  await lines.readNew();
  assert.deepEqual(ranges, [undefined, 'bytes=7-']);
});

test('a growing file that is not there yet is empty, and a refusal is reported', async (t) => {
  const missing = await serve(t, { text: '', status: 404 });
  assert.deepEqual(await new GrowingLines(missing.url).readNew(), []);
  for (const [status, reason] of [
    [403, 'denied'],
    [503, 'unreachable'],
  ] as const) {
    const { url } = await serve(t, { text: '', status });
    await assert.rejects(new GrowingLines(url).readNew(), (error) => error instanceof AssetError && error.reason === reason);
  }
});
