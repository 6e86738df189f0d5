import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Loop } from './loop.ts';

describe('a loop', () => {
  it('a loop takes one more turn for any number of nudges during a turn', async () => {
    const gate = Promise.withResolvers<void>();
    let turns = 0;
    const loop = new Loop('test', 60_000, async () => {
      turns += 1;
      if (turns === 1) await gate.promise;
    });
    loop.nudge();
    for (let nudge = 0; nudge < 10; nudge += 1) loop.nudge();
    gate.resolve();
    await loop.idle();
    assert.equal(turns, 2);
  });

  it('a loop reports failed iterations until one succeeds', async () => {
    let healthy = false;
    const heard: unknown[] = [];
    const loop = new Loop('test', 60_000, () => (healthy ? Promise.resolve() : Promise.reject(new Error('down'))));
    loop.onError((error) => heard.push(error));
    for (let turn = 0; turn < 3; turn += 1) {
      loop.nudge();
      await loop.idle();
    }
    assert.equal(loop.isFailing, true);
    assert.match(loop.status.lastError ?? '', /down/);
    assert.equal(heard.length, 3);
    healthy = true;
    loop.nudge();
    await loop.idle();
    assert.equal(loop.isFailing, false);
    assert.equal(loop.status.lastError, null);
  });

  it('a loop that is stopped aborts the turn under way, waits for it, and takes no other', async () => {
    let turns = 0;
    const loop = new Loop('test', 1, async (signal) => {
      turns += 1;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    loop.start();
    await loop.stop();
    loop.nudge();
    assert.equal(turns, 1);
  });
});
