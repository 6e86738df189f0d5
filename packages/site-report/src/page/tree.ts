/**
 * The elements of a page, without a browser. Rendered documents are serialized
 * trees, so a stack of open elements reads them as they are; broken markup of a
 * raw response is read approximately. Linear in the document, whatever it is,
 * which the parsers of browsers' rules are not (see ADR 25).
 */
import { readTokens, type SourceText, type StartTag, type TokenVisitor } from '@berth/lib/text/html-tokens.ts';

export interface PageElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly parent: PageElement | null;
  readonly children: PageElement[];
  /** Position in document order. */
  readonly index: number;
  /** The texts directly inside, between tags and comments. */
  readonly texts: string[];
}

export const pageTreeLimits = { htmlChars: 8_000_000, elements: 200_000, depth: 512, attributes: 100, attributeChars: 4096 } as const;

const voidElements: ReadonlySet<string> = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));
/** Elements that a sibling of the same kind closes in raw HTML. */
const selfClosing: ReadonlySet<string> = new Set('li option tr td th dt dd p'.split(' '));

export class PageTree {
  readonly elements: readonly PageElement[];
  readonly #byName = new Map<string, PageElement[]>();
  #ids: Map<string, number> | undefined;

  constructor(html: string) {
    const reader = new TreeReader();
    readTokens(html.slice(0, pageTreeLimits.htmlChars), reader, { attributesMax: pageTreeLimits.attributes });
    this.elements = reader.elements;
    for (const element of this.elements) {
      const named = this.#byName.get(element.name);
      if (named) named.push(element);
      else this.#byName.set(element.name, [element]);
    }
  }

  /** All elements with these names, in document order. */
  named(...names: string[]): readonly PageElement[] {
    const [only] = names;
    if (names.length === 1 && only !== undefined) return this.#byName.get(only) ?? [];
    return names.flatMap((name) => this.#byName.get(name) ?? []).sort((a, b) => a.index - b.index);
  }

  /** Whether one element alone has this id. */
  isUniqueId(id: string): boolean {
    this.#ids ??= countIds(this.elements);
    return this.#ids.get(id) === 1;
  }
}

function countIds(elements: readonly PageElement[]): Map<string, number> {
  const ids = new Map<string, number>();
  for (const { attributes } of elements) {
    const id = attributes.get('id');
    if (id !== undefined) ids.set(id, (ids.get(id) ?? 0) + 1);
  }
  return ids;
}

class TreeReader implements TokenVisitor {
  readonly elements: PageElement[] = [];
  readonly #open: PageElement[] = [];
  /** Number of open elements of each name, so that an end tag without a start costs nothing. */
  readonly #openNames = new Map<string, number>();

  start({ name: written, attributes: values }: StartTag): void {
    const name = written.toLowerCase();
    if (selfClosing.has(name) && this.#open.at(-1)?.name === name) this.#close(name);
    if (this.elements.length >= pageTreeLimits.elements) return;
    const parent = this.#open.at(-1) ?? null;
    const attributes = new Map<string, string>();
    for (const [key, { value }] of values) attributes.set(key, value.slice(0, pageTreeLimits.attributeChars));
    const element: PageElement = { name, attributes, parent, children: [], index: this.elements.length, texts: [] };
    this.elements.push(element);
    parent?.children.push(element);
    // Deeper elements become siblings, so that every walk to the root is short.
    if (voidElements.has(name) || this.#open.length >= pageTreeLimits.depth) return;
    this.#open.push(element);
    this.#openNames.set(name, (this.#openNames.get(name) ?? 0) + 1);
  }

  end(name: string): void {
    this.#close(name.toLowerCase());
  }

  text({ value }: SourceText): void {
    this.#open.at(-1)?.texts.push(value);
  }

  #close(name: string): void {
    if (!this.#openNames.get(name)) return;
    for (let element = this.#open.pop(); element; element = this.#open.pop()) {
      this.#openNames.set(element.name, (this.#openNames.get(element.name) ?? 1) - 1);
      if (element.name === name) return;
    }
  }
}

/** Text that no reader sees. */
const silent: ReadonlySet<string> = new Set(['script', 'style', 'template', 'noscript', 'iframe', 'svg']);

/** The text inside, white space collapsed, at most `charsMax` characters. */
export function textOf(element: PageElement, charsMax = 200): string {
  let text = '';
  const stack: PageElement[] = [element];
  for (let next = stack.pop(); next && text.length < charsMax * 2; next = stack.pop()) {
    if (silent.has(next.name) && next !== element) continue;
    for (const part of next.texts) {
      text += ` ${part.slice(0, charsMax * 2)}`;
      if (text.length >= charsMax * 2) break;
    }
    for (let index = Math.min(next.children.length, 500) - 1; index >= 0; index -= 1) stack.push(next.children[index] as PageElement);
  }
  return collapse(text).slice(0, charsMax).trimEnd();
}

/** The content of a script or style element. */
export const sourceOf = (element: PageElement): string => element.texts.join('');

export const collapse = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** Characters of visible text, about as many as a rendered page shows without its style sheets. */
export function textCharsOf(tree: PageTree): number {
  let chars = 0;
  const hidden = new Set<PageElement>();
  for (const element of tree.elements) {
    if (silent.has(element.name) || element.name === 'head' || (element.parent && hidden.has(element.parent))) {
      hidden.add(element);
      continue;
    }
    for (const text of element.texts) chars += collapse(text).length;
  }
  return chars;
}

/** The nearest ancestor with this name. */
export function closest(element: PageElement, ...names: string[]): PageElement | null {
  for (let above = element.parent; above; above = above.parent) if (names.includes(above.name)) return above;
  return null;
}
