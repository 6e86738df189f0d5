import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestDisk } from '../../testing/disk.ts';
import type { FleetStats } from '../fleet/pool/pool.ts';
import { Loop } from '@berth/lib/loop.ts';
import { Ops, type OpsDeps } from './ops.ts';
import type { Stall } from './stall-watch.ts';

const well: FleetStats = {
  runtime: { name: 'qemu-tcg', isolation: 'microvm', warnings: ['machines are emulated'] },
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
