/**
 * Scans HTML without building a tree: real elements, executed scripts and
 * visible text, without what is only quoted.
 *
 * One pass, linear for any input: every search either advances or ends the pass.
 */

export interface Element {
  tag: string;
  attributes: ReadonlyMap<string, string>;
}

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

/** No rule reads the text of a longer page. */
export const textLimit = 2000;
/** More matches do not improve the classification. */
const matchesMax = 400;

/** Elements whose content is text up to the end tag. */
const rawElements = ['script', 'style', 'textarea', 'title', 'xmp', 'iframe', 'noembed', 'noframes', 'noscript'];
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
    if (next !== bang && next !== question) return open + 1;
    return indexAfter(html, html.startsWith('<!--', open) ? '-->' : '>', open + 2);
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
    const rawEnd = rawEnds.get(name);
    if (!rawEnd) return close;
    rawEnd.lastIndex = close;
    const end = rawEnd.exec(html)?.index ?? html.length;
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

const titleMax = 300;
const slash = 0x2f;
const bang = 0x21;
const question = 0x3f;
const isLetter = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);

/** The notable element name at this index, else an empty string. */
function notableAt(html: string, at: number): string {
  if (notableStarts[startCode(html, at)] === 0) return '';
  notable.lastIndex = at;
  return notable.test(html) ? html.slice(at, notable.lastIndex).toLowerCase() : '';
}

/** The index after the `>` of a start tag, or -1. Only a quote after `=` quotes. */
function startTagEnd(html: string, from: number): number {
  for (let at = from; at < html.length; at += 1) {
    const code = html.charCodeAt(at);
    if (code === 0x3e) return at + 1;
    if (code !== 0x3d) continue;
    while (isSpace(html.charCodeAt(at + 1))) at += 1;
    const quote = html[at + 1];
    if (quote !== '"' && quote !== "'") continue;
    at = html.indexOf(quote, at + 2);
    if (at === -1) return -1;
  }
  return -1;
}

const isSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);

/** The index after the next `mark`, or -1. */
function indexAfter(html: string, mark: string, from: number): number {
  const index = html.indexOf(mark, from);
  return index === -1 ? -1 : index + mark.length;
}

const rawEnds = new Map(rawElements.map((name) => [name, new RegExp(`</${name}`, 'gi')]));

const attribute = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+)))?/g;
/** Attributes of a longer tag after this are ignored. */
const tagMax = 4000;

function elementOf(source: string): Element {
  const attributes = new Map<string, string>();
  const tag = /^<[^\s/>]{1,40}/.exec(source)?.[0] ?? '<';
  const behindName = source.slice(tag.length, tagMax);
  for (const [, name = '', double, single, bare] of behindName.matchAll(attribute)) {
    const key = name.toLowerCase();
    if (!attributes.has(key)) attributes.set(key, decode(double ?? single ?? bare ?? ''));
  }
  return { tag: tag.slice(1).toLowerCase(), attributes };
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', hellip: '…' };

const decode = (text: string): string =>
  text.includes('&')
    ? text.replace(/&(?:#(\d{1,6})|#x([0-9a-f]{1,5})|([a-z]{2,6}));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
        if (name !== undefined) return named[name] ?? whole;
        const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
        return code > 0 && code < 0x110000 ? String.fromCodePoint(code) : whole;
      })
    : text;

const toText = (source: string): string => decode(source).replace(/\s+/g, ' ').trim();
