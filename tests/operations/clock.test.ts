/** The host's clock is set while the service runs: what waits does not notice, what has a date does. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createKey, createViewToken, getSession, listSessions, navigate, openLiveView, getUsage } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { eventually, startApp, type TestApp } from '../harness.ts';

const hourMs = 3_600_000;
const clock = new ManualClock(new Date('2026-03-10T12:00:00.000Z'));
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());
/** Each test sets the clock right at its end, and later ones begin where it is. */
let offsetMs = 0;
const jump = (ms: number): void => {
  offsetMs += ms;
  clock.jump(ms);
};
beforeEach(() => jump(-offsetMs));

async function runTimers(): Promise<void> {
  served.app.sessions.timers.nudge();
  await served.app.sessions.timers.idle();
}
const read = async (session_id: string) => (await served.call(getSession, { params: { session_id } })).body;

describe('a clock that jumps', () => {
  for (const [what, ms] of [
    ['forward', 25 * hourMs],
    ['backward', -25 * hourMs],
  ] as const) {
    it(`a clock that jumps ${what} ends no session, and they end after the time that they have`, async () => {
      const { session_id } = await served.create({ idle_timeout_seconds: 60, timeout_seconds: 600 });
      jump(ms);
      await runTimers();
      assert.equal((await read(session_id)).status, 'ready');
      assert.equal((await served.call(navigate, { params: { session_id }, body: { url: 'http://site.test/' } })).status, 200);
      clock.advance(59_000);
      await runTimers();
      assert.equal((await read(session_id)).status, 'ready');
      clock.advance(1000);
      await runTimers();
      await served.app.sessions.live.get(session_id)?.disposed;
      assert.equal((await read(session_id)).ended_reason, 'idle_timeout');
    });

    it(`a clock that jumps ${what} counts no browser time that was not used`, async () => {
      const key = await served.ownerKey(`clock-${what}`);
      await served.create({}, { key });
      clock.advance(5000);
      jump(ms);
      clock.advance(5000);
      served.app.metering.flushing.nudge();
      await eventually('all browser time', async () => (await served.call(getUsage, { key })).body.usage.browser_seconds === 10);
    });
  }

  it('a clock that jumps into another month counts what is used from then on in that month', async () => {
    const key = await served.ownerKey('clock-month');
    const { session_id } = await served.create({}, { key });
    const act = () => served.call(navigate, { key, params: { session_id }, body: { url: 'http://site.test/' } });
    await act();
    const { body: march } = await served.call(getUsage, { key });
    jump(31 * 24 * hourMs);
    await act();
    const { body: april } = await served.call(getUsage, { key });
    assert.deepEqual([march.month, march.usage.actions, april.month, april.usage.actions], ['2026-03', 1, '2026-04', 1]);
  });

  it('a clock that jumps past the end of a key makes it invalid until the clock is right again', async () => {
    const { body } = await served.call(createKey, { body: { owner: 'clock-key', expires_in_days: 1 } });
    const key = body.key ?? '';
    assert.equal((await served.call(listSessions, { key })).status, 200);
    jump(25 * hourMs);
    await served.refuse(listSessions, 'invalid_api_key', { key });
    jump(-50 * hourMs);
    assert.equal((await served.call(listSessions, { key })).status, 200);
  });

  it('a clock that jumps past the end of a link makes it invalid', async () => {
    const { session_id } = await served.create();
    const params = { session_id };
    const { body } = await served.call(createViewToken, { params, body: { ttl_seconds: 300 } });
    const open = async (): Promise<number> =>
      (await served.call(openLiveView, { params, query: { token: body.token ?? '' }, key: null })).status;
    assert.equal(await open(), 200);
    jump(hourMs);
    assert.equal(await open(), 403);
    jump(-hourMs);
    assert.equal(await open(), 200);
  });
});
