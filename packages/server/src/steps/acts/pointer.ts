import type { ElementRef, Modifier, MouseButton, Point } from '../../browser/browser.ts';
import type { Attempt, Act } from '../run/attempt.ts';
import { followNavigation } from '../run/leave.ts';
import { waitForElement } from '../locators/locate.ts';
import { scrollToTarget, findMissingState, waitForPoint } from '../locators/ready.ts';
import { scripts } from '../scripts.ts';
import { StepFailed } from '../context.ts';

interface ClickOptions {
  button: MouseButton;
  count: number;
  modifiers: readonly Modifier[];
  delayMs: number;
}

const plainClick: ClickOptions = { button: 'left', count: 1, modifiers: [], delayMs: 0 };

async function clickAt(attempt: Attempt, point: Point, { button, count, modifiers, delayMs }: ClickOptions): Promise<void> {
  const { mouse } = attempt.page;
  const { signal } = attempt;
  await mouse.move(point, { signal, modifiers });
  for (let clickCount = 1; clickCount <= count; clickCount += 1) {
    await mouse.down({ signal, button, clickCount, modifiers });
    if (delayMs > 0) await attempt.sleep(delayMs);
    await mouse.up({ signal, button, clickCount, modifiers });
  }
}

export const click: Act<'click'> = async (attempt, step) => {
  const { element, point } = await waitForPoint(attempt, step.selectors, step);
  const { button, count, modifiers, delay_ms: delayMs } = step;
  await followNavigation(attempt, element, () => clickAt(attempt, point, { button, count, modifiers, delayMs }));
};

export const hover: Act<'hover'> = async (attempt, step) => {
  const { point } = await waitForPoint(attempt, step.selectors, step);
  await attempt.page.mouse.move(point, { signal: attempt.signal, modifiers: step.modifiers });
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
  const { element, point } = await pointOfBox(attempt, box, step);
  await followNavigation(attempt, element, () => clickAt(attempt, point, plainClick));
  const changed = async () => ((await stateOf(attempt, box)).checked === step.state ? true : undefined);
  // The click navigated, and the checkbox went with its document.
  if ((await findMissingState(attempt, box, []).catch(() => 'attached')) === 'attached') return { checked: step.state };
  await attempt.poll(changed, () => new StepFailed('not_actionable', 'The click did not change the state of the element.'));
  return { checked: step.state };
};

/** A person clicks the label of a checkbox that is hidden and drawn by other elements. */
async function pointOfBox(
  attempt: Attempt,
  box: ElementRef,
  step: { selectors: Parameters<typeof waitForPoint>[1]; position?: Point | undefined; force: boolean },
) {
  if ((await findMissingState(attempt, box, ['visible'])) === 'visible') {
    const [label] = attempt.hold(await attempt.page.find(box.frameId, scripts.labelOf, [box], attempt.call()));
    if (label) return scrollToTarget(attempt, label, step);
  }
  return waitForPoint(attempt, step.selectors, step);
}
