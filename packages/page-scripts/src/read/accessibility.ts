/**
 * Reads a document as an accessibility tree whose elements have references.
 * Sent as text, together with `names.ts`, `refs.ts`, `css-paths.ts` and `natives.ts`.
 */
import { cssPathsOf } from '../locate/css-paths.ts';
import { assignRefs, findRef, placeOf, refStore, type Referred, type RefIdentity } from '../locate/refs.ts';
import { isVisible, natives, textMatcher, type Natives } from '../locate/natives.ts';
import {
  accessibleName,
  ariaRole,
  createNaming,
  flatChildren,
  mayBeOperable,
  operableCss,
  optionText,
  shortText,
  statesOf,
  valueOf,
  type AccessibleName,
  type Naming,
} from './names.ts';

export interface TreeOptions {
  /** `interactive`: what can be operated, with headings, landmarks and messages. */
  mode: 'interactive' | 'full';
  /** The first number for new references. */
  firstRef: number;
  nodesMax: number;
  /** Maximum characters of names, texts and values together. */
  charsMax: number;
  /** Marks the nodes that match: a part of the text, `"the whole text"`, or `/a regular expression/`. */
  find?: string;
  boxes?: boolean;
  urls?: boolean;
  /** CSS paths of the elements that have references, and of frames. */
  paths?: boolean;
}

export interface TreeNode {
  depth: number;
  role: string;
  name: string;
  value?: string;
  /** What the element says beside its name, such as the only text of a list item. */
  text?: string;
  states?: Record<string, string>;
  /** The number of its reference. */
  ref?: number;
  /** The row that it is in, where others have its role and name. */
  place?: string;
  /** Whether the text of its row is its name. */
  isOwnRow?: boolean;
  /** Its position among the elements of its role, name and row, and their number, where there are several. */
  alike?: [nth: number, of: number];
  options?: { shown: string[]; more: number };
  /** x, y, width, height in the viewport of the document. */
  box?: [number, number, number, number];
  url?: string;
  path?: string | null;
  /** The position of the frame among those of `takeElements`. */
  frame?: number;
  isMatch?: boolean;
}

export interface DocumentTree {
  title: string;
  nodes: TreeNode[];
  /** Whether the page has more than the maxima allow. */
  isTruncated: boolean;
  nextRef: number;
  /** Number of elements that may have a closed shadow root, for `takeHosts`. */
  hosts: number;
  frames: number;
}

/** An element whose children are being read. Recursion would overflow at a few thousand levels. */
interface Level {
  children: Node[];
  next: number;
  depth: number;
  /** The node that the text of the children belongs to; -1: none. */
  parent: number;
  /** The text is in the name of something around it. */
  isSilent: boolean;
  isHidden: boolean;
  isBlock: boolean;
  isPointed: boolean;
  isInOperable: boolean;
}

interface Reading {
  naming: Naming;
  options: TreeOptions;
  nodes: TreeNode[];
  elements: (Element | null)[];
  parents: number[];
  run: string[];
  rows: Map<Element, string>;
  referred: (Referred & { at: number })[];
  hosts: Element[];
  frames: Element[];
  chars: number;
  visited: number;
  clickables: number;
  matches: ((text: string) => boolean) | null;
  focused: Element | null;
}

/** Reads the document, or what is in `root`. */
export function readTree(options: TreeOptions, root: Element | null = null): DocumentTree {
  const page = natives();
  const store = refStore();
  store.next = Math.max(store.next, options.firstRef);
  const naming = createNaming(page, store.closedRoots);
  const reading: Reading = {
    ...{ naming, options, nodes: [], elements: [], parents: [], run: [], rows: new Map(), referred: [], hosts: [], frames: [] },
    ...{ chars: 0, visited: 0, clickables: 0, focused: focusedElement(page) },
    matches: options.find === undefined ? null : textMatcher(options.find),
  };
  const isTruncated = walk(reading, root ?? page.root(document));
  mergeTexts(reading);
  numberElements(reading);
  const nodes = options.mode === 'interactive' ? withoutEmptyLandmarks(reading.nodes) : reading.nodes.filter(({ depth }) => depth >= 0);
  store.taken = reading.frames;
  Object.assign(globalThis, { berthHosts: reading.hosts });
  const { hosts, frames } = reading;
  const title = shortText(Object.getOwnPropertyDescriptor(Document.prototype, 'title')?.get?.call(document) ?? '');
  return { title, nodes, isTruncated, nextRef: store.next, hosts: hosts.length, frames: frames.length };
}

