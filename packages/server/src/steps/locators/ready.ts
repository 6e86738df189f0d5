/** Waits until an element can be acted on as a person could, and says what it waited for when that never comes. */
import type { Selectors } from '@berth/contract';
import type { ElementRef, Point } from '../../browser/browser.ts';
import type { Attempt } from '../run/attempt.ts';
import { locate, notFound } from './locate.ts';
import type { Need } from '../../page-scripts/act.ts';
import { scripts } from '../scripts.ts';
import { StepFailed } from '../context.ts';

/** The longest that a page which draws leaves between two frames. */
const frameMs = 100;

const words: Record<Need | 'attached', string> = {
  attached: 'it left the page',
  visible: 'it is not visible',
  enabled: 'it is disabled',
  editable: 'it cannot be edited',
  stable: 'it moves',
};

/** The element, once it has all that is needed. */
export async function waitUntilReady(attempt: Attempt, selectors: Selectors, needs: readonly Need[]): Promise<ElementRef> {
  let lacking: string | null = null;
  const look = async (): Promise<ElementRef | undefined> => {
    const located = await locate(attempt, selectors);
    if (!located) return undefined;
    const lack = await lacks(attempt, located.element, needs);
    if (lack === null) return located.element;
    lacking = await tellLack(attempt, located.element, words[lack]);
    return undefined;
  };
  return attempt.poll(look, () => (lacking === null ? notFound(selectors) : new StepFailed('not_actionable', lacking)));
}

export interface PointOrder {
  position?: { x: number; y: number } | undefined;
  force: boolean;
}

/** The element and the point at which the mouse reaches it. */
export async function waitForPoint(
  attempt: Attempt,
  selectors: Selectors,
  order: PointOrder,
): Promise<{ element: ElementRef; point: Point }> {
  const needs: Need[] = order.force ? ['visible'] : ['visible', 'enabled', 'stable'];
  let lacking: string | null = null;
  let turn = 0;
  const look = async () => {
    const located = await locate(attempt, selectors);
    if (!located) return undefined;
    const { element } = located;
    const lack = await lacks(attempt, element, needs);
    const why = lack === null ? await bringIntoView(attempt, element, { ...order, turn }) : words[lack];
    turn += 1;
    if (typeof why === 'object') return { element, point: why };
    lacking = await tellLack(attempt, element, why);
    return undefined;
  };
  return attempt.poll(look, () => (lacking === null ? notFound(selectors) : new StepFailed('not_actionable', lacking)));
}

/** The same for an element that is known. */
export async function bringTarget(
  attempt: Attempt,
  element: ElementRef,
  order: PointOrder,
): Promise<{ element: ElementRef; point: Point }> {
  let turn = 0;
  let lacking = 'it is not in view';
  const look = async () => {
    const point = await bringIntoView(attempt, element, { ...order, turn });
    turn += 1;
    if (typeof point === 'object') return { element, point };
    lacking = point;
    return undefined;
  };
  return attempt.poll(look, () => new StepFailed('not_actionable', `The element was found, but ${lacking}.`));
}

export const lacks = (attempt: Attempt, element: ElementRef, needs: readonly Need[]): Promise<Need | 'attached' | null> =>
  attempt.page.call(element.frameId, scripts.lacks, [element, needs, attempt.page.patience.ms(frameMs)], attempt.call());

async function tellLack(attempt: Attempt, element: ElementRef, why: string): Promise<string> {
  const name = await attempt.page.call<string>(element.frameId, scripts.tellElement, [element], attempt.call());
  return `The element ${name} was found, but ${why}.`;
}

/** The point, or why there is none. */
async function bringIntoView(attempt: Attempt, element: ElementRef, order: PointOrder & { turn: number }): Promise<Point | string> {
  const { page } = attempt;
  const { turn } = order;
  // What sticks to an edge may cover the place that the browser chose; the next try brings it elsewhere.
  const block = [null, 'center', 'end', 'start'][turn % 4];
  if (block == null) await page.scrollIntoView(element, attempt.call());
  else await page.call(element.frameId, scripts.scrollTo, [element, block], attempt.call());
  const aimed = await page.call<Point | null>(element.frameId, scripts.aim, [element, order.position ?? null], attempt.call());
  const box = await page.box(element, attempt.call());
  if (!aimed || !box) return 'it is not in view';
  const point = { x: box.x + aimed.x, y: box.y + aimed.y };
  if (order.force) return point;
  const { receives, instead } = await page.receives(element, point, attempt.call());
  return receives ? point : `it is covered by ${instead}`;
}
