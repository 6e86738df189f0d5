/** Evaluates selectors. Sent as text, together with `natives.ts`. */
import { elementsIn, isVisible, natives, oneLine, textMatcher, type Natives } from './natives.ts';

/** A parsed selector that is evaluated in the page; the browser itself evaluates `aria`. */
export interface PageSelector {
  kind: 'css' | 'pierce' | 'xpath' | 'text' | 'label' | 'placeholder' | 'testid';
  body: string;
}

export interface FindResult {
  /** Index of the selector that matched; -1: none. */
  index: number;
  count: number;
  visible: boolean;
  /** Why the selector at `index` is invalid. */
  invalid?: string;
}

/**
 * Evaluates selectors until one matches, and stores its elements for `takeMatches`:
 * with `pick` `one` the first visible element, or else the first.
 */
export function find(root: Element | ShadowRoot | null, selectors: readonly PageSelector[], pick: 'one' | 'all', max: number): FindResult {
  const page = natives();
  for (const [index, selector] of selectors.entries()) {
    const { elements, invalid } = tryMatch(page, root, selector);
    if (invalid !== undefined) return { index, count: 0, visible: false, invalid };
    const [first] = elements;
    if (first === undefined) continue;
    const shown = elements.find((element) => isVisible(page, element));
    Object.assign(globalThis, { berthMatches: pick === 'all' ? elements.slice(0, max) : [shown ?? first] });
    return { index, count: elements.length, visible: shown !== undefined };
  }
  return { index: -1, count: 0, visible: false };
}

export function takeMatches(): Element[] {
  const { berthMatches = [] } = globalThis as { berthMatches?: Element[] };
  Object.assign(globalThis, { berthMatches: [] });
  return berthMatches;
}

/** Returns the first visible element, or else the first. */
export function pickVisible(...elements: Element[]): Element[] {
  const page = natives();
  return [elements.find((element) => isVisible(page, element)) ?? elements[0]].filter((element) => element !== undefined);
}

export function tryMatch(
  page: Natives,
  root: Element | ShadowRoot | null,
  selector: PageSelector,
): { elements: Element[]; invalid?: string } {
  try {
    // In a shadow host its shadow tree is searched first.
    const shadow = root instanceof Element ? page.shadowRoot(root) : null;
    const inShadow = shadow ? matchesIn(page, shadow, selector) : [];
    return { elements: inShadow.length > 0 ? inShadow : matchesIn(page, root ?? document, selector) };
  } catch (error) {
    if (error instanceof DOMException || error instanceof SyntaxError) return { elements: [], invalid: error.message.slice(0, 300) };
    throw error;
  }
}

export function matchesIn(page: Natives, root: Node, { kind, body }: PageSelector): Element[] {
  switch (kind) {
    case 'css': {
      const plain = page.all(root, body);
      return plain.length > 0 ? plain : pierce(page, root, body);
    }
    case 'pierce':
      return pierce(page, root, body);
    case 'xpath':
      return byXpath(root, body);
    case 'text':
      return byText(page, root, body);
    case 'label':
      return byLabel(page, root, body);
    case 'placeholder': {
      const fits = attributeMatcher(page, 'placeholder', body);
      return [...elementsIn(page, root)].filter(fits);
    }
    case 'testid':
      return [...elementsIn(page, root)].filter((element) =>
        ['data-testid', 'data-test-id', 'data-test', 'data-cy', 'data-qa'].some((name) => page.attribute(element, name) === body),
      );
  }
}

export function pierce(page: Natives, root: Node, css: string): Element[] {
  const matches = new Set(page.all(root, css));
  const elements = [...elementsIn(page, root)];
  const shadows = elements.map((element) => page.shadowRoot(element)).filter((shadow) => shadow !== null);
  const own = root instanceof Element ? page.shadowRoot(root) : null;
  for (const shadow of own ? [own, ...shadows] : shadows) for (const element of page.all(shadow, css)) matches.add(element);
  return elements.filter((element) => matches.has(element));
}

export function byXpath(root: Node, expression: string): Element[] {
  // XPath cannot start from a shadow root.
  if (root instanceof ShadowRoot) return [];
  const relative = root instanceof Document ? expression : expression.replace(/^(\(*)\//, '$1./');
  const result = Document.prototype.evaluate.call(document, relative, root, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
  const elements: Element[] = [];
  for (let index = 0; index < result.snapshotLength; index += 1) {
    const node = result.snapshotItem(index);
    if (node instanceof Element) elements.push(node);
  }
  return elements;
}

/** The innermost elements with the text; an input button's text is its value. */
export function byText(page: Natives, root: Node, words: string): Element[] {
  const fits = textMatcher(words);
  const texts = new Map<Node, string>();
  // For a substring match, an element without it has no descendant with it.
  const isPart = !/^["'/]/.test(words);
  const matches: Element[] = [];
  const search = (element: Element): void => {
    const isMatch = fits(textOf(page, element, texts));
    if (isPart && !isMatch) return;
    const before = matches.length;
    for (const child of childrenOf(page, element)) if (child instanceof Element) search(child);
    if (isMatch && matches.length === before) matches.push(element);
  };
  for (const top of childrenOf(page, root)) if (top instanceof Element) search(top);
  return matches;
}

export function childrenOf(page: Natives, node: Node): Node[] {
  const children: Node[] = [];
  const shadow = node instanceof Element ? page.shadowRoot(node) : null;
  for (let child = shadow && page.firstChild(shadow); child; child = page.next(child)) children.push(child);
  for (let child = page.firstChild(node); child; child = page.next(child)) children.push(child);
  return children;
}

export function textOf(page: Natives, node: Node, texts: Map<Node, string>): string {
  if (page.type(node) === 3) return page.nodeValue(node) ?? '';
  if (!(node instanceof Element)) return '';
  const cached = texts.get(node);
  if (cached !== undefined) return cached;
  const name = page.name(node);
  let text = '';
  if (name === 'input') text = ['button', 'submit', 'reset'].includes(page.inputType(node)) ? page.inputValue(node) : '';
  else if (!['script', 'style', 'noscript', 'template', 'head'].includes(name))
    for (const child of childrenOf(page, node)) text += textOf(page, child, texts);
  texts.set(node, text);
  return text;
}

/** Fields by their label: `<label>`, `aria-labelledby`, `aria-label`. */
export function byLabel(page: Natives, root: Node, words: string): Element[] {
  const fits = textMatcher(words);
  const texts = new Map<Node, string>();
  const elements = [...elementsIn(page, root)];
  const named = attributeMatcher(page, 'aria-label', words);
  const labelled = new Set<Element>();
  for (const element of elements) {
    const control = element instanceof HTMLLabelElement ? page.control(element) : null;
    if (control && fits(textOf(page, element, texts))) labelled.add(control);
  }
  return elements.filter((element) => {
    const ids = page.attribute(element, 'aria-labelledby');
    if (ids !== null) {
      const labels = ids.split(/\s+/).map((id) => page.byId(page.rootOf(element), id));
      const text = labels.map((label) => (label ? textOf(page, label, texts) : '')).join(' ');
      if (oneLine(text) !== '') return fits(text);
    }
    return labelled.has(element) || named(element);
  });
}

export function attributeMatcher(page: Natives, name: string, words: string): (element: Element) => boolean {
  const fits = textMatcher(words);
  return (element) => {
    const text = page.attribute(element, name);
    return text !== null && fits(text);
  };
}
