import type { ElementRef } from '../../browser/browser.ts';
import type { StepAttempt, Act, StepOf } from '../run/attempt.ts';
import { locateAll, waitForElement } from '../locators/locate.ts';
import { waitUntilReady } from '../locators/ready.ts';
import { scripts } from '../scripts.ts';

export const scroll: Act<'scroll'> = async (attempt, step) => {
  const container = step.container ? await waitUntilReady(attempt, step.container, ['visible']) : null;
  if (step.until) return scrollUntil(attempt, step, container);
  await scrollOnce(attempt, step, container);
  return undefined;
};

async function scrollOnce(attempt: StepAttempt, { selectors, to, by }: StepOf<'scroll'>, container: ElementRef | null): Promise<void> {
  const { page } = attempt;
  if (selectors) return page.scrollIntoView(await waitForElement(attempt, selectors), attempt.call());
  const options = by ? { by } : { to: to ?? 'bottom' };
  await page.call(await frameOf(attempt, container), scripts.scroll, [container, options], attempt.call());
}

const frameOf = async (attempt: StepAttempt, container: ElementRef | null): Promise<string> =>
  container?.frameId ?? (await attempt.root()).frameId;

interface Progress {
  height: number;
  top: number;
  count: number;
}

/** Time reserved for the output: an endless page is no failure. */
const replyMs = 300;
const pollIntervalMs = 50;

async function scrollUntil(attempt: StepAttempt, step: StepOf<'scroll'>, container: ElementRef | null) {
  const { until, max } = step;
  const marginMs = marginOf(attempt);
  let progress = await progressOf(attempt, step, container);
  const toOutput = (scrolls: number, stop_reason: string) => ({
    scrolls,
    stop_reason,
    reached_end: stop_reason === 'stable',
    count: progress.count,
    height: progress.height,
  });
  for (let scrolls = 0; ; scrolls += 1) {
    const target = until?.selectors ? (until.count ?? 1) : Infinity;
    if (progress.count >= target) return toOutput(scrolls, until?.count === undefined ? 'selectors' : 'count');
    if (scrolls >= max) return toOutput(scrolls, 'max');
    if (attempt.leftMs <= marginMs) return toOutput(scrolls, 'time');
    await scrollOnce(attempt, step, container);
    const current = await waitForGrowth(attempt, step, { container, before: progress });
    if (current === null && until?.stable !== false) return toOutput(scrolls + 1, 'stable');
    progress = current ?? progress;
  }
}

/** The progress once the page has grown or moved; null when it has not for `idle_ms`. */
async function waitForGrowth(
  attempt: StepAttempt,
  step: StepOf<'scroll'>,
  { container, before }: { container: ElementRef | null; before: Progress },
): Promise<Progress | null> {
  const marginMs = marginOf(attempt);
  for (let waitedMs = 0; waitedMs < step.idle_ms; waitedMs += pollIntervalMs) {
    const current = await progressOf(attempt, step, container);
    // At the bottom only growth counts; before that each move does.
    if (current.height !== before.height || current.count !== before.count || (step.by && current.top !== before.top)) return current;
    if (attempt.leftMs <= marginMs) return current;
    await attempt.sleep(pollIntervalMs);
  }
  return null;
}

const marginOf = ({ page, timeoutMs }: StepAttempt): number => page.timeoutScale.ms(replyMs, timeoutMs / 4);

async function progressOf(attempt: StepAttempt, { until }: StepOf<'scroll'>, container: ElementRef | null): Promise<Progress> {
  const { page } = attempt;
  const size = await page.call<{ height: number; top: number }>(
    await frameOf(attempt, container),
    scripts.scrollSize,
    [container],
    attempt.call(),
  );
  const count = until?.selectors ? (await locateAll(attempt, until.selectors, 1)).count : 0;
  return { ...size, count };
}
