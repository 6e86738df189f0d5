import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '@berth/lib/clock.ts';
import type { HostReading } from '@berth/machines';
import { Pressure } from './pressure.ts';

const megabyte = 1024 ** 2;
const calm = { memoryAvailableBytes: 4096 * megabyte, memoryStallPercent: 0, cpuStallPercent: 0 };

/** A host with a floor of 500 MB, whose machines take 250 MB each. */
function makeHost(start: Partial<HostReading> = {}) {
  const clock = new ManualClock();
  const host: HostReading = { ...calm, ...start };
  let reads = 0;
  const read = () => ((reads += 1), { ...host });
  const pressure = new Pressure({ freeBytesMin: 500 * megabyte, machineBytes: () => 250 * megabyte, clock, read });
  /** Reads after the cached reading has expired. */
  const readFresh = (change: Partial<HostReading> = {}) => {
    Object.assign(host, change);
    clock.advance(250);
    return pressure.read();
  };
  return { clock, pressure, readFresh, reads: () => reads };
}

describe('room for another machine', () => {
  it('room for another machine exists while the floor stays free after a boot', () => {
    const { readFresh } = makeHost();
    assert.deepEqual([readFresh().admitting, readFresh().reason], [true, null]);
    assert.equal(readFresh({ memoryAvailableBytes: 750 * megabyte }).admitting, true);
    const short = readFresh({ memoryAvailableBytes: 750 * megabyte - 1 });
    assert.deepEqual([short.admitting, short.reason], [false, 'memory']);
    assert.equal(readFresh({ memoryAvailableBytes: 800 * megabyte }).admitting, true);
  });

  it('room for another machine excludes memory reserved for booting machines', () => {
    const { pressure, clock, readFresh } = makeHost({ memoryAvailableBytes: 1400 * megabyte });
    const first = pressure.reserve();
    pressure.reserve();
    assert.equal(readFresh().admitting, true);
    const third = pressure.reserve();
    assert.equal(readFresh().reason, 'memory_promised');
    third.failed();
    assert.equal(readFresh().admitting, true);
    pressure.reserve();
    assert.equal(readFresh().reason, 'memory_promised');
    first.started();
    assert.equal(readFresh().admitting, true, 'a machine that lives has taken half of its own');
    pressure.reserve();
    assert.equal(readFresh().reason, 'memory_promised');
    clock.advance(5000);
    assert.equal(readFresh().reason, 'memory_promised');
  });

  it('no memory is reserved for a machine that has run for some seconds', () => {
    const { pressure, clock, readFresh } = makeHost({ memoryAvailableBytes: 800 * megabyte });
    const promised = pressure.reserve();
    promised.started();
    assert.equal(readFresh().reason, 'memory_promised');
    clock.advance(5000);
    assert.equal(readFresh().admitting, true);
  });

  it('room for another machine does not exist while memory stalls, with hysteresis', () => {
    const { readFresh } = makeHost({ memoryAvailableBytes: 1000 * megabyte });
    assert.equal(readFresh({ memoryStallPercent: 9 }).admitting, true);
    assert.equal(readFresh({ memoryStallPercent: 11 }).reason, 'memory_stalled');
    assert.equal(readFresh({ memoryStallPercent: 9 }).reason, 'memory_stalled');
    assert.equal(readFresh({ memoryStallPercent: 4 }).admitting, true);
    assert.equal(readFresh({ memoryStallPercent: 9 }).admitting, true);
  });

  it('room for another machine exists on a host with plenty of memory, also while one machine stalls at its own limit', () => {
    const { readFresh } = makeHost();
    assert.equal(readFresh({ memoryStallPercent: 90 }).admitting, true);
    assert.equal(readFresh({ memoryAvailableBytes: 1200 * megabyte }).reason, 'memory_stalled');
  });

  it('room for another machine exists while processors are busy, which only lowers the boot concurrency', () => {
    const { readFresh } = makeHost();
    const readings = [79, 81, 61, 59, 78].map((cpuStallPercent) => readFresh({ cpuStallPercent }));
    assert.deepEqual(
      readings.map(({ processorsBusy }) => processorsBusy),
      [false, true, true, false, false],
    );
    assert.ok(readings.every(({ admitting }) => admitting));
  });

  it('room for another machine is assumed when the kernel has no readings', () => {
    const { readFresh } = makeHost({ memoryAvailableBytes: null, memoryStallPercent: null, cpuStallPercent: null });
    assert.deepEqual(readFresh(), {
      memoryAvailableBytes: null,
      memoryStallPercent: null,
      cpuStallPercent: null,
      admitting: true,
      reason: null,
      processorsBusy: false,
    });
  });

  it('room for another machine is read once for a whole burst of creates', () => {
    const { pressure, clock, reads } = makeHost();
    for (let create = 0; create < 100; create += 1) pressure.read();
    assert.equal(reads(), 1);
    clock.advance(250);
    pressure.read();
    assert.equal(reads(), 2);
  });
});