/** The elements that may have a closed shadow root. */
export function takeHosts(): Element[] {
  const scope = globalThis as { berthHosts?: Element[] };
  const { berthHosts = [] } = scope;
  scope.berthHosts = [];
  return berthHosts;
}

export interface RefSearch {
  isFound: boolean;
  /** Whether this document has given the reference out. */
  isKnown: boolean;
  nextRef: number;
  /** The elements that are most like it, best first. */
  near: TreeNode[];
}

/** Looks for a reference in the document, for `elementOfRef`. `before`: what is known of it from elsewhere. */
export function resolveRef(number: number, before: RefIdentity | null, options: TreeOptions): RefSearch {
  const store = refStore();
  const naming = createNaming(natives(), store.closedRoots);
  const entry = store.entries.get(number);
  if (findRef(naming, number)) return { isFound: true, isKnown: true, nextRef: store.next, near: [] };
  const { nodes, nextRef } = readTree(options);
  const isKnown = entry !== undefined;
  if (isKnown && findRef(naming, number)) return { isFound: true, isKnown, nextRef, near: [] };
  return { isFound: false, isKnown, nextRef, near: nearest(nodes, entry ?? before) };
}

/** The five elements that have most in common with one that is gone. */
export function nearest(nodes: readonly TreeNode[], gone: RefIdentity | null): TreeNode[] {
  if (!gone) return [];
  const wordsOf = (text: string): Set<string> =>
    new Set(
      text
        .toLowerCase()
        .split(/[^\p{L}\p{N}]+/u)
        .filter((word) => word !== ''),
    );
  const words = wordsOf(gone.name);
  const scored = nodes.flatMap((node) => {
    if (node.ref === undefined) return [];
    const shared = [...wordsOf(node.name)].filter((word) => words.has(word)).length;
    const alike = node.name === gone.name ? 2 : shared / Math.max(1, words.size);
    const score = alike + (node.role === gone.role ? 0.5 : 0) + (gone.place !== '' && (node.place ?? node.name) === gone.place ? 1 : 0);
    return score >= 0.5 ? [{ node, score }] : [];
  });
  return scored
    .sort((one, other) => other.score - one.score)
    .slice(0, 5)
    .map(({ node }) => node);
}

export function focusedElement(page: Natives): Element | null {
  const active = (of: Document | ShadowRoot): Element | null =>
    Object.getOwnPropertyDescriptor(of instanceof Document ? Document.prototype : ShadowRoot.prototype, 'activeElement')?.get?.call(
      of,
    ) as Element | null;
  let focused = active(document);
  for (let shadow = focused && page.shadowRoot(focused); shadow && active(shadow); shadow = focused && page.shadowRoot(focused))
    focused = active(shadow);
  return focused === page.body(document) ? null : focused;
}

/** Returns whether a maximum ended it. */
export function walk(reading: Reading, root: Element | null): boolean {
  if (!root) return false;
  const { naming, options } = reading;
  const { page } = naming;
  const start = { depth: 0, parent: -1, isSilent: false, isHidden: false, isBlock: true, isPointed: false, isInOperable: false };
  const levels: Level[] = [{ ...start, children: [root], next: 0 }];
  for (let level = levels.at(-1); level; level = levels.at(-1)) {
    const node = level.children[level.next];
    level.next += 1;
    reading.visited += 1;
    if (reading.nodes.length >= options.nodesMax || reading.chars > options.charsMax || reading.visited > 500_000) return true;
    if (node === undefined) {
      if (level.isBlock) flushText(reading, level);
      levels.pop();
    } else if (page.type(node) === 3) {
      if (!level.isSilent && !level.isHidden && options.mode === 'full') reading.run.push((page.nodeValue(node) ?? '').slice(0, 5000));
    } else if (node instanceof Element) {
      const inner = enter(reading, node, level);
      if (inner) levels.push(inner);
    }
  }
  return false;
}

