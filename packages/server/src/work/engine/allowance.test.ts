import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Allowance } from './allowance.ts';

test('actions of a flow are admitted in blocks, and all that ran are charged once', async () => {
  const ends: (number | 'dropped')[] = [];
  const admitted: number[] = [];
  const metering = {
    admit: (_owner: string, { count = 1 }: { count?: number | undefined }) => {
      admitted.push(count);
      return Promise.resolve({ charge: () => Promise.resolve(), drop: () => Promise.resolve(void ends.push('dropped')) });
    },
  };
  const allowance = new Allowance(metering, { owner: 'ada', ttlMs: 1000, opId: 'call:1' });
  for (const actions of [1, 1, 3, 21, 22]) await allowance.reserve(actions);
  assert.deepEqual(admitted, [1, 2, 20]);
  const charge = (_ticket: unknown, count: number): Promise<void> => Promise.resolve(void ends.push(count));
  await allowance.charge(30, charge);
  await allowance.charge(30, charge);
  assert.deepEqual(ends, [1, 2, 27]);
  const unused = new Allowance(metering, { owner: 'ada', ttlMs: 1000, opId: 'call:1' });
  await unused.reserve(1);
  await unused.charge(0, charge);
  assert.deepEqual(ends, [1, 2, 27, 'dropped']);
});
