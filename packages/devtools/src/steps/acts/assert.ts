import type { StepAttempt, Act, StepOf } from '../run/attempt.ts';
import { formatSelectors, locateAll, locateIfAny } from '../locators/locate.ts';
import { matchesPattern, stateOf, textOfPage } from '../locators/read.ts';
import { findMissingState } from '../locators/ready.ts';
import { scripts } from '../scripts.ts';
import { StepError } from '../context.ts';

/** Maximum characters of the actual value in messages. */
const shownCharsMax = 200;

type AssertStep = StepOf<'assert'>;

/** Fails when the assertion is not met in time, with the last mismatch. */
export const assert: Act<'assert'> = async (attempt, step) => {
  let mismatch = 'the page did not answer';
  const probe = async (): Promise<true | undefined> => {
    const current = await findMismatch(attempt, step);
    if (current === null) return true;
    mismatch = current;
    return undefined;
  };
  await attempt.poll(probe, () => new StepError('assertion_failed', `Assertion failed: ${mismatch}.`));
};

async function findMismatch(attempt: StepAttempt, step: AssertStep): Promise<string | null> {
  const { page } = attempt;
  if (step.url !== undefined && !(await matchesPattern(attempt, step.url, page.url()))) return mismatchOf('the URL', step.url, page.url());
  if (step.title !== undefined) {
    const title = await page.call<string>(page.mainFrame(), '() => document.title', [], attempt.call());
    if (!(await matchesPattern(attempt, step.title, title))) return mismatchOf('the title', step.title, title);
  }
  if (step.selectors) return elementMismatch(attempt, step, step.selectors);
  if (step.text === undefined) return null;
  const text = await textOfPage(attempt);
  return (await matchesPattern(attempt, step.text, text)) ? null : mismatchOf('the text', step.text, text);
}

const mismatchOf = (what: string, pattern: string, actual: string | null): string =>
  `${what} should match ${pattern} and is ${JSON.stringify(actual?.slice(0, shownCharsMax) ?? null)}`;

async function elementMismatch(
  attempt: StepAttempt,
  step: AssertStep,
  selectors: NonNullable<AssertStep['selectors']>,
): Promise<string | null> {
  if (step.count !== undefined) {
    const mismatch = countMismatch(step.count, (await locateAll(attempt, selectors, 1)).count);
    if (mismatch !== null || checksOnlyCount(step)) return mismatch;
  }
  if (step.attributes !== undefined || step.properties !== undefined) {
    const mismatch = await differenceOf(attempt, step, selectors);
    // Without a match they say nothing, and `count` allows that.
    if (mismatch !== null || (step.count !== undefined && checksOnlyMatches(step))) return mismatch;
  }
  const element = (await locateIfAny(attempt, selectors))?.element;
  // An absent element is not visible either.
  if (!element)
    return step.visible === false && checksOnlyVisibility(step) ? null : `no element matches any of: ${formatSelectors(selectors)}`;
  const { visible, text, value } = await stateOf(attempt, element);
  const shouldShow = step.visible ?? (checksContent(step) ? undefined : true);
  if (shouldShow !== undefined && visible !== shouldShow) return `the element should ${shouldShow ? '' : 'not '}be visible`;
  if (step.text !== undefined && !(await matchesPattern(attempt, step.text, text))) return mismatchOf('its text', step.text, text);
  if (step.value !== undefined && !(await matchesPattern(attempt, step.value, value ?? '')))
    return mismatchOf('its value', step.value, value);
  if (step.enabled !== undefined && ((await findMissingState(attempt, element, ['enabled'])) === null) !== step.enabled)
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

/** Maximum matches to compare: as many as one call may name. */
const comparedMax = 1000;

async function differenceOf(
  attempt: StepAttempt,
  { attributes = {}, properties = {} }: AssertStep,
  selectors: NonNullable<AssertStep['selectors']>,
): Promise<string | null> {
  const { elements, count } = await locateAll(attempt, selectors, comparedMax);
  if (count > elements.length) return `there should be at most ${comparedMax} elements to compare and there are ${count}`;
  const [first] = elements;
  return first ? attempt.page.call(first.frameId, scripts.findDifference, [{ attributes, properties }, ...elements], attempt.call()) : null;
}

const checkedProperties = ['text', 'value', 'enabled', 'checked', 'attributes', 'properties'] as const;
const checksOnlyMatches = (step: AssertStep): boolean =>
  step.visible === undefined && checkedProperties.every((name) => ['attributes', 'properties'].includes(name) || step[name] === undefined);
const checksContent = (step: AssertStep): boolean => checkedProperties.some((name) => step[name] !== undefined);
const checksOnlyVisibility = (step: AssertStep): boolean => !checksContent(step);
const checksOnlyCount = (step: AssertStep): boolean => !checksContent(step) && step.visible === undefined;

function countMismatch(count: NonNullable<AssertStep['count']>, actual: number): string | null {
  const { min = 0, max = Infinity } = typeof count === 'number' ? { min: count, max: count } : count;
  return actual >= min && actual <= max
    ? null
    : `there should be ${min === max ? min : `${min} to ${max}`} elements and there are ${actual}`;
}
