/** Actionability checks and actions on elements. Sent as text, together with `natives.ts`. */
import { describe, isVisible, natives, oneLine, parentOf, type Natives } from '../locate/natives.ts';

export type RequiredState = 'visible' | 'stable' | 'enabled' | 'editable';

/** Returns the first required state that the element does not have, or null. `frameMs`: the maximum wait for an animation frame. */
export async function findMissingState(
  element: Element,
  required: readonly RequiredState[],
  frameMs: number,
): Promise<RequiredState | 'attached' | null> {
  const page = natives();
  if (!page.isConnected(element)) return 'attached';
  if (required.includes('visible') && !isVisible(page, element)) return 'visible';
  // A label is checked as its field.
  const field = element instanceof HTMLLabelElement ? (page.control(element) ?? element) : element;
  if (required.includes('enabled') && isDisabled(page, field)) return 'enabled';
  if (required.includes('editable') && !isEditable(page, field)) return 'editable';
  if (required.includes('stable') && !(await isStable(page, element, frameMs))) return 'stable';
  return page.isConnected(element) ? null : 'attached';
}

/** Whether the box is the same in two animation frames; in a page that does not render, after two timeouts. */
export async function isStable(page: Natives, element: Element, frameMs: number): Promise<boolean> {
  const frame = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, frameMs);
      requestAnimationFrame(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  await frame();
  const before = page.rect(element);
  await frame();
  const after = page.rect(element);
  return before.x === after.x && before.y === after.y && before.width === after.width && before.height === after.height;
}

export function isDisabled(page: Natives, element: Element): boolean {
  for (let at: Element | null = element; at; at = parentOf(page, at)) {
    if (page.attribute(at, 'aria-disabled') === 'true') return true;
    // `:disabled` covers fieldsets; `at` also covers elements inside a disabled control.
    if (page.matches(at, ':is(button, select, input, textarea, option, optgroup):disabled')) return true;
  }
  return false;
}

export function isEditable(page: Natives, element: Element): boolean {
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement)
    return !page.matches(element, '[readonly], :disabled') && page.attribute(element, 'aria-readonly') !== 'true';
  return element instanceof HTMLSelectElement || (element instanceof HTMLElement && page.isEditable(element));
}

/**
 * The point to click in the viewport of its document: at the position, or the center of its first visible rectangle.
 * `frameMs`: the maximum wait for an animation frame, or null for an element that need not stand still.
 */
export async function aim(
  element: Element,
  position: { x: number; y: number } | null,
  frameMs: number | null,
): Promise<{ x: number; y: number } | 'moving' | 'out of view'> {
  const page = natives();
  if (frameMs !== null && !(await isStable(page, element, frameMs))) return 'moving';
  const box = page.rect(element);
  if (position) return { x: box.x + position.x, y: box.y + position.y };
  for (const piece of page.rects(element)) {
    const left = Math.max(piece.left, 0);
    const right = Math.min(piece.right, innerWidth);
    const top = Math.max(piece.top, 0);
    const bottom = Math.min(piece.bottom, innerHeight);
    if (right - left >= 1 && bottom - top >= 1) return { x: (left + right) / 2, y: (top + bottom) / 2 };
  }
  return 'out of view';
}

/** Scrolls the element to another position than the browser's choice, away from sticky elements at an edge. */
export function scrollTo(element: Element, block: 'start' | 'center' | 'end'): void {
  Element.prototype.scrollIntoView.call(element, { block, inline: 'center', behavior: 'instant' });
}

export function describeElement(element: Element): string {
  return describe(natives(), element);
}

/** Returns the control of a label, or the element itself. */
export function controlOf(element: Element): Element[] {
  const control = element instanceof HTMLLabelElement ? natives().control(element) : null;
  return [control ?? element];
}

/** Returns the first visible label of a hidden field: the element to click instead. */
export function labelOf(element: Element): Element[] {
  const page = natives();
  const labels = element instanceof HTMLInputElement ? [...(page.inputLabels(element) ?? [])] : [];
  return labels.filter((label) => label instanceof Element && isVisible(page, label)).slice(0, 1) as Element[];
}

/** Whether the input's value is set at once and not typed. */
export function isValueOnlyInput(element: Element): boolean {
  const whole = ['color', 'date', 'datetime-local', 'month', 'range', 'time', 'week'];
  return element instanceof HTMLInputElement && whole.includes(natives().inputType(element));
}

/**
 * Prepares a field for text, with its content selected or the caret at its end,
 * or sets the value of one that cannot be typed into. Returns `problem` if that
 * is not possible.
 */
