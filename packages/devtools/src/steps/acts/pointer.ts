import type { ElementRef, Modifier, MouseButton, Point } from '../../browser/browser.ts';
import { isTransient, type StepAttempt, type Act } from '../run/attempt.ts';
import { finishNavigation, followNavigation } from '../run/leave.ts';
import { waitForElement } from '../locators/locate.ts';
import { scrollToTarget, findMissingState, waitForPoint, type Target } from '../locators/ready.ts';
import { isHovered, pressOn, untilReceived, type Missed } from './press.ts';
import type { Choice } from '@berth/page-scripts/act/act.ts';
import { choiceOf } from './choice.ts';
import { scripts } from '../scripts.ts';
import { StepError } from '../context.ts';

interface ClickOptions {
  button: MouseButton;
  count: number;
  modifiers: readonly Modifier[];
  delayMs: number;
}

const plainClick: ClickOptions = { button: 'left', count: 1, modifiers: [], delayMs: 0 };

/** Presses and releases, the first time with the click count `from`, and the last time with `to`. */
async function clickWhereItStands(
  attempt: StepAttempt,
  { button, modifiers, delayMs, from, to }: Omit<ClickOptions, 'count'> & { from: number; to: number },
): Promise<void> {
  const { mouse } = attempt.page;
  const { signal } = attempt;
  const sent: Promise<void>[] = [];
  for (let clickCount = from; clickCount <= to; clickCount += 1) {
    sent.push(mouse.down({ signal, button, clickCount, modifiers }));
    if (delayMs > 0) await Promise.all(sent).then(() => attempt.sleep(delayMs));
    // Right behind it, like the next press: a page that moves the element in between has no click on it.
    sent.push(mouse.up({ signal, button, clickCount, modifiers }));
  }
  await Promise.all(sent);
}

/** Clicks the element that `find` returns, and waits for the navigation that this starts. */
async function clickOn(
  attempt: StepAttempt,
  find: () => Promise<Target>,
  { force, ...how }: ClickOptions & { force: boolean },
): Promise<void> {
  const { modifiers, count, delayMs } = how;
  if (force) {
    const { element, point } = await find();
    return followNavigation(attempt, element, async () => {
      await attempt.page.mouse.move(point, { signal: attempt.signal, modifiers });
      await clickWhereItStands(attempt, { ...how, from: 1, to: count });
    });
  }
  let received = 0;
  let element: ElementRef | null = null;
  const lost = (): string => (received === 0 ? 'did not receive the mouse' : `received ${received} of ${count} presses`);
  const pressUntil = async (to: number, round: number): Promise<Missed | Target> => {
    const target = element && received > 0 ? await pointOfPressed(attempt, element, lost()) : await find();
    const press = (): Promise<void> => clickWhereItStands(attempt, { ...how, from: received + 1, to });
    const result = await pressOn(attempt, target, { round, modifiers, count: to - received, press });
    element = result.element;
    received = 'reason' in result ? received + (result.received ?? 0) : to;
    return result;
  };
  // With a delay between them, the page may be another one at the second press.
  const ends = delayMs > 0 ? Array.from({ length: count }, (_, index) => index + 1) : [count];
  for (const to of ends) await untilReceived(attempt, (round) => pressUntil(to, round), lost);
  return finishNavigation(attempt, element);
}

/** The element that has received a press receives the others, too, and nothing else does. */
async function pointOfPressed(attempt: StepAttempt, element: ElementRef, lost: string): Promise<Target> {
  const missing = await findMissingState(attempt, element, []).catch((error: unknown) => {
    if (isTransient(error)) return 'attached';
    throw error;
  });
  if (missing === null) return scrollToTarget(attempt, element, { force: false });
  const message = `The element ${lost}, and then left the page, or the page was replaced. With \`force\`, what is in its place is pressed.`;
  throw new StepError('click_not_received', message);
}

export const click: Act<'click'> = (attempt, step) => {
  const { button, count, modifiers, delay_ms: delayMs, force } = step;
  return clickOn(attempt, () => waitForPoint(attempt, step.selectors, step), { button, count, modifiers, delayMs, force });
};