/** The text since the last block or element, as a node of its own. */
export function flushText(reading: Reading, { depth, parent }: Pick<Level, 'depth' | 'parent'>): void {
  if (reading.run.length === 0) return;
  const name = shortText(reading.run.splice(0).join(''));
  if (name !== '') addNode(reading, { depth, role: 'text', name }, null, parent);
}

export function addNode(reading: Reading, node: TreeNode, element: Element | null, parent: number): number {
  const { nodes, elements, parents, matches } = reading;
  reading.chars += node.name.length + (node.value?.length ?? 0) + 20;
  if (matches?.(`${node.role} ${node.name} ${node.value ?? ''}`)) node.isMatch = true;
  nodes.push(node);
  elements.push(element);
  parents.push(parent);
  return nodes.length - 1;
}

/** Adds the element, if it says something, and returns what of its children is to be read. */
export function enter(reading: Reading, element: Element, level: Level): Level | null {
  const { naming } = reading;
  const { page } = naming;
  const tag = page.name(element);
  if (/^(head|script|style|noscript|template|link|meta|title|datalist|param|source|track)$/.test(tag)) return null;
  const { display, visibility, cursor, overflowY } = getComputedStyle(element);
  const isTransparent = display === 'contents' || tag === 'area';
  if (display === 'none' || (!isTransparent && !Element.prototype.checkVisibility.call(element))) return null;
  if (page.attribute(element, 'aria-hidden') === 'true' && element !== reading.focused && !page.matches(element, 'body, html')) {
    // Assistive technology does not see it; a visitor may, and clicks it.
    if (page.all(element, operableCss()).length === 0) return null;
  }
  noteHost(reading, element, tag);
  const isBlock = display !== 'inline' && !isTransparent;
  if (isBlock || tag === 'br') flushText(reading, level);
  const isHidden = visibility !== 'visible';
  const isPointed = cursor === 'pointer';
  const inner: Level = { ...level, children: [], next: 0, isHidden, isBlock, isPointed };
  // Their text is the name of a field, a group, a table or a figure.
  if (/^(legend|caption|figcaption)$/.test(tag) || (element instanceof HTMLLabelElement && page.control(element))) inner.isSilent = true;
  const role = ariaRole(naming, element);
  const isOperable = element === reading.focused || (mayBeOperable(page, element, tag) && page.matches(element, operableCss()));
  const isClickable =
    !isOperable && !level.isInOperable && isClickableHere(reading, element, { isPointed, isPointedAround: level.isPointed });
  const scroll = isHidden ? '' : scrollOf(element, overflowY);
  if (!isHidden && (isOperable || isClickable || role !== '' || scroll !== '')) {
    const shown = describeElement(reading, element, { role, isOperable, isClickable, scroll, level });
    if (shown === null) return null;
    Object.assign(inner, shown);
  }
  inner.children = flatChildren(naming, element, 100_000);
  return inner;
}

/** A box of a page that scrolls by itself: `down`, `up` or `both`. */
export function scrollOf(element: Element, overflowY: string): string {
  if (overflowY !== 'auto' && overflowY !== 'scroll') return '';
  const read = (name: string): number => Number(Object.getOwnPropertyDescriptor(Element.prototype, name)?.get?.call(element));
  const [height, visible, top] = [read('scrollHeight'), read('clientHeight'), read('scrollTop')];
  if (height <= visible + 20 || visible < 20) return '';
  return top <= 2 ? 'down' : top + visible >= height - 2 ? 'up' : 'both';
}