export function beginFill(element: Element, value: string, clear: boolean): 'insert' | 'done' | { problem: string } {
  const page = natives();
  if (element instanceof HTMLSelectElement) return fillSelection(element, value);
  if (isValueOnlyInput(element)) return setValue(page, element as HTMLInputElement, value);
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) {
    const type = element instanceof HTMLInputElement ? page.inputType(element) : 'textarea';
    if (['checkbox', 'radio', 'file', 'button', 'submit', 'reset', 'image', 'hidden'].includes(type))
      return { problem: `an input of type ${type} takes no text` };
    if (type === 'number' && value !== '' && !Number.isFinite(Number(value))) return { problem: 'a number field takes a number' };
    const field = element instanceof HTMLInputElement ? HTMLInputElement.prototype : HTMLTextAreaElement.prototype;
    if (clear) field.select.call(element as never);
    else caretToEnd(page, element);
    return 'insert';
  }
  if (!(element instanceof HTMLElement) || !page.isEditable(element)) return { problem: 'it is no field and not editable' };
  selectContents(element, clear);
  return 'insert';
}

/** Recordings use `fill` for selects too. */
export function fillSelection(element: HTMLSelectElement, value: string): 'done' | { problem: string } {
  const byValue = choose(element, { by: 'value', wanted: [value] });
  const chosen = 'missing' in byValue ? choose(element, { by: 'label', wanted: [value] }) : byValue;
  return 'missing' in chosen ? { problem: `it has ${chosen.missing}` } : 'problem' in chosen ? chosen : 'done';
}

/** A refused value leaves the field as it was. */
export function setValue(page: Natives, element: HTMLInputElement, value: string): 'done' | { problem: string } {
  const before = page.inputValue(element);
  page.setInputValue(element, value);
  const made = page.inputValue(element);
  if (made !== value.trim().toLowerCase() && made !== value.trim() && !isSameMoment(page.inputType(element), value.trim(), made)) {
    page.setInputValue(element, before);
    return { problem: `the field takes ${formOf(page.inputType(element))}, and its value is still "${before.slice(0, 100)}"` };
  }
  dispatchChange(page, element);
  return 'done';
}

/** Browsers write a moment in one form, whichever of several it was given in. */
export function isSameMoment(type: string, given: string, made: string): boolean {
  const moment = (text: string): string => text.replace(' ', 'T').replace(/(T\d\d:\d\d):00(?:\.0+)?$/, '$1');
  return type === 'datetime-local' && made !== '' && moment(given) === moment(made);
}

/** The values that an input of the type takes, with an example. */
export function formOf(type: string): string {
  const forms: Record<string, string> = {
    date: 'a day as 2026-11-30',
    'datetime-local': 'a moment as 2026-11-30T18:45',
    month: 'a month as 2026-11',
    week: 'a week as 2026-W48',
    time: 'a time as 18:45',
    color: 'a color as #ff8800',
    range: 'a number within its limits and steps',
  };
  return forms[type] ?? 'another value';
}

export function dispatchChange(page: Natives, element: Element): void {
  page.dispatch(element, new Event('input', { bubbles: true, composed: true }));
  page.dispatch(element, new Event('change', { bubbles: true }));
}

export function caretToEnd(page: Natives, element: HTMLInputElement | HTMLTextAreaElement): void {
  const value = element instanceof HTMLInputElement ? page.inputValue(element) : page.areaValue(element);
  const of = element instanceof HTMLInputElement ? HTMLInputElement.prototype : HTMLTextAreaElement.prototype;
  try {
    of.setSelectionRange.call(element as never, value.length, value.length);
  } catch {
    // Inputs such as `email` and `number` have no caret API; selecting and collapsing has the same effect.
    of.select.call(element as never);
    getSelection()?.collapseToEnd();
  }
}

export function selectContents(element: HTMLElement, clear: boolean): void {
  const range = document.createRange();
  range.selectNodeContents(element);
  if (!clear) range.collapse(false);
  const selection = getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
}

/** Moves the caret to the end of a field. */
export function moveCaretToEnd(element: Element): void {
  const page = natives();
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) caretToEnd(page, element);
  else if (element instanceof HTMLElement && page.isEditable(element)) selectContents(element, false);
}

export interface Choice {
  by: 'value' | 'label' | 'index';
  wanted: readonly (string | number)[];
}

/** Selects options and returns their values; `missing`: an option does not exist yet or is disabled, `problem`: not possible. */
export function choose(element: Element, { by, wanted }: Choice): { chosen: string[] } | { missing: string } | { problem: string } {
  const page = natives();
  if (!(element instanceof HTMLSelectElement)) return { problem: 'it is no <select>' };
  if (wanted.length > 1 && !page.takesMany(element)) return { problem: 'it takes one option' };
  const options = [...page.options(element)];
  const fits = (option: HTMLOptionElement, index: number, want: string | number): boolean => {
    if (by === 'index') return index === want;
    return by === 'value'
      ? option.value === want
      : oneLine(option.label) === oneLine(String(want)) || oneLine(option.text) === oneLine(String(want));
  };
  const picked = wanted.map((want) => options.find((option, index) => fits(option, index, want)));
  const absent = wanted.find((_, index) => picked[index] === undefined);
  if (absent !== undefined) return { missing: `no option with the ${by} "${absent}"` };
  const closed = picked.find((option) => option && page.matches(option, ':disabled'));
  if (closed) return { missing: `the option "${oneLine(closed.text)}" is disabled` };
  if (picked.length === 0 && !page.takesMany(element)) return { problem: 'it always has one option chosen' };
  for (const option of options) option.selected = picked.includes(option);
  dispatchChange(page, element);
  return { chosen: picked.map((option) => option?.value ?? '') };
}

