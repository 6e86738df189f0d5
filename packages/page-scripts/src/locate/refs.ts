/**
 * References to elements, `12` of `e12`. They live in the isolated context of
 * their document, where the page's scripts neither see nor forge them. Sent as
 * text, together with `natives.ts` and `names.ts`.
 */
import { accessibleName, ariaRole, shortText, type Naming } from '../read/names.ts';
import { parentOf, type Natives } from './natives.ts';

/** By what an element is known again when the page has drawn it anew. */
export interface RefIdentity {
  role: string;
  name: string;
  /** The first text of the row or card that the element is in; '' outside of any. */
  place: string;
  /** Its position among the elements of this role, name and place, and their number. */
  nth: number;
  of: number;
}

export interface RefEntry extends RefIdentity {
  element: WeakRef<Element>;
}

export interface RefStore {
  /** The next number. Numbers are never used again, not even by the documents that follow: the caller says where to begin. */
  next: number;
  numbers: WeakMap<Element, number>;
  entries: Map<number, RefEntry>;
  /** The numbers by identity. */
  known: Map<string, number>;
  closedRoots: WeakMap<Element, ShadowRoot>;
  /** How often an element was asked for a closed shadow root. */
  asked: WeakMap<Element, number>;
  /** Elements for the worker to take. */
  taken: Element[];
}

export function refStore(): RefStore {
  const scope = globalThis as { berthRefs?: RefStore };
  scope.berthRefs ??= {
    ...{ next: 1, numbers: new WeakMap(), entries: new Map(), known: new Map() },
    ...{ closedRoots: new WeakMap(), asked: new WeakMap(), taken: [] },
  };
  return scope.berthRefs;
}

export function takeElements(): Element[] {
  return refStore().taken.splice(0);
}

/** Remembers the closed shadow roots of hosts, given as pairs. */
export function rememberClosedRoots(...pairs: Node[]): void {
  const { closedRoots } = refStore();
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const [host, root] = [pairs[at], pairs[at + 1]];
    if (host instanceof Element && root instanceof ShadowRoot) closedRoots.set(host, root);
  }
}

/** The text by which the row of an element is told from the others: of the innermost that says more than the element itself does. */
export function placeOf(naming: Naming, element: Element, name: string, rows: Map<Element, string>): string {
  const { page } = naming;
  let place = '';
  let at = parentOf(page, element);
  for (let depth = 0; at && depth < 12; depth += 1, at = parentOf(page, at)) {
    if (/^(body|main|nav|header|footer|form|dialog|table|ul|ol)$/.test(page.name(at))) break;
    if (!isRow(page, at)) continue;
    const text = rows.get(at) ?? shortText(firstText(naming, at)).slice(0, 80);
    rows.set(at, text);
    if (text !== '') place = text;
    if (text !== '' && text !== name) break;
  }
  return place;
}

/** A list item, row or card: one of several siblings that are alike. */
export function isRow(page: Natives, element: Element): boolean {
  const css = 'li, tr, article, [role="row"], [role="listitem"], [role="article"], [role="treeitem"]';
  return page.matches(element, css) || isOneOfSeveral(page, element);
}

export function isOneOfSeveral(page: Natives, element: Element): boolean {
  return isAlike(page, element, siblingOf(page, element, true)) || isAlike(page, element, siblingOf(page, element, false));
}

export function siblingOf(page: Natives, element: Element, isNext: boolean): Node | null {
  let at = isNext ? page.next(element) : page.previous(element);
  while (at && page.type(at) === 3) at = isNext ? page.next(at) : page.previous(at);
  return at;
}

export function isAlike(page: Natives, element: Element, other: Node | null): boolean {
  return (
    other instanceof Element &&
    page.name(other) === page.name(element) &&
    page.attribute(other, 'class') === page.attribute(element, 'class')
  );
}

