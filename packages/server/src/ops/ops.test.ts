import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestDisk } from '../../testing/disk.ts';
import type { FleetStats } from '../fleet/pool/pool.ts';
import { Loop } from '@berth/lib/loop.ts';
import { Ops, type OpsDeps } from './ops.ts';
import type { Stall } from './stall-watch.ts';

const nowMs = Date.parse('2026-11-28T00:00:00Z');
const browser = { version: 'Chromium 156.0.1', builtAt: new Date('2026-11-20T00:00:00Z') };
const well: FleetStats = {
  runtime: { name: 'qemu-tcg', isolation: 'microvm', browser, warnings: ['machines are emulated'] },
  machines: [
    { kind: 'headless', state: 'ready', count: 2 },
    { kind: 'full_browser', state: 'ready', count: 1 },
    { kind: 'shell', state: 'assigned', count: 4 },
  ],
  targets: [],
  boots: [],
  bootFailures: [],
  retired: { surplus: 0, old: 0, outdated: 0, lost: 0 },
  templates: [{ kind: 'headless', isCold: false }],
  failing: [],
  waiting: 0,
  admitting: true,
};

const active = { state: 'active', drainSecondsLeft: null, hasPeers: false } as const;

const machinesOf = async (stats: Partial<FleetStats>) => {
  const store = { ping: () => Promise.resolve() } as unknown as OpsDeps['store'];
  const ops = new Ops({
    store,
    fleet: { stats: () => ({ ...well, ...stats }), lastHeartbeat: active },
    loops: [],
    stalls: { recent: () => [] },
    disk: createTestDisk(),
    isDraining: () => false,
    nowMs: () => nowMs,
    missingKeys: () => [],
  });
  const { status, checks } = await ops.health();
  assert.equal(checks['machines']?.status, status);
  return [status, checks['machines']?.note];
};

describe('the health of machines', () => {
  it('the health of machines says which they are, how they are kept apart, how many there are and what is wanting', async () => {
    assert.deepEqual(await machinesOf({}), ['ok', 'qemu-tcg runtime (microvm); 3 warm, 0 warming, 4 in use; machines are emulated']);
  });

  it('the health of machines is degraded while they fail to start, one after another', async () => {
    const [status, note] = await machinesOf({ failing: ['headless'] });
    assert.equal(status, 'degraded');
    assert.match(String(note), /; headless machines fail to start;/);
  });

  it('the health of machines is degraded while they are booted cold for want of a template', async () => {
    const [status, note] = await machinesOf({ templates: [{ kind: 'full_browser', isCold: true }] });
    assert.equal(status, 'degraded');
    assert.match(String(note), /; full_browser machines are booted cold, without a template;/);
  });
});

describe('the health of the browser', () => {
  const checksFor = async (builtAt: string) => {
    const runtime = { ...well.runtime, browser: { ...browser, builtAt: new Date(builtAt) } };
    const { status, checks } = await new Ops({
      store: { ping: () => Promise.resolve() } as unknown as OpsDeps['store'],
      fleet: { stats: () => ({ ...well, runtime }), lastHeartbeat: active },
      loops: [],
      stalls: { recent: () => [] },
      disk: createTestDisk(),
      isDraining: () => false,
      nowMs: () => nowMs,
      missingKeys: () => [],
    }).health();
    assert.equal(status, 'ok', 'the worker serves');
    return checks['browser'];
  };

  it('the health of the browser has its version and its age, and is degraded after 90 days', async () => {
    assert.deepEqual(await checksFor('2026-08-30T00:00:00Z'), { status: 'ok', note: 'Chromium 156.0.1, 90 days old' });
    const old = await checksFor('2026-08-29T00:00:00Z');
    assert.deepEqual(old, { status: 'degraded', note: 'Chromium 156.0.1, 91 days old: older than 90 days, upgrade it' });
  });
});

describe('the health of loops', () => {
  const checksWith = async (name: string, isEssential: boolean) => {
    const failing = new Loop(name, 1000, () => Promise.reject(new Error('no')), { isEssential });
    const deps = {
      store: { ping: () => Promise.resolve() } as unknown as OpsDeps['store'],
      disk: createTestDisk(),
      fleet: { stats: () => well, lastHeartbeat: active },
      loops: [failing, new Loop('well', 1000, () => Promise.resolve(), { isEssential })],
      stalls: { recent: () => [] },
      isDraining: () => false,
      nowMs: () => nowMs,
      missingKeys: () => [],
    };
    for (let turn = 0; turn < 3; turn += 1) {
      assert.equal((await new Ops(deps).health()).status, 'ok', 'fewer failures are transient');
      failing.nudge();
      await failing.idle();
    }
    return new Ops(deps).health();
  };

  it('the health of loops, and of the worker, is degraded where sessions depend on one that fails', async () => {
    const { status, checks } = await checksWith('reaper', true);
    assert.deepEqual([status, checks['sessions']], ['degraded', { status: 'degraded', note: 'failing: reaper' }]);
  });

  it('the health of loops names the others that fail, while the worker serves', async () => {
    const { status, checks } = await checksWith('recording-uploads', false);
    assert.deepEqual([status, checks['loops']], ['ok', { status: 'degraded', note: 'failing: recording-uploads' }]);
  });
});

describe('the health of the event loop', () => {
  const checkFor = async (...causes: string[]) => {
    const stalls = causes.map((during, i): Stall => ({ at: new Date(), ms: 1200 - 300 * i, cpuMs: 900, during, section: null }));
    const store = { ping: () => Promise.resolve() } as unknown as OpsDeps['store'];
    const deps = {
      store,
      disk: createTestDisk(),
      fleet: { stats: () => well, lastHeartbeat: active },
      loops: [],
      stalls: { recent: () => stalls },
      isDraining: () => false,
      nowMs: () => nowMs,
      missingKeys: () => [],
    };
    const { status, checks } = await new Ops(deps).health();
    assert.equal(status, 'ok', 'a stall is over when it is reported');
    return checks['event_loop'];
  };

  it('the health of the event loop is degraded after a stall, and says what for', async () => {
    assert.deepEqual(await checkFor('fetch', 'reaper'), {
      status: 'degraded',
      note: 'stalled 2 times in the last ten minutes, for 1.2 s at most, last during reaper',
    });
  });

  it('the health of the event loop is not degraded by time that the host took', async () =>
    assert.equal((await checkFor('host'))?.status, 'ok'));
});
