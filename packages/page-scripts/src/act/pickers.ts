/** Inputs of dates, times and colours, whose pickers the browser draws outside of the page. Sent as text, together with `natives.ts`. */
import { natives, type Natives } from '../locate/natives.ts';

/** The type of an input that opens a picker; null for any other element, and where it cannot be changed. */
export function pickerType(page: Natives, element: Element): string | null {
  if (!(element instanceof HTMLInputElement) || page.matches(element, ':disabled')) return null;
  const type = page.inputType(element);
  if (type === 'color') return type;
  const isOfTime = ['date', 'time', 'datetime-local', 'month', 'week'].includes(type);
  return isOfTime && page.attribute(element, 'readonly') === null ? type : null;
}

/** Returns what the input has and takes, and keeps the next press from opening the browser's own picker. */
export function openPicker(element: HTMLInputElement) {
  const page = natives();
  const hold = (event: Event): void => {
    if (event.composedPath()[0] === element) event.preventDefault();
  };
  addEventListener('click', hold, { capture: true, once: true });
  const text = (name: string): string => (page.attribute(element, name) ?? '').slice(0, 100);
  return { value: page.inputValue(element), min: text('min'), max: text('max'), step: text('step') };
}

/** Sets the value as a person does. The same one again changes nothing. */
export function pickValue(element: HTMLInputElement, value: string): void {
  const page = natives();
  const before = page.inputValue(element);
  if (pickerType(page, element) === null) return;
  page.setInputValue(element, value);
  if (page.inputValue(element) === before) return;
  page.dispatch(element, new Event('input', { bubbles: true, composed: true }));
  page.dispatch(element, new Event('change', { bubbles: true }));
}
