/** Parses a page and removes what no reader sees. */
// Cheerio's own entry with parse5 loads an HTTP client, half of a thread's start.
import { load, type CheerioAPI } from 'cheerio/slim';
import { html as htmlNames, parse as parseDocument, serialize } from 'parse5';
import { adapter as treeAdapter } from 'parse5-htmlparser2-tree-adapter';

type Document = ReturnType<CheerioAPI['root']>[number];
export type Node = Document['children'][number];
export type Element = Extract<Node, { attribs: object }>;
export type Parent = Document | Element;
export type { CheerioAPI };

/** The nesting limit of browsers. It makes recursion safe everywhere below. */
const depthMax = 512;

export function parse(html: string): CheerioAPI {
  const $ = load(parseDocument(html, { treeAdapter }));
  flatten($.root()[0] as Document);
  return $;
}

/** Prefix of attributes that this service adds to a page for its own use. */
export const markPrefix = 'data-berth-';

const unmarked: typeof treeAdapter = {
  ...treeAdapter,
  getAttrList: (element) => treeAdapter.getAttrList(element).filter(({ name }) => !name.startsWith(markPrefix)),
};

/** The HTML of all that an element or a document holds, without marks. */
export const innerHtml = (parent: Parent): string => serialize(parent, { treeAdapter: unmarked });

export const isElement = (node: Node): node is Element => 'attribs' in node;
export const isText = (node: Node): node is Extract<Node, { nodeType: 3 }> => node.nodeType === 3;
const isComment = (node: Node): boolean => node.nodeType === 8;

/** The base of relative links. Null for a page without one, such as a data: URL. */
export function baseOf($: CheerioAPI, url: string): string | null {
  const own = elementsNamed($, 'base').find(({ attribs }) => attribs['href'] !== undefined)?.attribs['href'];
  const base = (own === undefined ? null : URL.parse(own.trim(), url)) ?? URL.parse(url);
  return base === null || !webSchemes.has(base.protocol) ? null : base.href;
}

/** All elements with these names, in document order. The selector matcher takes ten times as long. */
export function elementsNamed($: CheerioAPI, ...names: string[]): Element[] {
  const elements: Element[] = [];
  const collect = ({ children }: Parent): void => {
    for (const child of children) {
      if (!isElement(child)) continue;
      if (names.includes(child.name)) elements.push(child);
      collect(child);
    }
  };
  for (const root of $.root().toArray()) collect(root);
  return elements;
}

/** An element of HTML that holds the text. */
export function createElement(name: string, attributes: Readonly<Record<string, string>>, text: string): Element {
  const element = treeAdapter.createElement(name, htmlNames.NS.HTML, []);
  Object.assign(element.attribs, attributes);
  if (text !== '') treeAdapter.insertText(element, text);
  return element;
}

export const webSchemes: ReadonlySet<string> = new Set(['http:', 'https:']);

/** Maximum length of a URL: longer ones are payloads, and thousands of them would be many times the page. */
const addressCharsMax = 8192;

/** The absolute URL, or null when it is invalid. */
export function resolveUrl(value: string, base: string | null): string | null {
  const trimmed = value.trim();
  if (trimmed.length > addressCharsMax) return null;
  return (base === null ? URL.parse(trimmed) : URL.parse(trimmed, base))?.href ?? null;
}

export const collapse = (text: string): string => text.replace(/[\s\u00a0]+/g, ' ').trim();

/** Tags whose content is never displayed as text. */
export const nonTextTags: ReadonlySet<string> = new Set(['script', 'style', 'template', 'noscript', 'noframes', 'iframe']);

/** Parsed frames hold no elements, so one that does holds its document. */
export const isFilledFrame = ({ name, children }: Element): boolean => name === 'iframe' && children.some(isElement);

const isNonText = (node: Node): boolean => (isElement(node) ? nonTextTags.has(node.name) : isComment(node));

export function isHidden(node: Node): boolean {
  if (!isElement(node)) return isComment(node);
  const { name, attribs } = node;
  // Some pages hide themselves until a script has run.
  if (name === 'html' || name === 'body') return false;
  if (nonTextTags.has(name)) return true;
  // Such an element opens when a search in the page finds it.
  if (attribs['hidden'] !== undefined && attribs['hidden'].toLowerCase() !== 'until-found') return true;
  if (name === 'dialog') return attribs['open'] === undefined;
  const style = attribs['style'];
  return style !== undefined && /(^|;)\s*display\s*:\s*none\b/i.test(style);
}

/** Drops what is hidden without a style sheet: by tag, attribute or inline style. */
export const dropHidden = (parent: Parent): void => drop(parent, isHidden);

/** Drops what is never text, displayed or not. */
export const dropNonText = (parent: Parent): void => drop(parent, isNonText);

function drop(parent: Parent, shouldDrop: (node: Node) => boolean): void {
  if (parent.children.some(shouldDrop)) {
    setChildren(
      parent,
      parent.children.filter((child) => !shouldDrop(child)),
    );
  }
  for (const child of parent.children) if (isElement(child)) drop(child, shouldDrop);
}

/** All text, displayed or not. */
export function textIn(parent: Parent): string {
  let text = '';
  for (const child of parent.children) text += isText(child) ? child.data : isElement(child) ? textIn(child) : '';
  return text;
}

export const isBlank = (node: Node): boolean => (isText(node) ? node.data.trim() === '' : !isElement(node));

export function isInside(node: Node, names: readonly string[]): boolean {
  for (let above = node.parent; above; above = above.parent) if ('name' in above && names.includes(above.name)) return true;
  return false;
}

export function setChildren(parent: Parent, children: readonly Node[]): void {
  const own = [...children];
  parent.children = own;
  for (const [index, child] of own.entries()) {
    child.parent = parent;
    child.prev = own[index - 1] ?? null;
    child.next = own[index + 1] ?? null;
  }
}

/** Limits the depth again after documents were put into others. */
export function limitDepth($: CheerioAPI): void {
  for (const root of $.root().toArray()) flatten(root);
}

/** Moves what is deeper than the limit up to it, in document order. */
function flatten(parent: Parent, depth = 1): void {
  if (depth === depthMax) return setChildren(parent, flat(parent));
  for (const child of parent.children) if (isElement(child)) flatten(child, depth + 1);
}

function flat(parent: Parent): Node[] {
  const nodes: Node[] = [];
  const stack: Node[] = parent.children.toReversed();
  for (let node = stack.pop(); node; node = stack.pop()) {
    nodes.push(node);
    if (!isElement(node)) continue;
    if (!node.children.some(isElement)) continue;
    // One by one: as arguments, a million children overflow the stack.
    for (const child of node.children.toReversed()) stack.push(child);
    node.children = [];
  }
  return nodes;
}
