/** Waits until an element is actionable, and reports what was missing when the time is over. */
import type { Selectors } from '@berth/contract';
import type { ElementRef, Point } from '../../browser/browser.ts';
import type { StepAttempt } from '../run/attempt.ts';
import { locate, notFound } from './locate.ts';
import type { RequiredState } from '@berth/page-scripts/act/act.ts';
import { scripts } from '../scripts.ts';
import { StepError } from '../context.ts';

/** Maximum time between two animation frames of a page that draws. */
const frameMs = 100;

const stateProblems: Record<RequiredState | 'attached', string> = {
  attached: 'it left the page',
  visible: 'it is not visible',
  enabled: 'it is disabled',
  editable: 'it cannot be edited',
  stable: 'it moves',
};
/** Limit of a still element: less than any page moves one by, and more than the errors of a transform. */
const stillPx = 0.1;

/** Waits until the element has the required states. */
export async function waitUntilReady(attempt: StepAttempt, selectors: Selectors, required: readonly RequiredState[]): Promise<ElementRef> {
  let lastProblem: string | null = null;
  const probe = async (): Promise<ElementRef | undefined> => {
    const located = await locate(attempt, selectors);
    if (!located) return undefined;
    const missingState = await findMissingState(attempt, located.element, required);
    if (missingState === null) return located.element;
    lastProblem = await describeProblem(attempt, located.element, stateProblems[missingState]);
    return undefined;
  };
  return attempt.poll(probe, () => (lastProblem === null ? notFound(selectors) : new StepError('not_actionable', lastProblem)));
}

interface PointOptions {
  position?: { x: number; y: number } | undefined;
  force: boolean;
}

/** An element, and a point in the main viewport where it receives the mouse. */
export interface Target {
  element: ElementRef;
  point: Point;
}

/** Waits for the element and a point where it receives the mouse. */
export async function waitForPoint(attempt: StepAttempt, selectors: Selectors, options: PointOptions): Promise<Target> {
  const required: RequiredState[] = options.force ? ['visible'] : ['visible', 'enabled'];
  let lastProblem: string | null = null;
  const scroll = { round: 0 };
  const probe = async () => {
    const located = await locate(attempt, selectors);
    if (!located) return undefined;
    const { element } = located;
    const missingState = await findMissingState(attempt, element, required);
    const reason = missingState === null ? await scrollIntoView(attempt, element, { ...options, scroll }) : stateProblems[missingState];
    if (typeof reason === 'object') return { element, point: reason };
    lastProblem = await describeProblem(attempt, element, reason);
    return undefined;
  };
  return attempt.poll(probe, () => (lastProblem === null ? notFound(selectors) : new StepError('not_actionable', lastProblem)));
}

/** Waits, for an element that was located before, for a point where it receives the mouse. */
export async function scrollToTarget(attempt: StepAttempt, element: ElementRef, options: PointOptions): Promise<Target> {
  const scroll = { round: 0 };
  let lastProblem = 'it is not in view';
  const probe = async () => {
    const point = await scrollIntoView(attempt, element, { ...options, scroll });
    if (typeof point === 'object') return { element, point };
    lastProblem = point;
    return undefined;
  };
  return attempt.poll(probe, () => new StepError('not_actionable', `The element was found, but ${lastProblem}.`));
}

export const findMissingState = (
  attempt: StepAttempt,
  element: ElementRef,
  required: readonly RequiredState[],
): Promise<RequiredState | 'attached' | null> =>
  attempt.page.call(element.frameId, scripts.findMissingState, [element, required, attempt.page.timeoutScale.ms(frameMs)], attempt.call());

async function describeProblem(attempt: StepAttempt, element: ElementRef, reason: string): Promise<string> {
  const name = await attempt.page.call<string>(element.frameId, scripts.describeElement, [element], attempt.call());
  return `The element ${name} was found, but ${reason}.`;
}

/** The point, or the reason for none. */
async function scrollIntoView(
  attempt: StepAttempt,
  element: ElementRef,
  options: PointOptions & { scroll: { round: number } },
): Promise<Point | string> {
  const { page } = attempt;
  const { scroll } = options;
  // A sticky header or footer may cover the element: each round scrolls it to another position.
  const block = [null, 'center', 'end', 'start'][scroll.round % 4];
  if (block == null) await page.scrollIntoView(element, attempt.call());
  else await page.call(element.frameId, scripts.scrollTo, [element, block], attempt.call());
  // What the page does when the element comes into view is awaited here, and it is aimed at where that has left it.
  const point = await aim(attempt, element, options);
  if (point === 'moving') return 'it moves';
  scroll.round += 1;
  if (point === 'out of view') return 'it is not in view';
  if (options.force) return point;
  const { receives, instead } = await page.receives(element, point, attempt.call());
  return receives ? point : `it is covered by ${instead}`;
}

/** The element's point in the main viewport, when neither it nor a frame around it moves. */
async function aim(attempt: StepAttempt, element: ElementRef, options: PointOptions): Promise<Point | 'moving' | 'out of view'> {
  const { page } = attempt;
  const { frameId } = element;
  const isInFrame = frameId !== page.mainFrame();
  const origin: Point = { x: 0, y: 0 };
  const before = isInFrame && !options.force ? await page.toMain(frameId, [origin], attempt.call()) : [];
  const point = await page.call<Point | 'moving' | 'out of view'>(
    frameId,
    scripts.aim,
    [element, options.position ? { ...options.position } : null, options.force ? null : page.timeoutScale.ms(frameMs)],
    attempt.call(),
  );
  if (typeof point === 'string' || !isInFrame) return point;
  const [at, after] = await page.toMain(frameId, [point, origin], attempt.call());
  return !options.force && !isNear(before[0], after) ? 'moving' : (at ?? 'out of view');
}

const isNear = (a: Point | undefined, b: Point | undefined): boolean =>
  a !== undefined && b !== undefined && Math.abs(a.x - b.x) < stillPx && Math.abs(a.y - b.y) < stillPx;
