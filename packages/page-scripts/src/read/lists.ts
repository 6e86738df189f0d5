/** Drop-down lists, which the browser draws outside of the page. Sent as text, together with `natives.ts` and `pickers.ts`. */
import { natives, parentOf, type Natives } from '../locate/natives.ts';
import { openPicker, pickerType } from '../act/pickers.ts';

/** Whether pressing it opens a list that is not part of the page. */
export function isDropDown(page: Natives, element: Element): element is HTMLSelectElement {
  if (!(element instanceof HTMLSelectElement) || page.takesMany(element) || Number(page.attribute(element, 'size') ?? 0) > 1) return false;
  return !page.matches(element, ':disabled') && getComputedStyle(element).appearance !== 'base-select';
}

export function isFrame(page: Natives, element: Element): boolean {
  return ['iframe', 'frame'].includes(page.name(element));
}

/** Returns the list or picker at a point, or the frame to look in. */
export function controlOrFrameAt(x: number, y: number): Element | null {
  const page = natives();
  let hit = Document.prototype.elementFromPoint.call(document, x, y);
  for (let depth = 0; hit && depth < 64; depth += 1) {
    const inner: Element | null | undefined = page.shadowRoot(hit)?.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  for (let at = hit; at; at = parentOf(page, at)) if (isDropDown(page, at) || pickerType(page, at) !== null) return at;
  return hit && isFrame(page, hit) ? hit : null;
}

/** Returns the list or picker with the focus, or the frame to look in. */
export function focusedControlOrFrame(): Element | null {
  const page = natives();
  let element = document.activeElement;
  for (let depth = 0; element && depth < 64; depth += 1) {
    const inner: Element | null | undefined = page.shadowRoot(element)?.activeElement;
    if (!inner) break;
    element = inner;
  }
  const isOurs = element && (isDropDown(page, element) || pickerType(page, element) !== null || isFrame(page, element));
  return isOurs ? element : null;
}

/** Returns the position of a frame's page in the page around it; null for a list or picker. */
export function frameOrigin(element: Element): { x: number; y: number } | null {
  const page = natives();
  if (!isFrame(page, element)) return null;
  const { x, y } = page.rect(element);
  const style = getComputedStyle(element);
  const edge = (side: 'Left' | 'Top'): number =>
    Number.parseFloat(style[`border${side}Width`]) + Number.parseFloat(style[`padding${side}`]);
  return { x: x + edge('Left'), y: y + edge('Top') };
}

/** Opens a list or picker. Of a list, at most `max` options are returned. */
export function openControl(element: HTMLSelectElement | HTMLInputElement, max: number) {
  if (element instanceof HTMLSelectElement) return { kind: 'list', options: openList(element, max) };
  return { kind: 'picker', type: pickerType(natives(), element), ...openPicker(element) };
}

/** Returns the visible options, at most `max`, and keeps the next press from opening the browser's own list. */
export function openList(element: HTMLSelectElement, max: number) {
  const page = natives();
  const hold = (event: Event): void => {
    if (event.composedPath()[0] !== element) return;
    event.preventDefault();
    HTMLElement.prototype.focus.call(element);
  };
  addEventListener('mousedown', hold, { capture: true, once: true });
  const options = [];
  for (const [index, option] of [...page.options(element)].entries()) {
    if (option.hidden || options.length >= max) continue;
    const parent = page.parent(option);
    const group = parent instanceof HTMLOptGroupElement ? parent.label.slice(0, 200) : null;
    const { label, selected } = option;
    options.push({ index, label: label.slice(0, 200), group, selected, disabled: page.matches(option, ':disabled, :disabled > option') });
  }
  return options;
}

/** Selects an option as a person does. Choosing the same one again changes nothing. */
export function chooseOption(element: HTMLSelectElement, index: number): void {
  const page = natives();
  const options = [...page.options(element)];
  const option = options[index];
  if (!option || option.selected || page.matches(option, ':disabled, :disabled > option')) return;
  for (const each of options) each.selected = each === option;
  page.dispatch(element, new Event('input', { bubbles: true, composed: true }));
  page.dispatch(element, new Event('change', { bubbles: true }));
}
