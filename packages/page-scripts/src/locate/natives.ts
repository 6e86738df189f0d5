/**
 * Safe DOM access and helpers of the page scripts. Sent as text: these functions
 * use each other and nothing else of this module, see `page-scripts.ts`.
 *
 * A page may name its elements after properties that a script reads: a form's
 * `<input name="parentNode">` replaces its own, and `<img name="evaluate">` the
 * document's. So all reads use the getters of the prototypes, which are separate
 * in the isolated context.
 */

type Getter<Value> = (from: unknown) => Value;
type Setter<Value> = (on: unknown, value: Value) => void;

export function natives() {
  const getter = <Value>(of: object, name: string): Getter<Value> => {
    const get = Object.getOwnPropertyDescriptor(of, name)?.get;
    return (from) => get?.call(from) as Value;
  };
  const setter = <Value>(of: object, name: string): Setter<Value> => {
    const set = Object.getOwnPropertyDescriptor(of, name)?.set;
    return (on, value) => set?.call(on, value);
  };
  return {
    type: getter<number>(Node.prototype, 'nodeType'),
    lastChild: getter<Node | null>(Node.prototype, 'lastChild'),
    firstChild: getter<Node | null>(Node.prototype, 'firstChild'),
    next: getter<Node | null>(Node.prototype, 'nextSibling'),
    previous: getter<Node | null>(Node.prototype, 'previousSibling'),
    parent: getter<Node | null>(Node.prototype, 'parentNode'),
    isConnected: getter<boolean>(Node.prototype, 'isConnected'),
    nodeValue: getter<string | null>(Node.prototype, 'nodeValue'),
    textContent: getter<string | null>(Node.prototype, 'textContent'),
    baseUri: getter<string>(Node.prototype, 'baseURI'),
    rootOf: (node: Node): Node => Node.prototype.getRootNode.call(node),
    name: getter<string>(Element.prototype, 'localName'),
    shadowRoot: getter<ShadowRoot | null>(Element.prototype, 'shadowRoot'),
    assignedSlot: getter<HTMLSlotElement | null>(Element.prototype, 'assignedSlot'),
    scrollHeight: getter<number>(Element.prototype, 'scrollHeight'),
    scrollTop: getter<number>(Element.prototype, 'scrollTop'),
    innerHtml: getter<string>(Element.prototype, 'innerHTML'),
    outerHtml: getter<string>(Element.prototype, 'outerHTML'),
    attribute: (element: Element, name: string): string | null => Element.prototype.getAttribute.call(element, name),
    matches: (element: Element, css: string): boolean => Element.prototype.matches.call(element, css),
    rect: (element: Element): DOMRect => Element.prototype.getBoundingClientRect.call(element),
    rects: (element: Element): DOMRectList => Element.prototype.getClientRects.call(element),
    isShown: (element: Element): boolean =>
      Element.prototype.checkVisibility.call(element, { visibilityProperty: true, contentVisibilityAuto: false }),
    host: getter<Element>(ShadowRoot.prototype, 'host'),
    body: getter<HTMLElement | null>(Document.prototype, 'body'),
    root: getter<Element | null>(Document.prototype, 'documentElement'),
    readyState: getter<DocumentReadyState>(Document.prototype, 'readyState'),
    scrolling: getter<Element | null>(Document.prototype, 'scrollingElement'),
    innerText: getter<string>(HTMLElement.prototype, 'innerText'),
    isEditable: getter<boolean>(HTMLElement.prototype, 'isContentEditable'),
    isDraggable: getter<boolean>(HTMLElement.prototype, 'draggable'),
    control: getter<HTMLElement | null>(HTMLLabelElement.prototype, 'control'),
    inputType: getter<string>(HTMLInputElement.prototype, 'type'),
    inputValue: getter<string>(HTMLInputElement.prototype, 'value'),
    setInputValue: setter<string>(HTMLInputElement.prototype, 'value'),
    inputLabels: getter<NodeList | null>(HTMLInputElement.prototype, 'labels'),
    checked: getter<boolean>(HTMLInputElement.prototype, 'checked'),
    takesSeveral: getter<boolean>(HTMLInputElement.prototype, 'multiple'),
    areaValue: getter<string>(HTMLTextAreaElement.prototype, 'value'),
    options: getter<HTMLOptionsCollection>(HTMLSelectElement.prototype, 'options'),
    selectValue: getter<string>(HTMLSelectElement.prototype, 'value'),
    takesMany: getter<boolean>(HTMLSelectElement.prototype, 'multiple'),
    dispatch: (on: EventTarget, event: Event): boolean => EventTarget.prototype.dispatchEvent.call(on, event),
    byId: (root: Node, id: string): Element | null =>
      root instanceof Document
        ? Document.prototype.getElementById.call(root, id)
        : root instanceof DocumentFragment
          ? root.getElementById(id)
          : null,
    all: (root: Node, css: string): Element[] => {
      const of =
        root instanceof Document ? Document.prototype : root instanceof DocumentFragment ? DocumentFragment.prototype : Element.prototype;
      return Array.from(of.querySelectorAll.call(root as never, css));
    },
  };
}

