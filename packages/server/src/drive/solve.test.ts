import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from '../browser/browser.ts';
import type { Captchas, SolveOutcome } from '../captcha/captcha.ts';
import { Booked, bookedSession } from './metered.fixture.ts';
import { solveCaptcha, type Solved } from './solve.ts';

const signal = new AbortController().signal;
const outcome: SolveOutcome = {
  result: 'solved',
  waited: true,
  vendor: 'recaptcha',
  url: 'http://site.test/',
  durationMs: 1,
  units: 1,
  state: 'solved',
};

function makeSolver(solve: Captchas['solve']) {
  const booked = new Booked();
  const { session, told } = bookedSession();
  let asked = 0;
  const counted: Captchas['solve'] = (...order) => ((asked += 1), solve(...order));
  const run = (): Promise<Solved> =>
    solveCaptcha({ ...booked, captchas: { solve: counted }, session }, { page: {} as Page, provider: undefined, leftMs: 30_000, signal });
  return { booked, told, run, asked: () => asked };
}

describe('a captcha', () => {
  it('is charged when somebody was asked and it was solved, with time enough for that', async () => {
    const { booked, run } = makeSolver(() => Promise.resolve(outcome));
    assert.deepEqual(await run(), { isSolved: true, units: 1, warning: null });
    assert.deepEqual([booked.admitted, booked.ends], [[{ axis: 'captcha', ttlMs: 90_000 }], [1]]);
  });

  it('costs nothing when it was not solved, or solved by nobody who is paid', async () => {
    for (const result of ['failed', 'timeout', 'none', 'solved'] as const) {
      const { booked, run } = makeSolver(() => Promise.resolve({ ...outcome, result, units: 0 }));
      assert.deepEqual(await run(), { isSolved: result === 'solved', units: 0, warning: null });
      assert.deepEqual(booked.ends, ['dropped']);
    }
  });

  it('costs nothing when the call is given up meanwhile', async () => {
    const { booked, run } = makeSolver(() => Promise.reject(new Error('the caller went away')));
    await assert.rejects(run(), /went away/);
    assert.deepEqual(booked.ends, ['dropped']);
  });

  it('stays where it is when plan or wallet have nothing left for it, and says which', async () => {
    for (const [refusal, warning] of [
      ['plan_limit_exceeded', 'captcha_plan_limit'],
      ['insufficient_credits', 'captcha_no_credits'],
    ] as const) {
      const { booked, run, asked } = makeSolver(() => Promise.resolve(outcome));
      booked.refusal = refusal;
      assert.deepEqual(await run(), { isSolved: false, units: 0, warning });
      assert.equal(asked(), 0);
    }
  });

  it('is not mistaken for one of those where the wallet cannot be asked', async () => {
    const { booked, run } = makeSolver(() => Promise.resolve(outcome));
    booked.refusal = 'store_unavailable';
    await assert.rejects(run(), { code: 'store_unavailable' });
  });

  it('tells what happens to it as its session’s events', async () => {
    const { told, run } = makeSolver((_page, { tell }) => {
      tell({ type: 'captcha.solved', data: { tab_id: 'one' } });
      return Promise.resolve(outcome);
    });
    await run();
    assert.deepEqual(told, [['captcha.solved', { tab_id: 'one' }]]);
  });
});
