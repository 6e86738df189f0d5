import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FetchRequest, fetchFormats } from '@berth/contract';
import { toFetchBodies, type PlaygroundMode } from './fetch-request.ts';

const url = 'https://a.example/';

test('each mode of the fetch playground makes requests that the contract accepts, with all formats that the mode has', () => {
  const options = { kind: 'full_browser', timeout_ms: 9000, actions: [{ type: 'wait', ms: 10 }], wait_until: 'load' };
  for (const mode of ['browser', 'http', 'auto', 'compare'] satisfies PlaygroundMode[])
    for (const body of toFetchBodies({ url, mode, formats: fetchFormats, options })) {
      const { success, error } = FetchRequest.safeParse(body);
      assert.ok(success, `${mode}: ${error?.message}`);
      assert.equal(body.formats.length, body.mode === 'http' ? fetchFormats.length - 4 : fetchFormats.length);
      assert.equal(body['timeout_ms'], 9000);
    }
});

test('a comparison in the fetch playground is one request by plain HTTP and one by a browser', () => {
  const bodies = toFetchBodies({ url, mode: 'compare', formats: ['text'], options: {} });
  assert.deepEqual(
    bodies.map(({ mode }) => mode),
    ['http', 'browser'],
  );
});
