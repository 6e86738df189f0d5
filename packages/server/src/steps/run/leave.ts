/** Waits for the page that a click or a key leads to, so that the next step sees that one. */
import type { ElementRef } from '../../browser/browser.ts';
import { isPassing, type Attempt } from './attempt.ts';
import { PageError } from '../../browser/browser.ts';
import { scripts } from '../scripts.ts';

/** A navigation that ends without a page, such as a download or a 204, is known by its tab's being at rest for so long. */
const restLimitMs = 1000;

/** Does it, and waits until a navigation that begins with it has arrived; one that takes too long is told as a warning. */
export async function followNavigation(attempt: Attempt, from: ElementRef | null, act: () => Promise<void>): Promise<void> {
  const { page } = attempt;
  const frames = [...new Set([page.mainFrame(), from?.frameId ?? page.mainFrame()])];
  for (const frame of frames) await page.call(frame, scripts.watchLeaving, [], attempt.call());
  await act();
  for (const frame of frames) await arrival(attempt, frame);
}

async function arrival(attempt: Attempt, frameId: string): Promise<void> {
  const { page, world } = attempt;
  const restMs = page.patience.ms(restLimitMs, attempt.remainingMs / 2);
  let restSinceMs: number | null = null;
  for (;;) {
    const state = await leavingState(attempt, frameId);
    if (state !== 'leaving') return;
    const isLoading = world.tabs().find(({ tabId }) => tabId === page.tabId)?.status === 'loading';
    const nowMs = world.clock.monotonicMs();
    restSinceMs = isLoading ? null : (restSinceMs ?? nowMs);
    if (restSinceMs !== null && nowMs - restSinceMs >= restMs) return;
    if (attempt.remainingMs < 100) {
      attempt.warn('A navigation began, and has not arrived yet.');
      return;
    }
    await attempt.pause(20);
  }
}

async function leavingState(attempt: Attempt, frameId: string): Promise<'staying' | 'leaving' | 'gone'> {
  try {
    const options = { signal: attempt.signal, timeoutMs: Math.max(1, attempt.remainingMs - 50) };
    return await attempt.page.call(frameId, scripts.isLeaving, [], options);
  } catch (error) {
    if (isPassing(error)) return 'gone';
    // The browser holds questions back while a document moves in.
    if (error instanceof PageError && error.reason === 'timeout') return 'leaving';
    throw error;
  }
}
