/** Waits for the navigation that a click or a key starts, so that the next step runs in the new page. */
import { type ElementRef, PageError } from '../../browser/browser.ts';
import { isTransient, type StepAttempt } from './attempt.ts';
import { scripts } from '../scripts.ts';

/** A navigation without a page, such as a download or a 204, leaves the tab idle for this long. */
const idleLimitMs = 1000;

/** Acts, and waits until a navigation that this starts is committed. Warns when that takes too long. */
export async function followNavigation(attempt: StepAttempt, from: ElementRef | null, act: () => Promise<void>): Promise<void> {
  for (const frame of framesOf(attempt, from)) await attempt.page.call(frame, scripts.watchLeaving, [], attempt.call());
  await act();
  await finishNavigation(attempt, from);
}

/** Waits until a navigation is committed that has started since it was watched for. */
export async function finishNavigation(attempt: StepAttempt, from: ElementRef | null): Promise<void> {
  for (const frame of framesOf(attempt, from)) await waitForNavigation(attempt, frame);
}

const framesOf = ({ page }: StepAttempt, from: ElementRef | null): string[] => [
  ...new Set([page.mainFrame(), from?.frameId ?? page.mainFrame()]),
];

async function waitForNavigation(attempt: StepAttempt, frameId: string): Promise<void> {
  const { page, context } = attempt;
  const idleMs = page.timeoutScale.ms(idleLimitMs, attempt.leftMs / 2);
  let idleSinceMs: number | null = null;
  for (;;) {
    const state = await leavingState(attempt, frameId);
    if (state !== 'leaving') return;
    const isLoading = context.tabs().find(({ tabId }) => tabId === page.tabId)?.status === 'loading';
    const nowMs = context.clock.monotonicMs();
    idleSinceMs = isLoading ? null : (idleSinceMs ?? nowMs);
    if (idleSinceMs !== null && nowMs - idleSinceMs >= idleMs) return;
    if (attempt.leftMs < 100) {
      attempt.warn('A navigation started and is not committed yet.');
      return;
    }
    await attempt.sleep(20);
  }
}

async function leavingState(attempt: StepAttempt, frameId: string): Promise<'staying' | 'leaving' | 'gone'> {
  try {
    const options = { signal: attempt.signal, timeoutMs: Math.max(1, attempt.leftMs - 50) };
    return await attempt.page.call(frameId, scripts.leavingState, [], options);
  } catch (error) {
    if (isTransient(error)) return 'gone';
    // The browser delays calls while it commits a navigation.
    if (error instanceof PageError && error.reason === 'timeout') return 'leaving';
    throw error;
  }
}
