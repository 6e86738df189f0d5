/** One read of a page: its HTML, its visible part, and the probe for block detection. */
import type { FetchRequest } from '@berth/contract';
import { pageProbeObject, type PageProbe } from '../block-detection/block-detection.ts';
import { PageError, type Page } from '../browser/browser.ts';
import { snapshotScript, snapshotSource, type Snapshot } from '../content/content.ts';
import { wantsVisible } from './convert.ts';
import { limits } from './limits.ts';

export interface PageSnapshot {
  probe: PageProbe;
  whole: Snapshot;
  /** null when no requested format needs it. */
  visible: Snapshot | null;
}

/** A page that is busy for longer counts as not answering. */
const snapshotMsMax = 10_000;

const createReadSource = (take: string): string => `(options, visibleToo) => {
  const take = ${take};
  const whole = take({ ...options, visibleOnly: false });
  const visible = visibleToo ? take({ ...options, text: false, visibleOnly: true }) : null;
  return { probe: ${pageProbeObject('whole.html')}, whole, visible };
}`;
const defaultSource = createReadSource(snapshotScript);

/** Returns null when the page does not answer in time, for example while a script loops, or when it is too large. */
export async function readPageSnapshot(
  page: Page,
  request: FetchRequest,
  { signal, leftMs }: { signal: AbortSignal; leftMs: number },
): Promise<PageSnapshot | null> {
  const mainContent = request.only_main_content && request.include_selectors.length === 0;
  const options = { mainContent, readability: mainContent, maxBytes: limits.htmlBytesMax, text: request.formats.includes('text') };
  const source = mainContent ? createReadSource(snapshotSource()) : defaultSource;
  const timeoutMs = Math.max(1, Math.min(page.timeoutScale.ms(snapshotMsMax, leftMs / 2), leftMs));
  const within = { signal, timeoutMs, maxBytes: 6 * limits.htmlBytesMax };
  try {
    return await page.call<PageSnapshot>(page.mainFrame(), source, [options, wantsVisible(request)], within);
  } catch (error) {
    if (error instanceof PageError && (error.reason === 'timeout' || error.reason === 'too_large')) return null;
    throw error;
  }
}
