/** Reads attributes and texts of HTML and XML with where they stand, and what around a text says what it is. */
import { readTokens, type SourceText, type StartTag, type TokenVisitor } from '../../text/html-tokens.ts';
import { kindOfName } from '../names.ts';

export interface MarkupElement {
  /** Name of the element without its prefix, in HTML in lower case. */
  tag: string;
  attributes: Map<string, SourceText>;
  /** The name that its attributes give its value; of an option, that of its list. */
  label: string | null;
}

/** A text without the blanks around it. */
export interface NamedText extends SourceText {
  /** The element it stands in. */
  element: MarkupElement | null;
  /** The name that the element, its attributes or those around it give the text. */
  name: string | null;
  /** The name that a key, a heading or a label before it gives the text. */
  nearName: string | null;
}

export interface MarkupVisitor {
  element(element: MarkupElement): void;
  text(text: NamedText): void;
}

/** Elements without an end in HTML. */
const empty = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));
/** Elements of XML that say nothing about their text. */
const neutral = new Set(
  'value val string text data content item element literal plain option span code kbd samp b strong em i p div'.split(' '),
);
/** Elements whose text names what follows them. */
const naming = new Set('key name dt th label b strong field param parameter attribute header'.split(' '));
/** Elements whose text may be named by an element before it. */
const namedByNeighbour = new Set(
  'value val string text data content dd td code kbd samp output input span pre tt literal integer'.split(' '),
);
const cells = new Set(['td', 'th']);
export const labelAttributes = [
  'name',
  'property',
  'key',
  'id',
  'data-name',
  'data-field',
  'data-key',
  'itemprop',
  'field',
  'autocomplete',
  'aria-label',
  'placeholder',
] as const;

/** Maximum depth: deeper elements count as in the last of these. */
const depthMax = 256;
const nameCharsMax = 200;
const columnsMax = 64;

export const readMarkup = (text: string, isXml: boolean, visitor: MarkupVisitor): void =>
  readTokens(text, new MarkupReading(isXml, visitor), { isXml });

class MarkupReading implements TokenVisitor {
  readonly #isXml: boolean;
  readonly #visitor: MarkupVisitor;
  readonly #open: MarkupElement[] = [];
  /** The text of the last element that names what follows. */
  #heading: string | null = null;
  /** State of the table around: heads of its columns, and the column of the current cell. */
  #columns: string[] = [];
  #column = -1;

  constructor(isXml: boolean, visitor: MarkupVisitor) {
    this.#isXml = isXml;
    this.#visitor = visitor;
  }

  start({ name, attributes, isClosed }: StartTag): void {
    const local = name.slice(name.indexOf(':') + 1);
    const tag = this.#isXml ? local : local.toLowerCase();
    const inherited = tag === 'option' || tag === 'optgroup' ? (this.#open.at(-1)?.label ?? null) : null;
    const element = { tag, attributes, label: labelOf(attributes) ?? inherited };
    this.#visitor.element(element);
    if (this.#isXml ? isClosed : empty.has(name.toLowerCase())) return;
    this.#enter(tag.toLowerCase());
    if (this.#open.length < depthMax) this.#open.push(element);
  }

  #enter(tag: string): void {
    if (tag === 'table') this.#columns = [];
    if (tag === 'tr') this.#column = -1;
    if (cells.has(tag)) this.#column += 1;
  }

  end(name: string): void {
    const tag = name.toLowerCase();
    const local = tag.slice(tag.indexOf(':') + 1);
    // The nearest one of this name, if it is near: unclosed elements lie between.
    const at = this.#open.findLastIndex((open, i) => open.tag.toLowerCase() === local && this.#open.length - i <= unclosedMax);
    if (at >= 0) this.#open.length = at;
    if (namedByNeighbour.has(local) || local === 'tr' || local === 'p') this.#heading = null;
  }

  text({ value: raw, start: from, end: to }: SourceText): void {
    const value = raw.trim();
    if (value === '') return;
    const isVerbatim = raw.length === to - from;
    const start = isVerbatim ? from + raw.length - raw.trimStart().length : from;
    const end = isVerbatim ? start + value.length : to;
    const element = this.#open.at(-1) ?? null;
    this.#visitor.text({ value, start, end, element, name: this.#name(), nearName: this.#nearName() });
    this.#remember(value);
  }

  /** The name that the element, its attributes, or what is around a neutral element states. */
  #name(): string | null {
    for (let i = this.#open.length - 1; i >= Math.max(0, this.#open.length - neutralMax); i -= 1) {
      const { tag, label } = this.#open[i] as MarkupElement;
      const isNaming = naming.has(tag.toLowerCase());
      if (!isNaming && kindOfName(tag) !== null) return tag;
      if (!isNaming && label !== null) return label;
      if (!neutral.has(tag.toLowerCase())) return null;
    }
    return null;
  }

  #nearName(): string | null {
    const near = this.#open.slice(-neutralMax).map(({ tag }) => tag.toLowerCase());
    if (!near.some((tag) => namedByNeighbour.has(tag))) return null;
    if (this.#heading !== null) return this.#heading;
    const column = near.includes('td') ? this.#columns[this.#column] : undefined;
    return column ?? null;
  }

  #remember(value: string): void {
    const tag = this.#open.at(-1)?.tag.toLowerCase() ?? '';
    if (tag === 'th' && this.#column >= 0 && this.#column < columnsMax) this.#columns[this.#column] = value.slice(0, nameCharsMax);
    if (naming.has(tag)) this.#heading = value.length <= nameCharsMax && kindOfName(value) !== null ? value : null;
  }
}

const neutralMax = 3;
/** Maximum number of elements that one closing tag closes, its own included. */
const unclosedMax = 16;

/** The name that the attributes of an element give its value. */
function labelOf(attributes: ReadonlyMap<string, SourceText>): string | null {
  for (const attribute of labelAttributes) {
    const value = attributes.get(attribute)?.value;
    if (value !== undefined && value.length <= nameCharsMax && kindOfName(value) !== null) return value;
  }
  return null;
}
