import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InputLane } from './input-lane.ts';

/** A page that takes each input when the test says so. */
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
  it('gives strokes one after the other, and holds none for the way of the pointer', async () => {
    const [page, lane] = [new SlowPage(), new InputLane(() => false)];
    void lane.pass(page.send('move 1'));
    void lane.stroke(page.send('down'));
    void lane.stroke(page.send('up'));
    void lane.pass(page.send('move 2'));
    assert.deepEqual(page.taken, ['move 1', 'down']);
    await page.answer('down');
    assert.deepEqual(page.taken, ['move 1', 'down', 'up']);
    await page.answer('up');
    assert.deepEqual(page.taken, ['move 1', 'down', 'up'], 'a way waits for all before it');
    await page.answer('move 1');
    assert.deepEqual(page.taken, ['move 1', 'down', 'up', 'move 2']);
  });

  it('gives everything one by one while it is told to', async () => {
    const [page, lane] = [new SlowPage(), new InputLane(() => true)];
    void lane.pass(page.send('move'));
    void lane.stroke(page.send('up'));
    assert.deepEqual(page.taken, ['move']);
    await page.answer('move');
    assert.deepEqual(page.taken, ['move', 'up']);
  });

  it('knows what can still be changed: the last, while it waits', async () => {
    const [page, lane] = [new SlowPage(), new InputLane(() => false)];
    const sent = lane.pass(page.send('move 1'));
    const waits = lane.pass(page.send('move 2'));
    assert.deepEqual([lane.canStillChange(sent), lane.canStillChange(waits)], [false, true]);
    void lane.stroke(page.send('down'));
    assert.equal(lane.canStillChange(waits), false);
    await page.answer('move 1');
  });

  it('takes no more strokes than are worth waiting for, but what must be done', async () => {
    const [page, lane] = [new SlowPage(), new InputLane(() => false)];
    const all = Array.from({ length: 257 }, (_, index) => lane.stroke(page.send(String(index))));
    assert.equal(lane.isFull, true);
    await assert.rejects(lane.stroke(page.send('too much')), { reason: 'not_possible' });
    const last = lane.last(page.send('last'));
    for (const name of [...all.keys(), 'last']) await page.answer(String(name));
    await Promise.all([...all, last]);
    assert.deepEqual(page.taken, [...[...all.keys()].map(String), 'last']);
  });

  it('goes on after a failure', async () => {
    const [page, lane] = [new SlowPage(), new InputLane(() => false)];
    const failed = lane.stroke(() => Promise.reject(new RangeError('no')));
    void lane.stroke(page.send('next'));
    await assert.rejects(failed, RangeError);
    assert.deepEqual(page.taken, ['next']);
  });
});
