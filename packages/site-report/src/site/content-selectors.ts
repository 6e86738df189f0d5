/** Where the content of a page stands: its repeated items, its main element, its next page. */
import type { InspectAutomation } from '@berth/contract';
import type { ReportInput } from '../exchange.ts';
import { readPages, resolve, type ReportPage } from '../page/pages.ts';
import { selectorOf, stableClasses } from '../page/selector.ts';
import { collapse, textOf, type PageElement, type PageTree } from '../page/tree.ts';

const itemsMin = 4;
/** Shorter texts are labels of menus. */
const itemCharsMin = 15;
const selectorsMax = 5;

const accompanying: ReadonlySet<string> = new Set([
  'nav',
  'header',
  'footer',
  'aside',
  'head',
  'select',
  'svg',
  'form',
  'picture',
  'script',
  'template',
  'noscript',
]);
const itemNames: ReadonlySet<string> = new Set(['li', 'article', 'div', 'section', 'tr', 'a', 'dl', 'figure']);

interface ItemGroup {
  selector: string;
  score: number;
}

export function contentSelectors(tree: PageTree): string[] {
  const chars = charsOf(tree);
  const outside = outsideOf(tree);
  const groups: ItemGroup[] = [];
  for (const element of tree.elements) {
    if (element.children.length < itemsMin || outside.has(element)) continue;
    const group = bestGroup(element, tree, chars);
    if (group) groups.push(group);
  }
  const lists = groups.sort((a, b) => b.score - a.score).map(({ selector }) => selector);
  const mains = ['main', 'article'].filter((name) => tree.named(name).length === 1);
  const byRole = mains.length === 0 && tree.elements.some(({ attributes }) => attributes.get('role') === 'main') ? ['[role="main"]'] : [];
  const headings = tree.named('h1').length === 1 ? ['h1'] : [];
  return [...new Set([...lists.slice(0, selectorsMax - 2), ...mains, ...byRole, ...headings])].slice(0, selectorsMax);
}

/** Characters of text inside each element; the children of an element come after it. */
function charsOf({ elements }: PageTree): Uint32Array {
  const chars = new Uint32Array(elements.length);
  for (let index = elements.length - 1; index >= 0; index -= 1) {
    const { name, texts, parent } = elements[index] as PageElement;
    if (name === 'script' || name === 'style') continue;
    chars[index] = (chars[index] ?? 0) + texts.reduce((sum, text) => sum + collapse(text).length, 0);
    if (parent) chars[parent.index] = (chars[parent.index] ?? 0) + (chars[index] ?? 0);
  }
  return chars;
}

function outsideOf({ elements }: PageTree): Set<PageElement> {
  const outside = new Set<PageElement>();
  for (const element of elements) {
    const { name, parent, attributes } = element;
    const isOutside = accompanying.has(name) || /^(?:navigation|banner|contentinfo|dialog|menu)$/.test(attributes.get('role') ?? '');
    if (isOutside || (parent && outside.has(parent))) outside.add(element);
  }
  return outside;
}

function bestGroup(parent: PageElement, tree: PageTree, chars: Uint32Array): ItemGroup | null {
  const groups = new Map<string, PageElement[]>();
  for (const child of parent.children) {
    if (!itemNames.has(child.name)) continue;
    const [className] = stableClasses(child);
    const key = className === undefined ? child.name : `${child.name}.${className}`;
    const group = groups.get(key);
    if (group) group.push(child);
    else groups.set(key, [child]);
  }
  let best: ItemGroup | null = null;
  for (const [key, items] of groups) {
    if (items.length < itemsMin) continue;
    const mean = items.reduce((sum, { index }) => sum + (chars[index] ?? 0), 0) / items.length;
    const score = Math.min(items.length, 50) * Math.min(mean, 400);
    if (mean < itemCharsMin || (best && best.score >= score)) continue;
    best = { selector: key.includes('.') ? key : `${selectorOf(parent, tree)} > ${key}`, score };
  }
  return best;
}

const pageParams = /^(?:page|p|pg|paged|seite|offset|start|cursor|after)$/i;

export function readPagination(input: ReportInput): InspectAutomation['pagination'] {
  for (const page of readPages(input)) {
    const next = page.tree.named('a', 'button', 'link').find(isNext);
    const selector = !next || next.name === 'link' ? null : (relSelector(next) ?? selectorOf(next, page.tree));
    const param = paramOf(next, page) ?? listedParam(page);
    if (selector !== null || param !== null) return { selector, param };
  }
  return null;
}

const nextWords =
  /^(?:next(?: page)?|older(?: posts)?|weiter|nächste(?: seite)?|suivant|siguiente|successivo|volgende|›|»|→|>)(?: ?[›»→>])?$/i;

function isNext(element: PageElement): boolean {
  const { attributes } = element;
  if (/(?:^|\s)next(?:\s|$)/i.test(attributes.get('rel') ?? '')) return true;
  if (element.name === 'link') return false;
  const label = attributes.get('aria-label') ?? textOf(element, 40);
  return label.length <= 40 && nextWords.test(label.trim());
}

const relSelector = ({ name, attributes }: PageElement): string | null =>
  attributes.get('rel')?.toLowerCase() === 'next' ? `${name}[rel="next"]` : null;

function paramOf(next: PageElement | undefined, { url }: ReportPage): string | null {
  const href = next?.attributes.get('href');
  const target = href === undefined ? null : resolve(href, url);
  if (target === null) return null;
  const before = URL.parse(url)?.searchParams;
  for (const [name, value] of new URL(target).searchParams) if (pageParams.test(name) && before?.get(name) !== value) return name;
  return null;
}

/** Links to at least two pages of the same list. */
function listedParam({ tree, url }: ReportPage): string | null {
  const values = new Map<string, Set<string>>();
  const own = URL.parse(url);
  for (const { attributes } of tree.named('a').slice(0, 5000)) {
    const href = attributes.get('href') ?? '';
    if (!href.includes('?')) continue;
    const target = URL.parse(href, url);
    if (!own || !target || target.pathname !== own.pathname || target.origin !== own.origin) continue;
    for (const [name, value] of target.searchParams)
      if (pageParams.test(name) && /^\d{1,6}$/.test(value)) values.set(name, (values.get(name) ?? new Set()).add(value));
  }
  return [...values].find(([, pages]) => pages.size >= 2)?.[0] ?? null;
}
