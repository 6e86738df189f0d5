/** Compares labels with words of many languages. Sent as text, together with `natives.ts`. */
import { elementsIn, oneLine, type Natives } from '../locate/natives.ts';

/** The text without case, accents, punctuation and icons: `» NÄCHSTE  Seite` becomes `nachste seite`. */
export function normalizeWords(text: string): string {
  const plain = text.slice(0, 300).toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '').normalize('NFKC');
  return oneLine(
    plain
      .replaceAll('ı', 'i')
      .replaceAll('ß', 'ss')
      .replace(/[^\p{L}\p{N}]/gu, ' '),
  );
}

/** The texts of an element by which a visitor knows it, as they are. */
export function labelsOf(page: Natives, element: Element): string[] {
  const name = page.name(element);
  const value = name === 'input' ? page.inputValue(element) : '';
  const pictures = page.all(element, 'img[alt], svg[aria-label], svg > title').slice(0, 3);
  const described = pictures.map((each) => page.attribute(each, 'alt') ?? page.attribute(each, 'aria-label') ?? page.textContent(each));
  const texts = [page.attribute(element, 'aria-label'), page.textContent(element), value, page.attribute(element, 'title'), ...described];
  return texts.map((text) => oneLine((text ?? '').slice(0, 300))).filter((text) => text !== '');
}

/** The elements that a visitor can press, in document order, also in open shadow trees. */
export function pressableIn(page: Natives, root: Node, max: number): Element[] {
  const css = 'a, button, [role="button"], [role="link"], input[type="button"], input[type="submit"], summary, [onclick]';
  const pressable: Element[] = [];
  for (const element of elementsIn(page, root)) {
    if (page.matches(element, css)) pressable.push(element);
    if (pressable.length >= max) break;
  }
  return pressable;
}

/** Whether a control says that it cannot be used: by its state, by that of its list item, or by the usual classes. */
export function saysDisabled(page: Natives, element: Element): boolean {
  const parent = page.parent(element);
  const own = [element, ...(parent instanceof Element && page.name(parent) === 'li' ? [parent] : [])];
  return own.some(
    (each) =>
      page.matches(each, ':disabled, [disabled], [aria-disabled="true"]') ||
      (page.attribute(each, 'class') ?? '').split(/\s+/).some((name) => /(?:^|[-_])(?:disabled|inactive)$/i.test(name)),
  );
}
