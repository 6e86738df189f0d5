/**
 * Frames of the active tab for all watchers: one screencast of the browser for
 * any number of them, and none while nobody watches.
 *
 * The browser sends at most two unacknowledged frames and drops what it draws
 * meanwhile, so acknowledging a frame sets the frame rate.
 */
import { systemClock } from '../../lib/clock.ts';
import type { Connection } from '../cdp/connection.ts';
import { TabScreencast, type TabScreencastSize } from './tab-screencast.ts';
import type { Tab } from '../tabs/tab.ts';
import type { ScreencastDemand, ScreencastFrame, ScreencastWatch } from './model.ts';

/** A viewer that reloads is back within this time and needs no new start. */
const lingerMs = 500;
/** A new size or quality restarts the screencast, so frequent changes are applied at this interval. */
const resizeIntervalMs = 1000;
/** The same for a client that switches tabs rapidly. */
const moveIntervalMs = 100;

/** Larger than any viewer's screen, in px. */
const sideMax = 4096;
const framesPerSecondMax = 60;

interface ScreencastDeps {
  connection: Connection;
  /** The active tab; null while there is none. */
  front(): Tab | null;
}

interface Watcher {
  demand: ScreencastDemand;
  onFrame(frame: ScreencastFrame): void;
}

/** The newest frame, and the viewport that it was drawn for. */
interface LastFrame {
  frame: ScreencastFrame;
  tab: Tab;
  viewport: Tab['viewport'];
}

export class Screencast {
  readonly #deps: ScreencastDeps;
  readonly #watchers = new Set<Watcher>();
  #current: TabScreencast | null = null;
  #lastFrame: LastFrame | null = null;
  #startedAtMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: ScreencastDeps) {
    this.#deps = deps;
  }

  watch(demand: ScreencastDemand, onFrame: (frame: ScreencastFrame) => void): ScreencastWatch {
    const watcher: Watcher = { demand: clampDemand(demand), onFrame };
    this.#watchers.add(watcher);
    this.#reconcile();
    // After this call, so that the caller has its watch before the first frame.
    queueMicrotask(() => this.#sendLastFrame(watcher));
    return {
      change: (changed) => {
        watcher.demand = clampDemand(changed);
        if (this.#watchers.has(watcher)) this.#reconcile();
      },
      end: () => {
        if (this.#watchers.delete(watcher)) this.#reconcile();
      },
    };
  }

  /** Call when the active tab may have changed. */
  refresh(): void {
    if (this.#watchers.size > 0) this.#reconcile();
  }

  /** The browser has closed. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#watchers.clear();
    this.#stopCurrent();
  }

  #sendLastFrame(watcher: Watcher): void {
    const last = this.#lastFrame;
    const current = last !== null && last.tab === this.#deps.front() && last.viewport === last.tab.viewport;
    if (current && this.#watchers.has(watcher)) watcher.onFrame(last.frame);
  }

  /** Matches the screencast to the demands, now or when the interval allows. */
  #reconcile(): void {
    clearTimeout(this.#timer);
    if (this.#watchers.size === 0) {
      this.#timer = setTimeout(() => this.#stopCurrent(), lingerMs).unref();
      return;
    }
    const demands = [...this.#watchers].map(({ demand }) => demand);
    const maxOf = (of: (demand: ScreencastDemand) => number): number => Math.max(...demands.map(of));
    const size = {
      maxWidth: maxOf((each) => each.maxWidth),
      maxHeight: maxOf((each) => each.maxHeight),
      quality: maxOf((each) => each.quality),
    };
    const framesPerSecond = maxOf((each) => each.framesPerSecond);
    this.#current?.setFramesPerSecond(framesPerSecond);
    const tab = this.#deps.front();
    const isOtherTab = this.#current?.tab !== tab;
    if (!tab || (!isOtherTab && this.#current?.hasSize(size))) return;
    const waitMs = this.#startedAtMs + (isOtherTab ? moveIntervalMs : resizeIntervalMs) - systemClock.monotonicMs();
    if (waitMs <= 0 || !this.#current) this.#start(tab, size, framesPerSecond);
    else this.#timer = setTimeout(() => this.#reconcile(), waitMs).unref();
  }

  #start(tab: Tab, size: TabScreencastSize, framesPerSecond: number): void {
    this.#current?.end();
    this.#startedAtMs = systemClock.monotonicMs();
    this.#current = new TabScreencast({
      connection: this.#deps.connection,
      tab,
      size,
      framesPerSecond,
      onFrame: (frame) => this.#emitFrame(tab, frame),
    });
  }

  #emitFrame(tab: Tab, frame: ScreencastFrame): void {
    this.#lastFrame = { frame, tab, viewport: tab.viewport };
    for (const { onFrame } of this.#watchers) onFrame(frame);
  }

  #stopCurrent(): void {
    this.#current?.end();
    this.#current = null;
    this.#lastFrame = null;
  }
}

function clampDemand({ maxWidth, maxHeight, quality, framesPerSecond }: ScreencastDemand): ScreencastDemand {
  const clamp = (value: number, maxOf: number): number => Math.max(1, Math.min(maxOf, Math.round(value)));
  return {
    maxWidth: clamp(maxWidth, sideMax),
    maxHeight: clamp(maxHeight, sideMax),
    quality: clamp(quality, 100),
    framesPerSecond: Math.max(0.1, Math.min(framesPerSecondMax, framesPerSecond)),
  };
}
