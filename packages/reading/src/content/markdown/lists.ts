/** The numbers of ordered lists, as HTML counts them. */
import { isElement, type Element } from '../dom.ts';

/** The number of each item, in turn; null for one that Markdown has no marker for. */
export function numbersOf(list: Element): (item: Element | null) => number | null {
  const step = list.attribs['reversed'] === undefined ? 1 : -1;
  const items = list.children.filter((child) => isElement(child) && child.name === 'li').length;
  let next = integerIn(list.attribs['start']) ?? (step === 1 ? 1 : items);
  return (item) => {
    const number = integerIn(item?.attribs['value']) ?? next;
    next = number + step;
    // As in CommonMark.
    return number >= 0 && number <= 999_999_999 ? number : null;
  };
}

function integerIn(value: string | undefined): number | null {
  const number = Number.parseInt(value ?? '', 10);
  return Number.isNaN(number) ? null : number;
}