/** Elements that a page makes clickable by a handler in an attribute, or shows as such by the mouse pointer: the outermost with it. */
export function isClickableHere(
  reading: Reading,
  element: Element,
  { isPointed, isPointedAround }: { isPointed: boolean; isPointedAround: boolean },
): boolean {
  const { page } = reading.naming;
  if (!(element instanceof HTMLElement) || /^(html|body|label|option|summary)$/.test(page.name(element))) return false;
  if (!(isPointed && !isPointedAround) && page.attribute(element, 'onclick') === null) return false;
  // A page where everything is to be clicked says it by its text.
  if (reading.clickables >= 300 || !isVisible(page, element)) return false;
  reading.clickables += 1;
  return true;
}

interface Shape {
  role: string;
  isOperable: boolean;
  isClickable: boolean;
  scroll: string;
  level: Level;
}

/** Adds the node of an element. Returns how its children are read; null: not at all. */
export function describeElement(reading: Reading, element: Element, shape: Shape): Partial<Level> | null {
  const { naming, options, nodes } = reading;
  const { page } = naming;
  const { isOperable, isClickable, scroll, level } = shape;
  const role = shape.role === '' ? 'generic' : shape.role;
  const isUsed = isOperable || isClickable;
  if (level.isSilent && !isUsed) return {};
  const isKept = options.mode === 'full' ? role !== 'generic' || isUsed || scroll !== '' : isUsed || scroll !== '' || isContext(role);
  if (!isKept) return {};
  const named = nameOfShape(naming, element, { ...shape, role });
  flushText(reading, level);
  const node: TreeNode = { depth: level.depth, role, name: named.name };
  const states = statesOf(naming, element, role);
  if (element === reading.focused) states['focused'] = 'true';
  if (isClickable) states['clickable'] = 'true';
  if (named.isGuess) states['icon'] = 'true';
  if (scroll !== '') states['scrollable'] = scroll;
  const { value, isSecret } = valueOf(naming, element, role);
  if (isSecret) states['filled'] = 'true';
  if (value !== '' && !(named.isContent && value === named.name)) node.value = value;
  if (element instanceof HTMLSelectElement) node.options = optionsOf(page, element);
  if (Object.keys(states).length > 0) node.states = states;
  const at = addNode(reading, node, element, level.parent);
  addDetails(reading, node, element);
  if (isUsed || scroll !== '' || hasRef(role)) {
    const place = isUsed ? placeOf(naming, element, named.name, reading.rows) : '';
    reading.referred.push({ element, role, name: named.name, place, at });
  }
  if (role === 'iframe') {
    node.frame = reading.frames.push(element) - 1;
    return null;
  }
  const isClosed =
    /^(img|video|audio|math|progressbar|meter|separator)$/.test(role) ||
    element instanceof HTMLSelectElement ||
    page.name(element) === 'textarea';
  if (isClosed && !isClickable) return null;
  const isSilent = level.isSilent || named.isContent || /^(textbox|searchbox)$/.test(role);
  return { depth: level.depth + 1, parent: nodes.length - 1, isSilent, isInOperable: level.isInOperable || isOperable };
}

/** What is shown beside elements to operate, so that they can be told apart. */
export function isContext(role: string): boolean {
  return isLandmark(role) || /^(heading|alert|status|iframe)$/.test(role);
}

export function isLandmark(role: string): boolean {
  return /^(alertdialog|banner|complementary|contentinfo|dialog|form|main|navigation|region|search|tabpanel|menu|toolbar)$/.test(role);
}

/** Roles of elements that nobody operates and yet refers to, as for an image of them. */
export function hasRef(role: string): boolean {
  return /^(alertdialog|article|dialog|figure|form|grid|img|list|main|navigation|region|table|tree|treegrid)$/.test(role);
}

export function nameOfShape(naming: Naming, element: Element, { role, isClickable }: Shape): AccessibleName {
  const named = accessibleName(naming, element, role);
  if (!isClickable || named.name !== '') return named;
  // Its text is its name, unless it has more than a name, or other things to use in it.
  const { page } = naming;
  if (page.all(element, operableCss()).length > 0) return named;
  const text = shortText((element instanceof HTMLElement ? page.innerText(element) : '').slice(0, 500));
  return text.length > 100 ? named : { name: text, isContent: text !== '', isGuess: false };
}

