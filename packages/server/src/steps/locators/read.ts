/** Reads the content of a page or an element. */
import { snapshotScript, type Snapshot } from '../../content/content.ts';
import type { ElementRef } from '../../browser/browser.ts';
import type { Attempt } from '../run/attempt.ts';
import { waitForElement } from './locate.ts';
import type { ElementState } from '../../page-scripts/read.ts';
import { scripts } from '../scripts.ts';
import type { Selectors } from '@berth/contract';

/** Of the text that is searched for a pattern. */
const textBytesMax = 8 * 1024 * 1024;

export async function textOfPage(attempt: Attempt): Promise<string> {
  const { frameId, element } = await attempt.root();
  if (element) return (await stateOf(attempt, element)).text;
  return attempt.page.call(frameId, scripts.pageText, [], attempt.call(textBytesMax));
}

export const stateOf = (attempt: Attempt, element: ElementRef): Promise<ElementState> =>
  attempt.page.call(element.frameId, scripts.stateOf, [element], attempt.call(textBytesMax));

const snapshotOptions = { visibleOnly: false, mainContent: false, readability: false };

/** The HTML of the current page or of one element. */
export async function htmlOf(attempt: Attempt, selectors: Selectors | undefined, bytesMax: number): Promise<string> {
  const { page } = attempt;
  const { frameId, element } = await attempt.root();
  const part = selectors ? await waitForElement(attempt, selectors) : element;
  if (part) return page.call(part.frameId, scripts.outerHtml, [part], attempt.call(bytesMax));
  const { html, truncated } = await page.call<Snapshot>(
    frameId,
    snapshotScript,
    [{ ...snapshotOptions, maxBytes: bytesMax }],
    attempt.call(3 * bytesMax),
  );
  if (truncated) attempt.warn('The page is too large and was truncated.');
  return html;
}
