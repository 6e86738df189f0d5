import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { newId } from '@berth/lib/ids.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { JumpyClock, Worker, metersIn, monthsOf, tierOf, type WorkerOptions } from '../../../testing/accounts/metering.ts';

let database: TestStore;
before(async () => {
  database = await testStore();
});
after(() => database.drop());

const workerOn = (clock = new JumpyClock(), options: Partial<WorkerOptions> = {}): Worker =>
  new Worker(database.store, { clock, ...options });
/** Nobody else's: the tests of this file share a database. */
const newOwner = (): string => newId('opr');

describe('a month', () => {
  const lastSecond = (): JumpyClock => new JumpyClock(new Date('2026-01-31T23:59:59.000Z'));

  it('a month is over at midnight in UTC: the turn that finds it so writes to it, and later usage goes to the next', async () => {
    const worker = workerOn(lastSecond());
    const owner = newOwner();
    const { meter, browser } = await worker.open(owner);
    browser.egressBytes = 100;
    await worker.turn();
    browser.egressBytes = 130;
    await worker.turn();
    assert.deepEqual(await worker.totals(owner), { actions: 0, egress_bytes: 30, browser_seconds: 0, sessions: 0, captcha_solves: 0 });
    await meter.close();
    const months = await monthsOf(database.store, owner);
    assert.deepEqual([months['2026-01']?.egress_bytes, months['2026-02']?.egress_bytes], [100, 30]);
  });

  it('a month is the sum of its days, also of usage that is written after midnight', async () => {
    const worker = workerOn(new JumpyClock(new Date('2026-01-30T23:59:50.000Z')));
    const owner = newOwner();
    const { meter, browser } = await worker.open(owner);
    // The fourth turn finds that the month is over: what it samples is still January's.
    const steps = [1, 3_600_000, 86_400_000, 5 * 86_400_000];
    for (const [n, step] of steps.entries()) {
      browser.egressBytes += 10 ** n;
      await worker.turn();
      worker.clock.advance(step);
    }
    worker.clock.reach('2026-02-28T23:59:59.999Z');
    browser.egressBytes += 10_000;
    // Counted in February, and written in March.
    await worker.act(owner, meter);
    worker.clock.advance(2);
    await meter.close();
    await worker.turn();
    const days = (await worker.metering.usageByDay(owner, 60)).filter(({ egress_bytes: bytes }) => bytes > 0);
    assert.deepEqual(
      days.map(({ day, egress_bytes: bytes }) => [day, bytes]),
      [
        ['2026-01-30', 1 + 10],
        ['2026-01-31', 100 + 1000],
        ['2026-02-28', 10_000],
      ],
    );
  });

  it('a month begins with an event, where one comes before the turn', async () => {
    const worker = workerOn(lastSecond());
    const owner = newOwner();
    const { meter, browser } = await worker.open(owner);
    browser.egressBytes = 100;
    worker.clock.advance(1500);
    await worker.act(owner, meter);
    browser.egressBytes = 130;
    assert.deepEqual(await worker.totals(owner), { actions: 1, egress_bytes: 30, browser_seconds: 0, sessions: 0, captcha_solves: 0 });
    await meter.close();
    const months = await monthsOf(database.store, owner);
    assert.deepEqual([months['2026-01']?.egress_bytes, months['2026-01']?.actions], [100, 0]);
    assert.deepEqual([months['2026-02']?.egress_bytes, months['2026-02']?.actions], [30, 1]);
  });

  it('a month goes on where the clock goes back into it, and nothing is counted twice or negative', async () => {
    const worker = workerOn(new JumpyClock(new Date('2026-01-31T23:30:00.000Z')));
    const owner = newOwner();
    const { meter, browser } = await worker.open(owner);
    for (let n = 0; n < 8; n += 1) {
      browser.egressBytes += 100;
      browser.browserMs += 2000;
      await worker.act(owner, meter);
      if (n % 3 !== 2) await worker.turn();
      worker.clock.jump(n % 2 === 0 ? 3_600_000 : -3_600_000);
      const { egress_bytes, browser_seconds, actions } = await worker.totals(owner);
      assert.ok(egress_bytes >= 0 && browser_seconds >= 0 && actions >= 0);
    }
    await meter.close();
    const { '2026-01': january, '2026-02': february } = await monthsOf(database.store, owner);
    assert.equal((january?.egress_bytes ?? 0) + (february?.egress_bytes ?? 0), 800);
    assert.equal((january?.browser_ms ?? 0) + (february?.browser_ms ?? 0), 16_000);
    assert.deepEqual([january?.actions, february?.actions], [4, 4]);
    const { actions, egress_bytes, browser_seconds } = await worker.totals(owner);
    assert.deepEqual(
      [actions, egress_bytes, browser_seconds],
      [january?.actions, january?.egress_bytes, (january?.browser_ms ?? 0) / 1000],
    );
  });

  it('a month begins with nothing used, whatever the one before had', async () => {
    const worker = workerOn(lastSecond(), { tiers: [tierOf('small', { actions: 1 })] });
    const owner = newOwner();
    const { meter } = await worker.open(owner);
    await worker.act(owner, meter);
    await assert.rejects(worker.metering.admit(owner, { axis: 'action' }));
    worker.clock.advance(1000);
    await worker.act(owner, meter);
    assert.equal((await worker.totals(owner)).actions, 1);
  });

  it('a month is deleted meter by meter after two more, and kept as a sum', async () => {
    const worker = workerOn();
    const owner = newOwner();
    const { meter } = await worker.open(owner);
    await worker.act(owner, meter, 7);
    await meter.close();
    const isThere = async (): Promise<boolean> =>
      (await metersIn(database.store, '2026-01')).some(({ meter_id }) => meter_id === meter.meterId);
    worker.clock.reach('2026-03-31T23:00:00.000Z');
    await worker.turn();
    assert.equal(await isThere(), true);
    worker.clock.reach('2026-04-01T00:30:00.000Z');
    await worker.turn();
    assert.equal(await isThere(), false);
    assert.equal((await monthsOf(database.store, owner))['2026-01']?.actions, 7);
  });
});

