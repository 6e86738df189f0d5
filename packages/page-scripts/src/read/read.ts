/** Reads data from a page. Sent as text, together with `natives.ts` and `find.ts`. */
import { tryMatch, type PageSelector } from '../locate/find.ts';
import { isVisible, natives, oneLine, type Natives } from '../locate/natives.ts';

export interface ReadOptions {
  attribute: string | null;
  as: 'text' | 'html' | 'value' | 'number' | 'boolean' | 'date' | 'url';
}
export interface FieldOptions extends ReadOptions {
  name: string;
  /** The selectors of the elements to read; null: the element itself. */
  selectors: readonly PageSelector[] | null;
  list: boolean;
}
export type ReadValue = string | null;

/** A value, and the number of visible frames in its element, whose documents are no part of it. */
export interface Reading {
  value: ReadValue;
  framesLeftOut: number;
}

export function read(element: Element, options: ReadOptions): Reading {
  const page = natives();
  return { value: readOf(page, element, options), framesLeftOut: framesIn(page, element, options) };
}

/** Counts the visible frames of an element that is read for what it shows. */
export function framesIn(page: Natives, element: Element, { attribute, as }: ReadOptions): number {
  if (attribute !== null || as === 'html' || as === 'value' || as === 'url') return 0;
  const own = page.matches(element, 'iframe, frame') ? [element] : [];
  return [...own, ...page.all(element, 'iframe, frame')].filter((frame) => {
    const { width, height } = page.rect(frame);
    return width > 1 && height > 1;
  }).length;
}

export function readOf(page: Natives, element: Element, { attribute, as }: ReadOptions): ReadValue {
  if (attribute !== null) return attributeOf(page, element, attribute);
  if (as === 'html') return page.innerHtml(element);
  if (as === 'value') return valueOf(page, element);
  if (as === 'url') return attributeOf(page, element, 'href') ?? attributeOf(page, element, 'src') ?? attributeOf(page, element, 'content');
  // `innerText` also works for hidden elements; SVG elements do not have it.
  return oneLine(element instanceof HTMLElement ? page.innerText(element) : (page.textContent(element) ?? ''));
}

export function attributeOf(page: Natives, element: Element, name: string): ReadValue {
  const value = page.attribute(element, name);
  if (value === null || !['href', 'src', 'action', 'formaction', 'poster', 'data', 'cite'].includes(name)) return value;
  const base = page.baseUri(element);
  return URL.canParse(value, base) ? new URL(value, base).href : value;
}

export function valueOf(page: Natives, element: Element): ReadValue {
  if (element instanceof HTMLInputElement) return page.inputValue(element);
  if (element instanceof HTMLTextAreaElement) return page.areaValue(element);
  if (element instanceof HTMLSelectElement) return page.selectValue(element);
  return element instanceof HTMLElement && page.isEditable(element) ? page.innerText(element) : page.attribute(element, 'value');
}

/** Reads the fields of each row; with `rows` null only those of the root. `invalid` says why a selector is invalid. */
export function readRows(
  root: Element | null,
  rows: readonly PageSelector[] | null,
  fields: readonly FieldOptions[],
  { rowsMax, valuesMax }: { rowsMax: number; valuesMax: number },
): { rows: Record<string, ReadValue | ReadValue[]>[]; index: number; framesLeftOut: number; invalid?: string } {
  const page = natives();
  const frames = { leftOut: 0 };
  let elements: (Element | null)[] = rows === null ? [root] : [];
  let used = -1;
  for (const [index, selector] of (rows ?? []).entries()) {
    const match = tryMatch(page, root, selector);
    if (match.invalid !== undefined) return { rows: [], index: used, framesLeftOut: 0, invalid: match.invalid };
    elements = match.elements.slice(0, rowsMax);
    used = index;
    if (elements.length > 0) break;
  }
  let invalid: string | undefined;
  const results = elements.map((element) => {
    const row: Record<string, ReadValue | ReadValue[]> = {};
    for (const field of fields) {
      const value = fieldOf(page, element, field, { valuesMax, frames });
      if (typeof value === 'object' && value !== null && 'invalid' in value) invalid = value.invalid;
      else row[field.name] = value;
    }
    return row;
  });
  return { rows: results, index: used, framesLeftOut: frames.leftOut, ...(invalid === undefined ? {} : { invalid }) };
}

export function fieldOf(
  page: Natives,
  root: Element | null,
  field: FieldOptions,
  { valuesMax, frames }: { valuesMax: number; frames: { leftOut: number } },
): ReadValue | ReadValue[] | { invalid: string } {
  let elements: Element[] = root && field.selectors === null ? [root] : [];
  for (const selector of field.selectors ?? []) {
    const match = tryMatch(page, root, selector);
    if (match.invalid !== undefined) return { invalid: match.invalid };
    elements = match.elements;
    if (elements.length > 0) break;
  }
  const readIt = (element: Element): ReadValue => {
    frames.leftOut += framesIn(page, element, field);
    return readOf(page, element, field);
  };
  if (field.list) return elements.slice(0, valuesMax).map(readIt);
  const element = elements.find((candidate) => isVisible(page, candidate)) ?? elements[0];
  return element ? readIt(element) : null;
}

