/** A page as it stands, read in one go: its HTML, what a visitor sees of it, and what tells a block from the page. */
import type { FetchRequest } from '@berth/contract';
import { PageError, type Page } from '../browser/browser.ts';
import { snapshotScript, snapshotSource, type Snapshot } from '../content/content.ts';
import { lookObject, type Look } from '../drive/drive.ts';
import { wantsVisible } from './convert.ts';
import { limits } from './limits.ts';

export interface Seen {
  look: Look;
  whole: Snapshot;
  /** null where nobody wants it. */
  visible: Snapshot | null;
}

/** A page that is busy for longer is told as it stands. */
const snapshotMsMax = 10_000;

const readAll = (take: string): string => `(options, visibleToo) => {
  const take = ${take};
  const whole = take({ ...options, visibleOnly: false });
  const visible = visibleToo ? take({ ...options, text: false, visibleOnly: true }) : null;
  return { look: ${lookObject('whole.html')}, whole, visible };
}`;
const plainly = readAll(snapshotScript);

/** null where the page does not answer, as one does not whose script never returns. */
export async function readSeen(
  page: Page,
  request: FetchRequest,
  { signal, leftMs }: { signal: AbortSignal; leftMs: number },
): Promise<Seen | null> {
  const mainContent = request.only_main_content && request.include_selectors.length === 0;
  const options = { mainContent, readability: mainContent, maxBytes: limits.htmlBytes, text: request.formats.includes('text') };
  const source = mainContent ? readAll(snapshotSource()) : plainly;
  const timeoutMs = Math.max(1, Math.min(page.patience.ms(snapshotMsMax, leftMs / 2), leftMs));
  const within = { signal, timeoutMs, maxBytes: 6 * limits.htmlBytes };
  try {
    return await page.call<Seen>(page.mainFrame(), source, [options, wantsVisible(request)], within);
  } catch (error) {
    if (error instanceof PageError && (error.reason === 'timeout' || error.reason === 'too_large')) return null;
    throw error;
  }
}
