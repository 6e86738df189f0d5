/** The screencast of one tab, at a limited frame rate. */
import type { Protocol } from 'devtools-protocol';
import { systemClock } from '@berth/lib/clock.ts';
import type { Command, Connection, Params } from '../cdp/connection.ts';
import type { TimeoutScale } from '../timeout-scale.ts';
import type { Tab } from '../tabs/tab.ts';
import type { ScreencastDemand, ScreencastFrame } from './clients.ts';

/** Frames that the browser sends before it waits for an acknowledgement. */
const framesInFlightMax = 2;
/** Frames that were drawn or arrived closer than this may have been in flight together; what was drawn meanwhile is dropped. */
const burstGapMs = 300;
/** How long to wait for the frame that comes next if the page still changes, before a restart. */
const missedAfterMs = 250;
/** A restart may itself cause frames in flight together: each in a row doubles the delay, up to 2^5 times. */
const doublingsMax = 5;
/** How long to wait for the first frame, which comes within some tens of ms; a page that had nothing to show yet is restarted. */
const firstFrameMs = 1000;
/** A busy machine takes longer for its first frame, and a restart drops it: each in a row doubles the wait, up to 2^3 times. */
const firstFrameDoublingsMax = 3;
/** Maximum characters of a frame: far above an image of the largest size in the best quality, as base64. */
const frameCharsMax = 32 * 1024 * 1024;
/** Clocks of machines differ; a frame cannot be older than this. */
const frameAgeMsMax = 10_000;
const sideMax = 65_535;

/** A change of these restarts the screencast. */
export type TabScreencastSize = Omit<ScreencastDemand, 'framesPerSecond'>;
/** A frame before it is counted. */
export type TabFrame = Omit<ScreencastFrame, 'seq'>;

/** The browser numbers the starts of a tab's screencast, and each frame has the number of its start: the newest that has been seen. */
const newestStarts = new WeakMap<Tab, number>();

interface TabScreencastOptions {
  connection: Connection;
  tab: Tab;
  size: TabScreencastSize;
  framesPerSecond: number;
  onFrame(frame: TabFrame): void;
}

export class TabScreencast {
  readonly tab: Tab;
  readonly #deps: TabScreencastOptions;
  readonly #timeoutScale: TimeoutScale;
  readonly #undo: readonly (() => void)[];
  /** Ids of unacknowledged frames, oldest first. */
  readonly #unacknowledged: number[] = [];
  #intervalMs: number;
  /** Monotonic ms when the next frame may be acknowledged. */
  #nextAckAtMs = 0;
  #lastFrameAtMs = -Infinity;
  #lastDrawnAtMs = -Infinity;
  /** The least time from a frame's drawing (browser's clock) to its arrival (our clock): at least the difference of the clocks. */
  #leastDelayMs = Infinity;
  #restartedAtMs = -Infinity;
  /** Consecutive restarts without a longer run of frames. */
  #restarts = 0;
  /** Frames with this number or a lower one are of an earlier start. */
  #earlierStart = 0;
  /** Whether the last state may have been dropped. */
  #mayHaveMissed = false;
  /** Whether the page was resized since the last start. */
  #isResized = false;
  /** When the newest frame was drawn, by the browser's clock. */
  #newestTimestamp = 0;
  #ackTimer: NodeJS.Timeout | undefined;
  #restartTimer: NodeJS.Timeout | undefined;

