import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { ManualClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { FleetHistory } from './history.ts';

let clock: ManualClock;
let logged: string[];
let history: FleetHistory;
beforeEach(() => {
  clock = new ManualClock();
  logged = [];
  const write = (_fields: object, message: string): void => void logged.push(message);
  history = new FleetHistory({ clock, log: { ...silentLog, warn: write, info: write } });
});

const fail = (times: number): void => {
  for (let n = 0; n < times; n += 1) history.recordFailure('headless', new Error('no'), { forPool: true });
};
/** How long until the pool retries. */
function backoffMs(): number {
  const sinceMs = clock.monotonicMs();
  while (history.isBackingOff('headless')) clock.advance(500);
  return clock.monotonicMs() - sinceMs;
}

describe('machines that do not start', () => {
  it('machines that do not start are tried again after a pause that doubles with each, up to a minute', () => {
    const pauses = Array.from({ length: 9 }, () => (fail(1), backoffMs()));
    assert.deepEqual(pauses, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  it('machines that do not start hold up no other kind, and nothing once one has started', () => {
    fail(5);
    assert.equal(history.isBackingOff('full_browser'), false);
    history.recordBoot({ kind: 'headless', method: 'process', ms: 1 });
    assert.deepEqual([history.isBackingOff('headless'), history.failures('headless'), history.failedAt('headless')], [false, 0, null]);
  });

  it('machines that do not start are logged at the first failure and at recovery only', () => {
    fail(50);
    history.recordBoot({ kind: 'headless', method: 'clone', ms: 1 });
    history.recordBoot({ kind: 'headless', method: 'clone', ms: 1 });
    assert.deepEqual(logged, ['machine boot failed', 'machine boots recovered']);
  });

  it('machines that do not start count as failing after three in a row, for ten minutes', () => {
    fail(2);
    assert.deepEqual(
      history.failing(() => true),
      [],
    );
    fail(1);
    assert.deepEqual(
      history.failing(() => true),
      ['headless'],
    );
    clock.advance(10 * 60_000 + 1);
    assert.deepEqual(
      history.failing(() => true),
      [],
    );
  });

  it('machines that do not start do not count as failing once the pool wants none, unless sessions need them', () => {
    fail(3);
    assert.deepEqual(
      history.failing(() => false),
      [],
    );
    history.recordFailure('headless', new Error('no'), { forPool: false });
    assert.deepEqual(
      history.failing(() => false),
      ['headless'],
    );
  });

  it('machines that do not start are counted by kind beside those that start', () => {
    fail(2);
    for (const method of ['clone', 'clone', 'cold'] as const) history.recordBoot({ kind: 'headless', method, ms: 1 });
    const [headless] = history.boots();
    assert.deepEqual(headless, { kind: 'headless', byMethod: { process: 0, clone: 2, cold: 1 }, failed: 2 });
  });
});