export type Natives = ReturnType<typeof natives>;

/** The parent element, through slots and shadow roots. */
export function parentOf(page: Natives, element: Element): Element | null {
  const parent = page.assignedSlot(element) ?? page.parent(element);
  if (parent instanceof ShadowRoot) return page.host(parent);
  return parent instanceof Element ? parent : null;
}

/** All elements in a tree, in document order, an element's shadow tree before its children. */
export function* elementsIn(page: Natives, root: Node): Generator<Element> {
  const waiting: Node[] = [root];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (node !== root && node instanceof Element) yield node;
    for (let child = page.lastChild(node); child; child = page.previous(child)) if (page.type(child) === 1) waiting.push(child);
    const shadow = node instanceof Element ? page.shadowRoot(node) : null;
    if (shadow) waiting.push(shadow);
  }
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Whether it has a box that is not empty and is not hidden by styles. */
export function isVisible(page: Natives, element: Element): boolean {
  if (!page.isConnected(element)) return false;
  if (getComputedStyle(element).display === 'contents') {
    for (let child = page.firstChild(element); child; child = page.next(child))
      if (child instanceof Element ? isVisible(page, child) : page.type(child) === 3 && (page.nodeValue(child) ?? '').trim() !== '')
        return true;
    return false;
  }
  if (!page.isShown(element)) return false;
  const { width, height } = page.rect(element);
  return width > 0 && height > 0;
}

/** Describes an element for messages: `<a id="buy" class="big">`. */
export function describe(page: Natives, element: Element): string {
  const attributes = ['id', 'class', 'name', 'role', 'aria-label'].map((name) => [name, page.attribute(element, name)] as const);
  const shown = attributes.filter(([, value]) => value).map(([name, value]) => ` ${name}="${(value ?? '').slice(0, 60)}"`);
  return `<${page.name(element)}${shown.join('')}>`.slice(0, 200);
}

/** Matches text by a substring in any case, by `"the whole text"`, or by `/a regular expression/`. */
export function textMatcher(words: string): (text: string) => boolean {
  const quoted = /^"([^]*)"$|^'([^]*)'$/.exec(words);
  const expression = /^\/([^]+)\/([imsuv]*)$/.exec(words);
  if (expression) {
    const pattern = new RegExp(expression[1] ?? '', expression[2]);
    return (text) => pattern.test(oneLine(text));
  }
  const wanted = oneLine(quoted ? (quoted[1] ?? quoted[2] ?? '') : words);
  if (quoted) return (text) => oneLine(text) === wanted;
  const lower = wanted.toLowerCase();
  return (text) => oneLine(text).toLowerCase().includes(lower);
}
