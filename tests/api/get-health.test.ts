import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { health } from '@berth/contract';
import { startProxiedApp, type ProxiedApp } from '../database-proxy.ts';

let served: ProxiedApp;
before(async () => {
  served = await startProxiedApp();
});
after(() => served.close());

const checksOf = async (): Promise<[number, string, Record<string, string>]> => {
  const { status, body } = await served.call(health, { key: null });
  return [status, body.status, Object.fromEntries(Object.entries(body.checks).map(([name, check]) => [name, check.status]))];
};

describe('200', () => {
  it('lists every check when all pass', async () => {
    assert.deepEqual(await checksOf(), [200, 'ok', { store: 'ok', sessions: 'ok', machines: 'ok', drain: 'ok' }]);
  });

  it('reports the kind and number of machines', async () => {
    await served.create();
    const { body } = await served.call(health);
    assert.match(body.checks['machines']?.note ?? '', /^fake runtime \(process\); 0 warm, 0 warming, 1 in use/);
  });
});

describe('503', () => {
  it('answers only while the database is unreachable', async () => {
    await served.proxy.cut();
    const [status, overall, checks] = await checksOf();
    assert.deepEqual([status, overall, checks['store']], [503, 'unhealthy', 'unhealthy']);
    await served.proxy.restore();
    assert.deepEqual((await checksOf()).slice(0, 2), [200, 'ok']);
  });

  it('answers when the session manager’s loops fail repeatedly', async () => {
    await served.proxy.cut();
    const { reaper } = served.app.fleet;
    for (let turn = 0; turn < 3; turn += 1) {
      reaper.nudge();
      await reaper.idle();
    }
    assert.equal(reaper.isFailing, true);
    await served.proxy.restore();
    const [status, , checks] = await checksOf();
    assert.deepEqual([status, checks['store'], checks['sessions']], [503, 'ok', 'degraded']);
    reaper.nudge();
    await reaper.idle();
    for (const loop of served.app.loops) await (loop.nudge(), loop.idle());
    assert.deepEqual((await checksOf()).slice(0, 2), [200, 'ok']);
  });
});