/** The values that a loop iteration provides for its element. */
export function readItem(element: Element): { text: string; href: string | null } {
  const page = natives();
  const inner = page.matches(element, 'a[href]') ? element : page.all(element, 'a[href]')[0];
  return {
    text: readOf(page, element, { attribute: null, as: 'text' })?.slice(0, 2000) ?? '',
    href: inner ? attributeOf(page, inner, 'href') : null,
  };
}

export interface ElementState {
  visible: boolean;
  text: string;
  value: string | null;
}

export function stateOf(element: Element): ElementState {
  const page = natives();
  return {
    visible: isVisible(page, element),
    text: readOf(page, element, { attribute: null, as: 'text' }) ?? '',
    value: valueOf(page, element),
  };
}

export type PropertyValue = string | number | boolean | null;

export interface WantedMatch {
  attributes: Record<string, string>;
  properties: Record<string, PropertyValue | Record<string, PropertyValue>>;
}

/** How the first element that differs does so, in words; null where all have what is wanted. */
export function findDifference({ attributes, properties }: WantedMatch, ...elements: Element[]): string | null {
  const page = natives();
  const shown = (value: unknown): string =>
    value === null || ['string', 'number', 'boolean'].includes(typeof value) ? JSON.stringify(value).slice(0, 200) : typeof value;
  for (const element of elements) {
    for (const [name, value] of Object.entries(attributes)) {
      const actual = page.attribute(element, name);
      if (actual !== value) return `its attribute ${name} should be ${shown(value)} and is ${shown(actual)}`;
    }
    for (const [name, value] of Object.entries(properties)) {
      const actual = propertyOf(element, name);
      const inner = typeof value === 'object' && value !== null ? Object.entries(value) : null;
      const pairs = inner
        ? inner.map(([key, each]) => [`${name}.${key}`, each, propertyOf(actual, key)] as const)
        : [[name, value, actual] as const];
      const other = pairs.find(([, wanted, own]) => own !== wanted);
      if (other) return `its property ${other[0]} should be ${shown(other[1])} and is ${shown(other[2])}`;
    }
  }
  return null;
}

/** Reads a property by its prototype's getter where there is one: a form's fields would replace it. */
export function propertyOf(owner: unknown, name: string): unknown {
  if ((typeof owner !== 'object' && typeof owner !== 'function') || owner === null) return undefined;
  for (let at: object | null = Object.getPrototypeOf(owner) as object | null; at; at = Object.getPrototypeOf(at) as object | null) {
    const get = Object.getOwnPropertyDescriptor(at, name)?.get;
    if (get) return get.call(owner);
  }
  return Reflect.get(owner, name);
}

/** Whether more of the document may still arrive. */
export function isArriving(): boolean {
  return natives().readyState(document) === 'loading';
}

/** The language that the document declares; '' without one. */
export function documentLanguage(): string {
  const page = natives();
  const root = page.root(document);
  return (root && (page.attribute(root, 'lang') ?? page.attribute(root, 'xml:lang')))?.slice(0, 100) ?? '';
}

/** The visible text of the page. */
export function pageText(): string {
  const page = natives();
  const body = page.body(document);
  return body ? oneLine(page.innerText(body)) : '';
}

export function testExpression(source: string, flags: string, text: string): boolean {
  return new RegExp(source, flags).test(text);
}

export function scrollSize(container: Element | null): { height: number; top: number } {
  const page = natives();
  const element = container ?? page.scrolling(document) ?? page.root(document);
  return element ? { height: page.scrollHeight(element), top: page.scrollTop(element) } : { height: 0, top: 0 };
}

export function scroll(
  container: Element | null,
  target: { to: 'top' | 'bottom' | { x: number; y: number } } | { by: { x: number; y: number } },
): void {
  const page = natives();
  const element = container ?? page.scrolling(document) ?? page.root(document);
  if (!element) return;
  const behavior = 'instant';
  if ('by' in target)
    (Element.prototype.scrollBy as (to: ScrollToOptions) => void).call(element, { left: target.by.x, top: target.by.y, behavior });
  else
    (Element.prototype.scrollTo as (to: ScrollToOptions) => void).call(element, { ...scrollTargetOf(page, element, target.to), behavior });
}

export function scrollTargetOf(page: Natives, element: Element, to: 'top' | 'bottom' | { x: number; y: number }): ScrollToOptions {
  if (typeof to === 'object') return { left: to.x, top: to.y };
  return { top: to === 'top' ? 0 : page.scrollHeight(element) };
}
