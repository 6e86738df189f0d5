/** How long a page that has loaded is given to show its content before it is read. */
import { scriptsOf, sourceOf } from '@berth/page-scripts/page-scripts.ts';
import * as hiding from '@berth/page-scripts/read/hiding.ts';
import * as quiet from '@berth/page-scripts/read/quiet.ts';
import type { TimeoutScale } from '../timeout-scale.ts';
import { PageError, type Page } from './page.ts';

/** How long after the load a page's timers may bring content: some do after 300 ms. Not scaled: it is the page's own time. */
const timersMs = 350;
const quietMs = 50;
/** Maximum wait: a page that never is quiet, such as one with a clock, is read then. */
const withinMsMax = 1000;
/** Maximum wait for an answer of the page. One that does not answer is captured as it is. */
const answerMsMax = 500;

/** `leftMs` is what may be spent; `isFresh`: the page has received something since its load. */
export const toQuietOptions = (timeoutScale: TimeoutScale, { leftMs, isFresh }: { leftMs: number; isFresh: boolean }) => ({
  timersMs,
  quietMs,
  withinMs: Math.max(0, Math.min(timeoutScale.ms(withinMsMax), leftMs)),
  isFresh,
});

/** The source of a function that waits and then calls `read`. Its first argument is a `QuietOptions`, or null to read at once. */
export const whenQuiet = (read: string): string => `async (quiet, ...given) => {
${sourceOf(quiet)}
if (quiet !== null) await waitForQuiet(quiet);
return (${read})(...given);
}`;

const untilQuietSource = whenQuiet('() => undefined');
/** The page is busy, moves on, or has replaced what the script needs. */
const harmless: readonly PageError['reason'][] = ['timeout', 'context_lost', 'script_failed'];

/** A page whose scripts do not return, and one that moves on, counts as quiet. @throws PageError page_crashed, BrowserClosedError, or the signal's reason */
export async function untilQuiet(page: Page, { leftMs, signal }: { leftMs: number; signal: AbortSignal }): Promise<void> {
  const { timeoutScale } = page;
  const options = toQuietOptions(timeoutScale, { leftMs, isFresh: false });
  const timeoutMs = Math.max(1, Math.min(options.withinMs + timeoutScale.ms(answerMsMax), leftMs));
  try {
    await page.call(page.mainFrame(), untilQuietSource, [options], { signal, timeoutMs });
  } catch (error) {
    if (!(error instanceof PageError) || !harmless.includes(error.reason)) throw error;
  }
}

/** Snippets against flicker show a page after four or five seconds, whatever has not loaded. */
const shownMsMax = 5000;

/** A page that hides itself while it loads is given this time to show itself. @throws like `untilQuiet` */
export async function untilShown(page: Page, { leftMs, signal }: { leftMs: number; signal: AbortSignal }): Promise<void> {
  const { timeoutScale } = page;
  const withinMs = Math.min(timeoutScale.ms(shownMsMax), leftMs / 2);
  const timeoutMs = Math.max(1, Math.min(withinMs + timeoutScale.ms(answerMsMax), leftMs));
  try {
    await page.call(page.mainFrame(), scriptsOf(hiding).waitUntilShown, [withinMs], { signal, timeoutMs });
  } catch (error) {
    if (!(error instanceof PageError) || !harmless.includes(error.reason)) throw error;
  }
}
