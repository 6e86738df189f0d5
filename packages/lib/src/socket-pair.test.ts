import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { socketPair } from './socket-pair.ts';

test('a socket pair passes bytes both ways, and one end closes with the other', async () => {
  const [near, far] = await socketPair();
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    to.resume();
    from.write('hello');
    const [chunk] = (await once(to, 'data')) as [Buffer];
    assert.equal(chunk.toString(), 'hello');
  }
  near.destroy();
  await once(far, 'close');
});
