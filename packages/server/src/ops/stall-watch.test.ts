import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { runFor, section } from '@berth/lib/turns/sections.ts';
import { StallWatch } from './stall-watch.ts';

const standStill = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Watches while something happens. By default it counts the main thread as always running, which a busy host may not allow. */
async function watchWhile(happens: () => void | Promise<void>, readCpuMs = () => performance.now()) {
  const lines: Record<string, unknown>[] = [];
  const log: Log = { ...silentLog, warn: (fields) => void lines.push({ ...fields }) };
  const watch = new StallWatch({ log, stallMsMin: 200, intervalMs: 10, readCpuMs });
  watch.start();
  await sleep(50);
  await happens();
  await sleep(50);
  watch.stop();
  const [longest] = watch.recent().toSorted((one, other) => other.ms - one.ms);
  return { longest, totals: watch.totals, lines };
}

describe('a stall', () => {
  it('a stall is reported with the request in which it happened', async () => {
    const { longest, totals, lines } = await watchWhile(() => runFor({ name: 'fetch', requestId: 'req_1' }, () => standStill(400)));
    assert.ok(longest && longest.ms >= 350);
    assert.deepEqual([longest.during, longest.section?.name], ['fetch', 'start']);
    assert.equal(totals.get('fetch')?.count, 1);
    assert.ok(lines.some((line) => line['during'] === 'fetch' && line['request_id'] === 'req_1'));
  });

  it('a stall is attributed to a section that the request enters after a wait', async () => {
    const { longest } = await watchWhile(() =>
      runFor({ name: 'fetch' }, async () => {
        await sleep(20);
        section('classify', () => standStill(400));
      }),
    );
    assert.deepEqual([longest?.during, longest?.section?.name], ['fetch', 'classify']);
  });

  it('a stall is unknown where no section was entered, or too short a one', async () => {
    const { longest } = await watchWhile(() => {
      runFor({ name: 'reaper' }, () => standStill(1));
      standStill(400);
    });
    assert.deepEqual([longest?.during, longest?.section], ['unknown', null]);
  });

  it('a stall in which the host did not run the process is attributed to the host', async () => {
    assert.equal(
      (
        await watchWhile(
          () => runFor({ name: 'fetch' }, () => standStill(400)),
          () => 0,
        )
      ).longest?.during,
      'host',
    );
  });

  it('a stall is measured by the time of the main thread', async () => {
    const lines: Record<string, unknown>[] = [];
    const watch = new StallWatch({
      log: { ...silentLog, warn: (fields) => void lines.push({ ...fields }) },
      stallMsMin: 200,
      intervalMs: 10,
    });
    watch.start();
    standStill(400);
    await sleep(50);
    watch.stop();
    assert.ok(Number(lines[0]?.['cpu_ms']) < 100, 'standing still takes no processor');
  });
});
