/** What a visitor clicks although it takes no focus. Sent as text: these functions use each other, those of `natives.ts` and nothing else. */
import { elementsIn, isVisible, natives, oneLine, parentOf, type Natives } from './natives.ts';

/** Elements that a page makes clickable by a handler in an attribute, or shows as such by the mouse pointer; at most `max`. */
export function clickablesIn(max: number): Element[] {
  const page = natives();
  const clickables: Element[] = [];
  for (const element of elementsIn(page, document)) {
    if (clickables.length >= max) break;
    if (isClickable(page, element)) clickables.push(element);
  }
  return clickables;
}

export function isClickable(page: Natives, element: Element): boolean {
  if (!(element instanceof HTMLElement) || /^(html|body|label|option|summary)$/.test(page.name(element))) return false;
  const style = getComputedStyle(element);
  const parent = parentOf(page, element);
  // The pointer is inherited: the outermost element with it is the one that is meant.
  const isPointed = style.cursor === 'pointer' && (parent === null || getComputedStyle(parent).cursor !== 'pointer');
  if (!isPointed && page.attribute(element, 'onclick') === null) return false;
  for (let at: Element | null = element; at; at = parentOf(page, at)) if (page.matches(at, operable())) return false;
  return isVisible(page, element);
}

/** What the accessibility tree has as operable. */
export function operable(): string {
  return 'a[href], area[href], button, input, select, textarea, label, summary, [tabindex], [contenteditable]:not([contenteditable="false"])';
}

/** The text of each, as its name; '' for one that has more than a name, or other things to use in it. */
export function clickableNames(...elements: HTMLElement[]): string[] {
  const page = natives();
  return elements.map((element) => {
    const label = page.attribute(element, 'aria-label') ?? page.attribute(element, 'title') ?? '';
    if (label !== '') return oneLine(label).slice(0, 100);
    if (page.all(element, operable()).length > 0) return '';
    const text = oneLine(page.innerText(element));
    return text.length > 100 ? '' : text;
  });
}
