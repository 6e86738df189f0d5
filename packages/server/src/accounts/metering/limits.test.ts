import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { excessAt, excessDuring, endsSessions } from './limits.ts';
import { tierOf } from '../../../testing/accounts/metering.ts';

const unused = { actions: 0, egress_bytes: 0, browser_seconds: 0, captcha_solves: 0 };
const plan = tierOf('small', { actions: 10, egress_bytes: 1000, browser_seconds: 60, captcha_solves: 2 });
const [action, session, captcha] = (['action', 'session', 'captcha'] as const).map((axis) => ({ axis, count: 1 })) as [never, never, never];

describe('a plan', () => {
  it('a plan lets through all that is left of it', () => {
    const used = { actions: 9, egress_bytes: 999, browser_seconds: 59, captcha_solves: 1 };
    for (const need of [action, session, captcha]) assert.equal(excessAt(plan, used, need), null);
    assert.equal(excessDuring(plan, used), null);
  });

  it('a plan refuses actions when actions, traffic or browser time are used up', () => {
    assert.deepEqual(excessAt(plan, { ...unused, actions: 10 }, action), { axis: 'actions', limit: 10, used: 10, required: 1 });
    assert.deepEqual(excessAt(plan, { ...unused, egress_bytes: 1000 }, action), {
      axis: 'egress_bytes',
      limit: 1000,
      used: 1000,
      required: 1,
    });
    assert.deepEqual(excessAt(plan, { ...unused, browser_seconds: 61 }, action), {
      axis: 'browser_seconds',
      limit: 60,
      used: 61,
      required: 1,
    });
    assert.equal(excessAt(plan, { ...unused, captcha_solves: 5 }, action), null);
  });

  it('a plan refuses a call that wants more actions than are left', () => {
    assert.equal(excessAt(plan, { ...unused, actions: 6 }, { axis: 'action', count: 4 }), null);
    const excess = { axis: 'actions', limit: 10, used: 7, required: 4 };
    assert.deepEqual(excessAt(plan, { ...unused, actions: 7 }, { axis: 'action', count: 4 }), excess);
  });

  it('a plan refuses sessions when traffic or browser time are used up, and not for want of actions', () => {
    assert.equal(excessAt(plan, { ...unused, egress_bytes: 1000 }, session)?.axis, 'egress_bytes');
    assert.equal(excessAt(plan, { ...unused, browser_seconds: 60 }, session)?.axis, 'browser_seconds');
    assert.equal(excessAt(plan, { ...unused, actions: 10 }, session), null);
  });

  it('a plan refuses captchas by their own number alone', () => {
    assert.equal(excessAt(plan, { ...unused, captcha_solves: 2 }, captcha)?.axis, 'captcha_solves');
    assert.equal(excessAt(plan, { actions: 10, egress_bytes: 1000, browser_seconds: 60, captcha_solves: 0 }, captcha), null);
  });

  it('a plan allows nothing of an axis whose limit is 0', () => {
    assert.equal(excessAt(tierOf('none', { captcha_solves: 0 }), unused, captcha)?.limit, 0);
  });

  it('a plan ends sessions only for what they use by themselves', () => {
    assert.equal(excessDuring(plan, { ...unused, actions: 10, captcha_solves: 2 }), null);
    assert.equal(excessDuring(plan, { ...unused, browser_seconds: 60 })?.axis, 'browser_seconds');
    assert.equal(endsSessions(plan), true);
    assert.equal(endsSessions(tierOf('actions', { actions: 1 })), false);
  });

  it('a plan refuses nothing where it is not enforced, allows overage, or has no limit', () => {
    const used = { actions: 1e9, egress_bytes: 1e12, browser_seconds: 1e9, captcha_solves: 1e9 };
    for (const tier of [{ ...plan, enforced: false }, { ...plan, overage_allowed: true }, tierOf('endless')])
      for (const need of [action, session, captcha]) assert.equal(excessAt(tier, used, need), null);
  });
});
