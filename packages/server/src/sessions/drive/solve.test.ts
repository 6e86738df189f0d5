import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from '@berth/devtools';
import type { Captchas, SolveResult } from '../captcha/captcha.ts';
import { FakeMetering, fakeSession } from '../../../testing/accounts/drive-metering.ts';
import { solveCaptcha, type SolveCaptchaResult } from './solve.ts';

const signal = new AbortController().signal;
const outcome: SolveResult = { result: 'solved', units: 1 };

function makeSolver(solve: Captchas['solve']) {
  const metering = new FakeMetering();
  const { session, emitted } = fakeSession();
  let calls = 0;
  const counted: Captchas['solve'] = (...args) => ((calls += 1), solve(...args));
  const run = (): Promise<SolveCaptchaResult> =>
    solveCaptcha({ ...metering, captchas: { solve: counted }, session }, { page: {} as Page, provider: undefined, leftMs: 30_000, signal });
  return { metering, emitted, run, calls: () => calls };
}

describe('a captcha', () => {
  it('a captcha is charged when a provider solved it, and held for long enough', async () => {
    const { metering, run } = makeSolver(() => Promise.resolve(outcome));
    assert.deepEqual(await run(), { isSolved: true, units: 1, warning: null });
    assert.deepEqual([metering.admitted, metering.ends], [[{ axis: 'captcha', ttlMs: 90_000 }], [1]]);
  });

  it('a captcha is free when it was not solved, or not by a paid provider', async () => {
    for (const result of ['failed', 'timeout', 'none', 'solved'] as const) {
      const { metering, run } = makeSolver(() => Promise.resolve({ ...outcome, result, units: 0 }));
      assert.deepEqual(await run(), { isSolved: result === 'solved', units: 0, warning: null });
      assert.deepEqual(metering.ends, ['dropped']);
    }
  });

  it('a captcha is free when the call is aborted', async () => {
    const { metering, run } = makeSolver(() => Promise.reject(new Error('client disconnected')));
    await assert.rejects(run(), /disconnected/);
    assert.deepEqual(metering.ends, ['dropped']);
  });

  it('a captcha is not solved when the plan or the wallet is exhausted, and the warning says which', async () => {
    for (const [refusal, warning] of [
      ['plan_limit_exceeded', 'captcha_plan_limit'],
      ['insufficient_credits', 'captcha_no_credits'],
    ] as const) {
      const { metering, run, calls } = makeSolver(() => Promise.resolve(outcome));
      metering.refusal = refusal;
      assert.deepEqual(await run(), { isSolved: false, units: 0, warning });
      assert.equal(calls(), 0);
    }
  });

  it('solving a captcha rethrows other errors of the admission', async () => {
    const { metering, run } = makeSolver(() => Promise.resolve(outcome));
    metering.refusal = 'store_unavailable';
    await assert.rejects(run(), { code: 'store_unavailable' });
  });

  it('solving a captcha emits its progress as the session’s events', async () => {
    const { emitted, run } = makeSolver((_page, { emit }) => {
      emit({ type: 'captcha.solved', data: { tab_id: 'one' } });
      return Promise.resolve(outcome);
    });
    await run();
    assert.deepEqual(emitted, [['captcha.solved', { tab_id: 'one' }]]);
  });
});
