import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseMessage } from './client-message.ts';

const mebibyte = 1024 * 1024;
const message = (params: string): Buffer => Buffer.from(`{"id":7,"method":"Runtime.evaluate","params":{"x":${params}}}`);

describe('a message of many megabytes', () => {
  const hostile: Record<string, () => string> = {
    'empty arrays': () => `[${'[],'.repeat(8 * mebibyte)}1]`,
    numbers: () => `[${'1,'.repeat(15 * mebibyte)}1]`,
    'empty objects': () => `[${'{},'.repeat(8 * mebibyte)}1]`,
    keys: () => `{${Array.from({ length: mebibyte }, (_, n) => `"k${n}":1`).join()}}`,
    'values after a string of quotes': () => `["${'\\"\\\\'.repeat(mebibyte)}",${'1,'.repeat(mebibyte)}1]`,
  };
  for (const [name, make] of Object.entries(hostile))
    it(`is refused before it is parsed where it consists of ${name}`, () => {
      const raw = message(make());
      const startedMs = performance.now();
      assert.deepEqual(parseMessage(raw), { id: 7, code: -32600, message: 'Message has more than 200000 values' });
      // Parsed, the larger ones take several seconds and two gigabytes.
      assert.ok(performance.now() - startedMs < 1000);
    });

  it('passes where it is text, whatever the text contains', () => {
    const texts = ['[{,'.repeat(mebibyte), '"\\'.repeat(mebibyte), 'é😀\u0000\n,'.repeat(mebibyte / 4)];
    for (const text of texts) {
      const parsed = parseMessage(message(JSON.stringify(text)));
      assert.ok('params' in parsed && parsed.params['x'] === text);
    }
  });

  it('passes with as many values as an argument of a script has', () => {
    const values = Array.from({ length: 150_000 }, (_, n) => n);
    const parsed = parseMessage(message(JSON.stringify(values)));
    assert.ok('params' in parsed && Array.isArray(parsed.params['x']) && parsed.params['x'].length === values.length);
  });
});
