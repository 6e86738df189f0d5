import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, getSession, getUsage, navigate } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
});
after(() => served.close());

const blank = { url: 'about:blank' };

describe('200', () => {
  it('GET /v1/usage returns the usage of an owner without limits, with null as each limit', async () => {
    const { body } = await served.call(getUsage, { key: await served.ownerKey('endless') });
    const month = new Date().toISOString().slice(0, 7);
    const unlimited = { actions: null, egress_bytes: null, browser_seconds: null, captcha_solves: null };
    const { resets_at, ...rest } = body;
    assert.deepEqual(rest, {
      tier: 'self_hosted',
      month,
      usage: { actions: 0, egress_bytes: 0, browser_seconds: 0, sessions: 0, captcha_solves: 0 },
      limits: unlimited,
      remaining: unlimited,
      // BERTH_MAX_SESSIONS of the test service.
      concurrency_limit: 500,
      premium_egress: true,
      overage_allowed: false,
      enforced: false,
      trial_ends_at: null,
    });
    assert.match(resets_at, /^\d{4}-\d{2}-01T00:00:00\.000Z$/);
    assert.ok(new Date(resets_at) > new Date());
  });

  it('GET /v1/usage returns what remains of the plan', async () => {
    const key = await served.ownerKey('small', 'free');
    const { session_id } = await served.create({}, { key });
    await served.call(navigate, { key, params: { session_id }, body: blank });
    const { body } = await served.call(getUsage, { key });
    assert.deepEqual([body.tier, body.enforced, body.usage.actions, body.usage.sessions], ['free', true, 1, 1]);
    assert.deepEqual([body.limits.actions, body.remaining.actions, body.remaining.captcha_solves], [1000, 999, 0]);
  });

  it('GET /v1/usage equals the sum of the owner’s running and ended sessions', async () => {
    const key = await served.ownerKey('summed');
    const sessions = [await served.create({}, { key }), await served.create({}, { key })];
    for (const { session_id } of [...sessions, ...sessions.slice(1)])
      await served.call(navigate, { key, params: { session_id }, body: blank });
    await served.call(endSession, { key, params: { session_id: sessions[0]?.session_id ?? '' } });
    const reported = await Promise.all(sessions.map(({ session_id }) => served.call(getSession, { key, params: { session_id } })));
    const { usage } = (await served.call(getUsage, { key })).body;
    const sum = (axis: 'actions' | 'egress_bytes'): number => reported.reduce((all, { body }) => all + body.usage[axis], 0);
    assert.deepEqual([usage.actions, usage.egress_bytes, usage.sessions], [3, sum('egress_bytes'), 2]);
    assert.equal(sum('actions'), 3);
  });

  it('GET /v1/usage does not count failed calls and reads', async () => {
    const key = await served.ownerKey('careful');
    const { session_id } = await served.create({}, { key });
    await served.refuse(navigate, 'session_not_found', { key, params: { session_id: 'ses_000000000000000000000000' }, body: blank });
    await served.issues(navigate, { key, params: { session_id }, body: { url: 'file:///etc/passwd' } });
    await served.call(getSession, { key, params: { session_id } });
    assert.equal((await served.call(getUsage, { key })).body.usage.actions, 0);
  });

  it('GET /v1/usage reports the usage of each day, oldest first, when days are asked for', async () => {
    const [key, other] = [await served.ownerKey('daily'), await served.ownerKey('yesterday')];
    const { session_id } = await served.create({}, { key });
    await served.call(navigate, { key, params: { session_id }, body: blank });
    const { flushing } = served.app.metering;
    flushing.nudge();
    await flushing.idle();
    const { usage, days = [] } = (await served.call(getUsage, { key, query: { days: '31' } })).body;
    const today = new Date().toISOString().slice(0, 10);
    // Browser time goes on.
    assert.deepEqual({ ...days.at(-1), browser_seconds: 0 }, { day: today, ...usage, browser_seconds: 0 });
    assert.equal(usage.actions, 1);
    assert.deepEqual([days.length, new Set(days.map(({ day }) => day)).size], [31, 31]);
    assert.deepEqual(
      days.map(({ day }) => day).toSorted(),
      days.map(({ day }) => day),
    );
    assert.ok(days.slice(0, -1).every(({ actions, sessions }) => actions === 0 && sessions === 0));
    const empty = (await served.call(getUsage, { key: other, query: { days: '1' } })).body;
    assert.deepEqual(empty.days, [{ day: today, ...empty.usage }]);
  });

  it('GET /v1/usage contains only the caller’s usage', async () => {
    const [one, other] = [await served.ownerKey('one'), await served.ownerKey('other')];
    await served.create({}, { key: one });
    assert.equal((await served.call(getUsage, { key: one })).body.usage.sessions, 1);
    assert.equal((await served.call(getUsage, { key: other })).body.usage.sessions, 0);
  });
});

describe('422', () => {
  it('GET /v1/usage refuses days that are not a number from 1 to 184 with 422', async () => {
    const key = await served.ownerKey('greedy');
    for (const days of ['0', '185', 'all']) {
      const [issue] = await served.issues(getUsage, { key, query: { days } });
      assert.deepEqual(issue?.loc, ['query', 'days']);
    }
  });
});
