import type { Attempt } from '../run/attempt.ts';
import { locate, locateAll, tell } from '../locators/locate.ts';
import { matchesPattern } from '../locators/pattern.ts';
import { lacks } from '../locators/ready.ts';
import { stateOf, textOfPage } from '../locators/read.ts';
import { scripts } from '../scripts.ts';
import { StepFailed } from '../context.ts';
import type { Act, StepOf } from './act.ts';

/** Shown of what was there instead. */
const shownMax = 200;

type Assertion = StepOf<'assert'>;

/** Fails when it does not come to hold in time; what did not is told as it was last. */
export const assert: Act<'assert'> = async (attempt, step) => {
  let wrong = 'nothing could be seen';
  const look = async (): Promise<true | undefined> => {
    const found = await firstWrong(attempt, step);
    if (found === null) return true;
    wrong = found;
    return undefined;
  };
  await attempt.poll(look, () => new StepFailed('assertion_failed', `It was expected otherwise: ${wrong}.`));
};

async function firstWrong(attempt: Attempt, step: Assertion): Promise<string | null> {
  const { page } = attempt;
  if (step.url !== undefined && !(await matchesPattern(attempt, step.url, page.url()))) return wanted('the address', step.url, page.url());
  if (step.title !== undefined) {
    const title = await page.call<string>(page.mainFrame(), '() => document.title', [], attempt.call());
    if (!(await matchesPattern(attempt, step.title, title))) return wanted('the title', step.title, title);
  }
  if (step.selectors) return wrongElement(attempt, step, step.selectors);
  if (step.text === undefined) return null;
  const text = await textOfPage(attempt);
  return (await matchesPattern(attempt, step.text, text)) ? null : wanted('the text', step.text, text);
}

const wanted = (what: string, pattern: string, seen: string | null): string =>
  `${what} should match ${pattern} and is ${JSON.stringify(seen?.slice(0, shownMax) ?? null)}`;

async function wrongElement(attempt: Attempt, step: Assertion, selectors: NonNullable<Assertion['selectors']>): Promise<string | null> {
  if (step.count !== undefined) {
    const wrong = wrongCount(step.count, (await locateAll(attempt, selectors, 1)).count);
    if (wrong !== null || onlyCounts(step)) return wrong;
  }
  const element = (await locate(attempt, selectors))?.element;
  // What should not be seen need not be there.
  if (!element) return step.visible === false && onlyHides(step) ? null : `no element matches any of: ${tell(selectors)}`;
  const { visible, text, value } = await stateOf(attempt, element);
  const shouldShow = step.visible ?? (looksInside(step) ? undefined : true);
  if (shouldShow !== undefined && visible !== shouldShow) return `the element should ${shouldShow ? '' : 'not '}be visible`;
  if (step.text !== undefined && !(await matchesPattern(attempt, step.text, text))) return wanted('its text', step.text, text);
  if (step.value !== undefined && !(await matchesPattern(attempt, step.value, value ?? ''))) return wanted('its value', step.value, value);
  if (step.enabled !== undefined && ((await lacks(attempt, element, ['enabled'])) === null) !== step.enabled)
    return `the element should ${step.enabled ? '' : 'not '}be enabled`;
  if (step.checked === undefined) return null;
  const { checked } = await attempt.page.call<{ checked: boolean | null }>(
    element.frameId,
    scripts.checkedState,
    [element],
    attempt.call(),
  );
  return checked === step.checked ? null : `the element should ${step.checked ? '' : 'not '}be checked`;
}

const parts = ['text', 'value', 'enabled', 'checked'] as const;
const looksInside = (step: Assertion): boolean => parts.some((name) => step[name] !== undefined);
const onlyHides = (step: Assertion): boolean => !looksInside(step);
const onlyCounts = (step: Assertion): boolean => !looksInside(step) && step.visible === undefined;

function wrongCount(count: NonNullable<Assertion['count']>, seen: number): string | null {
  const { min = 0, max = Infinity } = typeof count === 'number' ? { min: count, max: count } : count;
  return seen >= min && seen <= max ? null : `there should be ${min === max ? min : `${min} to ${max}`} elements and there are ${seen}`;
}
