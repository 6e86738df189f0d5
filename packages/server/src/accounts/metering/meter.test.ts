import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isEqual, minus, noCounts, plus, raise, type Counts } from './counts.ts';
import { LiveMeter } from './meter.ts';
import { JumpyClock, FakeBrowser, tierOf } from '../../../testing/accounts/metering.ts';
import { monthOf } from './usage.ts';

function openMeter(clock = new JumpyClock()) {
  const browser = new FakeBrowser();
  const counted = noCounts();
  const reopened: LiveMeter[] = [];
  const meter: LiveMeter = new LiveMeter(
    {
      meterId: 'ses_1',
      owner: 'anna',
      tier: tierOf('plain'),
      egressType: 'direct',
      sample: browser.sample,
      onExhausted: browser.onExhausted,
    },
    { month: () => monthOf(clock.now()), counted, close: () => Promise.resolve(), reopen: (closed) => void reopened.push(closed) },
  );
  return { clock, browser, meter, counted, reopened };
}

describe('a meter', () => {
  it('a meter reports what was used up to this very moment', () => {
    const { browser, meter } = openMeter();
    browser.egressBytes = 1234;
    browser.browserMs = 5999;
    meter.count('action', 2);
    assert.deepEqual(meter.totals(), { actions: 2, egress_bytes: 1234, browser_seconds: 5, sessions: 0, captcha_solves: 0 });
    assert.equal(meter.credits(), 0.020246);
  });

  it('a meter adds the time of browsers that are not its own', () => {
    const { browser, meter } = openMeter();
    browser.browserMs = 700;
    meter.addBrowserMs(0.4);
    meter.addBrowserMs(300.7);
    for (const nothing of [-5000, NaN, Infinity]) meter.addBrowserMs(nothing);
    assert.equal(meter.totals().browser_seconds, 1);
    assert.equal(meter.countsIn('2026-01')?.browserMs, 1001);
  });

  it('a meter takes a reading that is less than before, or is no number, as unchanged', () => {
    const { browser, meter } = openMeter();
    browser.egressBytes = 100;
    assert.equal(meter.totals().egress_bytes, 100);
    for (const less of [40, 0, NaN, -1, Infinity]) {
      browser.egressBytes = less;
      assert.equal(meter.totals().egress_bytes, 100);
    }
    browser.egressBytes = 130;
    assert.equal(meter.totals().egress_bytes, 130);
  });

  it('a meter refuses to count anything but whole numbers', () => {
    const { meter } = openMeter();
    for (const count of [-1, 0.5, NaN, Infinity]) assert.throws(() => meter.count('action', count), RangeError);
    assert.equal(meter.totals().actions, 0);
  });

  it('a meter begins a new month at the first event in it, and leaves to the old one what came before', () => {
    const { clock, browser, meter } = openMeter(new JumpyClock(new Date('2026-01-31T23:59:59.000Z')));
    browser.egressBytes = 100;
    clock.advance(1000);
    meter.count('action', 1);
    browser.egressBytes = 150;
    meter.sample();
    assert.deepEqual(meter.countsIn('2026-01'), { ...noCounts(), egressBytes: 100 });
    assert.deepEqual(meter.countsIn('2026-02'), { ...noCounts(), egressBytes: 50, actions: 1 });
    assert.equal(meter.totals().egress_bytes, 150);
  });

  it('a meter goes on with the old month where the clock goes back into it', () => {
    const { clock, browser, meter } = openMeter(new JumpyClock(new Date('2026-01-31T23:30:00.000Z')));
    for (const [jumpMs, bytes] of [
      [3_600_000, 10],
      [-3_600_000, 30],
      [3_600_000, 60],
    ] as const) {
      meter.sample();
      clock.jump(jumpMs);
      meter.sample();
      browser.egressBytes = bytes;
    }
    meter.sample();
    assert.deepEqual([meter.countsIn('2026-01')?.egressBytes, meter.countsIn('2026-02')?.egressBytes], [20, 40]);
  });

  it('a meter takes its last sample when it is closed, and nothing is sampled after that', async () => {
    const { browser, meter } = openMeter();
    browser.egressBytes = 10;
    await meter.close();
    browser.egressBytes = 1_000_000;
    await meter.close();
    assert.equal(meter.totals().egress_bytes, 10);
  });

  it('a meter counts what was done before its end and reported after it, and asks to be written again', async () => {
    const { meter, reopened } = openMeter();
    await meter.close();
    assert.equal(meter.isDone, true);
    meter.count('captcha', 1);
    assert.equal(meter.totals().captcha_solves, 1);
    assert.deepEqual(reopened, [meter]);
    assert.equal(meter.isDone, false);
  });

  it('a meter notifies its listener of nothing once it is closed', async () => {
    const { browser, meter } = openMeter();
    meter.notifyExhausted('plan_limit');
    await meter.close();
    meter.notifyExhausted('plan_limit');
    assert.deepEqual(browser.exhausted, ['plan_limit']);
  });

  it('a meter marks only that as written which was written, whatever was counted meanwhile', () => {
    const { meter } = openMeter();
    meter.count('action', 3);
    const [row] = meter.pendingWrites();
    meter.count('action', 1);
    assert.ok(row);
    meter.markWritten(row);
    assert.deepEqual(
      meter.pendingWrites().map(({ counts }) => counts.actions),
      [4],
    );
  });
});

