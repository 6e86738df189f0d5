/** Reads a page once its scripts have shown what they load, within bounds. */
import type { FetchRequest } from '@berth/contract';
import { PageError, toQuietOptions, untilShown, type PrivatePage } from '@berth/devtools';
import { readOutline } from '@berth/reading';
import type { Deadline } from '@berth/lib/deadline.ts';
import { section } from '@berth/lib/turns/sections.ts';
import { readPageSnapshot, type PageSnapshot } from './capture.ts';
import { leadsOn } from './plain/needs-browser.ts';

/** Maximum time in all, however many things the page loads one after the other. */
const completeMsMax = 2000;
/** How long to wait for responses that scripts wait for. */
const requestsMsMax = 500;
/** A page that is not complete by then, or moves on from page to page, is read as it is. */
const readsMax = 3;

/** How long a stub, whose script leads to another page, is given to do so. It says itself that it is left in a moment. */
const leaveMsMax = 2000;
/** A stub is small. */
const stubCharsMax = 32_768;

const isStub = ({ whole: { html } }: PageSnapshot): boolean =>
  html.length <= stubCharsMax && section('outline', () => leadsOn(readOutline(html)));

export interface CompletePage {
  /** null when the page did not answer. */
  snapshot: PageSnapshot | null;
  /** Scripts still wait for responses. */
  isPending: boolean;
  /** The page has moved on to another document since it loaded. */
  isReplaced: boolean;
}

interface ReadOptions {
  signal: AbortSignal;
  budget: Deadline;
  /** `requests`: responses that scripts wait for. `content`: what timers and frames bring after the load, too. */
  waitsFor: 'nothing' | 'requests' | 'content';
}

/** @throws PageError, BrowserClosedError, or the signal's reason */
export async function readCompletePage(page: PrivatePage, request: FetchRequest, options: ReadOptions): Promise<CompletePage> {
  const { signal, budget, waitsFor } = options;
  const { timeoutScale } = page.page;
  const deadline = budget.within(Math.min(timeoutScale.ms(completeMsMax), budget.leftMs / 4));
  let isFresh = false;
  let isReplaced = false;
  let hasWaitedToLeave = false;
  let documentStart: number | null = null;
  const read = async (quiet: ReturnType<typeof toQuietOptions> | null): Promise<PageSnapshot | null> => {
    const first = await readPageSnapshot(page.page, request, { signal, leftMs: budget.leftMs, quiet });
    if (waitsFor === 'nothing' || first?.visible?.isHidden !== true) return first;
    await untilShown(page.page, { leftMs: budget.leftMs / 2, signal });
    return readPageSnapshot(page.page, request, { signal, leftMs: budget.leftMs, quiet: null });
  };
  for (let reads = 1; ; reads += 1) {
    const { isComplete, hasWaited } = await waitForRequests(page, waitsFor === 'nothing' ? 0 : deadline.leftMs);
    isFresh ||= hasWaited;
    const isLast = waitsFor !== 'content' || !isComplete || reads === readsMax || deadline.leftMs === 0;
    const quiet = isLast ? null : toQuietOptions(timeoutScale, { leftMs: deadline.leftMs, isFresh });
    try {
      const snapshot = await read(quiet);
      if (snapshot && waitsFor === 'content' && !hasWaitedToLeave && isStub(snapshot)) {
        hasWaitedToLeave = true;
        const waitMs = Math.min(timeoutScale.ms(leaveMsMax), budget.leftMs / 4);
        await page.waitForReplacement(waitMs);
        documentStart = snapshot.probe.documentStart;
        continue;
      }
      isReplaced ||= documentStart !== null && snapshot !== null && snapshot.probe.documentStart !== documentStart;
      const isPending = !(await page.waitForScriptRequests(0));
      if (isLast || !isPending || !snapshot) return { snapshot, isPending: isPending && waitsFor !== 'nothing', isReplaced };
    } catch (error) {
      if (isLast || !(error instanceof PageError) || error.reason !== 'context_lost') throw error;
      isReplaced = true;
    }
  }
}

/** Whether no script waits for a response any more, and whether one did. */
export async function waitForRequests(page: PrivatePage, leftMs: number): Promise<{ isComplete: boolean; hasWaited: boolean }> {
  if (await page.waitForScriptRequests(0)) return { isComplete: true, hasWaited: false };
  const withinMs = Math.min(page.page.timeoutScale.ms(requestsMsMax), leftMs);
  return { isComplete: await page.waitForScriptRequests(withinMs), hasWaited: true };
}
