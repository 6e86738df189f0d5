import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LaneFullError, LaneTimeoutError, Lanes } from './lanes.ts';

const never = new AbortController().signal;
const deferred = () => Promise.withResolvers<void>();

describe('a lane', () => {
  it('a lane runs the work of one key one at a time, in the order it came', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom('a', 'b'), { maxLength: 20 }), async (keys) => {
        const lanes = new Lanes({ width: 1, waitingMax: 50, waitMsMax: 1000 });
        const running = new Map<string, number>();
        const order: number[] = [];
        await Promise.all(
          keys.map((key, index) =>
            lanes.run(key, never, async () => {
              running.set(key, (running.get(key) ?? 0) + 1);
              assert.equal(running.get(key), 1);
              await Promise.resolve();
              order.push(index);
              running.set(key, 0);
            }),
          ),
        );
        for (const key of ['a', 'b']) {
          const mine = order.filter((index) => keys[index] === key);
          assert.deepEqual(
            mine,
            mine.toSorted((x, y) => x - y),
          );
        }
        assert.equal(lanes.size, 0);
      }),
    );
  });

  it('a lane runs as many at once as it is wide', async () => {
    const lanes = new Lanes({ width: 2, waitingMax: 5, waitMsMax: 1000 });
    const gates = [deferred(), deferred(), deferred()];
    const begun: number[] = [];
    const work = gates.map((gate, index) => lanes.run('key', never, () => (begun.push(index), gate.promise)));
    assert.deepEqual(begun, [0, 1]);
    gates[0]?.resolve();
    await work[0];
    await Promise.resolve();
    assert.deepEqual(begun, [0, 1, 2]);
    for (const gate of gates) gate.resolve();
    await Promise.all(work);
  });

  it('a lane refuses at once the caller that is one too many', async () => {
    const lanes = new Lanes({ width: 1, waitingMax: 1, waitMsMax: 1000 });
    const gate = deferred();
    const first = lanes.run('key', never, () => gate.promise);
    const second = lanes.run('key', never, () => Promise.resolve());
    await assert.rejects(
      lanes.run('key', never, () => Promise.resolve()),
      LaneFullError,
    );
    gate.resolve();
    await Promise.all([first, second]);
  });

  it('a lane lets a caller go whose turn does not come in time, and runs the next', async () => {
    const lanes = new Lanes({ width: 1, waitingMax: 5, waitMsMax: 5 });
    const gate = deferred();
    const first = lanes.run('key', never, () => gate.promise);
    await assert.rejects(
      lanes.run('key', never, () => Promise.reject(new Error('must not run'))),
      LaneTimeoutError,
    );
    gate.resolve();
    await first;
    assert.equal(await lanes.run('key', never, () => Promise.resolve('next')), 'next');
  });

  it('a lane lets a caller go at once whose signal aborts while it waits', async () => {
    const lanes = new Lanes({ width: 1, waitingMax: 5, waitMsMax: 60_000 });
    const gate = deferred();
    const first = lanes.run('key', never, () => gate.promise);
    const caller = new AbortController();
    const second = lanes.run('key', caller.signal, () => Promise.reject(new Error('must not run')));
    caller.abort(new Error('gone'));
    await assert.rejects(second, /gone/);
    gate.resolve();
    await first;
    assert.equal(lanes.size, 0);
  });

  it('a lane goes on after work that failed', async () => {
    const lanes = new Lanes({ width: 1, waitingMax: 5, waitMsMax: 1000 });
    await assert.rejects(
      lanes.run('key', never, () => Promise.reject(new Error('broken'))),
      /broken/,
    );
    assert.equal(await lanes.run('key', never, () => Promise.resolve(1)), 1);
  });
});
