/**
 * Serializes the document without changing it. Sent as text, together with
 * `hiding.ts`: these functions use each other and nothing else of this module.
 *
 * A page may name its elements after properties that a script reads:
 * `<img name="body">` replaces `document.body`, and a form's
 * `<input name="childNodes">` its own. So all reads use the getters of the
 * prototypes, which are separate in the isolated context.
 */
import { pageHiding, type Hiding } from './hiding.ts';

export interface SnapshotOptions {
  /** Omits what the page's styles hide, and marks what they display otherwise than its tag says: the HTML is for reading. */
  visibleOnly: boolean;
  /** Limit of the HTML in UTF-8. */
  maxBytes: number;
  /** The HTML has the documents of frames in their place; `visibleOnly` implies it. */
  withFrames?: boolean;
  /** The number of frames around the document of a frame. The HTML is what its body holds, with absolute addresses. */
  frameDepth?: number;
}

export interface Snapshot {
  /** The flat tree: open shadow roots are inlined in their hosts, and slots are filled. */
  html: string;
  title: string;
  /** The page exceeded `maxBytes`; the HTML is still well-formed. */
  truncated: boolean;
  /** Whether, with `visibleOnly`, the page hides itself as a whole. The HTML has what it would show. */
  isHidden: boolean;
  hasFrames: boolean;
  /** The visible frames whose documents are not in the HTML: of other sites, too many, or all of them. Those of `gaps` count. */
  framesLeftOut: number;
  /** Places in the HTML, in UTF-16 units, for the documents of visible frames that the page may not read. `takeGaps` has their elements. */
  gaps: number[];
}

/** Takes a snapshot of the document, or of an element with all that it holds. */
export function takeSnapshot(given: SnapshotOptions, element: Element | null = null): Snapshot {
  const page = natives();
  const options = { ...given, withFrames: given.withFrames ?? given.visibleOnly };
  // What is not displayed has no visible part, so a caller who names it gets all.
  if (element !== null && !isDisplayed(element)) options.visibleOnly = false;
  const { visibleOnly, withFrames, frameDepth, maxBytes } = options;
  const root = element ?? page.root(document);
  const title = page.title(document) ?? '';
  const frames = root && !visibleOnly ? framesIn(page, root) : [];
  const nothing = { html: '', title, truncated: false, isHidden: false, hasFrames: frames.length > 0, framesLeftOut: 0, gaps: [] };
  if (frameDepth !== undefined && visibleOnly && (isFilm(page, document) || isHiddenDocument(page, document))) return nothing;
  const needsWalk = visibleOnly || frameDepth !== undefined || (withFrames && frames.length > 0);
  const plain = !root || needsWalk || hasShadowRoots(page) ? null : plainHtml(page, root, maxBytes);
  if (plain !== null) return { ...nothing, html: plain, framesLeftOut: frames.filter((frame) => isUnsaid(page, frame)).length };
  const { gaps, ...serialized } = serialize(page, root, options);
  keepGaps(
    String(given.visibleOnly),
    gaps.map((gap) => gap.element),
  );
  return { ...serialized, title, gaps: gaps.map(({ at }) => at) };
}

