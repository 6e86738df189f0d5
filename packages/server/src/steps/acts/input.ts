import type { ElementRef } from '../../browser/browser.ts';
import type { Attempt, Act, StepOf } from '../run/attempt.ts';
import { followNavigation } from '../run/leave.ts';
import { waitForElement } from '../locators/locate.ts';
import type { Choice } from '../../page-scripts/act.ts';
import { waitUntilReady } from '../locators/ready.ts';
import { checkRadio } from './pointer.ts';
import { scripts } from '../scripts.ts';
import { StepFailed } from '../context.ts';

export const fill: Act<'fill'> = async (attempt, step) => {
  const { page, signal } = attempt;
  const element = await waitUntilReady(attempt, step.selectors, step.force ? [] : ['visible', 'enabled', 'editable']);
  const field = await fieldOf(attempt, element);
  await page.focus(field, attempt.call());
  const fillResult = await page.call<'insert' | 'done' | { problem: string }>(
    field.frameId,
    scripts.beginFill,
    [field, step.value, step.clear],
    attempt.call(),
  );
  if (typeof fillResult === 'object') throw new StepFailed('not_actionable', `The field could not be filled: ${fillResult.problem}.`);
  if (fillResult === 'done') return;
  if (step.value !== '') await page.keyboard.insertText(step.value, { signal });
  else if (step.clear) await page.keyboard.press('Delete', { signal });
};

/** The field of a label, or the element itself. */
async function fieldOf(attempt: Attempt, element: ElementRef): Promise<ElementRef> {
  const [control] = attempt.hold(await attempt.page.find(element.frameId, scripts.controlOf, [element], attempt.call()));
  return control ?? element;
}

/** Moves the caret to the end of the field. Without selectors the keys go to the focused element. */
async function focusOn(attempt: Attempt, selectors: StepOf<'type'>['selectors'], required: 'editable'[]): Promise<ElementRef | null> {
  if (!selectors) return null;
  const element = await waitUntilReady(attempt, selectors, ['visible', 'enabled', ...required]);
  const field = await fieldOf(attempt, element);
  await attempt.page.focus(field, attempt.call());
  if (required.length > 0) await attempt.page.call(field.frameId, scripts.moveCaretToEnd, [field], attempt.call());
  return field;
}

export const type: Act<'type'> = async (attempt, { selectors, text, delay_ms: delayMs }) => {
  const element = await focusOn(attempt, selectors, ['editable']);
  await followNavigation(attempt, element, () => attempt.page.keyboard.type(text, { signal: attempt.signal, delayMs }));
};

export const press: Act<'press'> = async (attempt, { selectors, keys, delay_ms: delayMs }) => {
  const { signal, page } = attempt;
  const element = await focusOn(attempt, selectors, []);
  await followNavigation(attempt, element, async () => {
    for (const [index, chord] of [keys].flat().entries()) {
      if (index > 0 && delayMs > 0) await attempt.sleep(delayMs);
      await page.keyboard.press(chord, { signal });
    }
  });
};

export const select: Act<'select'> = async (attempt, step) => {
  const choice = choiceOf(step);
  const element = await waitUntilReady(attempt, step.selectors, step.force ? [] : ['visible', 'enabled']);
  const field = await fieldOf(attempt, element);
  const radios = attempt.hold(await attempt.page.find(field.frameId, scripts.radiosOf, [field], attempt.call()));
  if (radios.length > 0) return { selected: await chooseRadio(attempt, field, { choice, force: step.force }) };
  let missing = '';
  const chosen = await chooseWhenPresent(
    attempt,
    field,
    async () => {
      const answer = await attempt.page.call<{ chosen: string[] } | { missing: string } | { problem: string }>(
        field.frameId,
        scripts.choose,
        [field, choice as never],
        attempt.call(),
      );
      if ('problem' in answer) throw new StepFailed('not_actionable', `No option could be selected: ${answer.problem}.`);
      if ('missing' in answer) missing = answer.missing;
      return 'chosen' in answer ? answer.chosen : undefined;
    },
    () => missing,
  );
  return { selected: chosen };
};

/** A group of radio buttons is a list of one choice. */
async function chooseRadio(attempt: Attempt, group: ElementRef, { choice, force }: { choice: Choice; force: boolean }): Promise<string[]> {
  const { by, wanted } = choice;
  if (wanted.length !== 1) throw new StepFailed('not_actionable', 'A group of radio buttons takes one choice.');
  const find = async () =>
    attempt.hold(await attempt.page.find(group.frameId, scripts.radioOf, [group, choice as never], attempt.call()))[0];
  const radio = await attempt.poll(find, () => new StepFailed('not_found', `The group has no radio button with the ${by} "${wanted[0]}".`));
  await checkRadio(attempt, radio, force);
  return [String(wanted[0])];
}

/** Waits for options that are added later. */
async function chooseWhenPresent(
  attempt: Attempt,
  field: ElementRef,
  probe: () => Promise<string[] | undefined>,
  missing: () => string,
): Promise<string[]> {
  let chosen: string[] = [];
  const choose = async (): Promise<void> => {
    chosen = await attempt.poll(probe, () => new StepFailed('not_found', `The field has ${missing()}.`));
  };
  await followNavigation(attempt, field, choose);
  return chosen;
}

function choiceOf({ value, label, index }: StepOf<'select'>): Choice {
  if (value !== undefined) return { by: 'value', wanted: [value].flat() };
  if (label !== undefined) return { by: 'label', wanted: [label].flat() };
  return { by: 'index', wanted: [index ?? []].flat() };
}

export const upload: Act<'upload'> = async (attempt, step) => {
  const { page, context, signal } = attempt;
  const field = await fieldOf(attempt, await waitForElement(attempt, step.selectors));
  const { takes, several } = await page.call<{ takes: boolean; several: boolean }>(
    field.frameId,
    scripts.fileField,
    [field],
    attempt.call(),
  );
  if (!takes) throw new StepFailed('not_actionable', 'The element is not a file input.');
  if (!several && step.file_ids.length > 1) throw new StepFailed('not_actionable', 'The file input accepts only one file.');
  const paths: string[] = [];
  for (const fileId of step.file_ids) {
    const path = await context.filePath(fileId, { signal });
    if (path === null) throw new StepFailed('file_not_found', `File ${fileId} not found. Upload it first.`);
    paths.push(path);
  }
  await page.setFiles(field, paths, attempt.call());
  return { files: paths.length };
};
