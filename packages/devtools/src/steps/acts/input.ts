import { PageError, type ElementRef } from '../../browser/browser.ts';
import type { Selectors } from '@berth/contract';
import { isTransient, type StepAttempt, type Act, type StepOf } from '../run/attempt.ts';
import { followNavigation } from '../run/leave.ts';
import { waitForElement } from '../locators/locate.ts';
import type { Choice } from '@berth/page-scripts/act/act.ts';
import type { Typing } from '@berth/page-scripts/act/typing.ts';
import { waitUntilReady } from '../locators/ready.ts';
import { choiceOf } from './choice.ts';
import { setBox } from './pointer.ts';
import { scripts } from '../scripts.ts';
import { StepError } from '../context.ts';

/** A page may move the focus while it loads. One that does so every time has another element in mind. */
const focusRoundsMax = 3;

export const fill: Act<'fill'> = async (attempt, step) => {
  for (let round = 1; ; round += 1) {
    const element = await waitUntilReady(attempt, step.selectors, step.force ? [] : ['visible', 'enabled', 'editable']);
    const typing = await fillField(attempt, await fieldOf(attempt, element), step);
    if (typing === null || typing.isReached || (typing.isFocused && typing.insertions > 0)) return;
    if (round === focusRoundsMax)
      throw new StepError('not_actionable', `The text did not reach the field: the page moved the focus to ${focusOf(typing)}.`);
  }
};

/** What the field has received; null where that is not to be seen, since its value was set at once or the document was replaced. */
async function fillField(attempt: StepAttempt, field: ElementRef, { value, clear }: StepOf<'fill'>): Promise<Typing | null> {
  const { page, signal } = attempt;
  const { frameId } = field;
  await page.focus(field, attempt.call());
  const [fillResult] = await Promise.all([
    page.call<'insert' | 'done' | { problem: string }>(frameId, scripts.beginFill, [field, value, clear], attempt.call()),
    page.call(frameId, scripts.watchTyping, [field], attempt.call()),
  ]);
  if (typeof fillResult === 'object') throw new StepError('not_actionable', `The field could not be filled: ${fillResult.problem}.`);
  if (fillResult === 'done' || (value === '' && !clear)) return null;
  if (value !== '') await page.keyboard.insertText(value, { signal });
  else await page.keyboard.press('Delete', { signal });
  const typing = await readTyping(attempt, field);
  // In a field that is empty, there is nothing to delete.
  return value === '' && typing?.isFocused ? null : typing;
}

/** Null in a document that was replaced, or that does not answer, as while it is being replaced. */
async function readTyping(attempt: StepAttempt, { frameId }: ElementRef): Promise<Typing | null> {
  const options = { signal: attempt.signal, timeoutMs: Math.max(1, attempt.leftMs - 50) };
  try {
    return await attempt.page.call<Typing | null>(frameId, scripts.readTyping, [], options);
  } catch (error) {
    if (isTransient(error) || attempt.page.closed.aborted || (error instanceof PageError && error.reason === 'timeout')) return null;
    throw error;
  }
}

/** What has the focus instead of the element. Where that has it in its document, another document has it in the tab. */
const focusOf = ({ isFocused, instead }: Typing): string => (isFocused ? 'another frame' : instead);

/** The field of a label, or the element itself. */
async function fieldOf(attempt: StepAttempt, element: ElementRef): Promise<ElementRef> {
  const [control] = attempt.hold(await attempt.page.find(element.frameId, scripts.controlOf, [element], attempt.call()));
  return control ?? element;
}

/** Focuses the field, with the caret at its end, and begins to count what its document receives. */
async function focusOn(attempt: StepAttempt, selectors: Selectors, required: readonly 'editable'[]): Promise<ElementRef> {
  const element = await waitUntilReady(attempt, selectors, ['visible', 'enabled', ...required]);
  const field = await fieldOf(attempt, element);
  const { frameId } = field;
  await attempt.page.focus(field, attempt.call());
  await Promise.all([
    required.length > 0 ? attempt.page.call(frameId, scripts.moveCaretToEnd, [field], attempt.call()) : null,
    attempt.page.call(frameId, scripts.watchTyping, [field], attempt.call()),
  ]);
  return field;
}

