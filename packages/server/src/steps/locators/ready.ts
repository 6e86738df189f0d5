/** Waits until an element is actionable, and reports what was missing when the time is over. */
import type { Selectors } from '@berth/contract';
import type { ElementRef, Point } from '../../browser/browser.ts';
import type { Attempt } from '../run/attempt.ts';
import { locate, notFound } from './locate.ts';
import type { RequiredState } from '../../page-scripts/act.ts';
import { scripts } from '../scripts.ts';
import { StepFailed } from '../context.ts';

/** Between two animation frames of a page that draws. */
const frameMs = 100;

const stateProblems: Record<RequiredState | 'attached', string> = {
  attached: 'it left the page',
  visible: 'it is not visible',
  enabled: 'it is disabled',
  editable: 'it cannot be edited',
  stable: 'it moves',
};

/** Waits until the element has the required states. */
export async function waitUntilReady(attempt: Attempt, selectors: Selectors, required: readonly RequiredState[]): Promise<ElementRef> {
  let lastProblem: string | null = null;
  const probe = async (): Promise<ElementRef | undefined> => {
    const located = await locate(attempt, selectors);
    if (!located) return undefined;
    const missingState = await findMissingState(attempt, located.element, required);
    if (missingState === null) return located.element;
    lastProblem = await describeProblem(attempt, located.element, stateProblems[missingState]);
    return undefined;
  };
  return attempt.poll(probe, () => (lastProblem === null ? notFound(selectors) : new StepFailed('not_actionable', lastProblem)));
}

interface PointOptions {
  position?: { x: number; y: number } | undefined;
  force: boolean;
}

/** Waits for the element and a point where it receives the mouse. */
export async function waitForPoint(
  attempt: Attempt,
  selectors: Selectors,
  options: PointOptions,
): Promise<{ element: ElementRef; point: Point }> {
  const required: RequiredState[] = options.force ? ['visible'] : ['visible', 'enabled', 'stable'];
  let lastProblem: string | null = null;
  let round = 0;
  const probe = async () => {
    const located = await locate(attempt, selectors);
    if (!located) return undefined;
    const { element } = located;
    const missingState = await findMissingState(attempt, element, required);
    const reason = missingState === null ? await scrollIntoView(attempt, element, { ...options, round }) : stateProblems[missingState];
    round += 1;
    if (typeof reason === 'object') return { element, point: reason };
    lastProblem = await describeProblem(attempt, element, reason);
    return undefined;
  };
  return attempt.poll(probe, () => (lastProblem === null ? notFound(selectors) : new StepFailed('not_actionable', lastProblem)));
}

/** The same for an element that was located before. */
export async function scrollToTarget(
  attempt: Attempt,
  element: ElementRef,
  options: PointOptions,
): Promise<{ element: ElementRef; point: Point }> {
  let round = 0;
  let lastProblem = 'it is not in view';
  const probe = async () => {
    const point = await scrollIntoView(attempt, element, { ...options, round });
    round += 1;
    if (typeof point === 'object') return { element, point };
    lastProblem = point;
    return undefined;
  };
  return attempt.poll(probe, () => new StepFailed('not_actionable', `The element was found, but ${lastProblem}.`));
}

export const findMissingState = (
  attempt: Attempt,
  element: ElementRef,
  required: readonly RequiredState[],
): Promise<RequiredState | 'attached' | null> =>
  attempt.page.call(element.frameId, scripts.findMissingState, [element, required, attempt.page.timeoutScale.ms(frameMs)], attempt.call());

async function describeProblem(attempt: Attempt, element: ElementRef, reason: string): Promise<string> {
  const name = await attempt.page.call<string>(element.frameId, scripts.describeElement, [element], attempt.call());
  return `The element ${name} was found, but ${reason}.`;
}

/** The point, or the reason for none. */
async function scrollIntoView(attempt: Attempt, element: ElementRef, options: PointOptions & { round: number }): Promise<Point | string> {
  const { page } = attempt;
  const { round } = options;
  // A sticky header or footer may cover the element: each round scrolls it to another position.
  const block = [null, 'center', 'end', 'start'][round % 4];
  if (block == null) await page.scrollIntoView(element, attempt.call());
  else await page.call(element.frameId, scripts.scrollTo, [element, block], attempt.call());
  const aimed = await page.call<Point | null>(element.frameId, scripts.aim, [element, options.position ?? null], attempt.call());
  const box = await page.box(element, attempt.call());
  if (!aimed || !box) return 'it is not in view';
  const point = { x: box.x + aimed.x, y: box.y + aimed.y };
  if (options.force) return point;
  const { receives, instead } = await page.receives(element, point, attempt.call());
  return receives ? point : `it is covered by ${instead}`;
}
