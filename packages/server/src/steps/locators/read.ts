/** Reads the content of a page or an element. */
import { snapshotScript, type Snapshot } from '../../content/content.ts';
import type { ElementRef } from '../../browser/browser.ts';
import type { Attempt } from '../run/attempt.ts';
import { waitForElement } from './locate.ts';
import type { ElementState } from '../../page-scripts/read.ts';
import { scripts } from '../scripts.ts';
import { type Selectors, parsePattern } from '@berth/contract';

/** Of the text that is searched for a pattern. */
const textBytesMax = 8 * 1024 * 1024;

export async function textOfPage(attempt: Attempt): Promise<string> {
  const { frameId, element } = await attempt.root();
  if (element) return (await stateOf(attempt, element)).text;
  return attempt.page.call(frameId, scripts.pageText, [], attempt.call(textBytesMax));
}

export const stateOf = (attempt: Attempt, element: ElementRef): Promise<ElementState> =>
  attempt.page.call(element.frameId, scripts.stateOf, [element], attempt.call(textBytesMax));

/** The HTML of the current page or of one element. */
export async function htmlOf(attempt: Attempt, selectors: Selectors | undefined, bytesMax: number): Promise<string> {
  const { page } = attempt;
  const { frameId, element } = await attempt.root();
  const part = selectors ? await waitForElement(attempt, selectors) : element;
  if (part) return page.call(part.frameId, scripts.outerHtml, [part], attempt.call(bytesMax));
  const { html, truncated } = await page.call<Snapshot>(
    frameId,
    snapshotScript,
    [{ visibleOnly: false, maxBytes: bytesMax }],
    attempt.call(3 * bytesMax),
  );
  if (truncated) attempt.warn('The page is too large and was truncated.');
  return html;
}

/** Matches with a caller's pattern. Regular expressions run in the page, so that backtracking blocks only the page. */
export async function matchesPattern(attempt: Attempt, pattern: string, text: string): Promise<boolean> {
  const expression = parsePattern(pattern);
  if (expression === null) return matchesPlain(pattern, text);
  const { page } = attempt;
  return page.call(page.mainFrame(), scripts.testExpression, [expression.source, expression.flags, text], attempt.call());
}

/** Matches a part of the text; with `*` the whole text. Linear in the text for each `*`. */
export function matchesPlain(pattern: string, text: string): boolean {
  const collapsed = pattern.replace(/\s+/g, ' ').trim();
  if (!collapsed.includes('*')) return text.includes(collapsed);
  const [first = '', ...rest] = collapsed.split('*');
  const last = rest.pop() ?? '';
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return from <= text.length - last.length;
}
