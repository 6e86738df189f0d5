/** Blocks that accompany an article, by their class, id and links: the rules after Readability. */
import { isBlank, isElement, isText, setChildren, textIn, type Element, type Node, type Parent } from '../dom.ts';
import { PageText } from './text-stats.ts';

/** Words of classes and ids. */
const blockWords: ReadonlySet<string> = new Set(
  `related recommended recommendations recommendation newsletter subscribe subscription signup share sharing sharedaddy sharebar social
   outbrain taboola promo promos promotion promotions advert adverts advertisement advertising ads ad adslot sponsored sponsor sponsors
   comments disqus breadcrumb breadcrumbs pagination pager cookie cookies consent gdpr toc trending popular sidebar nav navbar navigation
   donate donation paywall navbox catlinks editsection upsell upsells crosssell readmore readnext teasers mostread bio skip skiplink`.split(
    /\s+/,
  ),
);
/** Words of blocks of a line or two: longer blocks of this name are content. */
const lineWords: ReadonlySet<string> = new Set(
  `byline author authors dateline meta metadata caption credit credits date timestamp published updated posted tags taglist keywords print
   permalink copyright views likes reactions reply replies actions toolbar edit feedback helpful breadcrumblist readingtime kicker jump
   headerlink anchor signature postprofile profile`.split(/\s+/),
);
const lineCharsMax = 220;
/** A block with more of the article's text is the article. */
const blockShare = 0.3;
/** Blocks of one word with more of the text are the content: the comments of a forum. */
const groupShare = 0.45;
/** A list in which more of the text is links leads elsewhere. */
const linkShare = 0.75;
const linksMin = 3;
const linkBlocks: ReadonlySet<string> = new Set(['ul', 'ol', 'div', 'section', 'nav', 'dl', 'table']);
const headingName = /^h[1-6]$/;

/** Removes what is no part of the article from the tree below `root`. */
export function dropBoilerplate(root: Parent): void {
  dropElements(root, ['button', 'select', 'textarea', 'dialog', 'footer', 'nav']);
  dropCaptions(root);
  dropNamed(root);
  dropLinkLists(root);
  dropLastHeadings(root);
}

function dropElements(root: Parent, names: readonly string[]): void {
  removeBlocks(elementsIn(root).filter(({ name }) => names.includes(name)));
}

/** All elements in document order, as they are before anything is removed. */
function elementsIn(parent: Parent): Element[] {
  const elements: Element[] = [];
  const visit = ({ children }: Parent): void => {
    for (const child of children) {
      if (!isElement(child)) continue;
      elements.push(child);
      visit(child);
    }
  };
  visit(parent);
  return elements;
}

/** A caption describes its picture, which stays. */
function dropCaptions(root: Parent): void {
  const figures = elementsIn(root).filter((element) => element.name === 'figure' && hasPicture(element));
  removeBlocks(figures.flatMap((figure) => elementsIn(figure).filter(({ name }) => name === 'figcaption')));
}

const isPicture = ({ name }: Element): boolean => /^(?:img|picture|video|svg|iframe)$/.test(name);
const hasPicture = ({ children }: Parent): boolean => children.some((child) => isElement(child) && (isPicture(child) || hasPicture(child)));

function dropNamed(root: Parent): void {
  const text = new PageText(root);
  const total = text.of(root).text;
  const groups = new Map<string, { elements: Element[]; chars: number }>();
  const aroundHeadings = ancestorsOf(elementsIn(root).filter(({ name }) => name === 'h1'));
  const visit = (parent: Parent): void => {
    for (const child of parent.children) {
      if (!isElement(child) || child.name === 'pre' || child.name === 'code' || child.name === 'table') continue;
      const chars = text.of(child).text;
      const word = chars > blockShare * total || aroundHeadings.has(child) ? undefined : boilerplateWord(child, chars);
      if (word === undefined) {
        visit(child);
        continue;
      }
      const group = groups.get(word) ?? { elements: [], chars: 0 };
      group.elements.push(child);
      group.chars += chars;
      groups.set(word, group);
    }
  };
  visit(root);
  removeBlocks([...groups.values()].flatMap(({ elements, chars }) => (chars <= groupShare * total ? elements : [])));
}

/** A heading of the first level is never part of such a block. */
function ancestorsOf(elements: readonly Element[]): Set<unknown> {
  const ancestors = new Set<unknown>();
  for (const element of elements)
    for (let node: Parent | null = element; node && !ancestors.has(node); node = parentOf(node)) ancestors.add(node);
  return ancestors;
}

