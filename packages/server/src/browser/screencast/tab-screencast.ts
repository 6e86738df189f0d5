/** The browser draws one tab, until it is ended: its frames as they come, at a pace. */
import type { Protocol } from 'devtools-protocol';
import { systemClock } from '../../lib/clock.ts';
import type { Command, Connection, Params } from '../cdp/connection.ts';
import type { Patience } from '../timeout-scale.ts';
import type { Tab } from '../tabs/tab.ts';
import type { ScreencastFrame } from './model.ts';

/** How many frames the browser sends before one is acknowledged. */
const framesOnTheWay = 2;
/** Frames that come closer to each other than this may have been on their way together, and what was drawn meanwhile is left out. */
const togetherMs = 300;
/** Then the next would have come by now, if there is more to come. */
const missedAfterMs = 250;
/** A start may itself give frames close to each other: each in a row is waited for twice as long, up to 2^5 times. */
const mostDoublings = 5;
/** A page gives its first frame within some tens of ms; one that had nothing to show yet is asked again. */
const firstFrameMs = 1000;
/** Far above a picture of the largest size in the best quality, as base64. */
const longestPicture = 32 * 1024 * 1024;
/** Clocks of machines differ; a frame is not older than what it waited for. */
const oldestFrameMs = 10_000;
const longestSide = 65_535;

export interface DrawingSize {
  maxWidth: number;
  maxHeight: number;
  quality: number;
}

export interface DrawingParts {
  connection: Connection;
  tab: Tab;
  size: DrawingSize;
  framesPerSecond: number;
  onFrame(frame: ScreencastFrame): void;
}

export class Drawing {
  readonly tab: Tab;
  readonly #parts: DrawingParts;
  readonly #patience: Patience;
  readonly #undo: readonly (() => void)[];
  /** Frames that are not acknowledged, oldest first. */
  readonly #owed: number[] = [];
  #intervalMs: number;
  /** When the next may be acknowledged, monotonic. */
  #dueMs = 0;
  #takenAtMs = -Infinity;
  #startedAtMs = -Infinity;
  /** In a row, none of them followed by frames for long. */
  #startsAgain = 0;
  /** Whether something may have been drawn that does not come by itself. */
  #mayMiss = false;
  /** Since it was started. */
  #isResized = false;
  /** When the newest was drawn, by the browser's clock. */
  #newest = 0;
  #acknowledging: NodeJS.Timeout | undefined;
  #again: NodeJS.Timeout | undefined;

