import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { nextTurn } from './turn-budget.ts';
import { WriteGroup } from './write-group.ts';

/** Keeps each call that a stream would make of the system. */
function createStream(): { calls: string[]; write: (text: string) => void } {
  const calls: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => (calls.push(text), done()),
    writev: (texts, done) => (calls.push(texts.map(({ chunk }) => String(chunk)).join('+')), done()),
  });
  const group = new WriteGroup(stream);
  const write = (text: string): void => {
    group.add();
    stream.write(text);
  };
  return { calls, write };
}

describe('the writes of a turn', () => {
  it('the writes of a turn are one at once, and all others together at its end', async () => {
    const { calls, write } = createStream();
    for (const text of ['a', 'b', 'c']) write(text);
    assert.deepEqual(calls, ['a']);
    await nextTurn();
    assert.deepEqual(calls, ['a', 'b+c']);
  });
  it('the writes of a turn do not wait for those of the turn before', async () => {
    const { calls, write } = createStream();
    write('a');
    await nextTurn();
    write('b');
    assert.deepEqual(calls, ['a', 'b']);
    write('c');
    await nextTurn();
    write('d');
    assert.deepEqual(calls, ['a', 'b', 'c', 'd']);
  });
});
