/** Makes sure that the mouse reaches the element it is meant for. */
import type { ElementRef, Modifier } from '../../browser/browser.ts';
import { PageError } from '../../browser/browser.ts';
import type { Press } from '../../page-scripts/hits.ts';
import { StepFailed } from '../context.ts';
import type { Target } from '../locators/ready.ts';
import { isTransient, type Attempt } from '../run/attempt.ts';
import { scripts } from '../scripts.ts';

/** How long a press may be on its way after the browser has answered for it: a few turns of a busy page. */
const lateMs = 100;
/** For a press and its answer. With less left, what the round before has seen is the answer. */
const roundMs = 300;
/** The browser learns of a new or scrolled frame with the next picture of it. Where it says nothing of that, the press decides. */
const hoverRoundsMax = 5;

/** Nothing in the page has received the mouse, so it may be tried again. */
export interface Missed {
  element: ElementRef;
  reason: string;
}

/**
 * Repeats what missed the element because the page moved it meanwhile. What has received a press is never pressed again.
 * @throws StepFailed `click_not_received`
 */
export async function untilReceived(attempt: Attempt, act: (round: number) => Promise<Missed | Target>): Promise<Target> {
  let message = '';
  let round = 0;
  return attempt.poll(
    async () => {
      if (message !== '' && attempt.remainingMs < roundMs) return undefined;
      const result = await act(round).catch((error: unknown) => {
        if (message !== '' && error instanceof Unanswered) throw new StepFailed('click_not_received', `${message} ${error.message}`);
        // A round that had no time to look for the element says nothing of it, and the one before does.
        if (message !== '' && attempt.isOver && error instanceof StepFailed && isOfSearch(error)) return undefined;
        throw error;
      });
      round += 1;
      if (!result) return undefined;
      if (!('reason' in result)) return result;
      message = `The element ${await nameOf(attempt, result.element)}did not receive the mouse: ${result.reason}.`;
      return undefined;
    },
    () => new StepFailed('click_not_received', message),
  );
}

class Unanswered extends StepFailed {
  constructor() {
    super('click_not_received', 'The page did not answer in time after the press, so it is not known whether the element received it.');
  }
}

const isOfSearch = ({ code }: StepFailed): boolean => code === 'not_found' || code === 'not_actionable';

const nameOf = (attempt: Attempt, element: ElementRef): Promise<string> =>
  attempt.page.call<string>(element.frameId, scripts.describeElement, [element], attempt.call()).then(
    (name) => `${name} `,
    () => '',
  );

/** Whether the browser's own mouse is on the element. */
export const isHovered = (attempt: Attempt, element: ElementRef): Promise<boolean> =>
  attempt.page.call<boolean>(element.frameId, scripts.isHovered, [element], attempt.call());

/** Moves the mouse to the element and presses it there. */
export async function pressOn(
  attempt: Attempt,
  target: Target,
  { round, modifiers, press }: { round: number; modifiers: readonly Modifier[]; press: () => Promise<void> },
): Promise<Missed | Target> {
  const { element, point } = target;
  const { page, signal } = attempt;
  const around = await page.ancestors(element.frameId, attempt.call());
  // Also begins to observe navigations, see `leave.ts`.
  const watched = page.call(element.frameId, scripts.watchPress, [element], attempt.call());
  const receipt = page.call<boolean>(element.frameId, scripts.pressReceipt, [], attempt.call()).catch(() => false);
  await Promise.all([
    watched,
    ...around.map((frameId) => page.call(frameId, scripts.watchPress, [null], attempt.call())),
    // Calls run in their order: when this one is answered, the receipt waits in the page, and answers even if the press replaces the document.
    isHovered(attempt, element),
  ]);
  await page.mouse.move(point, { signal, modifiers });
  if (around.length > 0 && round < hoverRoundsMax && !(await isHovered(attempt, element)))
    return { element, reason: 'its frame is not yet where the mouse is' };
  await press();
  const [own, ...others] = await Promise.all([element.frameId, ...around].map((frameId) => endPress(attempt, frameId)));
  if (!own) {
    if (await receipt) return target;
    if (own === undefined) throw new Unanswered();
    throw new StepFailed('click_not_received', 'The page was replaced before the element received the mouse.');
  }
  if (own.isClickElsewhere)
    throw new StepFailed(
      'click_not_received',
      'The element received the press, but the page moved it before the release, so it had no click.',
    );
  if (own.result === 'received') return target;
  const instead = [own, ...others].find((each) => each?.result === 'missed')?.instead;
  return { element, reason: instead === undefined ? 'the page received no press' : `it moved, and ${instead} was in its place` };
}

/** Null in a document that was replaced; undefined where it does not answer, as while it is being replaced. */
async function endPress(attempt: Attempt, frameId: string): Promise<Press | null | undefined> {
  const { page, signal } = attempt;
  const options = { signal, timeoutMs: Math.max(1, attempt.remainingMs - 50) };
  try {
    return await page.call<Press | null>(frameId, scripts.endPress, [page.timeoutScale.ms(lateMs)], options);
  } catch (error) {
    if (isTransient(error) || page.closed.aborted) return null;
    if (error instanceof PageError && error.reason === 'timeout') return undefined;
    throw error;
  }
}
