/** Makes sure that the mouse reaches the element it is meant for. */
import { type ElementRef, type Modifier, PageError } from '../../browser/browser.ts';
import type { Presses } from '@berth/page-scripts/act/hits.ts';
import { StepError } from '../context.ts';
import type { Target } from '../locators/ready.ts';
import { isTransient, type StepAttempt } from '../run/attempt.ts';
import { scripts } from '../scripts.ts';

/** Time that a press may be on its way after the browser has answered for it: a few turns of a busy page. */
const lateMs = 100;
/** Time for a press and its answer. With less left, what the round before has seen is the answer. */
const roundMs = 300;
/** The browser learns of a new or scrolled frame with the next picture of it. Where it says nothing of that, the press decides. */
const hoverRoundsMax = 5;

/** Nothing in the page has received what is left, so it may be tried again. */
export interface Missed {
  element: ElementRef;
  reason: string;
  /** Presses of this round that the element has received, before one has missed. */
  received?: number;
}

/**
 * Repeats what missed the element because the page moved it meanwhile. What has received a press is never pressed again.
 * @throws StepError `click_not_received`
 */
export async function untilReceived(
  attempt: StepAttempt,
  act: (round: number) => Promise<Missed | Target>,
  lost: () => string = () => 'did not receive the mouse',
): Promise<Target> {
  let message = '';
  let round = 0;
  return attempt.poll(
    async () => {
      if (message !== '' && attempt.leftMs < roundMs) return undefined;
      const result = await act(round).catch((error: unknown) => {
        if (message !== '' && error instanceof NoAnswerError) throw new StepError('click_not_received', `${message} ${error.message}`);
        // A round that had no time to look for the element says nothing of it, and the one before does.
        if (message !== '' && attempt.isOver && error instanceof StepError && isOfSearch(error)) return undefined;
        throw error;
      });
      round += 1;
      if (!result) return undefined;
      if (!('reason' in result)) return result;
      message = `The element ${await nameOf(attempt, result.element)}${lost()}: ${result.reason}.`;
      return undefined;
    },
    // Without a message, no round has come to its press.
    () =>
      message === ''
        ? new StepError('timeout', `The step did not finish within ${attempt.timeoutMs} ms: the element ${lost()}.`)
        : new StepError('click_not_received', message),
  );
}

class NoAnswerError extends StepError {
  constructor() {
    super('click_not_received', 'The page did not answer in time after the press, so it is not known whether the element received it.');
  }
}

const isOfSearch = ({ code }: StepError): boolean => code === 'not_found' || code === 'not_actionable';

const nameOf = (attempt: StepAttempt, element: ElementRef): Promise<string> =>
  attempt.page.call<string>(element.frameId, scripts.describeElement, [element], attempt.call()).then(
    (name) => `${name} `,
    () => '',
  );

/** Whether the browser's own mouse is on the element. */
export const isHovered = (attempt: StepAttempt, element: ElementRef): Promise<boolean> =>
  attempt.page.call<boolean>(element.frameId, scripts.isHovered, [element], attempt.call());

interface PressOptions {
  round: number;
  modifiers: readonly Modifier[];
  /** Number of presses. */
  count: number;
  press: () => Promise<void>;
}

/** Moves the mouse to the element and presses it there. */
export async function pressOn(attempt: StepAttempt, target: Target, options: PressOptions): Promise<Missed | Target> {
  const { round, modifiers, count, press } = options;
  const { element, point } = target;
  const { page, signal } = attempt;
  const around = await page.ancestors(element.frameId, attempt.call());
  // This also begins to observe navigations, see `leave.ts`.
  const watched = page.call(element.frameId, scripts.watchPress, [element], attempt.call());
  const receipt = page.call<boolean>(element.frameId, scripts.pressReceipt, [count], attempt.call()).catch(() => false);
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
  const own = await endPress(attempt, element.frameId, { count, isLate: true });
  // Where all have arrived, no other document can be late to receive one.
  const isLate = own?.received !== count;
  const others = await Promise.all(around.map((frameId) => endPress(attempt, frameId, { count, isLate })));
  if (!own) {
    if (await receipt) return target;
    if (own === undefined) throw new NoAnswerError();
    const what = count > 1 ? 'all presses' : 'the mouse';
    throw new StepError('click_not_received', `The page was replaced before the element received ${what}.`);
  }
  if (own.isClickElsewhere)
    throw new StepError(
      'click_not_received',
      'The element received the press, but the page moved it before the release, so it had no click.',
    );
  if (own.received >= count) return target;
  const instead = [own, ...others].find((each) => each && each.instead !== null)?.instead;
  const reason = instead == null ? 'the page received no press' : `it moved, and ${instead} was in its place`;
  return { element, reason, received: own.received };
}

/** Null in a document that was replaced; undefined where it does not answer, as while it is being replaced. */
async function endPress(
  attempt: StepAttempt,
  frameId: string,
  { count, isLate }: { count: number; isLate: boolean },
): Promise<Presses | null | undefined> {
  const { page, signal } = attempt;
  const options = { signal, timeoutMs: Math.max(1, attempt.leftMs - 50) };
  const graceMs = isLate ? page.timeoutScale.ms(lateMs) : 0;
  try {
    return await page.call<Presses | null>(frameId, scripts.endPress, [count, graceMs], options);
  } catch (error) {
    if (isTransient(error) || page.closed.aborted) return null;
    if (error instanceof PageError && error.reason === 'timeout') return undefined;
    throw error;
  }
}
