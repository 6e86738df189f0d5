/** The warm pool: machines that wait for an owner, and are never given to a second one. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, getSession, health } from '@berth/contract';
import { eventually, startApp, type TestApp } from '../harness.ts';

const target = 2;
let served: TestApp;
before(async () => {
  served = await startApp({ environment: { BERTH_POOL_TARGET: String(target) } });
});
after(() => served.close());

const poolIsFull = () => eventually('the pool is full', () => served.app.fleet.count('ready') === target && served.app.fleet.count('warming') === 0, 15_000);

describe('a warm machine', () => {
  it('is there soon after the start, and /health counts it', async () => {
    await poolIsFull();
    const { body } = await served.call(health);
    assert.match(body.checks['machines']?.note ?? '', /2 warm/);
  });

  it('is handed out to a session, which says so, and replaced', async () => {
    await poolIsFull();
    const session = await served.create();
    assert.equal(session.warm, true);
    await served.call(endSession, { params: { session_id: session.session_id } });
    assert.equal((await served.call(getSession, { params: { session_id: session.session_id } })).body.warm, true);
    await poolIsFull();
  });

  it('is given to one session only, however many ask at once', { timeout: 30_000 }, async () => {
    await poolIsFull();
    const sessions = await Promise.all(Array.from({ length: 6 }, () => served.create()));
    const machines = sessions.map(({ session_id }) => served.app.sessions.live.get(session_id)?.machine?.id);
    assert.equal(new Set(machines).size, 6);
    assert.ok(sessions.filter(({ warm }) => warm).length >= target);
    await Promise.all(sessions.map(({ session_id }) => served.call(endSession, { params: { session_id } })));
  });

  it('never comes back from a session', async () => {
    await poolIsFull();
    const { session_id } = await served.create();
    const session = served.app.sessions.live.get(session_id);
    const used = session?.machine?.id ?? '';
    await served.call(endSession, { params: { session_id } });
    await session?.gone;
    assert.ok(!served.runtime.machines.has(used));
    await poolIsFull();
    assert.ok(![...served.app.fleet.berths.keys()].includes(used));
  });

  it('that dies while it waits is replaced and given to nobody', async () => {
    await poolIsFull();
    const [doomed] = [...served.runtime.machines.values()];
    doomed?.crash();
    await eventually('the dead machine is gone', () => !served.app.fleet.berths.has(doomed?.id ?? ''));
    await poolIsFull();
    assert.equal((await served.create()).status, 'ready');
  });
});
