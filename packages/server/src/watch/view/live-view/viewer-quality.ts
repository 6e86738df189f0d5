/**
 * Adapts frame quality to how quickly a viewer acknowledges frames.
 *
 * Only the delay beyond the plain round trip counts: high latency is no reason
 * for lower quality, low bandwidth is. Quality steps down as soon as frames are
 * late and steps up after a while of prompt frames; a step up that fails
 * doubles the delay before the next one.
 */
import type { ScreencastDemand } from '@berth/devtools';

export interface Fit {
  /** The space for the frame, in the viewer's device pixels. */
  width: number;
  height: number;
}

interface Level {
  /** JPEG, 1…100. */
  quality: number;
  /** Factor of the viewer's width and height. */
  scale: number;
  framesPerSecond: number;
}

const bestLevel: Level = { quality: 80, scale: 1, framesPerSecond: 25 };
const worstLevel: Level = { quality: 30, scale: 0.5, framesPerSecond: 10 };
const levels: readonly Level[] = [
  bestLevel,
  { quality: 60, scale: 1, framesPerSecond: 20 },
  { quality: 40, scale: 1, framesPerSecond: 15 },
  worstLevel,
];
/** Frame rate of a viewer that has acknowledged nothing: enough to notice when it does. Its first frame comes without delay. */
const silentFramesPerSecond = 1;
const stalledLevel: Level = { ...worstLevel, framesPerSecond: silentFramesPerSecond };

/** A longer delay makes interaction feel sluggish. */
const lateMs = 250;
const promptMs = 100;
/** Weight of the newest sample in the moving average. */
const weight = 0.3;
/** A single late frame proves nothing. */
const samplesMin = 3;
/** Frames drawn before the browser applied a change are not counted. */
const ignoreAfterChangeMs = 500;
const stepUpDelayMsMin = 5000;
const stepUpDelayMsMax = 60_000;
/** A viewer counts as stalled after this long without an acknowledgement. */
export const stalledMs = 5000;

export class ViewerQuality {
  #level = 0;
  #isStalled = false;
  #hasAcknowledged = false;
  #delayMs = 0;
  #samples = 0;
  #roundTripMs: number | null = null;
  #changedMs: number;
  #ignoreBeforeMs = -Infinity;
  /** Whether the last change was a step up. */
  #wasSteppedUp = false;
  #stepUpDelayMs = stepUpDelayMsMin;

  constructor(nowMs: number) {
    this.#changedMs = nowMs;
  }

  /** Records the round trip of a ping, in ms. */
  recordRoundTrip(ms: number): void {
    this.#roundTripMs = Math.min(this.#roundTripMs ?? ms, ms);
  }

  recordAck(sentMs: number, nowMs: number): void {
    this.#hasAcknowledged = true;
    if (this.#isStalled) return this.#resume(nowMs);
    if (sentMs < this.#ignoreBeforeMs) return;
    const durationMs = nowMs - sentMs;
    const delayMs = Math.max(0, durationMs - (this.#roundTripMs ?? 0));
    this.#delayMs = this.#samples === 0 ? delayMs : this.#delayMs + weight * (delayMs - this.#delayMs);
    this.#samples += 1;
    if (this.#samples < samplesMin) return;
    // A very late frame dominates the average for long, so the newest must be late as well.
    if (this.#delayMs > lateMs && delayMs > lateMs) this.#stepDown(nowMs);
    else if (this.#delayMs < promptMs && nowMs - this.#changedMs >= this.#stepUpDelayMs) this.#stepUp(nowMs);
  }

  /** Checks the oldest unacknowledged frame. */
  checkSilence(sentMs: number, nowMs: number): void {
    if (nowMs - sentMs >= stalledMs) this.#isStalled = true;
  }

  demand({ width, height }: Fit): ScreencastDemand {
    const { quality, scale, framesPerSecond } = this.#isStalled ? stalledLevel : (levels[this.#level] ?? worstLevel);
    const maxFramesPerSecond = this.#hasAcknowledged ? framesPerSecond : silentFramesPerSecond;
    return { maxWidth: Math.ceil(width * scale), maxHeight: Math.ceil(height * scale), quality, framesPerSecond: maxFramesPerSecond };
  }

  #resume(nowMs: number): void {
    this.#isStalled = false;
    this.#change(levels.length - 1, nowMs);
  }

  #stepDown(nowMs: number): void {
    if (this.#level === levels.length - 1) return;
    if (this.#wasSteppedUp) this.#stepUpDelayMs = Math.min(stepUpDelayMsMax, 2 * this.#stepUpDelayMs);
    this.#wasSteppedUp = false;
    this.#change(this.#level + 1, nowMs);
  }

  #stepUp(nowMs: number): void {
    if (this.#level === 0) return;
    if (this.#wasSteppedUp) this.#stepUpDelayMs = stepUpDelayMsMin;
    this.#wasSteppedUp = true;
    this.#change(this.#level - 1, nowMs);
  }

  #change(level: number, nowMs: number): void {
    this.#level = level;
    this.#changedMs = nowMs;
    this.#ignoreBeforeMs = nowMs + ignoreAfterChangeMs;
    this.#samples = 0;
  }
}
