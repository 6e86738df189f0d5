import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ManualClock } from '@berth/lib/clock.ts';
import { Frames, type FrameLine } from './frames.ts';
import { startedAt, tempFolder } from '../../../../testing/recordings.ts';

function createFrames(test: TestContext, { bytesMax = 1_000_000, zeroMs = null }: { bytesMax?: number; zeroMs?: number | null } = {}) {
  const folder = tempFolder((undo) => test.after(undo));
  const clock = new ManualClock(startedAt);
  const frames = new Frames({ folder, clock, zeroMs, bytesMax });
  const writtenFrames = (): [tMs: number, picture: string][] => {
    const all = readFileSync(join(folder, 'frames.mjpeg'));
    const lines = readFileSync(join(folder, 'frames.ndjson'), 'utf8').split('\n').filter(Boolean);
    return lines.map((text) => {
      const { t_ms, offset, length } = JSON.parse(text) as FrameLine;
      return [t_ms, all.toString('utf8', offset, offset + length)];
    });
  };
  return { frames, clock, pictures: writtenFrames, folder };
}

describe('pictures without an encoder', () => {
  it('still frames lie one after the other, and the index says where and when', async (test) => {
    const { frames, clock, pictures: writtenFrames } = createFrames(test);
    clock.advance(200);
    frames.write(Buffer.from('first'));
    clock.advance(500);
    frames.write(Buffer.from('second one'));
    assert.deepEqual(await frames.finish(), { end: 'finished', detail: '' });
    assert.deepEqual(writtenFrames(), [
      [0, 'first'],
      [500, 'second one'],
    ]);
    assert.equal(frames.startedAtMs, startedAt.getTime() + 200);
  });

  it('still frames continue the time of the recording before them', async (test) => {
    const { frames, clock, pictures: writtenFrames } = createFrames(test, { zeroMs: 0 });
    clock.advance(4000);
    frames.write(Buffer.from('one'));
    await frames.finish();
    assert.deepEqual(writtenFrames(), [[4000, 'one']]);
  });

  it('still frames are two a second at most, and the last is among them', async (test) => {
    const { frames, clock, pictures: writtenFrames } = createFrames(test);
    for (let ms = 0; ms < 1000; ms += 100, clock.advance(100)) assert.equal(frames.write(Buffer.from(`at ${ms}`)), true);
    await frames.finish();
    assert.deepEqual(writtenFrames(), [
      [0, 'at 0'],
      [500, 'at 500'],
      [1000, 'at 900'],
    ]);
  });

  it('still frames are written without another that comes after them', async (test) => {
    const clock = { now: () => new Date(), monotonicMs: () => performance.now() };
    const folder = tempFolder((undo) => test.after(undo));
    const frames = new Frames({ folder, clock, zeroMs: null, bytesMax: 1000 });
    frames.write(Buffer.from('one'));
    frames.write(Buffer.from('last'));
    const until = performance.now() + 20_000;
    while (frames.bytesWritten < 7 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(frames.bytesWritten, 7);
    await frames.finish();
  });

  it('still frames end when the size limit is reached', async (test) => {
    const { frames, clock, pictures: writtenFrames } = createFrames(test, { bytesMax: 10 });
    frames.write(Buffer.from('12345'));
    clock.advance(500);
    frames.write(Buffer.from('678901'));
    assert.equal((await frames.exited).end, 'full');
    assert.equal(frames.write(Buffer.from('2')), false);
    assert.deepEqual(writtenFrames(), [[0, '12345']]);
  });

  it('still frames end as broken where their file cannot be written', async (test) => {
    const { frames: first, folder, clock } = createFrames(test);
    first.write(Buffer.from('one'));
    await first.finish();
    const second = new Frames({ folder, clock, zeroMs: null, bytesMax: 1000 });
    second.write(Buffer.from('two'));
    assert.equal((await second.exited).end, 'broken');
    assert.equal(second.write(Buffer.from('three')), false);
    assert.equal(readFileSync(join(folder, 'frames.mjpeg'), 'utf8'), 'one');
  });
});