/** The first text with a letter in it. */
export function firstText(naming: Naming, row: Element): string {
  const { page } = naming;
  const waiting: Node[] = [row];
  for (let nodes = 0; nodes < 100; nodes += 1) {
    const node = waiting.pop();
    if (node === undefined) return '';
    if (page.type(node) === 3) {
      const text = (page.nodeValue(node) ?? '').slice(0, 200);
      if (/\p{L}/u.test(text)) return text;
      continue;
    }
    if (!(node instanceof Element) || /^(script|style|template|noscript|select|svg)$/.test(page.name(node))) continue;
    const shadow = page.shadowRoot(node) ?? naming.closedRoots.get(node) ?? node;
    const children: Node[] = [];
    for (let child = page.firstChild(shadow); child && children.length < 50; child = page.next(child)) children.push(child);
    waiting.push(...children.toReversed());
  }
  return '';
}

/** An element of a reading that is to have a reference. */
export interface Referred {
  element: Element;
  role: string;
  name: string;
  place: string;
}

export function keyOf({ role, name, place }: Pick<RefIdentity, 'role' | 'name' | 'place'>, nth: number): string {
  return `${role}\n${name}\n${place}\n${nth}`;
}

/**
 * The numbers of elements, in document order. An element keeps its number while
 * it is the same to a reader; one that takes the place of an element that left
 * the page, with its role, name and place, gets the number of that.
 */
export function assignRefs(page: Natives, referred: readonly Referred[]): number[] {
  const store = refStore();
  const totals = new Map<string, { of: number; seen: number }>();
  const alike = referred.map((each) => {
    const key = keyOf(each, 0);
    const total = totals.get(key) ?? { of: 0, seen: 0 };
    if (total.of === 0) totals.set(key, total);
    total.of += 1;
    return total;
  });
  const numbers = referred.map((each, at) => {
    const total = alike[at] ?? { of: 1, seen: 0 };
    const nth = (total.seen += 1);
    const { role, name, place } = each;
    const identity = { role, name, place, nth, of: total.of };
    const number = ownNumber(page, store, each) ?? freedNumber(page, store, identity) ?? store.next;
    store.next = Math.max(store.next, number + 1);
    store.numbers.set(each.element, number);
    store.entries.delete(number);
    store.entries.set(number, { ...identity, element: new WeakRef(each.element) });
    store.known.set(keyOf(each, nth), number);
    return number;
  });
  // A page that draws itself anew for hours must not fill its memory with what it had: the oldest go.
  for (const [number, entry] of store.entries) {
    if (store.entries.size <= 40_000) break;
    store.entries.delete(number);
    if (store.known.get(keyOf(entry, entry.nth)) === number) store.known.delete(keyOf(entry, entry.nth));
  }
  return numbers;
}

/** The number that the element has, unless it has become another one to a reader, as rows of a virtual list do. */
export function ownNumber(page: Natives, { numbers, entries }: RefStore, now: Referred): number | null {
  const number = numbers.get(now.element);
  const entry = number === undefined ? undefined : entries.get(number);
  return number !== undefined && entry && isSame(page, entry, now) ? number : null;
}

/** A button may be renamed, as `Follow` is to `Following`. In a row that shows something else, or as one of several alike, it is another button. */
export function isSame(page: Natives, entry: RefIdentity, { element, role, name, place }: Referred): boolean {
  if (entry.role !== role || entry.place !== place) return false;
  return entry.name === name || !isOneOfSeveral(page, element);
}

/** The number of an element that left the page, or became another one, and had the identity. */
export function freedNumber(page: Natives, { known, entries, numbers }: RefStore, identity: RefIdentity): number | null {
  const number = known.get(keyOf(identity, identity.nth));
  const entry = number === undefined ? undefined : entries.get(number);
  if (number === undefined || !entry || entry.of !== identity.of) return null;
  const before = entry.element.deref();
  return before && page.isConnected(before) && numbers.get(before) === number ? null : number;
}

/** The element that was last found for a reference. */
export function elementOfRef(number: number): Element | null {
  return refStore().entries.get(number)?.element.deref() ?? null;
}

/** Whether the element of a reference is where it was; false where it is to be looked for, or is unknown to this document. */
export function findRef(naming: Naming, number: number): boolean {
  const entry = refStore().entries.get(number);
  const element = entry?.element.deref();
  if (!entry || !element || !naming.page.isConnected(element)) return false;
  const role = ariaRole(naming, element) || 'generic';
  const { name } = accessibleName(naming, element, role);
  return isSame(naming.page, entry, { element, role, name, place: placeOf(naming, element, name, new Map()) });
}