/** Sends keys to the element, or to the focused one. Returns what the element's document has received, if that is to be seen. */
async function sendKeys(
  attempt: StepAttempt,
  { selectors, required }: { selectors: Selectors | undefined; required: readonly 'editable'[] },
  send: () => Promise<void>,
): Promise<Typing | null> {
  for (let round = 1; ; round += 1) {
    const field = selectors ? await focusOn(attempt, selectors, required) : null;
    let typing: Typing | null = null;
    await followNavigation(attempt, field, async () => {
      await send();
      typing = field && (await readTyping(attempt, field));
    });
    const received = typing as Typing | null;
    if (received === null || received.keydowns + received.insertions > 0) return received;
    if (round === focusRoundsMax)
      throw new StepError('not_actionable', `The element received no key: the page moved the focus to ${focusOf(received)}.`);
  }
}

export const type: Act<'type'> = async (attempt, { selectors, text, delay_ms: delayMs }) => {
  const { page, signal } = attempt;
  if (text === '') return void (selectors && (await focusOn(attempt, selectors, ['editable'])));
  let sent = 0;
  const typing = await sendKeys(attempt, { selectors, required: ['editable'] }, async () => {
    sent = await page.keyboard.type(text, { signal, delayMs });
  });
  // Tab and Enter may lead elsewhere, and then the rest is meant for that.
  if (typing && typing.keydowns < sent && !/[\t\r\n]/.test(text)) {
    const message = `The element received ${typing.keydowns} of ${sent} keys: the page moved the focus to ${focusOf(typing)}.`;
    throw new StepError('not_actionable', message);
  }
  if (typing && !typing.isReached && !typing.isFocused)
    attempt.warn(`The page moved the focus to ${typing.instead}, which received the text.`);
};

export const press: Act<'press'> = async (attempt, { selectors, keys, delay_ms: delayMs }) => {
  const { page, signal } = attempt;
  await sendKeys(attempt, { selectors, required: [] }, async () => {
    for (const [index, chord] of [keys].flat().entries()) {
      if (index > 0 && delayMs > 0) await attempt.sleep(delayMs);
      await page.keyboard.press(chord, { signal });
    }
  });
};

export const select: Act<'select'> = async (attempt, step) => {
  const choice = choiceOf(step) ?? { by: 'index', wanted: [] };
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
      if ('problem' in answer) throw new StepError('not_actionable', `No option could be selected: ${answer.problem}.`);
      if ('missing' in answer) missing = answer.missing;
      return 'chosen' in answer ? answer.chosen : undefined;
    },
    () => missing,
  );
  return { selected: chosen };
};

/** A group of radio buttons is a list of one choice. */
async function chooseRadio(
  attempt: StepAttempt,
  group: ElementRef,
  { choice, force }: { choice: Choice; force: boolean },
): Promise<string[]> {
  const { by, wanted } = choice;
  if (wanted.length !== 1) throw new StepError('not_actionable', 'A group of radio buttons takes one choice.');
  const find = async () =>
    attempt.hold(await attempt.page.find(group.frameId, scripts.radioOf, [group, choice as never], attempt.call()))[0];
  const radio = await attempt.poll(find, () => new StepError('not_found', `The group has no radio button with the ${by} "${wanted[0]}".`));
  await setBox(attempt, radio, { state: true, force });
  return [String(wanted[0])];
}

/** Waits for options that are added later. */
async function chooseWhenPresent(
  attempt: StepAttempt,
  field: ElementRef,
  probe: () => Promise<string[] | undefined>,
  missing: () => string,
): Promise<string[]> {
  let chosen: string[] = [];
  const choose = async (): Promise<void> => {
    chosen = await attempt.poll(probe, () => new StepError('not_found', `The field has ${missing()}.`));
  };
  await followNavigation(attempt, field, choose);
  return chosen;
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
  if (!takes) throw new StepError('not_actionable', 'The element is not a file input.');
  if (!several && step.file_ids.length > 1) throw new StepError('not_actionable', 'The file input accepts only one file.');
  const paths: string[] = [];
  for (const fileId of step.file_ids) {
    const path = await context.filePath(fileId, { signal });
    if (path === null) throw new StepError('file_not_found', `File ${fileId} not found. Upload it first.`);
    paths.push(path);
  }
  await page.setFiles(field, paths, attempt.call());
  return { files: paths.length };
};
