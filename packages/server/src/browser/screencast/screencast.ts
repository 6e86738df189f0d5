/**
 * Pictures of the active tab for all who watch it: one drawing by the browser,
 * whoever many they are, and none while nobody does.
 *
 * The browser lets two frames be on their way and leaves out what is drawn
 * meanwhile, so the pace is set by when a frame is acknowledged.
 */
import { systemClock } from '../../lib/clock.ts';
import type { Connection } from '../cdp/connection.ts';
import { Drawing, type DrawingSize } from './tab-screencast.ts';
import type { Tab } from '../tabs/tab.ts';
import type { ScreencastDemand, ScreencastFrame, ScreencastWatch } from './model.ts';

/** Whoever reloads a viewer is back by then, and finds the browser drawing. */
const lingerMs = 500;
/** A new size or quality costs the browser a new start: a watcher that changes its mind all the time gets the last word once in this time. */
const resizeIntervalMs = 1000;
/** As for a client that flips between tabs. */
const moveIntervalMs = 100;

/** No screen that anybody watches on has more. */
const longestSide = 4096;
const fastestFrames = 60;

export interface ScreencastParts {
  connection: Connection;
  /** The active tab; null while there is none. */
  front(): Tab | null;
}

interface Watcher {
  demand: ScreencastDemand;
  onFrame(frame: ScreencastFrame): void;
}

/** The newest picture, and for what viewport it was drawn. */
interface Kept {
  frame: ScreencastFrame;
  tab: Tab;
  viewport: Tab['viewport'];
}

export class Screencast {
  readonly #parts: ScreencastParts;
  readonly #watchers = new Set<Watcher>();
  #drawing: Drawing | null = null;
  #kept: Kept | null = null;
  #startedAtMs = -Infinity;
  #later: NodeJS.Timeout | undefined;

  constructor(parts: ScreencastParts) {
    this.#parts = parts;
  }

  watch(demand: ScreencastDemand, onFrame: (frame: ScreencastFrame) => void): ScreencastWatch {
    const watcher: Watcher = { demand: within(demand), onFrame };
    this.#watchers.add(watcher);
    this.#settle();
    // After this call, so that whoever watches holds its watch when the first frame comes.
    queueMicrotask(() => this.#giveKept(watcher));
    return {
      change: (changed) => {
        watcher.demand = within(changed);
        if (this.#watchers.has(watcher)) this.#settle();
      },
      end: () => {
        if (this.#watchers.delete(watcher)) this.#settle();
      },
    };
  }

  /** To be called when the active tab may be another one. */
  follow(): void {
    if (this.#watchers.size > 0) this.#settle();
  }

  /** The browser is gone. */
  stop(): void {
    clearTimeout(this.#later);
    this.#watchers.clear();
    this.#leave();
  }

  #giveKept(watcher: Watcher): void {
    const kept = this.#kept;
    const current = kept !== null && kept.tab === this.#parts.front() && kept.viewport === kept.tab.viewport;
    if (current && this.#watchers.has(watcher)) watcher.onFrame(kept.frame);
  }

  /** Brings what is drawn to what is wanted, now or as soon as it may be. */
  #settle(): void {
    clearTimeout(this.#later);
    if (this.#watchers.size === 0) {
      this.#later = setTimeout(() => this.#leave(), lingerMs).unref();
      return;
    }
    const demands = [...this.#watchers].map(({ demand }) => demand);
    const most = (of: (demand: ScreencastDemand) => number): number => Math.max(...demands.map(of));
    const size = {
      maxWidth: most((each) => each.maxWidth),
      maxHeight: most((each) => each.maxHeight),
      quality: most((each) => each.quality),
    };
    const framesPerSecond = most((each) => each.framesPerSecond);
    this.#drawing?.pace(framesPerSecond);
    const tab = this.#parts.front();
    const moves = this.#drawing?.tab !== tab;
    if (!tab || (!moves && this.#drawing?.draws(size))) return;
    const waitMs = this.#startedAtMs + (moves ? moveIntervalMs : resizeIntervalMs) - systemClock.monotonicMs();
    if (waitMs <= 0 || !this.#drawing) this.#start(tab, size, framesPerSecond);
    else this.#later = setTimeout(() => this.#settle(), waitMs).unref();
  }

  #start(tab: Tab, size: DrawingSize, framesPerSecond: number): void {
    this.#drawing?.end();
    this.#startedAtMs = systemClock.monotonicMs();
    this.#drawing = new Drawing({
      connection: this.#parts.connection,
      tab,
      size,
      framesPerSecond,
      onFrame: (frame) => this.#give(tab, frame),
    });
  }

  #give(tab: Tab, frame: ScreencastFrame): void {
    this.#kept = { frame, tab, viewport: tab.viewport };
    for (const { onFrame } of this.#watchers) onFrame(frame);
  }

  #leave(): void {
    this.#drawing?.end();
    this.#drawing = null;
    this.#kept = null;
  }
}

function within({ maxWidth, maxHeight, quality, framesPerSecond }: ScreencastDemand): ScreencastDemand {
  const between = (value: number, most: number): number => Math.max(1, Math.min(most, Math.round(value)));
  return {
    maxWidth: between(maxWidth, longestSide),
    maxHeight: between(maxHeight, longestSide),
    quality: between(quality, 100),
    framesPerSecond: Math.max(0.1, Math.min(fastestFrames, framesPerSecond)),
  };
}
