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
  /** Omits what the page's styles hide, and marks what they display otherwise than its tag says: the HTML is for reading. */
  visibleOnly: boolean;
  /** Limit of the HTML in UTF-8. */
  maxBytes: number;
}

export interface Snapshot {
  /** The flat tree: open shadow roots are inlined in their hosts, and slots are filled. */
  html: string;
  title: string;
  /** The page exceeded `maxBytes`; the HTML is still well-formed. */
  truncated: boolean;
}

export function takeSnapshot(options: SnapshotOptions): Snapshot {
  const page = natives();
  const plain = options.visibleOnly || hasShadowRoots(page) ? null : plainHtml(page, options.maxBytes);
  const { html, truncated } = plain === null ? serialize(page, options) : { html: plain, truncated: false };
  return { html, title: page.title(document) ?? '', truncated };
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
  /** How it displays its children: `flex`, `inline-grid`. */
  display: string;
  /** What happens to the white space of its text, as the conversion knows it: `normal`, `pre` or `lines`. */
  space: string;
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
  const outermost = { end: '', isRaw: false, isHidden: false, display: 'block', space: 'normal' };
  const levels: Level[] = [{ ...outermost, nodes: root ? [root] : [], next: 0 }];
  for (let level = levels.at(-1); level && !output.full(); level = levels.at(-1)) {
    const node = level.nodes[level.next];
    level.next += 1;
    if (node === undefined) {
      output.close(level.end);
      levels.pop();
    } else if (page.type(node) === 1) {
      const inner = openElement(page, node as Element, level, { options, output });
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
  around: Level,
  { options, output }: { options: SnapshotOptions; output: ReturnType<typeof limitedOutput> },
): Level | null {
  const isHtml = page.namespace(element) === 'http://www.w3.org/1999/xhtml';
  const name = isHtml ? page.localName(element) : page.tagName(element);
  // A shadow root's styles are scoped; in the flat tree they would apply to the page.
  if ((name === 'style' || name === 'link') && page.isInShadow(element)) return null;
  const visibility = options.visibleOnly ? visibilityOf(name, element) : 'shown';
  if (visibility === 'none') return null;
  const nodes = childrenOf(page, name, element, options);
  const { display, space, marks } = options.visibleOnly ? layoutOf(page, name, element, around) : { ...around, marks: null };
  const inner = { nodes, next: 0, end: '', isRaw: false, isHidden: visibility === 'hidden', display, space };
  if (visibility === 'hidden' || (name === 'slot' && page.isInShadow(element))) return inner;
  const tag = `<${name}${attributesOf(page, element, marks)}>`;
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

/** How an element is displayed. `marks`: what its tag does not say, in the words that the conversion reads. */
export function layoutOf(
  page: Natives,
  name: string,
  element: Element,
  around: Level,
): { display: string; space: string; marks: string[] } {
  const isRendered =
    element instanceof HTMLElement &&
    !/^(head|title|meta|base|link|style|script|template|noscript|area|map|source|track|param|col|colgroup|slot|w?br|input|select|option|optgroup)$/.test(
      name,
    );
  if (!isRendered) return { display: around.display, space: around.space, marks: [] };
  const style = getComputedStyle(element);
  const { display } = style;
  const space = spaceOf(style);
  // The mark of the root says that styles were read.
  const marks = name === 'html' ? ['computed'] : [];
  const place = isInitial(page, element, style) ? '' : placeOf(name, style, around);
  if (place !== '') marks.push(place);
  if (space !== (/^(pre|textarea|listing|xmp|plaintext)$/.test(name) ? 'pre' : around.space)) {
    const isCode = space === 'pre' && !display.startsWith('inline') && /mono|courier|consolas|menlo/i.test(style.fontFamily.slice(0, 200));
    marks.push(isCode ? 'code' : `space-${space}`);
  }
  if (/^(super|sub)$/.test(style.verticalAlign) && !/^su[bp]$/.test(name)) marks.push(style.verticalAlign === 'sub' ? 'sub' : 'sup');
  return { display: display === 'contents' ? around.display : display, space, marks };
}

/** What happens to white space: `normal`, `pre`, or `lines` where only line ends stay. Older browsers have one property for it. */
export function spaceOf({ whiteSpaceCollapse, whiteSpace }: CSSStyleDeclaration): string {
  const value = whiteSpaceCollapse || whiteSpace;
  if (/preserve-breaks|pre-line/.test(value)) return 'lines';
  return /^(pre|break-spaces)/.test(value) ? 'pre' : 'normal';
}

/** Whether an element is the large first letter of a paragraph. */
export function isInitial(page: Natives, element: Element, { cssFloat }: CSSStyleDeclaration): boolean {
  if (cssFloat === 'none') return false;
  const [first, ...others] = page.children(element);
  return first !== undefined && others.length === 0 && page.type(first) === 3 && (first as Text).data.trim().length <= 2;
}

/** `block`, `inline`, or `gap` for what stands apart in its line; '' where the tag says it. */
export function placeOf(name: string, style: CSSStyleDeclaration, { display: outer }: Level): string {
  const { display, position, cssFloat } = style;
  if (/^(address|article|aside|center|div|fieldset|figcaption|figure|footer|form|header|hgroup|main|nav|p|search|section)$/.test(name))
    return display === 'inline' || display === 'contents' ? 'inline' : '';
  // Structure is more than its display: a list in one line is a list.
  if (
    /^(html|body|blockquote|d[dlt]|details|dialog|dir|h[1-6]|hr|legend|li|listing|menu|[ou]l|optgroup|option|plaintext|pre|summary|xmp)$/.test(
      name,
    ) ||
    /^(table|caption|thead|tbody|tfoot|tr|td|th|textarea)$/.test(name)
  )
    return '';
  if (/^(inline|ruby|contents|math|none)/.test(display)) return marginOf(style);
  const isBesideText = cssFloat !== 'none' || position === 'absolute' || position === 'fixed' || /^inline-(flex|grid)$/.test(outer);
  return isBesideText || display === 'table-cell' ? 'gap' : 'block';
}

/** Margins as wide as a blank keep words apart as one. */
export function marginOf({ marginLeft, marginRight, fontSize }: CSSStyleDeclaration): string {
  const blank = parseFloat(fontSize) / 4;
  const [isBefore, isAfter] = [parseFloat(marginLeft) >= blank, parseFloat(marginRight) >= blank];
  return isBefore && isAfter ? 'gap' : isBefore ? 'gap-before' : isAfter ? 'gap-after' : '';
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

/** Attributes with the current form values; a password keeps its original attribute. With `marks`, no mark is the page's own. */
export function attributesOf(page: Natives, element: Element, marks: string[] | null): string {
  const values = new Map(page.attributeNames(element).map((attribute) => [attribute, page.attribute(element, attribute)]));
  const setFlag = (attribute: string, on: boolean): void => void (on ? values.set(attribute, '') : values.delete(attribute));
  if (element instanceof HTMLInputElement) {
    const type = page.inputType(element);
    if (type === 'checkbox' || type === 'radio') setFlag('checked', page.checked(element));
    else if (type !== 'password' && type !== 'file' && page.inputValue(element) !== (values.get('value') ?? ''))
      values.set('value', page.inputValue(element));
  }
  if (element instanceof HTMLOptionElement) setFlag('selected', page.selected(element));
  if (marks) values.delete('data-berth-layout');
  if (marks && marks.length > 0) values.set('data-berth-layout', marks.join(' '));
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
