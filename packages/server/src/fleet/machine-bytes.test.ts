import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Vm } from '../runtime/runtime.ts';
import { MachineBytes } from './machine-bytes.ts';

const megabyte = 1024 ** 2;
const machine = (megabytes: number): Vm =>
  ({ stats: () => Promise.resolve({ memoryBytes: megabytes * megabyte, cpuSeconds: 0, processes: 1 }) }) as Vm;

describe('the expected memory of a new machine', () => {
  it('is that of an empty one until others run', async () => {
    const bytes = new MachineBytes('process');
    assert.equal(bytes.expected, 256 * megabyte);
    await bytes.learn([]);
    assert.equal(bytes.expected, 256 * megabyte);
    assert.ok(new MachineBytes('microvm').expected > bytes.expected);
  });

  it('is the median of the running ones', async () => {
    const bytes = new MachineBytes('process');
    await bytes.learn([100, 400, 500, 600, 9000].map(machine));
    assert.equal(bytes.expected, 500 * megabyte);
    await bytes.learn([50, 60, 70].map(machine));
    assert.equal(bytes.expected, 256 * megabyte);
  });

  it('is sampled from a few of them, spread over all', async () => {
    let asked = 0;
    const many = Array.from({ length: 100 }, (_, index) => ({ stats: () => ((asked += 1), machine(1000 + index).stats()) }) as Vm);
    const bytes = new MachineBytes('process');
    await bytes.learn(many);
    assert.equal(asked, 8);
    assert.ok(bytes.expected > 1040 * megabyte && bytes.expected < 1060 * megabyte);
  });

  it('ignores machines that end meanwhile', async () => {
    const ending = { stats: () => Promise.reject(new Error('ended')) } as Pick<Vm, 'stats'> as Vm;
    const bytes = new MachineBytes('process');
    await bytes.learn([ending, machine(0), machine(700)]);
    assert.equal(bytes.expected, 700 * megabyte);
  });
});
