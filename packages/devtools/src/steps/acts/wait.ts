import type { Selectors } from '@berth/contract';
import type { StepAttempt, Act, StepOf } from '../run/attempt.ts';
import { formatSelectors, locateIfAny, notFound } from '../locators/locate.ts';
import { matchesPattern, textOfPage } from '../locators/read.ts';
import { findMissingState } from '../locators/ready.ts';
import { StepError } from '../context.ts';

export const wait: Act<'wait'> = async (attempt, step, { allowEvaluate }) => {
  const { page, signal } = attempt;
  if (step.ms !== undefined) return attempt.sleepFully(step.ms);
  if (step.network_idle) return page.networkIdle({ signal, timeoutMs: attempt.leftMs });
  if (step.function !== undefined) return waitForExpression(attempt, step.function, allowEvaluate);
  if (step.selectors) return waitForState(attempt, step.selectors, step.state ?? 'visible');
  return waitForText(attempt, step);
};

async function waitForExpression(attempt: StepAttempt, expression: string, isAllowed: boolean): Promise<void> {
  if (!isAllowed) throw new StepError('not_allowed', 'JavaScript is not allowed for these steps.');
  const { page } = attempt;
  const isTrue = async () =>
    (await page.evaluate<boolean>(
      (await attempt.root()).frameId,
      `(async () => { const value = (${expression}\n); return Boolean(await (typeof value === 'function' ? value() : value)); })()`,
      attempt.call(),
    ))
      ? true
      : undefined;
  await attempt.poll(isTrue, () => new StepError('timeout', 'The function did not return true in time.'));
}

type State = NonNullable<StepOf<'wait'>['state']>;

async function waitForState(attempt: StepAttempt, selectors: Selectors, state: State): Promise<void> {
  let isThere = false;
  const probe = async (): Promise<true | undefined> => {
    const located = await locateIfAny(attempt, selectors);
    isThere = located !== null;
    if (state === 'attached' || state === 'detached') return isThere === (state === 'attached') ? true : undefined;
    const isVisible = located !== null && (await findMissingState(attempt, located.element, ['visible'])) === null;
    return isVisible === (state === 'visible') ? true : undefined;
  };
  await attempt.poll(probe, () => {
    if (!isThere) return notFound(selectors);
    return new StepError('timeout', `The element ${formatSelectors(selectors)} did not become ${state} in time.`);
  });
}

async function waitForText(attempt: StepAttempt, { text, url }: StepOf<'wait'>): Promise<void> {
  const probe = async (): Promise<true | undefined> => {
    if (url !== undefined) return (await matchesPattern(attempt, url, attempt.page.url())) ? true : undefined;
    return (await matchesPattern(attempt, text ?? '', await textOfPage(attempt))) ? true : undefined;
  };
  const failure = () =>
    url === undefined
      ? new StepError('timeout', `The text ${text} did not appear in time.`)
      : new StepError('timeout', `The page did not navigate to ${url} in time; its URL is ${attempt.page.url().slice(0, 500)}.`);
  await attempt.poll(probe, failure);
}
