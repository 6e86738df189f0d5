import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { captchaStates, type CaptchaState } from '@berth/contract';
import type { Page } from '../browser/browser.ts';
import { ManualClock } from '../lib/clock.ts';
import type { CaptchaSight } from './look.ts';
import { CaptchaWatch, captchaMoves } from './watch.ts';

const tab = (tabId = 'tab_1') => {
  const closing = new AbortController();
  return { page: { tabId, gone: closing.signal } as Pick<Page, 'tabId' | 'gone'> as Page, close: () => closing.abort() };
};
const sight = (more: Partial<CaptchaSight> = {}): CaptchaSight => ({
  present: true,
  vendor: 'hcaptcha',
  type: 'hcaptcha',
  siteKey: 'key',
  visible: true,
  action: null,
  data: null,
  asks: true,
  answered: false,
  frameId: 'frame',
  frameUrl: 'http://127.0.0.1/',
  ...more,
});
const nothing = sight({ present: false, vendor: null, type: null, siteKey: null, asks: false });
/** By the shortest way. */
const ways: Record<CaptchaState, CaptchaState[]> = {
  undetected: [],
  failed_to_detect: ['failed_to_detect'],
  detected: ['detected'],
  solving: ['detected', 'solving'],
  validating: ['detected', 'solving', 'validating'],
  validation_failed: ['detected', 'solving', 'validating', 'validation_failed'],
  solved: ['solved'],
  failed_to_solve: ['detected', 'failed_to_solve'],
};

describe('the states of a captcha', () => {
  it('can each be reached', () => {
    for (const state of captchaStates) {
      const { page } = tab();
      const watch = new CaptchaWatch(new ManualClock());
      for (const next of ways[state]) watch.move(page, next);
      assert.equal(watch.of('tab_1').state, state);
    }
  });

  it('refuse every move that is not in the table', () => {
    for (const from of captchaStates)
      for (const to of captchaStates) {
        const { page } = tab();
        const watch = new CaptchaWatch(new ManualClock());
        for (const next of ways[from]) watch.move(page, next);
        const move = () => watch.move(page, to);
        if (captchaMoves[from].includes(to)) assert.doesNotThrow(move);
        else assert.throws(move, `${from} to ${to}`);
      }
  });

  it('never skip from detected to validating, nor end twice', () => {
    const forbidden: [CaptchaState, CaptchaState][] = [
      ['detected', 'validating'],
      ['undetected', 'solving'],
      ['solved', 'solving'],
      ['solving', 'detected'],
      ['validating', 'solving'],
      ['failed_to_solve', 'failed_to_solve'],
    ];
    for (const [from, to] of forbidden) assert.ok(!captchaMoves[from].includes(to), `${from} to ${to}`);
  });

  it('follow the table whatever is seen and in whatever order', () => {
    const sights = [null, nothing, sight(), sight({ answered: true }), sight({ siteKey: 'another' }), sight({ type: 'turnstile' })];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...sights), fc.constantFrom(...captchaStates)), { maxLength: 30 }), (steps) => {
        const { page } = tab();
        const watch = new CaptchaWatch(new ManualClock());
        for (const step of steps) {
          const before = watch.of('tab_1').state;
          if (typeof step !== 'string') watch.saw(page, step);
          else if (captchaMoves[before].includes(step)) watch.move(page, step);
          const after = watch.of('tab_1').state;
          assert.ok(before === after || captchaMoves[before].includes(after), `${before} to ${after}`);
        }
      }),
    );
  });
});

describe('a watch', () => {
  it('tells since when a captcha is what it is', () => {
    const clock = new ManualClock();
    const watch = new CaptchaWatch(clock);
    const { page } = tab();
    assert.deepEqual(watch.of('tab_1'), { present: false, vendor: null, type: null, state: 'undetected', since: null });
    watch.saw(page, sight());
    const since = clock.now();
    clock.advance(1000);
    watch.saw(page, sight());
    assert.deepEqual(watch.of('tab_1'), { present: true, vendor: 'hcaptcha', type: 'hcaptcha', state: 'detected', since });
    watch.saw(page, sight({ siteKey: 'another' }));
    assert.deepEqual(watch.of('tab_1').since, clock.now());
    clock.advance(1000);
    watch.saw(page, null);
    assert.deepEqual(watch.of('tab_1'), { present: false, vendor: null, type: null, state: 'failed_to_detect', since: clock.now() });
  });

  it('keeps that a captcha failed until another one is there', () => {
    const watch = new CaptchaWatch(new ManualClock());
    const { page } = tab();
    watch.saw(page, sight());
    watch.move(page, 'failed_to_solve');
    watch.saw(page, sight());
    assert.equal(watch.of('tab_1').state, 'failed_to_solve');
    watch.saw(page, sight({ siteKey: 'another' }));
    assert.equal(watch.of('tab_1').state, 'detected');
    watch.saw(page, sight({ siteKey: 'another', answered: true }));
    assert.equal(watch.of('tab_1').state, 'solved');
    watch.saw(page, nothing);
    assert.equal(watch.of('tab_1').state, 'undetected');
  });

  it('does not let a look disturb a solving', () => {
    const watch = new CaptchaWatch(new ManualClock());
    const { page } = tab();
    watch.saw(page, sight());
    watch.move(page, 'solving');
    watch.saw(page, nothing);
    assert.equal(watch.of('tab_1').state, 'solving');
    assert.equal(watch.of('tab_1').present, true);
  });

  it('forgets a tab that is closed', () => {
    const watch = new CaptchaWatch(new ManualClock());
    const { page, close } = tab();
    watch.saw(page, sight());
    watch.saw(tab('tab_2').page, sight());
    assert.equal(watch.size, 2);
    close();
    assert.equal(watch.size, 1);
    watch.saw(page, sight());
    watch.move(page, 'solving');
    assert.equal(watch.size, 1);
  });
});
