import assert from 'node:assert/strict';
import { it } from 'node:test';
import { curlOf } from '../snippets.ts';
import { toTraffic } from './traffic.ts';

it('a network log becomes rows on one time line, whatever it lacks', () => {
  const { rows, startMs, spanMs } = toTraffic({
    entries: [
      {
        startedDateTime: '2026-01-01T00:00:01.000Z',
        time: 500,
        request: { method: 'GET', url: 'http://site.test/' },
        response: { status: 200, bodySize: -1 },
      },
      {
        startedDateTime: '2026-01-01T00:00:01.200Z',
        time: 1000,
        request: { method: 'GET', url: 'http://site.test/missing' },
        response: { status: 404 },
      },
      { startedDateTime: '2026-01-01T00:00:02.000Z' },
    ],
  });
  assert.deepEqual([startMs, spanMs], [Date.parse('2026-01-01T00:00:01.000Z'), 1200]);
  assert.deepEqual(
    rows.map(({ status, bytes, isError }) => [status, bytes, isError]),
    [
      [200, 0, false],
      [404, 0, true],
      [0, 0, true],
    ],
  );
  assert.deepEqual(toTraffic({}).rows, []);
  assert.equal(toTraffic({}).spanMs, 1);
});

it('a copied command quotes what people entered for the shell', () => {
  const text = curlOf({ origin: 'http://127.0.0.1:8080', path: '/v1/session', body: { name: "it's $(rm)" } });
  assert.ok(text.includes(`--json '{"name":"it'\\''s $(rm)"}'`), text);
});
