import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { ManualClock } from '../lib/clock.ts';
import { silentLog } from '../lib/log.ts';
import { FleetRecord } from './record.ts';

let clock: ManualClock;
let said: string[];
let record: FleetRecord;
beforeEach(() => {
  clock = new ManualClock();
  said = [];
  const say = (_facts: object, message: string): void => void said.push(message);
  record = new FleetRecord({ clock, log: { ...silentLog, warn: say, info: say } });
});

const fail = (times: number): void => {
  for (let n = 0; n < times; n += 1) record.failed('headless', new Error('no'));
};
/** How long it takes until the pool may try again. */
function pauseMs(): number {
  const sinceMs = clock.monotonicMs();
  while (record.isBackingOff('headless')) clock.advance(500);
  return clock.monotonicMs() - sinceMs;
}

describe('machines that do not start', () => {
  it('are tried again after a pause that doubles with each, up to a minute', () => {
    const pauses = Array.from({ length: 9 }, () => (fail(1), pauseMs()));
    assert.deepEqual(pauses, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  it('hold up no other kind, and nothing once one has started', () => {
    fail(5);
    assert.equal(record.isBackingOff('full_browser'), false);
    record.booted('headless', 'process');
    assert.deepEqual([record.isBackingOff('headless'), record.failures('headless'), record.failedAt('headless')], [false, 0, null]);
  });

  it('are told in the log when it begins and when it is over, and not each time', () => {
    fail(50);
    record.booted('headless', 'clone');
    record.booted('headless', 'clone');
    assert.deepEqual(said, ['a machine did not start', 'machines start again']);
  });

  it('are a trouble when they are three in a row, and no more when nobody has tried for ten minutes', () => {
    fail(2);
    assert.deepEqual(record.failing(), []);
    fail(1);
    assert.deepEqual(record.failing(), ['headless']);
    clock.advance(10 * 60_000 + 1);
    assert.deepEqual(record.failing(), []);
  });

  it('are counted by kind beside those that start', () => {
    fail(2);
    for (const way of ['clone', 'clone', 'cold'] as const) record.booted('headless', way);
    const [headless] = record.boots();
    assert.deepEqual(headless, { kind: 'headless', byWay: { process: 0, clone: 2, cold: 1 }, failed: 2 });
  });
});