export function optionsOf(page: Natives, select: Element): { shown: string[]; more: number } {
  const options = page.all(select, 'option');
  // Who needs another one of many names it.
  const shown = options.slice(0, 12).map((option) => optionText(page, option).slice(0, 60));
  return { shown, more: options.length - shown.length };
}

export function addDetails({ naming: { page }, options }: Reading, node: TreeNode, element: Element): void {
  if (options.boxes) {
    const { x, y, width, height } = page.rect(element);
    node.box = [x, y, width, height].map((each) => Math.round(each)) as [number, number, number, number];
  }
  if (!options.urls) return;
  const href = page.attribute(element, 'href');
  if (node.role === 'link' && href !== null && URL.canParse(href, page.baseUri(element)))
    node.url = new URL(href, page.baseUri(element)).href.slice(0, 1000);
}

/** Elements that may have a closed shadow root: only the browser can say. Each is asked at most three times. */
export function noteHost(reading: Reading, element: Element, tag: string): void {
  const { page, closedRoots } = reading.naming;
  const isCustom = tag.includes('-');
  if (!isCustom && !/^(article|aside|blockquote|div|footer|header|main|nav|p|section|span)$/.test(tag)) return;
  if (!isCustom && page.firstChild(element)) return;
  if (reading.hosts.length >= 60 || page.shadowRoot(element) || closedRoots.has(element)) return;
  const { asked } = refStore();
  const times = asked.get(element) ?? 0;
  if (times >= 3 || (!isCustom && !isVisible(page, element))) return;
  asked.set(element, times + 1);
  reading.hosts.push(element);
}

/** The only text in an element becomes that of the element. */
export function mergeTexts({ nodes, parents }: Reading): void {
  const children = new Map<number, number>();
  for (const parent of parents) children.set(parent, (children.get(parent) ?? 0) + 1);
  for (const [at, node] of nodes.entries()) {
    const parent = parents[at] ?? -1;
    const around = nodes[parent];
    if (node.role !== 'text' || !around || children.get(parent) !== 1 || around.value !== undefined) continue;
    if (node.name !== around.name) around.text = node.name;
    if (node.isMatch) around.isMatch = true;
    // Left out of what is returned.
    node.depth = -1;
  }
}

export function numberElements({ naming: { page }, options, nodes, referred, elements, matches }: Reading): void {
  const numbers = assignRefs(page, referred);
  const { entries } = refStore();
  for (const [index, { at, place, name }] of referred.entries()) {
    const node = nodes[at];
    const number = numbers[index];
    const entry = number === undefined ? undefined : entries.get(number);
    if (!node || number === undefined || !entry) continue;
    node.ref = number;
    // What it is known by is not said twice: half of what leaves the page.
    const { nth, of } = entry;
    if (of > 1) node.alike = [nth, of];
    if (place !== '' && place === name) node.isOwnRow = true;
    if (place === '' || place === name) continue;
    node.place = place;
    if (matches?.(place)) node.isMatch = true;
  }
  if (!options.paths) return;
  const withPath = nodes.flatMap((node, at) =>
    node.ref !== undefined || node.frame !== undefined ? [{ node, element: elements[at] }] : [],
  );
  const shown = withPath.filter((each): each is { node: TreeNode; element: Element } => each.element instanceof Element);
  for (const [index, path] of cssPathsOf(...shown.map(({ element }) => element)).entries()) {
    const node = shown[index]?.node;
    if (node) node.path = path;
  }
}

/** Landmarks in which nothing is to be operated say nothing. */
export function withoutEmptyLandmarks(nodes: readonly TreeNode[]): TreeNode[] {
  const kept: TreeNode[] = [];
  // The depths at which something was kept behind the node.
  let below = -1;
  for (const node of nodes.toReversed()) {
    if (node.depth < 0) continue;
    const isUsed = below > node.depth || !isLandmark(node.role) || node.states?.['scrollable'] !== undefined;
    if (!isUsed) continue;
    kept.push(node);
    below = node.depth;
  }
  return kept.toReversed();
}
