import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Polls } from './jobs.ts';

describe('long polls', () => {
  it('long polls are limited for an owner and for all, and each that ends makes room', () => {
    const polls = new Polls();
    const enter = (owner: string, count: number) => Array.from({ length: count }, () => polls.enter(owner)).filter((slot) => slot !== null);
    const own = enter('anna', 300);
    assert.equal(own.length, 200);
    const others = [...enter('bert', 300), ...enter('cora', 300)];
    assert.equal(others.length, 300);
    own[0]?.leave();
    assert.equal(enter('cora', 2).length, 1);
  });
});
