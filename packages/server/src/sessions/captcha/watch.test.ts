import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { captchaStates, type CaptchaState } from '@berth/contract';
import type { Page } from '@berth/devtools';
import { ManualClock } from '@berth/lib/clock.ts';
import type { CaptchaDetection } from './detect.ts';
import { CaptchaWatch, captchaMoves } from './watch.ts';

const tab = (tabId = 'tab_1') => {
  const closing = new AbortController();
  return { page: { tabId, closed: closing.signal } as Pick<Page, 'tabId' | 'closed'> as Page, close: () => closing.abort() };
};
const detection = (more: Partial<CaptchaDetection> = {}): CaptchaDetection => ({
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
const nothing = detection({ present: false, vendor: null, type: null, siteKey: null, asks: false });
/** The shortest path to each state. */
const paths: Record<CaptchaState, CaptchaState[]> = {
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
  it('each state of a captcha can be reached', () => {
    for (const state of captchaStates) {
      const { page } = tab();
      const watch = new CaptchaWatch(new ManualClock());
      for (const next of paths[state]) watch.move(page, next);
      assert.equal(watch.status('tab_1').state, state);
    }
  });

  it('the states of a captcha refuse every move that is not in the table', () => {
    for (const from of captchaStates)
      for (const to of captchaStates) {
        const { page } = tab();
        const watch = new CaptchaWatch(new ManualClock());
        for (const next of paths[from]) watch.move(page, next);
        const move = () => watch.move(page, to);
        if (captchaMoves[from].includes(to)) assert.doesNotThrow(move);
        else assert.throws(move, `${from} to ${to}`);
      }
  });

  it('a captcha never skips from detected to validating, nor ends twice', () => {
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

  it('the states of a captcha follow the table whatever is seen and in whatever order', () => {
    const detections = [
      null,
      nothing,
      detection(),
      detection({ answered: true }),
      detection({ siteKey: 'another' }),
      detection({ type: 'turnstile' }),
    ];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...detections), fc.constantFrom(...captchaStates)), { maxLength: 30 }), (steps) => {
        const { page } = tab();
        const watch = new CaptchaWatch(new ManualClock());
        for (const step of steps) {
          const before = watch.status('tab_1').state;
          if (typeof step !== 'string') watch.record(page, step);
          else if (captchaMoves[before].includes(step)) watch.move(page, step);
          const after = watch.status('tab_1').state;
          assert.ok(before === after || captchaMoves[before].includes(after), `${before} to ${after}`);
        }
      }),
    );
  });
});

describe('a watch', () => {
  it('a captcha watch reports the start of the state', () => {
    const clock = new ManualClock();
    const watch = new CaptchaWatch(clock);
    const { page } = tab();
    assert.deepEqual(watch.status('tab_1'), { present: false, vendor: null, type: null, state: 'undetected', since: null });
    watch.record(page, detection());
    const since = clock.now();
    clock.advance(1000);
    watch.record(page, detection());
    assert.deepEqual(watch.status('tab_1'), { present: true, vendor: 'hcaptcha', type: 'hcaptcha', state: 'detected', since });
    watch.record(page, detection({ siteKey: 'another' }));
    assert.deepEqual(watch.status('tab_1').since, clock.now());
    clock.advance(1000);
    watch.record(page, null);
    assert.deepEqual(watch.status('tab_1'), { present: false, vendor: null, type: null, state: 'failed_to_detect', since: clock.now() });
  });

  it('a captcha watch remembers that a captcha failed until another one is there', () => {
    const watch = new CaptchaWatch(new ManualClock());
    const { page } = tab();
    watch.record(page, detection());
    watch.move(page, 'failed_to_solve');
    watch.record(page, detection());
    assert.equal(watch.status('tab_1').state, 'failed_to_solve');
    watch.record(page, detection({ siteKey: 'another' }));
    assert.equal(watch.status('tab_1').state, 'detected');
    watch.record(page, detection({ siteKey: 'another', answered: true }));
    assert.equal(watch.status('tab_1').state, 'solved');
    watch.record(page, nothing);
    assert.equal(watch.status('tab_1').state, 'undetected');
  });

  it('a captcha watch ignores a detection while a solve is in progress', () => {
    const watch = new CaptchaWatch(new ManualClock());
    const { page } = tab();
    watch.record(page, detection());
    watch.move(page, 'solving');
    watch.record(page, nothing);
    assert.equal(watch.status('tab_1').state, 'solving');
    assert.equal(watch.status('tab_1').present, true);
  });

  it('a captcha watch forgets a tab that is closed', () => {
    const watch = new CaptchaWatch(new ManualClock());
    const { page, close } = tab();
    watch.record(page, detection());
    watch.record(tab('tab_2').page, detection());
    assert.equal(watch.size, 2);
    close();
    assert.equal(watch.size, 1);
    watch.record(page, detection());
    watch.move(page, 'solving');
    assert.equal(watch.size, 1);
  });
});
