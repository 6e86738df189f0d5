import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FairLane } from './fair-lane.ts';
import { LaneFullError, LaneTimeoutError } from './lanes.ts';

const { signal } = new AbortController();
const bounds = { width: 3, ownerWidth: 2, waitingMax: 8, waitingSizeMax: 100, waitMsMax: 5000 };

/** Work that ends when it is let go. */
function start(lane: FairLane, owner: string, started: string[], size = 1) {
  const gate = Promise.withResolvers<void>();
  const done = lane.run({ owner, size, signal }, async () => {
    started.push(owner);
    await gate.promise;
  });
  return { finish: gate.resolve, done };
}
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('FairLane', () => {
  it('FairLane leaves a slot to other owners, and the next one to the owner who holds fewest', async () => {
    const lane = new FairLane(bounds);
    const started: string[] = [];
    const many = Array.from({ length: 5 }, () => start(lane, 'a', started));
    await tick();
    assert.deepEqual(started, ['a', 'a']);
    const others = ['b', 'b'].map((owner) => start(lane, owner, started));
    await tick();
    assert.deepEqual(started, ['a', 'a', 'b']);
    many[0]?.finish();
    await many[0]?.done;
    await tick();
    assert.deepEqual(started.slice(3), ['a'], 'both hold one, and a has waited longer');
    many[1]?.finish();
    await many[1]?.done;
    await tick();
    assert.deepEqual(started.slice(4), ['b'], 'both hold one, and it is the turn of b');
    for (const { finish } of [...many, ...others]) finish();
    await Promise.all([...many, ...others].map(({ done }) => done));
    assert.equal(started.length, 7);
  });

  it('FairLane refuses an owner who has queued much before one who has queued nothing', async () => {
    const lane = new FairLane({ ...bounds, width: 1, ownerWidth: 1 });
    const started: string[] = [];
    const queued = Array.from({ length: 5 }, () => start(lane, 'a', started));
    await assert.rejects(start(lane, 'a', started).done, LaneFullError, 'one runs, and half of the places are taken');
    const other = start(lane, 'b', started);
    await assert.rejects(start(lane, 'c', started, 101).done, LaneFullError);
    for (const { finish } of [...queued, other]) finish();
    await Promise.all([...queued, other].map(({ done }) => done));
  });

  it('FairLane ends a wait that takes too long, or whose caller leaves', async () => {
    const lane = new FairLane({ ...bounds, width: 1, ownerWidth: 1, waitMsMax: 10 });
    const started: string[] = [];
    const first = start(lane, 'a', started);
    await assert.rejects(start(lane, 'b', started).done, LaneTimeoutError);
    const leaving = new AbortController();
    const left = lane.run({ owner: 'b', size: 1, signal: leaving.signal }, async () => void started.push('b'));
    leaving.abort(new Error('left'));
    await assert.rejects(left, /left/);
    first.finish();
    await first.done;
    await tick();
    assert.deepEqual(started, ['a']);
  });
});
