import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertPrompt } from '../../../../../tests/yardstick.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import type { VmStats, Vm } from '@berth/machines';
import type { Machine } from './machine.ts';
import { MemoryReadings, MachineBytes } from './memory.ts';

/** A machine that counts its readings and their concurrency. */
function fakeMachine(id: string, answer: () => Promise<number>, lane = { now: 0, peak: 0 }): Machine & { times: number } {
  const machine = { id, times: 0 };
  const stats = async (): Promise<VmStats> => {
    machine.times += 1;
    lane.now += 1;
    lane.peak = Math.max(lane.peak, lane.now);
    const memoryBytes = await answer().finally(() => (lane.now -= 1));
    return { memoryBytes };
  };
  return Object.assign(machine, { vm: { stats } }) as unknown as Machine & { times: number };
}
const never = (): Promise<number> => new Promise(() => {});

describe('the memory of machines', () => {
  it('the memory of machines is read once in five seconds for all callers', async () => {
    const clock = new ManualClock();
    const readings = new MemoryReadings(clock);
    const machine = fakeMachine('vm_1', () => Promise.resolve(100));
    await Promise.all([readings.read([machine]), readings.read([machine])]);
    assert.deepEqual([...(await readings.read([machine]))], [['vm_1', 100]]);
    assert.equal(machine.times, 1);
    clock.advance(5000);
    await readings.read([machine]);
    assert.equal(machine.times, 2);
  });

  it('the memory of few machines is read at once', async () => {
    const lane = { now: 0, peak: 0 };
    const machines = Array.from({ length: 40 }, (_, n) =>
      fakeMachine(`vm_${n}`, () => new Promise((done) => setImmediate(() => done(n))), lane),
    );
    const read = await new MemoryReadings(new ManualClock()).read(machines);
    assert.deepEqual([read.get('vm_39'), read.get('vm_0'), lane.peak], [39, null, 4], 'zero means not read');
  });

  it('the memory of a machine that does not answer is unknown, and delays callers by a second at most', async () => {
    const readings = new MemoryReadings(new ManualClock());
    const sinceMs = performance.now();
    const read = await readings.read([
      fakeMachine('vm_mute', never),
      fakeMachine('vm_dead', () => Promise.reject(new Error('ended'))),
      fakeMachine('vm_1', () => Promise.resolve(5)),
    ]);
    assert.deepEqual([read.get('vm_mute'), read.get('vm_dead'), read.get('vm_1')], [null, null, 5]);
    // One after the other, or without an end, it would take longer.
    assertPrompt(sinceMs, 10_000);
  });

  it('the memory of a machine stays the last reading when a new one fails', async () => {
    const clock = new ManualClock();
    const readings = new MemoryReadings(clock);
    const answers = [() => Promise.resolve(7), () => Promise.reject<number>(new Error('busy'))];
    const machine = fakeMachine('vm_1', () => (answers.shift() ?? never)());
    await readings.read([machine]);
    clock.advance(5000);
    assert.equal((await readings.read([machine])).get('vm_1'), 7);
  });

  it('the memory of a machine is dropped with the machine', async () => {
    const clock = new ManualClock();
    const readings = new MemoryReadings(clock);
    const machine = fakeMachine('vm_1', () => Promise.resolve(5));
    await readings.read([machine]);
    await readings.read([]);
    await readings.read([machine]);
    assert.equal(machine.times, 2);
  });
});

const megabyte = 1024 ** 2;
const machine = (megabytes: number): Vm => ({ stats: () => Promise.resolve({ memoryBytes: megabytes * megabyte }) }) as Vm;

describe('the expected memory of a new machine', () => {
  it('the expected memory of a new machine is that of an empty one until others run', async () => {
    const bytes = new MachineBytes('process');
    assert.equal(bytes.expected, 256 * megabyte);
    await bytes.learn([]);
    assert.equal(bytes.expected, 256 * megabyte);
    assert.ok(new MachineBytes('microvm').expected > bytes.expected);
  });

  it('the expected memory of a new machine is the median of the running ones', async () => {
    const bytes = new MachineBytes('process');
    await bytes.learn([100, 400, 500, 600, 9000].map(machine));
    assert.equal(bytes.expected, 500 * megabyte);
    await bytes.learn([50, 60, 70].map(machine));
    assert.equal(bytes.expected, 256 * megabyte);
  });

  it('the expected memory of a new machine is sampled from a few of them, spread over all', async () => {
    let asked = 0;
    const many = Array.from({ length: 100 }, (_, index) => ({ stats: () => ((asked += 1), machine(1000 + index).stats()) }) as Vm);
    const bytes = new MachineBytes('process');
    await bytes.learn(many);
    assert.equal(asked, 8);
    assert.ok(bytes.expected > 1040 * megabyte && bytes.expected < 1060 * megabyte);
  });

  it('the expected memory of a new machine ignores machines that end meanwhile', async () => {
    const ending = { stats: () => Promise.reject(new Error('ended')) } as Pick<Vm, 'stats'> as Vm;
    const bytes = new MachineBytes('process');
    await bytes.learn([ending, machine(0), machine(700)]);
    assert.equal(bytes.expected, 700 * megabyte);
  });
});
