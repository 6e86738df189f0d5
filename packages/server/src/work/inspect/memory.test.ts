import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { MemoryBudget } from './memory.ts';

const megabytes = 1024 ** 2;
const isFull = (error: unknown): boolean => error instanceof ServiceError && error.code === 'no_capacity';

it("an owner's inspections hold at most half of the memory, and all owners' no more than all", () => {
  const budget = new MemoryBudget();
  const release = budget.reserve('one', 256 * megabytes);
  assert.throws(() => budget.reserve('one', 1), isFull);
  budget.reserve('other', 256 * megabytes);
  assert.throws(() => budget.reserve('third', 1), isFull);
  release();
  release();
  assert.equal(budget.totalBytes, 256 * megabytes);
  budget.reserve('third', 256 * megabytes);
});

it('an inspection that holds nothing is always accepted', () => {
  const budget = new MemoryBudget();
  budget.reserve('one', 256 * megabytes);
  budget.reserve('one', 0)();
  assert.equal(budget.totalBytes, 256 * megabytes);
});
