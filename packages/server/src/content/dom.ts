/** The parsed page: reading it in, and taking out what no reader sees. */
import { load, type CheerioAPI } from 'cheerio';

type Document = ReturnType<CheerioAPI['root']>[number];
export type Node = Document['children'][number];
export type Element = Extract<Node, { attribs: object }>;
export type Parent = Document | Element;
export type { CheerioAPI };

/** Browsers stop nesting here as well. It makes every walk below safe to write as a recursion. */
const depthMax = 512;

export function parse(html: string): CheerioAPI {
  const $ = load(html);
  flatten($.root()[0] as Document);
  return $;
}

export const isElement = (node: Node): node is Element => 'attribs' in node;
export const isText = (node: Node): node is Extract<Node, { nodeType: 3 }> => node.nodeType === 3;
const isComment = (node: Node): boolean => node.nodeType === 8;

/** The address that relative links belong to. Null for a page without one, such as a data: address. */
export function baseOf($: CheerioAPI, url: string): string | null {
  const own = elementsNamed($, 'base').find(({ attribs }) => attribs['href'] !== undefined)?.attribs['href'];
  const base = (own === undefined ? null : URL.parse(own.trim(), url)) ?? URL.parse(url);
  return base === null || !webSchemes.has(base.protocol) ? null : base.href;
}

/** In the order of the document. The matcher of selectors takes ten times as long for this. */
export function elementsNamed($: CheerioAPI, ...names: string[]): Element[] {
  const found: Element[] = [];
  const collect = ({ children }: Parent): void => {
    for (const child of children) {
      if (!isElement(child)) continue;
      if (names.includes(child.name)) found.push(child);
      collect(child);
    }
  };
  for (const root of $.root().toArray()) collect(root);
  return found;
}

export const webSchemes: ReadonlySet<string> = new Set(['http:', 'https:']);

/** Longer ones are payloads, and thousands of them would outgrow the page many times over. */
const addressCharsMax = 8192;

/** The absolute address, or null for what is none. */
export function resolveUrl(value: string, base: string | null): string | null {
  const trimmed = value.trim();
  if (trimmed.length > addressCharsMax) return null;
  return (base === null ? URL.parse(trimmed) : URL.parse(trimmed, base))?.href ?? null;
}

export const collapse = (text: string): string => text.replace(/[\s\u00a0]+/g, ' ').trim();

/** Tags whose content is never shown as text. */
export const unseenTags: ReadonlySet<string> = new Set(['script', 'style', 'template', 'noscript', 'noframes', 'iframe']);

const isUnread = (node: Node): boolean => (isElement(node) ? unseenTags.has(node.name) : isComment(node));

function isUnseen(node: Node): boolean {
  if (!isElement(node)) return isComment(node);
  const { name, attribs } = node;
  // Some pages hide themselves until a script is done with them.
  if (name === 'html' || name === 'body') return false;
  if (unseenTags.has(name) || attribs['hidden'] !== undefined) return true;
  if (name === 'dialog') return attribs['open'] === undefined;
  const style = attribs['style'];
  return style !== undefined && /(^|;)\s*display\s*:\s*none\b/i.test(style);
}

/** Drops what a stylesheet is not needed for to know that it is not shown. */
export const dropUnseen = (parent: Parent): void => drop(parent, isUnseen);

/** Drops what is never text, shown or not. */
export const dropUnread = (parent: Parent): void => drop(parent, isUnread);

function drop(parent: Parent, goes: (node: Node) => boolean): void {
  if (parent.children.some(goes)) {
    setChildren(
      parent,
      parent.children.filter((child) => !goes(child)),
    );
  }
  for (const child of parent.children) if (isElement(child)) drop(child, goes);
}

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

/** Puts what lies deeper than the limit beside its ancestor there, in the order of the document. */
function flatten(parent: Parent, depth = 1): void {
  if (depth === depthMax) return setChildren(parent, flat(parent));
  for (const child of parent.children) if (isElement(child)) flatten(child, depth + 1);
}

function flat(parent: Parent): Node[] {
  const nodes: Node[] = [];
  const waiting: Node[] = parent.children.toReversed();
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    nodes.push(node);
    if (!isElement(node)) continue;
    if (!node.children.some(isElement)) continue;
    // One by one: as arguments, a million children overflow the stack.
    for (const child of node.children.toReversed()) waiting.push(child);
    node.children = [];
  }
  return nodes;
}
