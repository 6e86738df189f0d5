/** Reads the content of a page or an element. */
import { documentWarnings, snapshotScript, snapshotWarnings, type Snapshot } from '@berth/reading';
import { withFrames, type ElementRef } from '../../browser/browser.ts';
import type { StepAttempt } from '../run/attempt.ts';
import { waitForElement } from './locate.ts';
import type { ElementState } from '@berth/page-scripts/read/read.ts';
import { scripts } from '../scripts.ts';
import { type Selectors, parsePattern } from '@berth/contract';

/** Maximum size of the text that is searched for a pattern. */
const textBytesMax = 8 * 1024 * 1024;

export async function textOfPage(attempt: StepAttempt): Promise<string> {
  const { frameId, element } = await attempt.root();
  if (element) return (await stateOf(attempt, element)).text;
  return attempt.page.call(frameId, scripts.pageText, [], attempt.call(textBytesMax));
}

export const stateOf = (attempt: StepAttempt, element: ElementRef): Promise<ElementState> =>
  attempt.page.call(element.frameId, scripts.stateOf, [element], attempt.call(textBytesMax));

/** `document` and `metadata`: the HTML as it is. `visible`: what a visitor sees, and `all`: everything, each with the documents of frames. */
type Part = 'document' | 'metadata' | 'visible' | 'all';

/** The HTML of the current page or of one element. */
export async function htmlOf(
  attempt: StepAttempt,
  { selectors, part, bytesMax }: { selectors: Selectors | undefined; part: Part; bytesMax: number },
): Promise<string> {
  const { page, signal } = attempt;
  const root = await attempt.root();
  const element = selectors ? await waitForElement(attempt, selectors) : root.element;
  const frameId = element?.frameId ?? root.frameId;
  const options = { visibleOnly: part === 'visible', withFrames: part === 'visible' || part === 'all', maxBytes: bytesMax };
  const read = await page.call<Snapshot>(frameId, snapshotScript, [options, element], attempt.call(3 * bytesMax));
  const snapshot = await withFrames(page, read, { ...options, frameId, signal, leftMs: attempt.leftMs });
  if (snapshot.truncated) attempt.warn('The page is too large and was truncated.');
  if (part === 'metadata') return snapshot.html;
  for (const warning of (part === 'document' ? documentWarnings : snapshotWarnings)(snapshot)) attempt.warn(warning);
  return snapshot.html;
}

/** Matches with a caller's pattern. Regular expressions run in the page, so that backtracking blocks only the page. */
export async function matchesPattern(attempt: StepAttempt, pattern: string, text: string): Promise<boolean> {
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
