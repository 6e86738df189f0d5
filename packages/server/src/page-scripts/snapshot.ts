/**
 * Serializes the document without changing it. Sent as text: these functions use
 * each other and nothing else of this module.
 *
 * A page may name its elements after properties that a script reads:
 * `<img name="body">` replaces `document.body`, and a form's
 * `<input name="childNodes">` its own. So all reads use the getters of the
 * prototypes, which are separate in the isolated context.
 */

export interface SnapshotOptions {
  /** Omits what the page's styles hide. */
  visibleOnly: boolean;
  /** Limit of the HTML in UTF-8. */
  maxBytes: number;
  /** Default true; false saves a layout of the whole page. */
  text?: boolean;
}

export interface Snapshot {
  /** The flat tree: open shadow roots are inlined in their hosts, and slots are filled. */
  html: string;
  title: string;
  /** The visible text, at most 100 000 characters. */
  text: string;
  /** The page exceeded `maxBytes`; the HTML is still well-formed. */
  truncated: boolean;
  /** Whether the page has open shadow roots, whose text `text` omits. */
  hasShadow: boolean;
}

export function takeSnapshot(options: SnapshotOptions): Snapshot {
  const page = natives();
  const hasShadow = hasShadowRoots(page);
  const plain = options.visibleOnly || hasShadow ? null : plainHtml(page, options.maxBytes);
  const { html, truncated } = plain === null ? serialize(page, options) : { html: plain, truncated: false };
  return {
    html,
    title: page.title(document) ?? '',
    text: options.text === false ? '' : readText(page),
    truncated,
    hasShadow,
  };
}

type Getter<Value> = (from: unknown) => Value;

/** The getters of the prototypes, each as a function of the object. */
export function natives() {
  const getter = <Value>(of: object, name: string): Getter<Value> => {
    const get = Object.getOwnPropertyDescriptor(of, name)?.get;
    return (from) => get?.call(from) as Value;
  };
  return {
    type: getter<number>(Node.prototype, 'nodeType'),
    children: getter<NodeListOf<ChildNode>>(Node.prototype, 'childNodes'),
    localName: getter<string>(Element.prototype, 'localName'),
    tagName: getter<string>(Element.prototype, 'tagName'),
    namespace: getter<string | null>(Element.prototype, 'namespaceURI'),
    shadowRoot: getter<ShadowRoot | null>(Element.prototype, 'shadowRoot'),
    assignedSlot: getter<HTMLSlotElement | null>(Element.prototype, 'assignedSlot'),
    textSlot: getter<HTMLSlotElement | null>(Text.prototype, 'assignedSlot'),
    content: getter<DocumentFragment>(HTMLTemplateElement.prototype, 'content'),
    innerText: getter<string>(HTMLElement.prototype, 'innerText'),
    textContent: getter<string | null>(Node.prototype, 'textContent'),
    body: getter<HTMLElement | null>(Document.prototype, 'body'),
    root: getter<Element | null>(Document.prototype, 'documentElement'),
    title: getter<string | undefined>(Document.prototype, 'title'),
    doctype: getter<DocumentType | null>(Document.prototype, 'doctype'),
    inputType: getter<string>(HTMLInputElement.prototype, 'type'),
    inputValue: getter<string>(HTMLInputElement.prototype, 'value'),
    checked: getter<boolean>(HTMLInputElement.prototype, 'checked'),
    selected: getter<boolean>(HTMLOptionElement.prototype, 'selected'),
    areaValue: getter<string>(HTMLTextAreaElement.prototype, 'value'),
    outerHtml: getter<string>(Element.prototype, 'outerHTML'),
    fields: (of: Document): NodeListOf<Element> => Document.prototype.querySelectorAll.call(of, 'input, textarea, select'),
    elements: (of: Document): HTMLCollectionOf<Element> => Document.prototype.getElementsByTagName.call(of, '*'),
    hasAttribute: (element: Element, name: string): boolean => Element.prototype.hasAttribute.call(element, name),
    attribute: (element: Element, name: string): string => Element.prototype.getAttribute.call(element, name) ?? '',
    attributeNames: (element: Element): string[] => Element.prototype.getAttributeNames.call(element),
    isInShadow: (element: Element): boolean => Node.prototype.getRootNode.call(element) instanceof ShadowRoot,
    assigned: (slot: Element): Node[] => HTMLSlotElement.prototype.assignedNodes.call(slot),
  };
}

