/**
 * Pages that are driven while another tab of their window covers them.
 *
 * Chromium draws a page that is on no screen three times, and then once a second, also with focus emulation. Whatever
 * waits for a frame waits as long: a click, Playwright's checks of an element, each screen that a page is scrolled
 * through. A page whose frames somebody takes is drawn as if it were in front. The smallest of screencasts is enough,
 * none of whose frames is ever encoded, and in a session of its own it leaves those of viewers and clients alone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Connection, Params } from '../cdp/connection.ts';
import type { Display } from '../screencast/display.ts';
import type { Tab } from './tab.ts';

/** A page that moves takes a fourth of a processor, so it is drawn no longer than it is driven. */
const lingerMs = 3000;
const smallest: Params<'Page.startScreencast'> = { format: 'jpeg', quality: 1, maxWidth: 16, maxHeight: 16, everyNthFrame: 1_000_000 };

interface DrawingDeps {
  log: Log;
  /** The display. Where there is one, people may choose tabs. */
  display: Pick<Display, 'isAvailable'>;
  /** Whether it shares its window. */
  hasNeighbour(tab: Tab): boolean;
  /** Whether a client waits for a reply of the page. */
  isAwaited(targetId: string): boolean;
}

export class BackgroundRendering {
  readonly #connection: Connection;
  readonly #deps: DrawingDeps;
  /** When the tabs were last driven, in monotonic ms. */
  readonly #drawn = new Map<Tab, number>();
  /** The front tab by browser context, each of which has a window. Absent where the browser, a page or a person may have chosen another. */
  readonly #fronts = new Map<string | undefined, Tab>();

  constructor(connection: Connection, deps: DrawingDeps) {
    this.#connection = connection;
    this.#deps = deps;
  }

  /** It has been opened in front, or brought there. */
  onFront(tab: Tab): void {
    if (!this.#deps.display.isAvailable) this.#fronts.set(tab.contextId, tab);
  }

  /** Nobody knows where: pages open tabs, too. */
  onOpened({ contextId }: Tab): void {
    this.#fronts.delete(contextId);
  }

  onClosed(tab: Tab): void {
    if (this.#fronts.get(tab.contextId) === tab) this.#fronts.delete(tab.contextId);
  }

  /** Somebody drives the page now. */
  onDriven(tab: Tab): void {
    const isDrawn = this.#drawn.has(tab);
    if (!isDrawn && !this.#mayBeCovered(tab)) return;
    this.#drawn.set(tab, systemClock.monotonicMs());
    if (!isDrawn) void this.#draw(tab);
  }

  #mayBeCovered(tab: Tab): boolean {
    return !tab.isPrivate && this.#fronts.get(tab.contextId) !== tab && this.#deps.hasNeighbour(tab);
  }

  async #draw(tab: Tab): Promise<void> {
    let session: { sessionId: string } | null = null;
    try {
      session = await this.#connection.send('Target.attachToTarget', { targetId: tab.id, flatten: true });
      await this.#connection.send('Page.startScreencast', smallest, session);
      await this.#untilLeft(tab);
    } catch (error) {
      // A tab that closes or crashes needs no frames.
      this.#deps.log.debug({ err: error }, 'covered page no longer drawn');
    }
    // Deleted at once, so that whoever drives the page from now on starts another.
    this.#drawn.delete(tab);
    if (session) await this.#connection.send('Target.detachFromTarget', session).catch(() => undefined);
  }

  async #untilLeft(tab: Tab): Promise<void> {
    const { signal } = tab.closed;
    while (this.#mayBeCovered(tab)) {
      const leftMs = (this.#drawn.get(tab) ?? 0) + lingerMs - systemClock.monotonicMs();
      if (leftMs <= 0 && !this.#deps.isAwaited(tab.id)) return;
      await sleep(leftMs > 0 ? leftMs : lingerMs, undefined, { signal, ref: false });
    }
  }
}
