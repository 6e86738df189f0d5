import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../lib/clock.ts';
import type { HostReading } from '../runtime/runtime.ts';
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
  /** Looks when what was read last is no longer good. */
  const look = (change: Partial<HostReading> = {}) => {
    Object.assign(host, change);
    clock.advance(250);
    return pressure.look();
  };
  return { clock, pressure, look, reads: () => reads };
}

describe('room for another machine', () => {
  it('is there while the floor stays free after it was started', () => {
    const { look } = makeHost();
    assert.deepEqual([look().admitting, look().reason], [true, null]);
    assert.equal(look({ memoryAvailableBytes: 750 * megabyte }).admitting, true);
    const short = look({ memoryAvailableBytes: 750 * megabyte - 1 });
    assert.deepEqual([short.admitting, short.reason], [false, 'memory']);
    assert.equal(look({ memoryAvailableBytes: 800 * megabyte }).admitting, true);
  });

  it('is counted without what machines that are starting have been promised', () => {
    const { pressure, clock, look } = makeHost({ memoryAvailableBytes: 1400 * megabyte });
    const first = pressure.promise();
    pressure.promise();
    assert.equal(look().admitting, true);
    const third = pressure.promise();
    assert.equal(look().reason, 'memory_promised');
    third.failed();
    assert.equal(look().admitting, true);
    pressure.promise();
    assert.equal(look().reason, 'memory_promised');
    first.started();
    assert.equal(look().admitting, true, 'a machine that lives has taken half of its own');
    pressure.promise();
    assert.equal(look().reason, 'memory_promised');
    clock.advance(5000);
    assert.equal(look().reason, 'memory_promised');
  });

  it('counts nothing for a machine that has lived for some seconds: the host shows what it takes', () => {
    const { pressure, clock, look } = makeHost({ memoryAvailableBytes: 800 * megabyte });
    const promised = pressure.promise();
    promised.started();
    assert.equal(look().reason, 'memory_promised');
    clock.advance(5000);
    assert.equal(look().admitting, true);
  });

  it('is not there while memory is short enough for others to wait for it, and not again before that is well over', () => {
    const { look } = makeHost({ memoryAvailableBytes: 1000 * megabyte });
    assert.equal(look({ memoryStallPercent: 9 }).admitting, true);
    assert.equal(look({ memoryStallPercent: 11 }).reason, 'memory_stalled');
    assert.equal(look({ memoryStallPercent: 9 }).reason, 'memory_stalled');
    assert.equal(look({ memoryStallPercent: 4 }).admitting, true);
    assert.equal(look({ memoryStallPercent: 9 }).admitting, true);
  });

  it('is there on a host with plenty of memory, also while one machine fights with its own limit', () => {
    const { look } = makeHost();
    assert.equal(look({ memoryStallPercent: 90 }).admitting, true);
    assert.equal(look({ memoryAvailableBytes: 1200 * megabyte }).reason, 'memory_stalled');
  });

  it('is not refused for want of processor: fewer machines are then to be started at once', () => {
    const { look } = makeHost();
    const seen = [79, 81, 61, 59, 78].map((cpuStallPercent) => look({ cpuStallPercent }));
    assert.deepEqual(
      seen.map(({ processorsBusy }) => processorsBusy),
      [false, true, true, false, false],
    );
    assert.ok(seen.every(({ admitting }) => admitting));
  });

  it('is taken for granted where the kernel tells nothing', () => {
    const { look } = makeHost({ memoryAvailableBytes: null, memoryStallPercent: null, cpuStallPercent: null });
    assert.deepEqual(look(), {
      memoryAvailableBytes: null,
      memoryStallPercent: null,
      cpuStallPercent: null,
      admitting: true,
      reason: null,
      processorsBusy: false,
    });
  });

  it('is looked for once for a whole burst of creates', () => {
    const { pressure, clock, reads } = makeHost();
    for (let create = 0; create < 100; create += 1) pressure.look();
    assert.equal(reads(), 1);
    clock.advance(250);
    pressure.look();
    assert.equal(reads(), 2);
  });
});