const parentOf = (node: Parent): Parent | null => node.parent as Parent | null;

function boilerplateWord(element: Element, chars: number): string | undefined {
  const { attribs, name } = element;
  if (headingName.test(name) || name === 'html' || name === 'body') return undefined;
  const own = wordsOf(attribs['class'] ?? '');
  // The id of a section is often its heading: "related-work".
  const id = attribs['id'] ?? '';
  const words = id === '' || isSlugOfHeading(id, element) ? own : [...own, ...wordsOf(id)];
  const word = words.find((one) => blockWords.has(one) || (chars <= lineCharsMax && lineWords.has(one)));
  // The wrapper of a picture and its caption is named like the caption.
  return word === 'caption' && hasPicture(element) ? undefined : word;
}

/** `relatedPosts`, `related-posts` and `related_posts` alike. */
const wordsOf = (names: string): string[] =>
  names
    .slice(0, 1000)
    .replace(/([a-z])(?=[A-Z])/g, '$1 ')
    .toLowerCase()
    .split(/[^a-z]+/);

function isSlugOfHeading(id: string, element: Element): boolean {
  const first = element.children.find((child) => isElement(child));
  if (!first || !isElement(first) || !headingName.test(first.name)) return false;
  const slug = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
  return slug(textIn(first)).startsWith(slug(id)) && element.attribs['class'] === undefined;
}

function dropLinkLists(root: Parent): void {
  const text = new PageText(root);
  const total = text.of(root).text;
  const lists: Element[] = [];
  const visit = (parent: Parent): void => {
    for (const child of parent.children) {
      if (!isElement(child)) continue;
      const { text: chars, inLinks, links } = text.of(child);
      const isList = linkBlocks.has(child.name) && links >= linksMin && inLinks >= linkShare * chars && chars <= blockShare * total;
      if (isList) lists.push(child);
      else visit(child);
    }
  };
  visit(root);
  const chars = lists.reduce((sum, list) => sum + text.of(list).text, 0);
  if (chars <= groupShare * total) removeBlocks(lists);
}

/** Removes elements, each with the heading that only introduces it. */
function removeBlocks(elements: readonly Element[]): void {
  const byParent = new Map<Parent, Set<unknown>>();
  for (const element of elements) {
    const parent = parentOf(element);
    if (!parent) continue;
    const removed = byParent.get(parent) ?? new Set();
    byParent.set(parent, removed.add(element));
  }
  for (const [parent, removed] of byParent) setChildren(parent, remainder(parent, removed));
}

function remainder({ children }: Parent, removed: ReadonlySet<unknown>): Node[] {
  const retained: Node[] = [];
  let [isAfterBlock, isLast] = [false, true];
  for (const child of children.toReversed()) {
    if (removed.has(child)) {
      isAfterBlock ||= isElement(child) && !isInline(child);
      continue;
    }
    const isHeading = isElement(child) && headingName.test(child.name);
    if (isHeading && child.name !== 'h1' && isAfterBlock && isLast) continue;
    retained.push(child);
    if (isBlank(child)) continue;
    isAfterBlock = false;
    isLast = isHeading;
  }
  return retained.toReversed();
}

const isInline = ({ name }: Element): boolean => /^(?:a|span|time|small|em|strong|b|i|sup|sub|cite|abbr)$/.test(name);

const lastHeadingsMax = 5;

/** A heading behind which nothing follows introduced what was removed. */
function dropLastHeadings(root: Parent): void {
  const text = new PageText(root);
  for (let n = 0; n < lastHeadingsMax; n += 1) {
    const last = lastHeading(root, text);
    if (!last) return;
    const parent = parentOf(last);
    if (!parent) return;
    setChildren(
      parent,
      parent.children.filter((node) => node !== last),
    );
  }
}

/** The heading that ends the text; undefined where text or a picture does. */
function lastHeading(parent: Parent, text: PageText): Element | undefined {
  for (const child of parent.children.toReversed()) {
    if (isText(child) && child.data.trim() !== '') return undefined;
    if (!isElement(child)) continue;
    if (headingName.test(child.name)) return child.name === 'h1' ? undefined : child;
    if (isPicture(child)) return undefined;
    if (text.of(child).text > 0 || hasPicture(child)) return lastHeading(child, text);
  }
  return undefined;
}
