/** Finds data in a page without selectors. Sent as text, together with `natives.ts`. */
import { isVisible, natives, oneLine, type Natives } from '../locate/natives.ts';

export interface MicrodataItem {
  type: string | null;
  properties: Record<string, unknown>;
}
export interface SimilarList {
  /** Matches the items. */
  selector: string;
  count: number;
  items: { text: string; url: string | null; image: string | null }[];
}

/** The visible text in one line. */
export function textOf(element: Element, max: number): string {
  const text = element instanceof HTMLElement ? element.innerText : (element.textContent ?? '');
  return oneLine(text.slice(0, 20 * max)).slice(0, max);
}

/** Top-level items of microdata, with nested ones as values. */
export function readMicrodata(max: number): MicrodataItem[] {
  const items: MicrodataItem[] = [];
  for (const element of document.querySelectorAll('[itemscope]:not([itemprop])')) {
    if (items.length >= max) break;
    items.push(readItem(element, 0));
  }
  return items;
}

export function readItem(scope: Element, depth: number): MicrodataItem {
  const properties: Record<string, unknown> = {};
  for (const element of scope.querySelectorAll('[itemprop]')) {
    if (element.parentElement?.closest('[itemscope]') !== scope || Object.keys(properties).length >= 100) continue;
    const isNested = element.hasAttribute('itemscope');
    const value = isNested ? (depth < 4 ? readItem(element, depth + 1) : null) : readProperty(element);
    for (const name of (element.getAttribute('itemprop') ?? '').split(/\s+/).filter(Boolean)) {
      const before = properties[name];
      if (before === undefined) properties[name] = value;
      else if (Array.isArray(before)) {
        if (before.length < 100) before.push(value);
      } else properties[name] = [before, value];
    }
  }
  return { type: scope.getAttribute('itemtype'), properties };
}

export function readProperty(element: Element): string {
  const content = element.getAttribute('content');
  if (content !== null) return content.slice(0, 2000);
  for (const name of ['href', 'src'])
    if (element.hasAttribute(name)) {
      const url = (element as unknown as Record<string, unknown>)[name];
      if (typeof url === 'string') return url.slice(0, 2000);
    }
  return element.getAttribute('datetime') ?? textOf(element, 2000);
}

/** Groups of similar siblings with text, largest first: products, articles, results. */
export function findLists(listsMax: number, itemsMax: number): SimilarList[] {
  const page = natives();
  const groups: { parent: Element; key: string; items: Element[] }[] = [];
  const parents = [...document.querySelectorAll('body *')].slice(0, 20_000);
  for (const parent of parents) {
    if (parent.children.length < 3 || parent.closest('nav, header, footer, select, table, svg, head')) continue;
    const byKey = new Map<string, Element[]>();
    for (const child of parent.children) {
      const key = keyOf(child);
      byKey.set(key, [...(byKey.get(key) ?? []), child]);
    }
    for (const [key, items] of byKey) if (items.length >= 3) groups.push({ parent, key, items });
  }
  return groups
    .map((group) => ({ ...group, score: scoreOf(page, group.items) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, listsMax)
    .map(({ parent, key, items }) => ({
      selector: `${pathOf(parent)} > ${key}`,
      count: items.length,
      items: items.slice(0, itemsMax).map((item) => ({
        text: textOf(item, 500),
        url: item.closest<HTMLAnchorElement>('a[href]')?.href ?? item.querySelector<HTMLAnchorElement>('a[href]')?.href ?? null,
        image: item.querySelector<HTMLImageElement>('img[src]')?.src ?? null,
      })),
    }));
}

/** Visible items with some text; those with a link or an image count more. */
export function scoreOf(page: Natives, items: readonly Element[]): number {
  const shown = items.slice(0, 5).filter((item) => isVisible(page, item) && textOf(item, 200).length >= 10);
  if (shown.length < 3) return 0;
  const rich = shown.filter((item) => item.matches('a[href]') || item.querySelector('a[href], img')).length;
  return items.length * (1 + rich);
}

/** Tag and first class: a name that all similar siblings have. */
export function keyOf(element: Element): string {
  const [name] = [...element.classList].filter((each) => /^[A-Za-z][\w-]*$/.test(each));
  return element.localName + (name === undefined ? '' : `.${name}`);
}

export function pathOf(element: Element): string {
  if (/^[A-Za-z][\w-]*$/.test(element.id)) return `#${element.id}`;
  const { parentElement: parent } = element;
  if (!parent || element === document.body) return element.localName;
  const same = [...parent.children].filter(({ localName }) => localName === element.localName);
  const position = same.length > 1 ? `:nth-of-type(${same.indexOf(element) + 1})` : '';
  return `${pathOf(parent)} > ${element.localName}${position}`;
}
