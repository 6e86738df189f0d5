import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NdjsonReader } from './ndjson.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test('NDJSON lines are the same however the text is cut, between the bytes of a character too', () => {
  const whole = bytes('{"a":"über"}\n{"a":"日本 😀"}\n{"a":3}\n');
  for (let size = 1; size <= whole.length; size += 1) {
    const reader = new NdjsonReader<{ a: unknown }>();
    const lines: unknown[] = [];
    for (let from = 0; from < whole.length; from += size) lines.push(...reader.push(whole.subarray(from, from + size)));
    assert.deepEqual(lines, [{ a: 'über' }, { a: '日本 😀' }, { a: 3 }], `pieces of ${size}`);
    assert.equal(reader.bytes, whole.length);
  }
});

test('the last NDJSON line waits for its end', () => {
  const reader = new NdjsonReader<unknown>();
  assert.deepEqual(reader.push(bytes('{"a":1}\n{"a":')), [{ a: 1 }]);
  assert.deepEqual(reader.push(bytes('2}')), []);
  assert.deepEqual(reader.push(bytes('\n')), [{ a: 2 }]);
});

test('an NDJSON line that is no JSON is left out, and the next ones are read', () => {
  const reader = new NdjsonReader<unknown>();
  assert.deepEqual(reader.push(bytes('{"a":1}\n{"a":\n\n[2]\n')), [{ a: 1 }, [2]]);
});

test('an NDJSON line without end is not kept in memory', () => {
  const reader = new NdjsonReader<unknown>();
  for (let part = 0; part < 40; part += 1) assert.deepEqual(reader.push(bytes(`"${'x'.repeat(65_536)}`)), []);
  assert.deepEqual(reader.push(bytes('\n{"a":1}\n')), [{ a: 1 }]);
});
