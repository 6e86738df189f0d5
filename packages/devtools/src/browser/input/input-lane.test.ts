import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InputLane } from './input-lane.ts';

/** A page that handles each input when the test lets it. */
class SlowPage {
  readonly taken: string[] = [];
  readonly #answers = new Map<string, () => void>();

  send = (name: string) => (): Promise<void> => {
    this.taken.push(name);
    return new Promise((resolve) => this.#answers.set(name, resolve));
  };

  async answer(name: string): Promise<void> {
    this.#answers.get(name)?.();
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }
}

describe('the lane of inputs', () => {
  it('the input lane sends key and button events one after the other, and does not wait for pointer moves', async () => {
    const [page, lane] = [new SlowPage(), new InputLane(() => false)];
    void lane.enqueueMove(page.send('move 1'));
    void lane.enqueue(page.send('down'));
    void lane.enqueue(page.send('up'));
    void lane.enqueueMove(page.send('move 2'));
    assert.deepEqual(page.taken, ['move 1', 'down']);
    await page.answer('down');
    assert.deepEqual(page.taken, ['move 1', 'down', 'up']);
    await page.answer('up');
    assert.deepEqual(page.taken, ['move 1', 'down', 'up'], 'a way waits for all before it');
    await page.answer('move 1');
    assert.deepEqual(page.taken, ['move 1', 'down', 'up', 'move 2']);
  });

  it('the input lane sends everything one by one while it is serial', async () => {
    const [page, lane] = [new SlowPage(), new InputLane(() => true)];
    void lane.enqueueMove(page.send('move'));
    void lane.enqueue(page.send('up'));
    assert.deepEqual(page.taken, ['move']);
    await page.answer('move');
    assert.deepEqual(page.taken, ['move', 'up']);
  });

  it('the last queued input can be changed', async () => {
    const [page, lane] = [new SlowPage(), new InputLane(() => false)];
    const sent = lane.enqueueMove(page.send('move 1'));
    const pending = lane.enqueueMove(page.send('move 2'));
    assert.deepEqual([lane.canStillChange(sent), lane.canStillChange(pending)], [false, true]);
    void lane.enqueue(page.send('down'));
    assert.equal(lane.canStillChange(pending), false);
    await page.answer('move 1');
  });

  it('a full input lane rejects input, except releases', async () => {
    const [page, lane] = [new SlowPage(), new InputLane(() => false)];
    const all = Array.from({ length: 257 }, (_, index) => lane.enqueue(page.send(String(index))));
    assert.equal(lane.isFull, true);
    await assert.rejects(lane.enqueue(page.send('too much')), { reason: 'not_possible' });
    const last = lane.enqueueAlways(page.send('last'));
    for (const name of [...all.keys(), 'last']) await page.answer(String(name));
    await Promise.all([...all, last]);
    assert.deepEqual(page.taken, [...[...all.keys()].map(String), 'last']);
  });

  it('the input lane goes on after a failed input', async () => {
    const [page, lane] = [new SlowPage(), new InputLane(() => false)];
    const failed = lane.enqueue(() => Promise.reject(new RangeError('no')));
    void lane.enqueue(page.send('next'));
    await assert.rejects(failed, RangeError);
    assert.deepEqual(page.taken, ['next']);
  });
});