type Natives = ReturnType<typeof natives>;

/** An element whose children are being written. Recursion would overflow at a few thousand levels. */
interface Level {
  nodes: Node[];
  next: number;
  /** Its end tag; '' for a hidden element whose children may be visible. */
  end: string;
  isRaw: boolean;
  isHidden: boolean;
}

export function hasShadowRoots(page: Natives): boolean {
  for (const element of page.elements(document)) if (page.shadowRoot(element)) return true;
  return false;
}

/** The browser's own serialization, which is many times faster. Null for a page with filled-in forms, or one that is too large. */
export function plainHtml(page: Natives, maxBytes: number): string | null {
  const root = page.root(document);
  if (!root) return null;
  for (const element of page.fields(document)) if (isFilledIn(page, element)) return null;
  const html = (page.doctype(document) ? '<!DOCTYPE html>' : '') + page.outerHtml(root);
  return html.length > maxBytes / 3 && new TextEncoder().encode(html).length > maxBytes ? null : html;
}

export function isFilledIn(page: Natives, element: Element): boolean {
  if (element instanceof HTMLTextAreaElement) return page.areaValue(element) !== (page.textContent(element) ?? '');
  if (element instanceof HTMLSelectElement) return true;
  if (!(element instanceof HTMLInputElement)) return false;
  const type = page.inputType(element);
  if (type === 'checkbox' || type === 'radio') return page.checked(element) !== page.hasAttribute(element, 'checked');
  return type !== 'password' && type !== 'file' && page.inputValue(element) !== page.attribute(element, 'value');
}

export function serialize(page: Natives, options: SnapshotOptions): { html: string; truncated: boolean } {
  const output = limitedOutput(options.maxBytes);
  const root = page.root(document);
  if (page.doctype(document)) output.add('<!DOCTYPE html>', '');
  const levels: Level[] = [{ nodes: root ? [root] : [], next: 0, end: '', isRaw: false, isHidden: false }];
  for (let level = levels.at(-1); level && !output.full(); level = levels.at(-1)) {
    const node = level.nodes[level.next];
    level.next += 1;
    if (node === undefined) {
      output.close(level.end);
      levels.pop();
    } else if (page.type(node) === 1) {
      const inner = openElement(page, node as Element, options, output);
      if (inner) levels.push(inner);
    } else if (page.type(node) === 3 && !level.isHidden) {
      const { data } = node as Text;
      output.addText(level.isRaw ? data : escapeText(data), level.isRaw);
    } else if (page.type(node) === 4) {
      output.addText(escapeText((node as CDATASection).data), false);
    } else if (page.type(node) === 8 && !/^-?>|--/.test((node as Comment).data)) {
      output.add(`<!--${(node as Comment).data}-->`, '');
    }
  }
  for (const level of levels.toReversed()) output.close(level.end);
  return { html: output.toString(), truncated: output.full() };
}

/** Writes the start tag. Returns null if there are no children to write. */
export function openElement(
  page: Natives,
  element: Element,
  options: SnapshotOptions,
  output: ReturnType<typeof limitedOutput>,
): Level | null {
  const isHtml = page.namespace(element) === 'http://www.w3.org/1999/xhtml';
  const name = isHtml ? page.localName(element) : page.tagName(element);
  // A shadow root's styles are scoped; in the flat tree they would apply to the page.
  if ((name === 'style' || name === 'link') && page.isInShadow(element)) return null;
  const visibility = options.visibleOnly ? visibilityOf(name, element) : 'shown';
  if (visibility === 'none') return null;
  const nodes = childrenOf(page, name, element, options);
  const inner = { nodes, next: 0, end: '', isRaw: false, isHidden: visibility === 'hidden' };
  if (visibility === 'hidden' || (name === 'slot' && page.isInShadow(element))) return inner;
  const tag = `<${name}${attributesOf(page, name, element)}>`;
  const isVoid =
    isHtml && /^(area|base|basefont|bgsound|br|col|embed|frame|hr|img|input|keygen|link|meta|param|source|track|wbr)$/.test(name);
  const end = isVoid ? '' : `</${name}>`;
  if (!output.add(tag, end)) return null;
  if (name === 'textarea' && isHtml) {
    // HTML ignores the first newline after the tag.
    output.addText(`\n${escapeText(page.areaValue(element))}`, false);
    return { ...inner, nodes: [], end };
  }
  return isVoid ? null : { ...inner, end, isRaw: isHtml && /^(style|script|xmp|iframe|noembed|noframes|noscript|plaintext)$/.test(name) };
}

