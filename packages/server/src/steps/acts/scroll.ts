import type { ElementRef } from '../../browser/browser.ts';
import type { Attempt } from '../run/attempt.ts';
import { locateAll, waitForElement } from '../locators/locate.ts';
import { waitUntilReady } from '../locators/ready.ts';
import { scripts } from '../scripts.ts';
import type { Act, StepOf } from './act.ts';

export const scroll: Act<'scroll'> = async (attempt, step) => {
  const container = step.container ? await waitUntilReady(attempt, step.container, ['visible']) : null;
  if (step.until) return scrollUntil(attempt, step, container);
  await scrollOnce(attempt, step, container);
  return undefined;
};

async function scrollOnce(attempt: Attempt, { selectors, to, by }: StepOf<'scroll'>, container: ElementRef | null): Promise<void> {
  const { page } = attempt;
  if (selectors) return page.scrollIntoView(await waitForElement(attempt, selectors), attempt.call());
  const order = by ? { by } : { to: to ?? 'bottom' };
  await page.call(await frameOf(attempt, container), scripts.scroll, [container, order], attempt.call());
}

const frameOf = async (attempt: Attempt, container: ElementRef | null): Promise<string> =>
  container?.frameId ?? (await attempt.root()).frameId;

interface Progress {
  height: number;
  top: number;
  count: number;
}

/** Time that is left for telling how far it came: a page without end is no failure. */
const tellMs = 300;
const lookEveryMs = 50;

async function scrollUntil(attempt: Attempt, step: StepOf<'scroll'>, container: ElementRef | null) {
  const { until, max } = step;
  const marginMs = marginOf(attempt);
  let progress = await progressOf(attempt, step, container);
  const told = (scrolls: number, stop_reason: string) => ({
    scrolls,
    stop_reason,
    reached_end: stop_reason === 'stable',
    count: progress.count,
    height: progress.height,
  });
  for (let scrolls = 0; ; scrolls += 1) {
    const wanted = until?.selectors ? (until.count ?? 1) : Infinity;
    if (progress.count >= wanted) return told(scrolls, until?.count === undefined ? 'selectors' : 'count');
    if (scrolls >= max) return told(scrolls, 'max');
    if (attempt.remainingMs <= marginMs) return told(scrolls, 'time');
    await scrollOnce(attempt, step, container);
    const next = await growth(attempt, step, { container, before: progress });
    if (next === null && until?.stable !== false) return told(scrolls + 1, 'stable');
    progress = next ?? progress;
  }
}

/** What there is once something has grown or moved; null when nothing has for long enough. */
async function growth(
  attempt: Attempt,
  step: StepOf<'scroll'>,
  { container, before }: { container: ElementRef | null; before: Progress },
): Promise<Progress | null> {
  const marginMs = marginOf(attempt);
  for (let waitedMs = 0; waitedMs < step.idle_ms; waitedMs += lookEveryMs) {
    const now = await progressOf(attempt, step, container);
    // At the bottom already, only what is added counts; on the way there, each move does.
    if (now.height !== before.height || now.count !== before.count || (step.by && now.top !== before.top)) return now;
    if (attempt.remainingMs <= marginMs) return now;
    await attempt.pause(lookEveryMs);
  }
  return null;
}

const marginOf = ({ page, timeoutMs }: Attempt): number => page.patience.ms(tellMs, timeoutMs / 4);

async function progressOf(attempt: Attempt, { until }: StepOf<'scroll'>, container: ElementRef | null): Promise<Progress> {
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
