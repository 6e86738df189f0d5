/**
 * Frames of the active tab for all clients: one screencast of the browser for
 * any number of them, and none while there is none. Demands are reduced to one
 * here, and its changes throttled; each client gets the newest frame whenever
 * it is ready, so a slow one costs the others nothing.
 *
 * The browser sends at most two unacknowledged frames and drops what it draws
 * meanwhile, so acknowledging a frame sets the frame rate.
 */
import { systemClock } from '@berth/lib/clock.ts';
import type { Connection } from '../cdp/connection.ts';
import { TabScreencast, type TabFrame, type TabScreencastSize } from './tab-screencast.ts';
import type { Tab } from '../tabs/tab.ts';
import type { ScreencastAttachment, ScreencastClient, ScreencastDemand, ScreencastFrame } from './clients.ts';

/** A viewer that reloads is back within this time and needs no new start. */
const lingerMs = 500;
/** A new size or quality restarts the screencast, so frequent changes are applied at this interval. */
const resizeIntervalMs = 1000;
/** A client that has just attached often changes its demand. */
const resizeDelayMs = 200;
/** Minimum interval of moves to another tab, for a client that switches tabs rapidly. */
const moveIntervalMs = 100;

interface ScreencastDeps {
  connection: Connection;
  /** The active tab; null while there is none. */
  front(): Tab | null;
}

/** The newest frame, and the viewport that it was drawn for. */
interface LastFrame {
  frame: ScreencastFrame;
  tab: Tab;
  viewport: Tab['viewport'];
}

export class Screencast {
  readonly #deps: ScreencastDeps;
  /** The clients with the newest frame for each, null once the client has taken it. */
  readonly #clients = new Map<ScreencastClient, ScreencastFrame | null>();
  #current: TabScreencast | null = null;
  #lastFrame: LastFrame | null = null;
  #frameCount = 0;
  #startedAtMs = -Infinity;
  /** When the demand first differed from what is drawn; null while it does not. */
  #resizedAtMs: number | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: ScreencastDeps) {
    this.#deps = deps;
  }

  attach(client: ScreencastClient): ScreencastAttachment {
    this.#clients.set(client, this.#frameOfFront());
    this.#reconcile();
    // Delivered after this call, so that the client has its attachment before the first frame.
    queueMicrotask(() => this.#deliver(client));
    return {
      update: () => {
        this.refresh();
        this.#deliver(client);
      },
      detach: () => {
        if (this.#clients.delete(client)) this.#reconcile();
      },
    };
  }

  /** The largest demand of all clients; null while there is none. */
  get demand(): ScreencastDemand | null {
    if (this.#clients.size === 0) return null;
    const demands = [...this.#clients.keys()].map((client) => client.demand());
    const maxOf = (of: keyof ScreencastDemand): number => Math.max(...demands.map((each) => each[of]));
    return {
      maxWidth: maxOf('maxWidth'),
      maxHeight: maxOf('maxHeight'),
      quality: maxOf('quality'),
      framesPerSecond: maxOf('framesPerSecond'),
    };
  }

  /** Call when the active tab may have changed. */
  refresh(): void {
    if (this.#clients.size > 0) this.#reconcile();
  }

  /** The browser has closed. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#clients.clear();
    this.#stopCurrent();
  }

  #deliver(client: ScreencastClient): void {
    const frame = this.#clients.get(client);
    if (!frame || !client.isReady()) return;
    this.#clients.set(client, null);
    client.onFrame(frame);
  }

  /** The last frame, unless the active tab or its size has changed since. */
  #frameOfFront(): ScreencastFrame | null {
    const last = this.#lastFrame;
    return last !== null && last.tab === this.#deps.front() && last.viewport === last.tab.viewport ? last.frame : null;
  }

  /** Matches the screencast to the demand, now or when the interval allows. */
  #reconcile(): void {
    clearTimeout(this.#timer);
    const { demand } = this;
    if (!demand) {
      this.#timer = setTimeout(() => this.#stopCurrent(), lingerMs).unref();
      return;
    }
    this.#current?.setFramesPerSecond(demand.framesPerSecond);
    const tab = this.#deps.front();
    const isOtherTab = this.#current?.tab !== tab;
    const isOtherSize = this.#current !== null && !isSameSize(this.#current.size, demand);
    const nowMs = systemClock.monotonicMs();
    this.#resizedAtMs = isOtherSize ? (this.#resizedAtMs ?? nowMs) : null;
    if (!tab || (!isOtherTab && !isOtherSize)) return;
    const dueMs = isOtherTab
      ? this.#startedAtMs + moveIntervalMs
      : Math.max(this.#startedAtMs + resizeIntervalMs, (this.#resizedAtMs ?? nowMs) + resizeDelayMs);
    if (dueMs <= nowMs || !this.#current) this.#start(tab, demand);
    else this.#timer = setTimeout(() => this.#reconcile(), dueMs - nowMs).unref();
  }

  #start(tab: Tab, { framesPerSecond, ...size }: ScreencastDemand): void {
    this.#current?.end();
    this.#startedAtMs = systemClock.monotonicMs();
    this.#current = new TabScreencast({
      connection: this.#deps.connection,
      tab,
      size,
      framesPerSecond,
      onFrame: (frame) => this.#onFrame(tab, frame),
    });
  }

  #onFrame(tab: Tab, drawn: TabFrame): void {
    this.#frameCount += 1;
    const frame = { ...drawn, seq: this.#frameCount };
    this.#lastFrame = { frame, tab, viewport: tab.viewport };
    for (const client of this.#clients.keys()) {
      this.#clients.set(client, frame);
      this.#deliver(client);
    }
  }

  #stopCurrent(): void {
    this.#current?.end();
    this.#current = null;
    this.#lastFrame = null;
  }
}

const isSameSize = (a: TabScreencastSize, b: TabScreencastSize): boolean =>
  a.maxWidth === b.maxWidth && a.maxHeight === b.maxHeight && a.quality === b.quality;
