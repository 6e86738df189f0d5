/** What is asked of an element before it is acted on, and done to it, in the page's isolated world. Sent as text, together with `page-natives.ts`. */
import { describe, isVisible, natives, oneLine, parentOf, type Natives } from './natives.ts';

export type Need = 'visible' | 'stable' | 'enabled' | 'editable';

/** What an element still lacks, in the order of asking; null: nothing. `frameMs`: a page that draws needs no longer for a frame. */
export async function lacks(element: Element, needs: readonly Need[], frameMs: number): Promise<Need | 'attached' | null> {
  const page = natives();
  if (!page.isConnected(element)) return 'attached';
  if (needs.includes('visible') && !isVisible(page, element)) return 'visible';
  // A label stands for its field.
  const field = element instanceof HTMLLabelElement ? (page.control(element) ?? element) : element;
  if (needs.includes('enabled') && isDisabled(page, field)) return 'enabled';
  if (needs.includes('editable') && !isEditable(page, field)) return 'editable';
  if (needs.includes('stable') && !(await isStable(page, element, frameMs))) return 'stable';
  return page.isConnected(element) ? null : 'attached';
}

/** The same box in two frames of animation. A page that is not shown has none: then some moments apart. */
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
    // `:disabled` knows fieldsets; only what is in a control inherits from it.
    if (page.matches(at, ':is(button, select, input, textarea, option, optgroup):disabled')) return true;
  }
  return false;
}

export function isEditable(page: Natives, element: Element): boolean {
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement)
    return !page.matches(element, '[readonly], :disabled') && page.attribute(element, 'aria-readonly') !== 'true';
  return element instanceof HTMLSelectElement || (element instanceof HTMLElement && page.isEditable(element));
}

/** Where to point at an element, from the corner of its box: the middle of its first visible piece, or the place given. Null where it has no piece in view. */
export function aim(element: Element, position: { x: number; y: number } | null): { x: number; y: number } | null {
  const page = natives();
  const box = page.rect(element);
  if (position) return position;
  for (const piece of page.rects(element)) {
    const left = Math.max(piece.left, 0);
    const right = Math.min(piece.right, innerWidth);
    const top = Math.max(piece.top, 0);
    const bottom = Math.min(piece.bottom, innerHeight);
    if (right - left >= 1 && bottom - top >= 1) return { x: (left + right) / 2 - box.x, y: (top + bottom) / 2 - box.y };
  }
  return null;
}

/** Another place for the element than the browser's own choice, from under what sticks to an edge. */
export function scrollTo(element: Element, block: 'start' | 'center' | 'end'): void {
  Element.prototype.scrollIntoView.call(element, { block, inline: 'center', behavior: 'instant' });
}

export function tellElement(element: Element): string {
  return describe(natives(), element);
}

/** What a label is for, where the element is one. */
export function controlOf(element: Element): Element[] {
  const control = element instanceof HTMLLabelElement ? natives().control(element) : null;
  return [control ?? element];
}

/** The first visible label of a field that is not shown itself: what a person clicks. */
export function labelOf(element: Element): Element[] {
  const page = natives();
  const labels = element instanceof HTMLInputElement ? [...(page.inputLabels(element) ?? [])] : [];
  return labels.filter((label) => label instanceof Element && isVisible(page, label)).slice(0, 1) as Element[];
}

/** Kinds of fields whose value nobody types as text. */
export function takesWholeValue(element: Element): boolean {
  const whole = ['color', 'date', 'datetime-local', 'month', 'range', 'time', 'week'];
  return element instanceof HTMLInputElement && whole.includes(natives().inputType(element));
}

/**
 * Makes a field ready for text, all of what it holds selected or the caret at
 * its end; or sets the value where it cannot be typed. What stands in the way
 * is told.
 */
export function beginFill(element: Element, value: string, clear: boolean): 'insert' | 'done' | { problem: string } {
  const page = natives();
  if (element instanceof HTMLSelectElement) return fillSelection(element, value);
  if (takesWholeValue(element)) return setWhole(page, element as HTMLInputElement, value);
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

/** Recordings do not tell a selection from a field. */
export function fillSelection(element: HTMLSelectElement, value: string): 'done' | { problem: string } {
  const byValue = choose(element, { by: 'value', wanted: [value] });
  const chosen = 'missing' in byValue ? choose(element, { by: 'label', wanted: [value] }) : byValue;
  return 'missing' in chosen ? { problem: `it has ${chosen.missing}` } : 'problem' in chosen ? chosen : 'done';
}

export function setWhole(page: Natives, element: HTMLInputElement, value: string): 'done' | { problem: string } {
  page.setInputValue(element, value);
  if (page.inputValue(element) !== value.trim().toLowerCase() && page.inputValue(element) !== value.trim())
    return { problem: `the field takes no such value; it made "${page.inputValue(element)}" of it` };
  tellChange(page, element);
  return 'done';
}

export function tellChange(page: Natives, element: Element): void {
  page.dispatch(element, new Event('input', { bubbles: true, composed: true }));
  page.dispatch(element, new Event('change', { bubbles: true }));
}

export function caretToEnd(page: Natives, element: HTMLInputElement | HTMLTextAreaElement): void {
  const value = element instanceof HTMLInputElement ? page.inputValue(element) : page.areaValue(element);
  const of = element instanceof HTMLInputElement ? HTMLInputElement.prototype : HTMLTextAreaElement.prototype;
  try {
    of.setSelectionRange.call(element as never, value.length, value.length);
  } catch {
    // Fields such as `email` and `number` have no caret to be set; theirs is where typing ends up anyway.
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

/** The caret to the end of what a field holds, where typing goes on. */
export function endOfText(element: Element): void {
  const page = natives();
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) caretToEnd(page, element);
  else if (element instanceof HTMLElement && page.isEditable(element)) selectContents(element, false);
}

export interface Choice {
  by: 'value' | 'label' | 'index';
  wanted: readonly (string | number)[];
}

/** Chooses options, and answers their values; what is not there (yet), or cannot be chosen, is told. */
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
  tellChange(page, element);
  return { chosen: picked.map((option) => option?.value ?? '') };
}

/** Whether a checkbox, a radio button or what plays its part is on; null for what is none. */
export function checkedState(element: Element): { checked: boolean | null; radio: boolean } {
  const page = natives();
  const control = element instanceof HTMLLabelElement ? (page.control(element) ?? element) : element;
  if (control instanceof HTMLInputElement && ['checkbox', 'radio'].includes(page.inputType(control)))
    return { checked: page.checked(control), radio: page.inputType(control) === 'radio' };
  const role = page.attribute(control, 'role') ?? '';
  const plays = ['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio', 'option', 'treeitem'].includes(role);
  return { checked: plays ? page.attribute(control, 'aria-checked') === 'true' : null, radio: role === 'radio' };
}

/** Whether files can be given to it, and several. */
export function fileField(element: Element): { takes: boolean; several: boolean } {
  const page = natives();
  const takes = element instanceof HTMLInputElement && page.inputType(element) === 'file';
  return { takes, several: takes && page.takesSeveral(element) };
}
