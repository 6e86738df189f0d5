import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LeaseView, type SeenLease } from './lease-view.ts';

const gapMsMax = 3000;
const lease = (beat: string, more: Partial<SeenLease> = {}): SeenLease => ({ workerId: 'wrk_b', epoch: 1, beat, leaseMs: 8000, ...more });
const at = (ms: number, tookMs = 0) => ({ askedMs: ms - tookMs, answeredMs: ms });

/** Reads every second, and returns the second in which the lease may be taken. */
function firstSilent(view: LeaseView, beatAt: (second: number) => string | null, seconds: number): number | null {
  for (let second = 0; second <= seconds; second += 1) {
    const beat = beatAt(second);
    if (beat !== null && view.observe([lease(beat)], at(second * 1000)).length > 0) return second;
  }
  return null;
}

describe('a worker that another one watches', () => {
  it('a watched worker is silent when the same heartbeat was seen for the whole lease', () => {
    assert.equal(
      firstSilent(new LeaseView(gapMsMax), (second) => String(Math.min(second, 5)), 60),
      13,
    );
  });

  it('a watched worker is not silent while its heartbeat changes, in whichever direction its clock goes', () => {
    assert.equal(
      firstSilent(new LeaseView(gapMsMax), (second) => String(1000 - Math.floor(second / 7)), 60),
      null,
    );
  });

  it('the lease view starts again after a gap, as after a database that was away for all', () => {
    const away = (second: number): string | null => (second >= 5 && second < 9 ? null : 'same');
    assert.equal(firstSilent(new LeaseView(gapMsMax), away, 60), 17);
    assert.equal(
      firstSilent(new LeaseView(gapMsMax), (second) => (second % 4 === 0 ? 'same' : null), 60),
      null,
      'an observer that is often away takes no lease',
    );
  });

  it('the lease view starts again after a slow read', () => {
    const view = new LeaseView(gapMsMax);
    for (let ms = 0; ms <= 7000; ms += 1000) assert.deepEqual(view.observe([lease('same')], at(ms)), []);
    assert.deepEqual(view.observe([lease('same')], at(11_000, 3900)), []);
    for (let ms = 12_000; ms < 19_000; ms += 1000) assert.deepEqual(view.observe([lease('same')], at(ms)), []);
    assert.equal(view.observe([lease('same')], at(19_000)).length, 1);
  });

  it('a watched worker starts again in another epoch, and after it was away', () => {
    const view = new LeaseView(gapMsMax);
    for (let ms = 0; ms <= 7000; ms += 1000) view.observe([lease('same')], at(ms));
    assert.deepEqual(view.observe([lease('same', { epoch: 2 })], at(8000)), []);
    for (let ms = 9000; ms <= 15_000; ms += 1000) view.observe([lease('same', { epoch: 2 })], at(ms));
    view.observe([], at(15_500));
    assert.deepEqual(view.observe([lease('same', { epoch: 2 })], at(16_000)), []);
  });

  it('the silence of a watched worker is measured by the length of its own lease', () => {
    const view = new LeaseView(gapMsMax);
    const leases = [lease('a', { workerId: 'wrk_a', leaseMs: 2000 }), lease('b', { leaseMs: 4000 })];
    const silent = [0, 1000, 2000, 3000, 4000].map((ms) => view.observe(leases, at(ms)).map(({ workerId }) => workerId));
    assert.deepEqual(silent, [[], [], ['wrk_a'], ['wrk_a'], ['wrk_a', 'wrk_b']]);
  });
});