  constructor(deps: TabScreencastOptions) {
    this.#deps = deps;
    this.tab = deps.tab;
    this.#intervalMs = 1000 / deps.framesPerSecond;
    const { connection, tab } = deps;
    this.#timeoutScale = connection.timeoutScale;
    this.#undo = [
      connection.on('Page.screencastFrame', (event, from) => from === tab.sessionId && this.#onFrame(event)),
      connection.on('Page.frameResized', (_, from) => from === tab.sessionId && this.#onResized()),
    ];
    this.#start();
  }

  get size(): TabScreencastSize {
    return this.#deps.size;
  }

  setFramesPerSecond(framesPerSecond: number): void {
    const intervalMs = 1000 / framesPerSecond;
    if (intervalMs === this.#intervalMs) return;
    this.#nextAckAtMs += intervalMs - this.#intervalMs;
    this.#intervalMs = intervalMs;
    clearTimeout(this.#ackTimer);
    this.#ackTimer = undefined;
    this.#acknowledge();
  }

  end(): void {
    for (const undo of this.#undo) undo();
    clearTimeout(this.#ackTimer);
    clearTimeout(this.#restartTimer);
    this.#unacknowledged.length = 0;
    if (!this.tab.closed.signal.aborted) this.#send('Page.stopScreencast', undefined);
  }

  #start(): void {
    this.#isResized = false;
    this.#lastFrameAtMs = -Infinity;
    this.#lastDrawnAtMs = -Infinity;
    this.#earlierStart = newestStarts.get(this.tab) ?? 0;
    this.#send('Page.startScreencast', { format: 'jpeg', ...this.#deps.size });
    this.#scheduleRestart(this.#timeoutScale.ms(firstFrameMs) * 2 ** Math.min(this.#restarts, firstFrameDoublingsMax));
  }

  /** A start makes the browser send a frame; a second start without a stop does not. */
  #scheduleRestart(afterMs: number): void {
    clearTimeout(this.#restartTimer);
    this.#restartTimer = setTimeout(() => {
      if (this.tab.closed.signal.aborted) return;
      // A crashed tab has nothing to show until it navigates.
      if (this.tab.status === 'crashed') return this.#scheduleRestart(this.#timeoutScale.ms(firstFrameMs));
      this.#unacknowledged.length = 0;
      this.#restarts += 1;
      this.#restartedAtMs = systemClock.monotonicMs();
      this.#send('Page.stopScreencast', undefined);
      this.#start();
    }, afterMs).unref();
  }

  /** Schedules a restart: after a resize the browser sometimes sends no frame, or only one of the old size. */
  #onResized(): void {
    this.#isResized = true;
    this.#scheduleRestart(this.#timeoutScale.ms(missedAfterMs));
  }

  #onFrame(event: Protocol.Page.ScreencastFrameEvent): void {
    // It was on its way when this start was sent, whose own first frame may still be missing. It needs no acknowledgement.
    if (event.sessionId <= this.#earlierStart) return this.#show(event);
    newestStarts.set(this.tab, event.sessionId);
    clearTimeout(this.#restartTimer);
    const now = systemClock.monotonicMs();
    const burstGap = this.#timeoutScale.ms(burstGapMs);
    this.#unacknowledged.push(event.sessionId);
    const isBurst = this.#measureGap(event, now) < burstGap;
    this.#mayHaveMissed = this.#unacknowledged.length >= framesInFlightMax || isBurst || this.#isResized;
    if (now - this.#restartedAtMs > 2 * burstGap) this.#restarts = 0;
    // A browser that exceeds the limit gets no acknowledgement for each frame.
    if (this.#unacknowledged.length > framesInFlightMax) this.#unacknowledged.shift();
    this.#show(event);
    this.#acknowledge();
  }

  #show(event: Protocol.Page.ScreencastFrameEvent): void {
    const frame = this.#isOutdated(event) ? null : this.#parseFrame(event);
    if (frame) this.#deps.onFrame(frame);
  }

  /** The time since the last frame. Frames in flight together may arrive far apart: then that between drawings counts, less the delay. */
  #measureGap({ metadata: { timestamp = 0 } }: Protocol.Page.ScreencastFrameEvent, now: number): number {
    const drawnAtMs = timestamp * 1000;
    const delayMs = now - drawnAtMs;
    this.#leastDelayMs = Math.min(this.#leastDelayMs, delayMs);
    const gapMs = Math.min(now - this.#lastFrameAtMs, drawnAtMs - this.#lastDrawnAtMs - (delayMs - this.#leastDelayMs));
    this.#lastFrameAtMs = now;
    this.#lastDrawnAtMs = drawnAtMs;
    return gapMs;
  }

  /** Frames are encoded in parallel: one may be ready before its predecessor. */
  #isOutdated({ metadata: { timestamp = 0 } }: Protocol.Page.ScreencastFrameEvent): boolean {
    if (timestamp < this.#newestTimestamp) return true;
    this.#newestTimestamp = timestamp;
    return false;
  }

  #acknowledge(): void {
    if (this.#ackTimer !== undefined || this.#unacknowledged.length === 0) return;
    const now = systemClock.monotonicMs();
    if (now < this.#nextAckAtMs) {
      this.#ackTimer = setTimeout(() => {
        this.#ackTimer = undefined;
        this.#acknowledge();
      }, this.#nextAckAtMs - now).unref();
      return;
    }
    if (this.#mayHaveMissed) this.#scheduleRestart(this.#timeoutScale.ms(missedAfterMs) * 2 ** Math.min(this.#restarts, doublingsMax));
    this.#send('Page.screencastFrameAck', { sessionId: this.#unacknowledged.shift() ?? 0 });
    // A late timer is compensated, but by no more than one frame.
    this.#nextAckAtMs = Math.max(this.#nextAckAtMs, now - this.#intervalMs) + this.#intervalMs;
    this.#acknowledge();
  }

  #parseFrame({ data, metadata }: Protocol.Page.ScreencastFrameEvent): TabFrame | null {
    if (typeof data !== 'string' || data.length > frameCharsMax) return null;
    const { deviceWidth, deviceHeight, pageScaleFactor, timestamp } = metadata;
    const scale = pageScaleFactor > 0 ? pageScaleFactor : 1;
    const [width, height] = [Math.round(deviceWidth / scale), Math.round(deviceHeight / scale)];
    if (!(width >= 1 && width <= sideMax && height >= 1 && height <= sideMax)) return null;
    const now = systemClock.now().getTime();
    const drawnAtMs = Math.min(now, Math.max(now - frameAgeMsMax, Number(timestamp) * 1000 || now));
    return { data: Buffer.from(data, 'base64'), tabId: this.tab.id, width, height, drawnAtMs };
  }

  #send<C extends Command>(method: C, params: Params<C>): void {
    this.#deps.connection.send(method, params, { sessionId: this.tab.sessionId }).catch(() => {});
  }
}