type Step =
  | { kind: 'egress' | 'time' | 'report' | 'pass' | 'jump'; amount: number }
  | { kind: 'count'; axis: 'action' | 'session' | 'captcha'; count: number }
  | { kind: 'sample' };

const day = 86_400_000;
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('egress' as const, 'time' as const), amount: fc.integer({ min: -1000, max: 100_000 }) }),
  fc.record({ kind: fc.constant('report' as const), amount: fc.integer({ min: 0, max: 5000 }) }),
  fc.record({ kind: fc.constant('pass' as const), amount: fc.integer({ min: 0, max: 20 * day }) }),
  fc.record({ kind: fc.constant('jump' as const), amount: fc.integer({ min: -40 * day, max: 40 * day }) }),
  fc.record({
    kind: fc.constant('count' as const),
    axis: fc.constantFrom('action' as const, 'session' as const, 'captcha' as const),
    count: fc.nat(5),
  }),
  fc.record({ kind: fc.constant('sample' as const) }),
);

/** What the buckets must come to: by the month of each piece, and for what is sampled by the month of the sample before. */
class Model {
  readonly months = new Map<string, Counts>();
  readonly #browser: FakeBrowser;
  readonly #largest = { egressBytes: 0, browserMs: 0 };
  #month: string;

  constructor(browser: FakeBrowser, month: string) {
    this.#browser = browser;
    this.#month = month;
  }

  sample(month: string): void {
    const { egressBytes, browserMs } = this.#browser;
    this.#add({
      egressBytes: Math.max(0, egressBytes - this.#largest.egressBytes),
      browserMs: Math.max(0, browserMs - this.#largest.browserMs),
    });
    this.#largest.egressBytes = Math.max(this.#largest.egressBytes, egressBytes);
    this.#largest.browserMs = Math.max(this.#largest.browserMs, browserMs);
    this.#month = month;
  }

  count(month: string, more: Partial<Counts>): void {
    this.sample(month);
    this.#add(more);
  }

  #add(more: Partial<Counts>): void {
    const counts = this.months.get(this.#month) ?? noCounts();
    raise(counts, more);
    this.months.set(this.#month, counts);
  }
}

const fields = { action: 'actions', session: 'sessions', captcha: 'captchaSolves' } as const;

describe('the months of a meter', () => {
  it('the months of a meter are those of a simple model, whatever happens at their edges, and sum up to all that was used', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { clock, browser, meter, counted } = openMeter();
        const now = (): string => monthOf(clock.now());
        const model = new Model(browser, now());
        for (const each of steps) {
          const before = new Map(meter.pendingWrites().map(({ month, counts }) => [month, counts]));
          if (each.kind === 'egress') browser.egressBytes += each.amount;
          else if (each.kind === 'time') browser.browserMs += each.amount;
          else if (each.kind === 'pass') clock.advance(each.amount);
          else if (each.kind === 'jump') clock.jump(each.amount);
          else if (each.kind === 'sample') {
            meter.sample();
            model.sample(now());
          } else if ('axis' in each) {
            meter.count(each.axis, each.count);
            model.count(now(), { [fields[each.axis]]: each.count });
          } else {
            meter.addBrowserMs(each.amount);
            model.count(now(), { browserMs: each.amount });
          }
          for (const [month, counts] of before)
            assert.ok(Object.values(minus(meter.countsIn(month) ?? noCounts(), counts)).every((more) => more >= 0));
        }
        for (const [month, counts] of model.months) assert.deepEqual(meter.countsIn(month) ?? noCounts(), counts);
        assert.ok(isEqual([...model.months.values()].reduce(plus, noCounts()), counted));
      }),
      { numRuns: 500 },
    );
  });
});