/** The radio buttons of a group, see `membersOf`. */
export function radiosOf(element: Element): Element[] {
  return membersOf(element, 'input[type="radio"], [role="radio"]');
}

/** The checkboxes, switches and radio buttons of a group, see `membersOf`. */
export function boxesOf(element: Element): Element[] {
  const roles = ['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio'].map((role) => `[role="${role}"]`);
  return membersOf(element, `input[type="checkbox"], input[type="radio"], ${roles.join(', ')}`);
}

/** The elements of a group that the CSS selector matches. The group is the element, the one that it names, or the one that it is a button of. */
export function membersOf(element: Element, css: string): Element[] {
  const page = natives();
  const owner = namedGroupOf(page, element) ?? element;
  if (!page.matches(owner, css)) return page.all(owner, css);
  const group = Element.prototype.closest.call(owner, 'fieldset, [role="group"], [role="radiogroup"], [role="menu"]');
  if (!(owner instanceof HTMLInputElement)) return group ? page.all(group, css) : [owner];
  const name = page.attribute(owner, 'name');
  const { form } = owner;
  const type = page.inputType(owner);
  if (!name) return group && type === 'checkbox' ? page.all(group, css) : [owner];
  const all = page.all(page.rootOf(owner), `input[type="${type}"]`) as HTMLInputElement[];
  return all.filter((each) => page.attribute(each, 'name') === name && each.form === form);
}

/** The group whose legend or heading the element is, or is a part of. */
export function namedGroupOf(page: Natives, element: Element): Element | null {
  if (page.matches(element, 'input, select, textarea, button') || isGroup(element)) return null;
  const legend = Element.prototype.closest.call(element, 'legend');
  if (legend) return parentOf(page, legend);
  const groups = page.all(page.rootOf(element), '[aria-labelledby]').filter(isGroup);
  // A heading nests no more elements around its text.
  const depthMax = 4;
  let at: Element | null = element;
  for (let depth = 0; at && depth < depthMax; depth += 1, at = parentOf(page, at)) {
    const id = page.attribute(at, 'id');
    const group = id ? groups.find((each) => (page.attribute(each, 'aria-labelledby') ?? '').split(/\s+/).includes(id)) : undefined;
    if (group) return group;
  }
  return null;
}

export function isGroup(element: Element): boolean {
  return natives().matches(element, 'fieldset, [role="group"], [role="radiogroup"], [role="menu"]');
}

/** The only box of a group, or the first two. */
export function onlyBoxOf(element: Element): Element[] {
  const group = namedGroupOf(natives(), element) ?? element;
  return isGroup(group) ? boxesOf(group).slice(0, 2) : [];
}

/** The radio button of a group by its value, label or position. */
export function radioOf(element: Element, choice: Choice): Element[] {
  return chosenOf(radiosOf(element), choice);
}

/** The checkbox, switch or radio button of a group by its value, label or position. */
export function boxOf(element: Element, choice: Choice): Element[] {
  return chosenOf(boxesOf(element), choice);
}

export function chosenOf(members: readonly Element[], { by, wanted }: Choice): Element[] {
  const page = natives();
  const want = wanted[0];
  const labelsOf = (member: Element): string[] => {
    const labels = member instanceof HTMLInputElement ? [...(page.inputLabels(member) ?? [])] : [member];
    const ids = (page.attribute(member, 'aria-labelledby') ?? '').split(/\s+/).slice(0, 20);
    const named = ids.flatMap((id) => (id === '' ? [] : (page.byId(page.rootOf(member), id) ?? [])));
    return [page.attribute(member, 'aria-label') ?? '', ...[...labels, ...named].map((label) => page.textContent(label) ?? '')].map(
      (text) => oneLine(text),
    );
  };
  return members
    .filter((member, index) => {
      if (by === 'index') return index === want;
      return by === 'value' ? page.attribute(member, 'value') === want : labelsOf(member).includes(oneLine(String(want)));
    })
    .slice(0, 1);
}

/** Whether a checkbox, radio button or ARIA equivalent is checked; null for other elements. */
export function checkedState(element: Element): { checked: boolean | null; radio: boolean } {
  const page = natives();
  const control = element instanceof HTMLLabelElement ? (page.control(element) ?? element) : element;
  if (control instanceof HTMLInputElement && ['checkbox', 'radio'].includes(page.inputType(control)))
    return { checked: page.checked(control), radio: page.inputType(control) === 'radio' };
  const role = page.attribute(control, 'role') ?? '';
  const plays = ['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio', 'option', 'treeitem'].includes(role);
  return { checked: plays ? page.attribute(control, 'aria-checked') === 'true' : null, radio: role === 'radio' };
}

/** Whether it is a file input, and whether it accepts several files. */
export function fileField(element: Element): { takes: boolean; several: boolean } {
  const page = natives();
  const takes = element instanceof HTMLInputElement && page.inputType(element) === 'file';
  return { takes, several: takes && page.takesSeveral(element) };
}