export function isDisplayed(element: Element): boolean {
  return Element.prototype.checkVisibility.call(element) || getComputedStyle(element).display === 'contents';
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
    frameDocument: getter<Document | null>(HTMLIFrameElement.prototype, 'contentDocument'),
    oldFrameDocument: getter<Document | null>(HTMLFrameElement.prototype, 'contentDocument'),
    baseUri: getter<string>(Node.prototype, 'baseURI'),
    rect: (element: Element): DOMRect => Element.prototype.getBoundingClientRect.call(element),
    title: getter<string | undefined>(Document.prototype, 'title'),
    objectDocument: getter<Document | null>(HTMLObjectElement.prototype, 'contentDocument'),
    doctype: getter<DocumentType | null>(Document.prototype, 'doctype'),
    inputType: getter<string>(HTMLInputElement.prototype, 'type'),
    inputValue: getter<string>(HTMLInputElement.prototype, 'value'),
    checked: getter<boolean>(HTMLInputElement.prototype, 'checked'),
    selected: getter<boolean>(HTMLOptionElement.prototype, 'selected'),
    areaValue: getter<string>(HTMLTextAreaElement.prototype, 'value'),
    outerHtml: getter<string>(Element.prototype, 'outerHTML'),
    all: (of: Element, selector: string): NodeListOf<Element> => Element.prototype.querySelectorAll.call(of, selector),
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
  /** Whether its content is cut off, except what is positioned by something around it. */
  isClipped: boolean;
  /** Boxes say nothing: it is collapsed, or in a page without boxes. */
  isCollapsed: boolean;
  /** The address of the frame's document; null in the page's own. */
  base: string | null;
  frameDepth: number;
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
export function plainHtml(page: Natives, root: Element, maxBytes: number): string | null {
  if (isFilledIn(page, root)) return null;
  for (const element of page.all(root, 'input, textarea, select')) if (isFilledIn(page, element)) return null;
  const hasDoctype = root === page.root(document) && page.doctype(document);
  const html = (hasDoctype ? '<!DOCTYPE html>' : '') + page.outerHtml(root);
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

/** The state that the serialization of one page shares. */
interface Writing {
  options: SnapshotOptions;
  output: ReturnType<typeof limitedOutput>;
  hiding: Hiding;
  frames: { seen: number; read: number; leftOut: number };
  gaps: { at: number; element: Element }[];
}

export function serialize(
  page: Natives,
  root: Element | null,
  options: SnapshotOptions,
): Omit<Snapshot, 'title' | 'gaps'> & Pick<Writing, 'gaps'> {
  const output = limitedOutput(options.maxBytes);
  const hiding = options.visibleOnly ? pageHiding() : { by: [], isInherited: false, isWithoutBoxes: false };
  const writing: Writing = { options, output, hiding, frames: { seen: 0, read: 0, leftOut: 0 }, gaps: [] };
  const { frameDepth } = options;
  const body = frameDepth === undefined ? null : page.body(document);
  const nodes = body ? nodesOfFrame(page, body) : root ? [root] : [];
  const isWhole = root === page.root(document);
  if (frameDepth === undefined && isWhole && page.doctype(document)) output.add('<!DOCTYPE html>', '');
  // The mark of the root says that styles were read.
  const end = options.visibleOnly && frameDepth === undefined && !isWhole ? '</body></html>' : '';
  if (end !== '') output.add('<html data-berth-layout="computed"><body>', end);
  const outermost = {
    end: '',
    isRaw: false,
    isHidden: false,
    display: 'block',
    space: 'normal',
    isClipped: false,
    base: frameDepth === undefined ? null : page.baseUri(document).slice(0, 8192),
    frameDepth: frameDepth ?? 0,
  };
  const levels: Level[] = [{ ...outermost, isCollapsed: hiding.isWithoutBoxes, nodes, next: 0 }];
  for (let level = levels.at(-1); level && !output.full(); level = levels.at(-1)) {
    const node = level.nodes[level.next];
    level.next += 1;
    if (node === undefined) {
      output.close(level.end);
      levels.pop();
    } else if (page.type(node) === 1) {
      const inner = openElement(page, node as Element, level, writing);
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
  output.close(end);
  const { frames, gaps } = writing;
  return {
    html: output.toString(),
    truncated: output.full(),
    isHidden: hiding.by.length > 0,
    hasFrames: frames.seen > 0,
    framesLeftOut: frames.leftOut,
    gaps,
  };
}

/** Writes the start tag. Returns null if there are no children to write. */
export function openElement(page: Natives, element: Element, around: Level, writing: Writing): Level | null {
  const { options, output } = writing;
  const isHtml = page.namespace(element) === 'http://www.w3.org/1999/xhtml';
  const name = isHtml ? page.localName(element) : page.tagName(element);
  // A shadow root's styles are scoped; in the flat tree they would apply to the page.
  if ((name === 'style' || name === 'link') && page.isInShadow(element)) return null;
  const visibility = options.visibleOnly ? visibilityOf(page, name, element, { around, hiding: writing.hiding }) : 'shown';
  if (visibility === 'none') return null;
  const nodes = childrenOf(page, name, element, options);
  const { display, space, marks } = options.visibleOnly ? layoutOf(page, name, element, around) : { ...around, marks: null };
  const isSlot = name === 'slot' && page.isInShadow(element);
  const isClipped = visibility === 'clipped' || (isSlot && around.isClipped);
  const isHidden = visibility === 'hidden' || isClipped || (isSlot && around.isHidden);
  const isCollapsed = around.isCollapsed || isCollapsible(page, name, element);
  const inner = { ...around, nodes, next: 0, end: '', isRaw: false, isHidden, isClipped, isCollapsed, display, space };
  if (isHidden || isSlot) return inner;
  const isFrame = isHtml && (/^(i?frame|frameset)$/.test(name) || isObjectFrame(page, element));
  writing.frames.seen += Number(isFrame);
  if (isFrame && options.withFrames === true) return openFrame(page, element, { name, inner, writing });
  if (isFrame && name !== 'frameset' && isUnsaid(page, element)) writing.frames.leftOut += 1;
  const tag = `<${name}${attributesOf(page, element, marks, around.base)}>`;
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

/** Writes what the frame shows, or the frame itself where its document is out of reach. */
export function openFrame(
  page: Natives,
  element: Element,
  { name, inner, writing }: { name: string; inner: Level; writing: Writing },
): Level | null {
  const { options, output, frames } = writing;
  if (name === 'frameset') return output.add('<div>', '</div>') ? { ...inner, end: '</div>' } : null;
  const { width, height } = page.rect(element);
  // Smaller ones count visits.
  const isLarge = width > 1 && height > 1;
  const shown = documentOf(page, element);
  const body = shown && page.body(shown);
  if (!body || (options.visibleOnly && !isLarge && !inner.isCollapsed))
    return openGap(page, element, { name, inner, writing, isGap: isLarge });
  const isEmpty = page.children(body).length === 0;
  // A film is a link, and text that a frame hides is not seen.
  if (isEmpty || (options.visibleOnly && isFilm(page, shown))) return openGap(page, element, { name, inner, writing, isGap: false });
  if (options.visibleOnly && isHiddenDocument(page, shown)) return null;
  // Nobody reads more frames; frames in frames in frames are loops.
  if (frames.read >= 50 || inner.frameDepth >= 5) {
    frames.leftOut += Number(isLarge);
    return openGap(page, element, { name, inner, writing, isGap: false });
  }
  frames.read += 1;
  if (!options.visibleOnly && name !== 'frame' && !output.add(`<${name}${attributesOf(page, element, null, inner.base)}></${name}>`, ''))
    return null;
  const { start, end } = frameTags(name, options);
  if (!output.add(start, end)) return null;
  const base = page.baseUri(body).slice(0, 8192);
  return { ...inner, nodes: nodesOfFrame(page, body), end, display: 'block', space: 'normal', base, frameDepth: inner.frameDepth + 1 };
}

/**
 * What is around the document of a frame. Where a page is read by selectors, a
 * frame stays what it is: its document is a template behind it, which the
 * conversion moves into it.
 */
export function frameTags(name: string, { visibleOnly }: SnapshotOptions): { start: string; end: string } {
  if (visibleOnly || name === 'frame') return { start: '<div>', end: '</div>' };
  return { start: '<template data-berth-frame=""><div>', end: '</div></template>' };
}

/** Writes the frame itself and, with `isGap`, a place for its document. The end tag is written at once: what it holds is for browsers without frames. */
export function openGap(
  page: Natives,
  element: Element,
  { name, inner, writing, isGap }: { name: string; inner: Level; writing: Writing; isGap: boolean },
): null {
  const { options, output, frames, gaps } = writing;
  const { width, height } = page.rect(element);
  frames.leftOut += Number(isGap);
  if (options.visibleOnly && !(width > 1 && height > 1) && !inner.isCollapsed) return null;
  const tag = name === 'object' ? 'object' : 'iframe';
  const attributes = attributesOf(page, element, options.visibleOnly ? [] : null, inner.base);
  if (!output.add(`<${tag}${attributes}></${tag}>`, '') || !isGap) return null;
  const { start, end } = frameTags(name, options);
  if (output.add(start, end)) {
    gaps.push({ at: output.chars(), element });
    output.close(end);
  }
  return null;
}

/** The document of a frame element; null where the page may not read it. */
export function documentOf(page: Natives, element: Element): Document | null {
  const name = page.localName(element);
  if (name === 'object') return page.objectDocument(element);
  return name === 'frame' ? page.oldFrameDocument(element) : page.frameDocument(element);
}

export function nodesOfFrame(page: Natives, body: Element): Node[] {
  return page.localName(body) === 'frameset' ? [body] : childrenOf(page, 'body', body, { visibleOnly: true, maxBytes: 0 });
}

/** The frames of the page's own tree. */
export function framesIn(page: Natives, root: Element): Element[] {
  return [...page.all(root, 'iframe, frame, object')].filter(
    (element) => page.localName(element) !== 'object' || isObjectFrame(page, element),
  );
}

/** Pictures and plug-ins have no body. */
export function isObjectFrame(page: Natives, element: Element): boolean {
  const shown = element instanceof HTMLObjectElement ? page.objectDocument(element) : null;
  return shown !== null && page.body(shown) !== null;
}

/** Whether a visible frame shows something that the HTML of the page does not say. */
export function isUnsaid(page: Natives, element: Element): boolean {
  const { width, height } = page.rect(element);
  if (width <= 1 || height <= 1 || page.hasAttribute(element, 'srcdoc')) return false;
  const shown = documentOf(page, element);
  const body = shown && page.body(shown);
  return !body || page.children(body).length > 0;
}

/** Whether most of what the document shows is a film: it has no text but that of its buttons. */
export function isFilm(page: Natives, shown: Document): boolean {
  const root = page.root(shown);
  if (!root) return false;
  const { width, height } = page.rect(root);
  const room = Math.max(width * height, 1);
  return [...page.all(root, 'video')].slice(0, 20).some((video) => {
    const film = page.rect(video);
    return film.width * film.height > room / 2;
  });
}

/** Whether a frame shows nothing, as many do until they are needed. */
export function isHiddenDocument(page: Natives, shown: Document): boolean {
  return [page.root(shown), page.body(shown)].some((element) => {
    const { display, opacity } = element ? getComputedStyle(element) : { display: '', opacity: '' };
    return display === 'none' || opacity === '0';
  });
}

/** The elements are kept in the isolated context, which the page cannot read, until they are taken. */
export function keepGaps(key: string, elements: Element[]): void {
  const context = globalThis as { berthGaps?: Record<string, Element[]> };
  context.berthGaps = { ...context.berthGaps, [key]: elements };
}

/** The elements at the gaps of the last snapshot with this `visibleOnly`. */
export function takeGaps(visibleOnly: boolean, max: number): Element[] {
  const context = globalThis as { berthGaps?: Record<string, Element[]> };
  const elements = context.berthGaps?.[String(visibleOnly)] ?? [];
  keepGaps(String(visibleOnly), []);
  return elements.slice(0, max);
}

/** Whether it is closed now, and opens where a visitor asks for it: its answers are text of the page. */
export function isCollapsible(page: Natives, name: string, element: Element): boolean {
  if (name === 'details') return !page.hasAttribute(element, 'open');
  return page.attribute(element, 'hidden').toLowerCase() === 'until-found';
}

/**
 * Whether the page's styles show an element: 'none' hides the whole subtree,
 * 'hidden' may be overridden by descendants, and 'clipped' by those that
 * something around the element positions.
 */
export function visibilityOf(
  page: Natives,
  name: string,
  element: Element,
  { around, hiding }: { around: Level; hiding: Hiding },
): 'shown' | 'hidden' | 'clipped' | 'none' {
  // Elements that are never rendered describe the page or belong to rendered ones.
  if (/^(html|body|head|title|meta|base|link|style|script|template|noscript|area|map|source|track|param|col|colgroup|slot)$/.test(name))
    return 'shown';
  // Browsers hide the source of a formula, which says it best.
  if (/^annotation(-xml)?$/.test(name)) return 'shown';
  if (hiding.by.includes(element)) return 'shown';
  const style = getComputedStyle(element);
  if (style.display === 'none') return 'none';
  // Beside a formula that is drawn by spans, its MathML is cut off.
  if (name === 'mjx-assistive-mml' || /\b(katex-mathml|MJX_Assistive_MathML)\b/.test(page.attribute(element, 'class'))) return 'shown';
  if (style.contentVisibility === 'hidden' && !isCollapsible(page, name, element)) return 'none';
  if (isTransparent(element, style)) return 'none';
  const isPlaced = /^(absolute|fixed)$/.test(style.position);
  if (around.isClipped && !isPlaced) return style.position === 'static' ? 'clipped' : 'none';
  const isCut = !around.isCollapsed && isCutOff(page, name, element, style);
  if (isCut) return style.position === 'static' ? 'clipped' : 'none';
  const isInvisible = style.visibility === 'hidden' || style.visibility === 'collapse';
  return isInvisible && !(hiding.isInherited && around.base === null) ? 'hidden' : 'shown';
}

/** What is only transparent until a visitor scrolls to it, in its place in the page, counts as shown. */
export function isTransparent(element: Element, style: CSSStyleDeclaration): boolean {
  if (style.opacity !== '0') return false;
  if (Element.prototype.getAnimations.call(element).some(({ playState }) => playState === 'running')) return false;
  const fades = /\b(opacity|all)\b/.test(style.transitionProperty) && /[1-9]/.test(style.transitionDuration);
  const isInPlace = /^(static|relative)$/.test(style.position) && style.pointerEvents !== 'none';
  return !isInPlace || !(fades || style.transform !== 'none' || style.willChange.includes('opacity'));
}

/** Whether nothing of an element can be seen: it has no size and cuts off what is larger, or stands outside of the page. */
export function isCutOff(page: Natives, name: string, element: Element, style: CSSStyleDeclaration): boolean {
  const { clip, clipPath, position, display, overflowX, overflowY } = style;
  if (/^(inset\(([5-9]\d|\d{3,})(\.\d+)?%|circle\(0(px|%)?\b|polygon\((0(px|%)?[ ,]*)+\))/.test(clipPath)) return true;
  if (position === 'absolute' || position === 'fixed') {
    const [top = 0, right = 0, bottom = 0, left = 0] = (/^rect\(([^)]*)\)/.exec(clip)?.[1] ?? '').split(/[ ,]+/).map(parseFloat);
    if (clip !== 'auto' && right - left <= 1 && bottom - top <= 1) return true;
    const rect = page.rect(element);
    if ((parseFloat(style.left) < -900 && rect.right < 0) || (parseFloat(style.top) < -900 && rect.bottom < 0)) return true;
  }
  if (overflowX === 'visible' || overflowY === 'visible' || /^(inline|contents)$/.test(display)) return false;
  if (/^(img|svg|video|audio|canvas|iframe|frame|object|embed|input|textarea|select|button|math)$/.test(name)) return false;
  const { width, height } = page.rect(element);
  return width <= 1 || height <= 1;
}

/** How an element is displayed. `marks`: what its tag does not say, in the words that the conversion reads. */
export function layoutOf(
  page: Natives,
  name: string,
  element: Element,
  around: Level,
): { display: string; space: string; marks: string[] } {
  // By namespace: elements in frames are of other classes.
  const isRendered =
    page.namespace(element) === 'http://www.w3.org/1999/xhtml' &&
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

/**
 * Attributes with the current form values; a password keeps its original attribute.
 * With `marks`, no mark is the page's own, and nothing says that the element is
 * hidden, because it is not. With `base`, addresses are absolute.
 */
export function attributesOf(page: Natives, element: Element, marks: string[] | null, base: string | null): string {
  const values = new Map(page.attributeNames(element).map((attribute) => [attribute, page.attribute(element, attribute)]));
  const setFlag = (attribute: string, on: boolean): void => void (on ? values.set(attribute, '') : values.delete(attribute));
  if (element instanceof HTMLInputElement) {
    const type = page.inputType(element);
    if (type === 'checkbox' || type === 'radio') setFlag('checked', page.checked(element));
    else if (type !== 'password' && type !== 'file' && page.inputValue(element) !== (values.get('value') ?? ''))
      values.set('value', page.inputValue(element));
  }
  if (element instanceof HTMLOptionElement) setFlag('selected', page.selected(element));
  // What a frame shows stands in its place.
  if (marks) for (const attribute of ['data-berth-layout', 'hidden', 'srcdoc']) values.delete(attribute);
  if (marks && /display\s{0,9}:\s{0,9}none/i.test(values.get('style') ?? '')) values.delete('style');
  if (base !== null) makeAbsolute(values, base);
  if (marks && marks.length > 0) values.set('data-berth-layout', marks.join(' '));
  let text = '';
  for (const [attribute, value] of values) text += ` ${attribute}="${escapeText(value).replace(/"/g, '&quot;')}"`;
  return text;
}

export function makeAbsolute(values: Map<string, string>, base: string): void {
  for (const name of ['href', 'src', 'data', 'poster', 'data-src', 'data-original', 'data-lazy-src']) {
    const value = values.get(name);
    if (value !== undefined && value.length <= 8192 && URL.canParse(value, base)) values.set(name, new URL(value, base).href);
  }
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
  let chars = 0;
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
    chars += text.length;
    return true;
  };
  return {
    add,
    addText: (text: string, isRaw: boolean): void => {
      const room = left;
      if (add(text, '') || isRaw) return;
      // Whole characters and entities only.
      const { read } = encoder.encodeInto(text, new Uint8Array(Math.min(room, text.length * 3)));
      const cut = text.slice(0, read).replace(/&[^;]{0,5}$/, '');
      parts.push(cut);
      chars += cut.length;
      left = 0;
    },
    close: (end: string): void => {
      parts.push(end);
      chars += end.length;
    },
    chars: (): number => chars,
    full: (): boolean => isFull,
    toString: (): string => parts.join(''),
  };
}
