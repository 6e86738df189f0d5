/**
 * The sizes that pages ask for when they open windows: `open(url, '', 'width=600,height=300')`.
 *
 * The browser's own flag for the size of windows applies to popups, too, so the
 * size is taken from the event that a page's process sends before the window is
 * created. It waits there for a window with access to its opener, so their events
 * and windows come in turn; those of windows without it come in order, later.
 */
import type { Protocol } from 'devtools-protocol';
import type { BrowserSettings } from '../interface.ts';
import type { PopupSize, Tab } from './tab.ts';

interface Opening {
  size: PopupSize | null;
  canAccessOpener: boolean;
}

/** The smallest that a page gets, as in other browsers. */
const sideMin = 100;
/** Maximum openings kept of one page whose windows did not come. */
const openingsMax = 16;

export class PopupSizes {
  readonly #openings = new WeakMap<Tab, Opening[]>();

  /** A page opens a window, or a tab, which has no size. */
  onOpening(opener: Tab, { windowFeatures }: Protocol.Page.WindowOpenEvent): void {
    const others = this.#openings.get(opener) ?? [];
    const opening = { size: toSize(windowFeatures), canAccessOpener: !windowFeatures.includes('noopener') };
    this.#openings.set(opener, [...others, opening].slice(-openingsMax));
  }

  /** The size for a window that has come. */
  take(opener: Tab, { canAccessOpener }: { canAccessOpener: boolean }): PopupSize | null {
    const openings = this.#openings.get(opener) ?? [];
    const own = openings.filter((each) => each.canAccessOpener === canAccessOpener);
    const opening = canAccessOpener ? own.at(-1) : own[0];
    // Earlier ones with access to their opener were refused by the browser.
    const remaining = openings.filter((each) => each !== opening && !(canAccessOpener && each.canAccessOpener));
    this.#openings.set(opener, remaining);
    return opening?.size ?? null;
  }
}

function toSize(features: readonly string[]): PopupSize | null {
  const read = (name: string): number | null => {
    const value = Number(features.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1));
    return Number.isInteger(value) && value > 0 ? value : null;
  };
  const size = { width: read('width'), height: read('height') };
  return size.width === null && size.height === null ? null : size;
}

/** A tab's viewport in these settings. A window is not larger than the session's. */
export function viewportOf(
  { popupSize }: Pick<Tab, 'popupSize'>,
  { viewport }: Pick<BrowserSettings, 'viewport'>,
): BrowserSettings['viewport'] {
  if (popupSize === null) return viewport;
  const limit = (wanted: number | null, most: number): number => Math.min(most, Math.max(sideMin, wanted ?? most));
  return { ...viewport, width: limit(popupSize.width, viewport.width), height: limit(popupSize.height, viewport.height) };
}
