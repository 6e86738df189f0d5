import type { ElementRef, Modifier, MouseButton, Point } from '../../browser/browser.ts';
import type { Attempt, Act } from '../run/attempt.ts';
import { finishNavigation, followNavigation } from '../run/leave.ts';
import { waitForElement } from '../locators/locate.ts';
import { scrollToTarget, findMissingState, waitForPoint, type Target } from '../locators/ready.ts';
import { isHovered, pressOn, untilReceived } from './press.ts';
import { scripts } from '../scripts.ts';
import { StepFailed } from '../context.ts';

interface ClickOptions {
  button: MouseButton;
  count: number;
  modifiers: readonly Modifier[];
  delayMs: number;
}

const plainClick: ClickOptions = { button: 'left', count: 1, modifiers: [], delayMs: 0 };

async function clickWhereItStands(attempt: Attempt, { button, count, modifiers, delayMs }: ClickOptions): Promise<void> {
  const { mouse } = attempt.page;
  const { signal } = attempt;
  for (let clickCount = 1; clickCount <= count; clickCount += 1) {
    const down = mouse.down({ signal, button, clickCount, modifiers });
    if (delayMs > 0) await down.then(() => attempt.sleep(delayMs));
    // Right behind it: a page that moves the element in between has no click on it.
    await Promise.all([down, mouse.up({ signal, button, clickCount, modifiers })]);
  }
}

/** Clicks the element that `find` returns, and waits for the navigation that this starts. */
async function clickOn(attempt: Attempt, find: () => Promise<Target>, { force, ...how }: ClickOptions & { force: boolean }): Promise<void> {
  const { modifiers } = how;
  const press = (): Promise<void> => clickWhereItStands(attempt, how);
  if (!force) {
    const { element } = await untilReceived(attempt, async (round) => pressOn(attempt, await find(), { round, modifiers, press }));
    return finishNavigation(attempt, element);
  }
  const { element, point } = await find();
  await followNavigation(attempt, element, async () => {
    await attempt.page.mouse.move(point, { signal: attempt.signal, modifiers });
    await press();
  });
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

const stateOf = (attempt: Attempt, element: ElementRef): Promise<Checked> =>
  attempt.page.call(element.frameId, scripts.checkedState, [element], attempt.call());

export const check: Act<'check'> = async (attempt, step) => {
  const box = await waitForElement(attempt, step.selectors);
  const { checked, radio } = await stateOf(attempt, box);
  if (checked === null) throw new StepFailed('not_actionable', 'The element is not a checkbox, radio button or switch.');
  if (checked === step.state) return { checked };
  if (radio && !step.state) throw new StepFailed('not_actionable', 'A radio button cannot be unchecked. Check another one of its group.');
  await clickOn(attempt, () => pointOfBox(attempt, box, step), { ...plainClick, force: step.force });
  const changed = async () => ((await stateOf(attempt, box)).checked === step.state ? true : undefined);
  // The click navigated, and the checkbox went with its document.
  if ((await findMissingState(attempt, box, []).catch(() => 'attached')) === 'attached') return { checked: step.state };
  await attempt.poll(changed, () => new StepFailed('not_actionable', 'The click did not change the state of the element.'));
  return { checked: step.state };
};

/** Checks a radio button that was found in its group. */
export async function checkRadio(attempt: Attempt, radio: ElementRef, force: boolean): Promise<void> {
  if ((await stateOf(attempt, radio)).checked === true) return;
  const target = async (): Promise<Target> => {
    const isHidden = (await findMissingState(attempt, radio, ['visible'])) === 'visible';
    const [label] = isHidden ? attempt.hold(await attempt.page.find(radio.frameId, scripts.labelOf, [radio], attempt.call())) : [];
    return scrollToTarget(attempt, label ?? radio, { force });
  };
  await clickOn(attempt, target, { ...plainClick, force });
  // The click navigated, and the radio button went with its document.
  if ((await findMissingState(attempt, radio, []).catch(() => 'attached')) === 'attached') return;
  const changed = async () => ((await stateOf(attempt, radio)).checked === true ? true : undefined);
  await attempt.poll(changed, () => new StepFailed('not_actionable', 'The click did not check the radio button.'));
}

/** A person clicks the label of a checkbox that is hidden and drawn by other elements. */
async function pointOfBox(
  attempt: Attempt,
  box: ElementRef,
  step: { selectors: Parameters<typeof waitForPoint>[1]; position?: Point | undefined; force: boolean },
): Promise<Target> {
  if ((await findMissingState(attempt, box, ['visible'])) === 'visible') {
    const [label] = attempt.hold(await attempt.page.find(box.frameId, scripts.labelOf, [box], attempt.call()));
    if (label) return scrollToTarget(attempt, label, step);
  }
  return waitForPoint(attempt, step.selectors, step);
}