type Step =
  | { kind: 'use'; bytes: number }
  | { kind: 'act'; count: number }
  | { kind: 'turn'; fault: 'refused' | 'unanswered' | null }
  | { kind: 'close' | 'kill' | 'jump' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('use' as const), bytes: fc.nat(10_000) }),
  fc.record({ kind: fc.constant('act' as const), count: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ kind: fc.constant('turn' as const), fault: fc.constantFrom('refused' as const, 'unanswered' as const, null) }),
  fc.record({ kind: fc.constantFrom('close' as const, 'kill' as const, 'jump' as const) }),
);

describe('the sums of the database', () => {
  it('the sums of the database are those of what was counted before each write, through crashes, lost answers and jumps of the clock', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const clock = new JumpyClock(new Date('2026-01-31T23:30:00.000Z'));
        const owner = newOwner();
        let worker = workerOn(clock);
        let open = await worker.open(owner);
        const counted = { actions: 0, egress: 0 };
        let written = { ...counted };
        for (const each of steps) {
          if (each.kind === 'use') {
            open.browser.egressBytes += each.bytes;
            counted.egress += each.bytes;
          } else if (each.kind === 'act') {
            await worker.act(owner, open.meter, each.count);
            counted.actions += each.count;
          } else if (each.kind === 'turn') {
            worker.store.fault = each.fault;
            await worker.turn();
            worker.store.fault = null;
            if (each.fault !== 'refused') written = { ...counted };
          } else if (each.kind === 'close') {
            await open.meter.close();
            written = { ...counted };
            open = await worker.open(owner);
          } else if (each.kind === 'kill') {
            worker = workerOn(clock);
            open = await worker.open(owner);
            Object.assign(counted, written);
          } else clock.jump(clock.now().getUTCMonth() === 0 ? 3_600_000 : -3_600_000);
          const months = Object.values(await monthsOf(database.store, owner));
          const sum = (axis: 'actions' | 'egress_bytes'): number => months.reduce((all, month) => all + month[axis], 0);
          assert.deepEqual({ actions: sum('actions'), egress: sum('egress_bytes') }, written);
        }
        await worker.turn();
        clock.advance(2000);
        const month = clock.now().toISOString().slice(0, 7);
        assert.equal((await worker.totals(owner)).egress_bytes, (await monthsOf(database.store, owner))[month]?.egress_bytes ?? 0);
        await worker.metering.stop();
      }),
      { numRuns: 40 },
    );
  });
});