/** Whether the page's styles show an element: 'none' hides the whole subtree, 'hidden' may be overridden by descendants. */
export function visibilityOf(name: string, element: Element): 'shown' | 'hidden' | 'none' {
  // Elements that are never rendered describe the page or belong to rendered ones. Some pages hide their body until a script has finished.
  if (/^(html|body|head|title|meta|base|link|style|script|template|noscript|area|map|source|track|param|col|colgroup|slot)$/.test(name))
    return 'shown';
  const { display, visibility } = getComputedStyle(element);
  if (display === 'none') return 'none';
  return visibility === 'hidden' || visibility === 'collapse' ? 'hidden' : 'shown';
}

/** The children in the flat tree. */
export function childrenOf(page: Natives, name: string, element: Element, options: SnapshotOptions): Node[] {
  if (element instanceof HTMLTemplateElement) return [...page.children(page.content(element))];
  const own = [...page.children(element)];
  const shadow = page.shadowRoot(element);
  if (shadow) {
    const slotOf = (node: Node): unknown =>
      page.type(node) === 1 ? page.assignedSlot(node) : page.type(node) === 3 ? page.textSlot(node) : shadow;
    const isData = (node: Node): boolean => page.type(node) === 1 && page.localName(node) === 'script';
    return [...page.children(shadow), ...own.filter((node) => slotOf(node) === null && (!options.visibleOnly || isData(node)))];
  }
  if (name !== 'slot' || !page.isInShadow(element)) return own;
  const assigned = page.assigned(element);
  return assigned.length > 0 ? assigned : own;
}

/** Attributes with the current form values; a password keeps its original attribute. */
export function attributesOf(page: Natives, name: string, element: Element): string {
  const values = new Map(page.attributeNames(element).map((attribute) => [attribute, page.attribute(element, attribute)]));
  const setFlag = (attribute: string, on: boolean): void => void (on ? values.set(attribute, '') : values.delete(attribute));
  if (element instanceof HTMLInputElement) {
    const type = page.inputType(element);
    if (type === 'checkbox' || type === 'radio') setFlag('checked', page.checked(element));
    else if (type !== 'password' && type !== 'file' && page.inputValue(element) !== (values.get('value') ?? ''))
      values.set('value', page.inputValue(element));
  }
  if (element instanceof HTMLOptionElement) setFlag('selected', page.selected(element));
  let text = '';
  for (const [attribute, value] of values) text += ` ${attribute}="${escapeText(value).replace(/"/g, '&quot;')}"`;
  return text;
}

export function escapeText(text: string): string {
  return text.replace(/[&<>\u00a0]/g, (letter) =>
    letter === '&' ? '&amp;' : letter === '<' ? '&lt;' : letter === '>' ? '&gt;' : '&nbsp;',
  );
}

/** HTML of at most `maxBytes`: room for an end tag is reserved with its start tag, and text is cut. */
export function limitedOutput(maxBytes: number) {
  const encoder = new TextEncoder();
  const parts: string[] = [];
  let left = maxBytes;
  let isFull = false;
  const bytesOf = (text: string): number => (/^[\0-\x7f]*$/.test(text) ? text.length : encoder.encode(text).length);
  const add = (text: string, end: string): boolean => {
    const bytes = bytesOf(text) + bytesOf(end);
    if (isFull || bytes > left) {
      isFull = true;
      return false;
    }
    left -= bytes;
    parts.push(text);
    return true;
  };
  return {
    add,
    addText: (text: string, isRaw: boolean): void => {
      const room = left;
      if (add(text, '') || isRaw) return;
      // Whole characters and entities only.
      const { read } = encoder.encodeInto(text, new Uint8Array(Math.min(room, text.length * 3)));
      parts.push(text.slice(0, read).replace(/&[^;]{0,5}$/, ''));
      left = 0;
    },
    close: (end: string): void => void parts.push(end),
    full: (): boolean => isFull,
    toString: (): string => parts.join(''),
  };
}

export function readText(page: Natives): string {
  const body = page.body(document);
  const text = body ? page.innerText(body) : page.textContent(page.root(document) ?? document);
  return (text ?? '').slice(0, 100_000).replace(/[\ud800-\udbff]$/, '');
}
