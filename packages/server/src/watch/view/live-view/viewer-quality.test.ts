import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ViewerQuality, stalledMs } from './viewer-quality.ts';

const fit = { width: 1280, height: 720 };
const qualityOf = (quality: ViewerQuality): number => quality.demand(fit).quality;

/** Frames that are each acknowledged after `ackMs`, for `forMs`. Gives the time after them. */
function watch(quality: ViewerQuality, fromMs: number, { ackMs, forMs }: { ackMs: number; forMs: number }): number {
  let nowMs = fromMs;
  for (; nowMs < fromMs + forMs; nowMs += Math.max(40, ackMs)) quality.recordAck(nowMs, nowMs + ackMs);
  return nowMs;
}

describe('the quality of a viewer', () => {
  it('the quality of a viewer is the best as long as frames are acknowledged promptly', () => {
    const quality = new ViewerQuality(0);
    watch(quality, 0, { ackMs: 20, forMs: 10_000 });
    assert.deepEqual(quality.demand(fit), { maxWidth: 1280, maxHeight: 720, quality: 80, framesPerSecond: 25 });
  });

  it('the quality of a viewer sinks to the lowest where frames are acknowledged late, and no further', () => {
    const quality = new ViewerQuality(0);
    watch(quality, 0, { ackMs: 900, forMs: 60_000 });
    assert.deepEqual(quality.demand(fit), { maxWidth: 640, maxHeight: 360, quality: 30, framesPerSecond: 10 });
  });

  it('a single late frame does not lower the quality of a viewer', () => {
    const quality = new ViewerQuality(0);
    quality.recordAck(0, 800);
    const nowMs = watch(quality, 800, { ackMs: 20, forMs: 400 });
    quality.recordAck(nowMs, nowMs + 300);
    assert.equal(qualityOf(quality), 80);
  });

  it('a long round trip does not lower the quality of a viewer', () => {
    const quality = new ViewerQuality(0);
    quality.recordRoundTrip(600);
    watch(quality, 0, { ackMs: 650, forMs: 20_000 });
    assert.equal(qualityOf(quality), 80);
  });

  it('the quality of a viewer stays where it is between late and prompt', () => {
    const quality = new ViewerQuality(0);
    const nowMs = watch(quality, 0, { ackMs: 400, forMs: 2000 });
    const before = qualityOf(quality);
    assert.ok(before < 80);
    watch(quality, nowMs, { ackMs: 180, forMs: 30_000 });
    assert.equal(qualityOf(quality), before);
  });

  it('the quality of a viewer rises again only after a while, and waits longer after a rise that did not hold', () => {
    const quality = new ViewerQuality(0);
    let nowMs = watch(quality, 0, { ackMs: 400, forMs: 1300 });
    assert.equal(qualityOf(quality), 60);
    nowMs = watch(quality, nowMs, { ackMs: 20, forMs: 3000 });
    assert.equal(qualityOf(quality), 60);
    nowMs = watch(quality, nowMs, { ackMs: 20, forMs: 3000 });
    assert.equal(qualityOf(quality), 80);
    nowMs = watch(quality, nowMs, { ackMs: 400, forMs: 2000 });
    assert.equal(qualityOf(quality), 60);
    nowMs = watch(quality, nowMs, { ackMs: 20, forMs: 8000 });
    assert.equal(qualityOf(quality), 60);
    watch(quality, nowMs, { ackMs: 20, forMs: 4000 });
    assert.equal(qualityOf(quality), 80);
  });

  it('the quality of a viewer is the best from the first frame on, and its rate from the first acknowledgement', () => {
    const quality = new ViewerQuality(0);
    assert.deepEqual(quality.demand(fit), { maxWidth: 1280, maxHeight: 720, quality: 80, framesPerSecond: 1 });
    quality.recordAck(0, 20);
    assert.deepEqual(quality.demand(fit), { maxWidth: 1280, maxHeight: 720, quality: 80, framesPerSecond: 25 });
  });

  it('a viewer that acknowledges nothing asks for next to nothing, and begins low when it is back', () => {
    const quality = new ViewerQuality(0);
    quality.recordAck(0, 20);
    quality.checkSilence(0, stalledMs - 1);
    assert.equal(quality.demand(fit).framesPerSecond, 25);
    quality.checkSilence(0, stalledMs);
    assert.equal(quality.demand(fit).framesPerSecond, 1);
    quality.recordAck(0, stalledMs + 1000);
    assert.deepEqual(quality.demand(fit), { maxWidth: 640, maxHeight: 360, quality: 30, framesPerSecond: 10 });
    watch(quality, stalledMs + 1000, { ackMs: 20, forMs: 20_000 });
    assert.equal(qualityOf(quality), 80);
  });
});
