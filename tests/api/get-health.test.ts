import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { health } from '@berth/contract';
import { startWiredApp, type WiredApp } from '../wire.ts';

let served: WiredApp;
before(async () => {
  served = await startWiredApp();
});
after(() => served.close());

const checksOf = async (): Promise<[number, string, Record<string, string>]> => {
  const { status, body } = await served.call(health, { key: null });
  return [status, body.status, Object.fromEntries(Object.entries(body.checks).map(([name, check]) => [name, check.status]))];
};

describe('200', () => {
  it('names every check when all is well', async () => {
    assert.deepEqual(await checksOf(), [200, 'ok', { store: 'ok', sessions: 'ok', machines: 'ok', drain: 'ok' }]);
  });

  it('says which machines it runs and how many', async () => {
    await served.create();
    const { body } = await served.call(health);
    assert.match(body.checks['machines']?.note ?? '', /^fake runtime \(process\); 0 warm, 0 warming, 1 in use/);
  });
});

describe('503', () => {
  it('is the answer while the database cannot be reached, and not after', async () => {
    await served.wire.cut();
    const [status, overall, checks] = await checksOf();
    assert.deepEqual([status, overall, checks['store']], [503, 'unhealthy', 'unhealthy']);
    await served.wire.mend();
    assert.deepEqual((await checksOf()).slice(0, 2), [200, 'ok']);
  });

  it('is the answer when the loops of the session manager fail again and again', async () => {
    await served.wire.cut();
    const { reaper } = served.app.fleet;
    for (let turn = 0; turn < 3; turn += 1) {
      reaper.nudge();
      await reaper.idle();
    }
    assert.equal(reaper.failing, true);
    await served.wire.mend();
    const [status, , checks] = await checksOf();
    assert.deepEqual([status, checks['store'], checks['sessions']], [503, 'ok', 'degraded']);
    reaper.nudge();
    await reaper.idle();
    for (const loop of served.app.loops) await (loop.nudge(), loop.idle());
    assert.deepEqual((await checksOf()).slice(0, 2), [200, 'ok']);
  });
});
