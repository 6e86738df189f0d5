/** Locators, in the page's isolated world. Sent as text, together with `page-natives.ts`. */
import { elementsIn, isVisible, natives, oneLine, textMatcher, type Natives } from './natives.ts';

/** One string of a locator, as the contract takes it apart. `aria` is the browser's own matter. */
export interface FindOrder {
  kind: 'css' | 'pierce' | 'xpath' | 'text' | 'label' | 'placeholder' | 'testid';
  body: string;
}

export interface Found {
  /** Which of the orders matched; -1: none. */
  index: number;
  count: number;
  visible: boolean;
  /** The order at `index` cannot be read. */
  invalid?: string;
}

/**
 * Looks for the first order that matches, and keeps what it matched for
 * `takeFound`: with `pick` `one` the first visible element or, failing that, the first.
 */
export function find(root: Element | null, orders: readonly FindOrder[], pick: 'one' | 'all', max: number): Found {
  const page = natives();
  for (const [index, order] of orders.entries()) {
    const { elements, invalid } = tryMatch(page, root, order);
    if (invalid !== undefined) return { index, count: 0, visible: false, invalid };
    const [first] = elements;
    if (first === undefined) continue;
    const shown = elements.find((element) => isVisible(page, element));
    Object.assign(globalThis, { berthFound: pick === 'all' ? elements.slice(0, max) : [shown ?? first] });
    return { index, count: elements.length, visible: shown !== undefined };
  }
  return { index: -1, count: 0, visible: false };
}

export function takeFound(): Element[] {
  const { berthFound = [] } = globalThis as { berthFound?: Element[] };
  Object.assign(globalThis, { berthFound: [] });
  return berthFound;
}

/** Of elements that the browser found: the first visible one or, failing that, the first. */
export function pickVisible(...elements: Element[]): Element[] {
  const page = natives();
  return [elements.find((element) => isVisible(page, element)) ?? elements[0]].filter((element) => element !== undefined);
}

export function tryMatch(page: Natives, root: Element | null, order: FindOrder): { elements: Element[]; invalid?: string } {
  try {
    // What is looked for in a host is in its shadow first.
    const shadow = root && page.shadowRoot(root);
    const inShadow = shadow ? matchesIn(page, shadow, order) : [];
    return { elements: inShadow.length > 0 ? inShadow : matchesIn(page, root ?? document, order) };
  } catch (error) {
    if (error instanceof DOMException || error instanceof SyntaxError) return { elements: [], invalid: error.message.slice(0, 300) };
    throw error;
  }
}

export function matchesIn(page: Natives, root: Node, { kind, body }: FindOrder): Element[] {
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
  const found = new Set(page.all(root, css));
  const elements = [...elementsIn(page, root)];
  const shadows = elements.map((element) => page.shadowRoot(element)).filter((shadow) => shadow !== null);
  const own = root instanceof Element ? page.shadowRoot(root) : null;
  for (const shadow of own ? [own, ...shadows] : shadows) for (const element of page.all(shadow, css)) found.add(element);
  return elements.filter((element) => found.has(element));
}

export function byXpath(root: Node, expression: string): Element[] {
  // A shadow root is no node that XPath can start from.
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

/** The smallest elements that have the text; a button's text is its value. */
export function byText(page: Natives, root: Node, words: string): Element[] {
  const fits = textMatcher(words);
  const texts = new Map<Node, string>();
  // Where a part of a text is looked for, an element without it has no child with it.
  const isPart = !/^["'/]/.test(words);
  const found: Element[] = [];
  const search = (element: Element): void => {
    const itself = fits(textOf(page, element, texts));
    if (isPart && !itself) return;
    const before = found.length;
    for (const child of childrenOf(page, element)) if (child instanceof Element) search(child);
    if (itself && found.length === before) found.push(element);
  };
  for (const top of childrenOf(page, root)) if (top instanceof Element) search(top);
  return found;
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
  const known = texts.get(node);
  if (known !== undefined) return known;
  const name = page.name(node);
  let text = '';
  if (name === 'input') text = ['button', 'submit', 'reset'].includes(page.inputType(node)) ? page.inputValue(node) : '';
  else if (!['script', 'style', 'noscript', 'template', 'head'].includes(name))
    for (const child of childrenOf(page, node)) text += textOf(page, child, texts);
  texts.set(node, text);
  return text;
}

/** Fields by what labels them: `<label>`, `aria-labelledby`, `aria-label`. */
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
