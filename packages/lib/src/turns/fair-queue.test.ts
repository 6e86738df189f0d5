import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FairQueue } from './fair-queue.ts';

interface Item {
  owner: string;
  n: number;
}

describe('a fair queue', () => {
  it('a fair queue gives out every item once, those of an owner in the order they came', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 30 }), (owners) => {
        const queue = new FairQueue<Item>();
        const items = owners.map((owner, n) => ({ owner, n }));
        for (const item of items) queue.push(item.owner, item);
        const taken = items.map(() => queue.take(() => 0));
        assert.equal(
          queue.take(() => 0),
          undefined,
        );
        for (const owner of ['a', 'b', 'c'])
          assert.deepEqual(
            taken.filter((item) => item?.owner === owner),
            items.filter((item) => item.owner === owner),
          );
      }),
    );
  });

  it('a fair queue serves an owner who comes late after at most one item of each other', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 30 }), fc.nat(10), (owners, served) => {
        const queue = new FairQueue<Item>();
        owners.forEach((owner, n) => queue.push(owner, { owner, n }));
        for (let turn = 0; turn < served; turn += 1) queue.take(() => 0);
        queue.push('late', { owner: 'late', n: 0 });
        const before = Array.from({ length: 4 }, () => queue.take(() => 0)?.owner);
        assert.ok(before.includes('late'));
      }),
    );
  });

  it('a fair queue gives the next place to the owner who holds the fewest', () => {
    const queue = new FairQueue<string>();
    for (const owner of ['a', 'b', 'c']) queue.push(owner, owner);
    assert.equal(
      queue.take((owner) => ({ a: 3, b: 1, c: 2 })[owner] ?? 0),
      'b',
    );
  });

  it('a fair queue forgets removed items, and ignores the removal of unknown ones', () => {
    const queue = new FairQueue<string>();
    for (const item of ['one', 'two']) queue.push('a', item);
    for (const [owner, item] of [
      ['a', 'one'],
      ['a', 'three'],
      ['b', 'two'],
    ] as const)
      queue.remove(owner, item);
    assert.deepEqual([queue.take(() => 0), queue.take(() => 0)], ['two', undefined]);
  });

  it('a fair queue gives out items that are to be first before the owner’s others, in the order they came', () => {
    const queue = new FairQueue<string>();
    for (const item of ['a1', 'a2!', 'b1', 'a3', 'a4!']) queue.push(item.charAt(0), item, { isFirst: item.endsWith('!') });
    assert.deepEqual(
      Array.from({ length: 5 }, () => queue.take(() => 0)),
      ['a2!', 'b1', 'a4!', 'a1', 'a3'],
    );
  });
});
