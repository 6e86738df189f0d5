import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { health, metrics } from '@berth/contract';
import { runFor } from '@berth/lib/turns/sections.ts';
import { startProxiedApp, type ProxiedApp } from '../../services/database-proxy.ts';
import { adminKey, eventually } from '../../harness.ts';

let served: ProxiedApp;
before(async () => {
  served = await startProxiedApp();
});
after(() => served.close());

/** Keeps the main thread busy for so long. */
function work(ms: number): void {
  for (const since = performance.now(); performance.now() - since < ms;);
}

const checksOf = async (): Promise<[number, string, Record<string, string>]> => {
  const { status, body } = await served.call(health, { key: null });
  return [status, body.status, Object.fromEntries(Object.entries(body.checks).map(([name, check]) => [name, check.status]))];
};

describe('200', () => {
  it('GET /health lists every check when all pass', async () => {
    const [status, overall, { event_loop: eventLoop, ...checks }] = await checksOf();
    assert.deepEqual(
      [status, overall, checks],
      [200, 'ok', { store: 'ok', sessions: 'ok', machines: 'ok', disk: 'ok', drain: 'ok', loops: 'ok', keys: 'ok', browser: 'ok' }],
    );
    // Depends on the load of the test machine.
    assert.ok(eventLoop !== undefined);
  });

  it('GET /health reports a stall of the event loop, and what for, without refusing work', async (t) => {
    // A busy host may take most of the time, which is then no fault of the worker: here the host gives the thread all of it.
    t.mock.method(process, 'threadCpuUsage', () => ({ user: performance.now() * 1000, system: 0 }));
    await eventually('a stall is reported', async () => {
      runFor({ name: 'fetch' }, () => work(800));
      return (await checksOf())[2]['event_loop'] === 'degraded';
    });
    const { status, body } = await served.call(health, { key: null });
    assert.deepEqual([status, body.status], [200, 'ok']);
    assert.match(body.checks['event_loop']?.note ?? '', /^stalled \d+ times in the last ten minutes, for [\d.]+ s at most, last during/);
    const reply = await fetch(served.url + metrics.path, { headers: { 'x-admin-key': adminKey } });
    assert.match(await reply.text(), /^berth_event_loop_stalls_total\{during="\w+"\} [1-9]/m);
  });

  it('GET /health reports the kind and number of machines', async () => {
    await served.create();
    const { body } = await served.call(health);
    assert.match(body.checks['machines']?.note ?? '', /^fake runtime \(process\); 0 warm, 0 warming, 1 in use/);
  });
});

describe('503', () => {
  it('GET /health answers 503 while the database is unreachable, and only then', async () => {
    await served.proxy.cut();
    const [status, overall, checks] = await checksOf();
    assert.deepEqual([status, overall, checks['store']], [503, 'unhealthy', 'unhealthy']);
    await served.proxy.restore();
    // A loop that has failed often enough meanwhile fails until its next turn.
    await eventually('it is healthy again', async () => JSON.stringify((await checksOf()).slice(0, 2)) === JSON.stringify([200, 'ok']));
  });

  it('GET /health answers 503 when the session manager’s loops fail repeatedly', async (t) => {
    const { reaper } = served.app.fleet;
    // Not by the database: a turn of the loop's own, right after that is back, would succeed.
    const list = t.mock.method(served.runtime, 'list', () => Promise.reject(new Error('no such host')));
    for (let turn = 0; turn < 3; turn += 1) {
      reaper.nudge();
      await reaper.idle();
    }
    assert.equal(reaper.isFailing, true);
    const [status, , checks] = await checksOf();
    assert.deepEqual([status, checks['store'], checks['sessions']], [503, 'ok', 'degraded']);
    list.mock.restore();
    reaper.nudge();
    await reaper.idle();
    for (const loop of served.app.loops) await (loop.nudge(), loop.idle());
    assert.deepEqual((await checksOf()).slice(0, 2), [200, 'ok']);
  });
});