export const hover: Act<'hover'> = async (attempt, step) => {
  const { signal, page } = attempt;
  const { modifiers } = step;
  await untilReceived(attempt, async () => {
    const target = await waitForPoint(attempt, step.selectors, step);
    await page.mouse.move(target.point, { signal, modifiers });
    if (step.force || (await isHovered(attempt, target.element))) return target;
    return { element: target.element, reason: 'it moved' };
  });
};

interface Checked {
  checked: boolean | null;
  radio: boolean;
}

const stateOf = (attempt: StepAttempt, element: ElementRef): Promise<Checked> =>
  attempt.page.call(element.frameId, scripts.checkedState, [element], attempt.call());

export const check: Act<'check'> = async (attempt, step) => {
  const { state, force } = step;
  const element = await waitForElement(attempt, step.selectors);
  const choice = choiceOf(step);
  if (choice) {
    for (const want of choice.wanted) await setBox(attempt, await boxOf(attempt, element, { ...choice, wanted: [want] }), { state, force });
    return { checked: state };
  }
  if ((await stateOf(attempt, element)).checked !== null)
    return setBox(attempt, element, { state, force, find: () => pointOfBox(attempt, element, step) });
  const [box, another] = attempt.hold(await attempt.page.find(element.frameId, scripts.onlyBoxOf, [element], attempt.call()));
  if (another) {
    const message = 'The element is a group of several. Choose with `label`, `value` or `index` which of them is meant.';
    throw new StepError('not_actionable', message);
  }
  return setBox(attempt, box ?? element, { state, force });
};

/** Waits for the box of a group that may be added later. */
function boxOf(attempt: StepAttempt, group: ElementRef, choice: Choice): Promise<ElementRef> {
  const find = async () => attempt.hold(await attempt.page.find(group.frameId, scripts.boxOf, [group, choice as never], attempt.call()))[0];
  const { by, wanted } = choice;
  const message = `The group has no checkbox, switch or radio button with the ${by} "${wanted[0]}".`;
  return attempt.poll(find, () => new StepError('not_found', message));
}

/** Clicks a checkbox, switch or radio button, unless it has the state already. `find`: where to click, if not at its center. */
export async function setBox(
  attempt: StepAttempt,
  box: ElementRef,
  { state, force, find = () => centerOfBox(attempt, box, force) }: { state: boolean; force: boolean; find?: () => Promise<Target> },
): Promise<{ checked: boolean }> {
  const { checked, radio } = await stateOf(attempt, box);
  if (checked === null)
    throw new StepError('not_actionable', 'The element is not a checkbox, radio button or switch, nor a group of them.');
  if (checked === state) return { checked };
  if (radio && !state) throw new StepError('not_actionable', 'A radio button cannot be unchecked. Check another one of its group.');
  await clickOn(attempt, find, { ...plainClick, force });
  // The click navigated, and the checkbox went with its document.
  if ((await findMissingState(attempt, box, []).catch(() => 'attached')) === 'attached') return { checked: state };
  const changed = async () => ((await stateOf(attempt, box)).checked === state ? true : undefined);
  await attempt.poll(changed, () => new StepError('not_actionable', 'The click did not change the state of the element.'));
  return { checked: state };
}

/** The box itself, or its label where it is hidden. */
async function centerOfBox(attempt: StepAttempt, box: ElementRef, force: boolean): Promise<Target> {
  return scrollToTarget(attempt, (await labelOfHidden(attempt, box)) ?? box, { force });
}

/** A person clicks the label of a checkbox that is hidden and drawn by other elements. */
async function pointOfBox(
  attempt: StepAttempt,
  box: ElementRef,
  step: { selectors: Parameters<typeof waitForPoint>[1]; position?: Point | undefined; force: boolean },
): Promise<Target> {
  const label = await labelOfHidden(attempt, box);
  return label ? scrollToTarget(attempt, label, step) : waitForPoint(attempt, step.selectors, step);
}

async function labelOfHidden(attempt: StepAttempt, box: ElementRef): Promise<ElementRef | undefined> {
  if ((await findMissingState(attempt, box, ['visible'])) !== 'visible') return undefined;
  return attempt.hold(await attempt.page.find(box.frameId, scripts.labelOf, [box], attempt.call()))[0];
}