  constructor(parts: DrawingParts) {
    this.#parts = parts;
    this.tab = parts.tab;
    this.#intervalMs = 1000 / parts.framesPerSecond;
    const { connection, tab } = parts;
    this.#patience = connection.patience;
    this.#undo = [
      connection.on('Page.screencastFrame', (event, from) => from === tab.sessionId && this.#take(event)),
      connection.on('Page.frameResized', (_, from) => from === tab.sessionId && this.#onResized()),
    ];
    this.#start();
  }

  draws({ maxWidth, maxHeight, quality }: DrawingSize): boolean {
    const { size } = this.#parts;
    return size.maxWidth === maxWidth && size.maxHeight === maxHeight && size.quality === quality;
  }

  pace(framesPerSecond: number): void {
    const intervalMs = 1000 / framesPerSecond;
    if (intervalMs === this.#intervalMs) return;
    this.#dueMs += intervalMs - this.#intervalMs;
    this.#intervalMs = intervalMs;
    clearTimeout(this.#acknowledging);
    this.#acknowledging = undefined;
    this.#acknowledge();
  }

  end(): void {
    for (const undo of this.#undo) undo();
    clearTimeout(this.#acknowledging);
    clearTimeout(this.#again);
    this.#owed.length = 0;
    if (!this.tab.gone.signal.aborted) this.#send('Page.stopScreencast', undefined);
  }

  #start(): void {
    this.#isResized = false;
    this.#takenAtMs = -Infinity;
    this.#send('Page.startScreencast', { format: 'jpeg', ...this.#parts.size });
    this.#askAgain(this.#patience.ms(firstFrameMs));
  }

  /** The browser gives a frame of what is there when it starts, and none when it is told to start again while it draws. */
  #askAgain(afterMs: number): void {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => {
      if (this.tab.gone.signal.aborted) return;
      // One that crashed has nothing to show until it is sent on, and is drawn then.
      if (this.tab.status === 'crashed') return this.#askAgain(this.#patience.ms(firstFrameMs));
      this.#owed.length = 0;
      this.#startsAgain += 1;
      this.#startedAtMs = systemClock.monotonicMs();
      this.#send('Page.stopScreencast', undefined);
      this.#start();
    }, afterMs).unref();
  }

  /** It happens that the browser draws no frame then, or one of the old size and no other. */
  #onResized(): void {
    this.#isResized = true;
    this.#askAgain(this.#patience.ms(missedAfterMs));
  }

  #take(event: Protocol.Page.ScreencastFrameEvent): void {
    clearTimeout(this.#again);
    const now = systemClock.monotonicMs();
    const together = this.#patience.ms(togetherMs);
    this.#owed.push(event.sessionId);
    this.#mayMiss = this.#owed.length >= framesOnTheWay || now - this.#takenAtMs < together || this.#isResized;
    this.#takenAtMs = now;
    if (now - this.#startedAtMs > 2 * together) this.#startsAgain = 0;
    // A browser that sends more than it may is not answered for each.
    if (this.#owed.length > framesOnTheWay) this.#owed.shift();
    const frame = this.#isOvertaken(event) ? null : this.#read(event);
    if (frame) this.#parts.onFrame(frame);
    this.#acknowledge();
  }

  /** Pictures are made side by side: one may be ready before its predecessor. */
  #isOvertaken({ metadata: { timestamp = 0 } }: Protocol.Page.ScreencastFrameEvent): boolean {
    if (timestamp < this.#newest) return true;
    this.#newest = timestamp;
    return false;
  }

  #acknowledge(): void {
    if (this.#acknowledging !== undefined || this.#owed.length === 0) return;
    const now = systemClock.monotonicMs();
    if (now < this.#dueMs) {
      this.#acknowledging = setTimeout(() => {
        this.#acknowledging = undefined;
        this.#acknowledge();
      }, this.#dueMs - now).unref();
      return;
    }
    if (this.#mayMiss) this.#askAgain(this.#patience.ms(missedAfterMs) * 2 ** Math.min(this.#startsAgain, mostDoublings));
    this.#send('Page.screencastFrameAck', { sessionId: this.#owed.shift() ?? 0 });
    // A timer that was late is made up for, but by no more than one frame.
    this.#dueMs = Math.max(this.#dueMs, now - this.#intervalMs) + this.#intervalMs;
    this.#acknowledge();
  }

  #read({ data, metadata }: Protocol.Page.ScreencastFrameEvent): ScreencastFrame | null {
    if (typeof data !== 'string' || data.length > longestPicture) return null;
    const { deviceWidth, deviceHeight, pageScaleFactor, timestamp } = metadata;
    const scale = pageScaleFactor > 0 ? pageScaleFactor : 1;
    const [width, height] = [Math.round(deviceWidth / scale), Math.round(deviceHeight / scale)];
    if (!(width >= 1 && width <= longestSide && height >= 1 && height <= longestSide)) return null;
    const now = systemClock.now().getTime();
    const drawnAtMs = Math.min(now, Math.max(now - oldestFrameMs, Number(timestamp) * 1000 || now));
    return { data: Buffer.from(data, 'base64'), tabId: this.tab.id, width, height, drawnAtMs };
  }

  #send<C extends Command>(method: C, params: Params<C>): void {
    this.#parts.connection.send(method, params, { sessionId: this.tab.sessionId }).catch(() => {});
  }
}
