/**
 * How good a picture a viewer can take, told by how soon it acknowledges one.
 *
 * What counts is the time beyond a bare round trip: a line that is long and
 * wide is no reason for a worse picture, one that is narrow is. A viewer goes
 * down a level at once when pictures come late, and up again only after it has
 * kept up for a while; a climb that did not hold makes the next one wait longer.
 */
import type { ScreencastDemand } from '../browser/browser.ts';

export interface Fit {
  /** Of the place that the viewer has for the picture, in its own pixels. */
  width: number;
  height: number;
}

interface Level {
  /** JPEG, 1…100. */
  quality: number;
  /** Of the width and height that the viewer has room for. */
  scale: number;
  framesPerSecond: number;
}

const best: Level = { quality: 80, scale: 1, framesPerSecond: 25 };
const worst: Level = { quality: 30, scale: 0.5, framesPerSecond: 10 };
const levels: readonly Level[] = [
  best,
  { quality: 60, scale: 1, framesPerSecond: 20 },
  { quality: 40, scale: 1, framesPerSecond: 15 },
  worst,
];
/** For one that takes nothing at the moment: as little as shows that it is back. */
const stalled: Level = { ...worst, framesPerSecond: 1 };

/** A picture that is later than this makes hands feel clumsy. */
const lateMs = 250;
const promptMs = 100;
/** How much the newest of the times says. */
const weight = 0.3;
/** One picture may be late for reasons of its own. */
const samplesLeast = 3;
/** What was drawn before the browser had heard of a change says nothing about it. */
const settleMs = 500;
const climbMsLeast = 5000;
const climbMsMax = 60_000;
/** After so long without an answer a viewer counts as one that takes nothing. */
export const stalledMs = 5000;

export class ViewerQuality {
  #level = 0;
  #isStalled = false;
  #delayMs = 0;
  #samples = 0;
  #roundTripMs: number | null = null;
  #changedMs: number;
  #settledMs = -Infinity;
  /** Whether the last change was one for the better. */
  #hasClimbed = false;
  #climbMs = climbMsLeast;

  constructor(nowMs: number) {
    this.#changedMs = nowMs;
  }

  /** How long the line takes to and fro with nothing to carry. */
  noteRoundTrip(ms: number): void {
    this.#roundTripMs = Math.min(this.#roundTripMs ?? ms, ms);
  }

  noteAck(sentMs: number, nowMs: number): void {
    if (this.#isStalled) return this.#wakeUp(nowMs);
    if (sentMs < this.#settledMs) return;
    const tookMs = nowMs - sentMs;
    const delayMs = Math.max(0, tookMs - (this.#roundTripMs ?? 0));
    this.#delayMs = this.#samples === 0 ? delayMs : this.#delayMs + weight * (delayMs - this.#delayMs);
    this.#samples += 1;
    if (this.#samples < samplesLeast) return;
    // One that was very late weighs on the mean for long: those after it must be late as well.
    if (this.#delayMs > lateMs && delayMs > lateMs) this.#sink(nowMs);
    else if (this.#delayMs < promptMs && nowMs - this.#changedMs >= this.#climbMs) this.#climb(nowMs);
  }

  /** Looks at the oldest picture that waits for its answer. */
  noteSilence(sentMs: number, nowMs: number): void {
    if (nowMs - sentMs >= stalledMs) this.#isStalled = true;
  }

  demand({ width, height }: Fit): ScreencastDemand {
    const { quality, scale, framesPerSecond } = this.#isStalled ? stalled : (levels[this.#level] ?? worst);
    return { maxWidth: Math.ceil(width * scale), maxHeight: Math.ceil(height * scale), quality, framesPerSecond };
  }

  #wakeUp(nowMs: number): void {
    this.#isStalled = false;
    this.#change(levels.length - 1, nowMs);
  }

  #sink(nowMs: number): void {
    if (this.#level === levels.length - 1) return;
    if (this.#hasClimbed) this.#climbMs = Math.min(climbMsMax, 2 * this.#climbMs);
    this.#hasClimbed = false;
    this.#change(this.#level + 1, nowMs);
  }

  #climb(nowMs: number): void {
    if (this.#level === 0) return;
    if (this.#hasClimbed) this.#climbMs = climbMsLeast;
    this.#hasClimbed = true;
    this.#change(this.#level - 1, nowMs);
  }

  #change(level: number, nowMs: number): void {
    this.#level = level;
    this.#changedMs = nowMs;
    this.#settledMs = nowMs + settleMs;
    this.#samples = 0;
  }
}
