/**
 * Scans HTML without building a tree: real elements, executed scripts and
 * visible text, without what is only quoted.
 *
 * One pass, linear for any input: every search either advances or ends the pass.
 */
import {
  afterDeclaration,
  elementOf,
  indexAfter,
  isLetter,
  rawElements,
  rawEnd,
  slash,
  startTagEnd,
  toText,
  type Element,
} from './tags.ts';

export interface Markup {
  /** Real elements whose source matches `interesting`, in document order. */
  elements: readonly Element[];
  /** Inline scripts that match `interesting`. */
  scripts: readonly string[];
  /** Has scripts, and nothing visible or usable but text. */
  shell: boolean;
  title: string;
  /** The first visible characters, white space collapsed, at most `textLimit`. */
  text: string;
  /** An estimate that ignores style sheets. Counting stops a little above `textLimit`. */
  textLength: number;
}

/** Characters of a title that are read. */
const titleMax = 300;
/** No rule reads the text of a longer page. */
export const textLimit = 2000;
/** More matches do not improve the classification. */
const matchesMax = 400;

/** Elements whose content is displayed or stored, and not executed. */
export const quotingElements: ReadonlySet<string> = new Set(['pre', 'code', 'samp', 'kbd', 'template']);
/** Elements other than text that a visitor sees or uses. */
const visibleElements = new Set([
  'input',
  'textarea',
  'select',
  'button',
  'img',
  'picture',
  'video',
  'audio',
  'canvas',
  'object',
  'embed',
  'iframe',
  'frame',
  'pre',
]);
/** Only these names matter; two letters rule out all others. */
const notableNames = [...new Set([...rawElements, ...quotingElements, ...visibleElements])];
const notable = new RegExp(`(?:${notableNames.join('|')})(?![\\w-])`, 'iy');
/** Two letters of any case as one number. */
const startCode = (text: string, at: number): number => (((text.charCodeAt(at) | 0x20) << 8) | text.charCodeAt(at + 1) | 0x20) & 0xffff;
const notableStarts = new Uint8Array(0x10000);
for (const name of notableNames) notableStarts[startCode(name, 0)] = 1;
const runningTypes = /^(?:module|(?:text|application)\/(?:x-)?(?:java|ecma)script)?$/i;

/** `interesting` is a global pattern that matches no empty text. */
export function readMarkup(html: string, interesting: RegExp): Markup {
  const reader = new MarkupReader(html, interesting);
  reader.read();
  return reader;
}

class MarkupReader implements Markup {
  readonly elements: Element[] = [];
  readonly scripts: string[] = [];
  title = '';
  text = '';
  textLength = 0;
  readonly #html: string;
  readonly #interesting: RegExp;
  /** Index of the next match at or after the last position asked for. */
  #nextMark = -1;
  #quoteDepth = 0;
  #hasScript = false;
  #hasVisibleElement = false;

  constructor(html: string, interesting: RegExp) {
    this.#html = html;
    this.#interesting = interesting;
  }

  get shell(): boolean {
    return this.#hasScript && !this.#hasVisibleElement;
  }

  read(): void {
    const html = this.#html;
    let at = 0;
    while (at !== -1 && at < html.length) {
      // Without another mark, only the text is of interest.
      if (this.textLength > textLimit && !this.#hasMark(at, html.length)) return;
      const open = html.indexOf('<', at);
      if (open !== at) this.#addText(at, open === -1 ? html.length : open);
      if (open === -1) return;
      at = this.#readTag(open);
    }
  }

  /** The index after the tag or comment at `open`, or -1 when it does not end. */
  #readTag(open: number): number {
    const html = this.#html;
    const next = html.charCodeAt(open + 1);
    if (isLetter(next)) return this.#readStart(open);
    if (next === slash) {
      if (this.#quoteDepth > 0 && quotingElements.has(notableAt(html, open + 2))) this.#quoteDepth -= 1;
      return indexAfter(html, '>', open);
    }
    return afterDeclaration(html, open);
  }

  #readStart(open: number): number {
    const html = this.#html;
    const close = startTagEnd(html, open);
    if (close === -1) return -1;
    const name = notableAt(html, open + 1);
    if (name !== '' && quotingElements.has(name)) this.#quoteDepth += 1;
    if (this.#quoteDepth === 0 && this.elements.length < matchesMax && this.#hasMark(open, close))
      this.elements.push(elementOf(html.slice(open, close)));
    if (name === '') return close;
    if (visibleElements.has(name)) this.#hasVisibleElement = true;
    if (!rawElements.has(name)) return close;
    const end = rawEnd(html, name, close);
    if (name === 'title' && this.title === '') this.title = toText(html.slice(close, Math.min(end, close + titleMax)));
    if (name === 'script') this.#addScript(open, close, end);
    return end;
  }

  #addScript(open: number, close: number, end: number): void {
    if (this.#quoteDepth > 0) return;
    this.#hasScript = true;
    if (this.scripts.length >= matchesMax || !this.#hasMark(close, end)) return;
    const { attributes } = elementOf(this.#html.slice(open, close));
    if (runningTypes.test(attributes.get('type') ?? '')) this.scripts.push(this.#html.slice(close, end));
  }

  #addText(from: number, to: number): void {
    if (this.textLength > textLimit) return;
    // Cut first: a run of white space may be as long as the page.
    const fragment = toText(this.#html.slice(from, Math.min(to, from + 4 * textLimit)));
    if (fragment === '') return;
    this.text = (this.text === '' ? fragment : `${this.text} ${fragment}`).slice(0, textLimit);
    this.textLength += fragment.length + 1;
  }

  /** Called with growing positions, so that the page is searched once. */
  #hasMark(from: number, to: number): boolean {
    if (this.#nextMark < from) {
      this.#interesting.lastIndex = from;
      this.#nextMark = this.#interesting.exec(this.#html)?.index ?? Infinity;
    }
    return this.#nextMark < to;
  }
}

/** The notable element name at this index, else an empty string. */
function notableAt(html: string, at: number): string {
  if (notableStarts[startCode(html, at)] === 0) return '';
  notable.lastIndex = at;
  return notable.test(html) ? html.slice(at, notable.lastIndex).toLowerCase() : '';
}
