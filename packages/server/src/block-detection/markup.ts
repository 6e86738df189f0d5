/**
 * A look at HTML without a tree: real elements, running scripts and visible
 * text, each apart from the other and from what is merely quoted.
 *
 * One pass, linear in the input whatever it holds: every search either moves
 * on or, when it finds nothing, ends the pass.
 */

export interface Element {
  tag: string;
  attributes: ReadonlyMap<string, string>;
}

export interface Markup {
  /** Real elements whose source holds something of `interesting`, in order. */
  elements: readonly Element[];
  /** Inline scripts that hold something of `interesting`. */
  scripts: readonly string[];
  /** Scripts, and nothing that a visitor could see or use but text. */
  shell: boolean;
  title: string;
  /** The first visible characters, white space collapsed, at most `textLimit`. */
  text: string;
  /** Estimated: style sheets are not looked at. Stops counting a little above `textLimit`. */
  textLength: number;
}

/** No rule looks at the text of a page that has more. */
export const textLimit = 2000;
/** A page with more marks than this is not told better by looking at the rest. */
const findingsMax = 400;

/** What these hold is text, up to their end tag. */
const rawElements = ['script', 'style', 'textarea', 'title', 'xmp', 'iframe', 'noembed', 'noframes', 'noscript'];
/** What these hold is shown or kept, and does nothing. */
export const quotingElements: ReadonlySet<string> = new Set(['pre', 'code', 'samp', 'kbd', 'template']);
/** What a visitor sees or uses although it is no text. */
const furniture = new Set([
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
/** Only these names matter to the pass; of all others it looks at two letters. */
const notableNames = [...new Set([...rawElements, ...quotingElements, ...furniture])];
const notable = new RegExp(`(?:${notableNames.join('|')})(?![\\w-])`, 'iy');
/** Two letters of any case as one number. */
const startCode = (text: string, at: number): number => (((text.charCodeAt(at) | 0x20) << 8) | text.charCodeAt(at + 1) | 0x20) & 0xffff;
const notableStarts = new Uint8Array(0x10000);
for (const name of notableNames) notableStarts[startCode(name, 0)] = 1;
const runningTypes = /^(?:module|(?:text|application)\/(?:x-)?(?:java|ecma)script)?$/i;

/** `interesting` is a global pattern that matches no empty text. */
export function readMarkup(html: string, interesting: RegExp): Markup {
  const reading = new Reading(html, interesting);
  reading.read();
  return reading;
}

class Reading implements Markup {
  readonly elements: Element[] = [];
  readonly scripts: string[] = [];
  title = '';
  text = '';
  textLength = 0;
  readonly #html: string;
  readonly #interesting: RegExp;
  /** Where the next interesting text is, at or behind the place that was asked for last. */
  #nextMark = -1;
  #quotes = 0;
  #scripted = false;
  #furnished = false;

  constructor(html: string, interesting: RegExp) {
    this.#html = html;
    this.#interesting = interesting;
  }

  get shell(): boolean {
    return this.#scripted && !this.#furnished;
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

  /** The place behind what starts at `open`, or -1 when it never ends. */
  #readTag(open: number): number {
    const html = this.#html;
    const next = html.charCodeAt(open + 1);
    if (isLetter(next)) return this.#readStart(open);
    if (next === slash) {
      if (this.#quotes > 0 && quotingElements.has(notableAt(html, open + 2))) this.#quotes -= 1;
      return behind(html, '>', open);
    }
    if (next !== bang && next !== question) return open + 1;
    return behind(html, html.startsWith('<!--', open) ? '-->' : '>', open + 2);
  }

  #readStart(open: number): number {
    const html = this.#html;
    const close = startTagEnd(html, open);
    if (close === -1) return -1;
    const name = notableAt(html, open + 1);
    if (name !== '' && quotingElements.has(name)) this.#quotes += 1;
    if (this.#quotes === 0 && this.elements.length < findingsMax && this.#hasMark(open, close))
      this.elements.push(elementOf(html.slice(open, close)));
    if (name === '') return close;
    if (furniture.has(name)) this.#furnished = true;
    const rawEnd = rawEnds.get(name);
    if (!rawEnd) return close;
    rawEnd.lastIndex = close;
    const end = rawEnd.exec(html)?.index ?? html.length;
    if (name === 'title' && this.title === '') this.title = toText(html.slice(close, Math.min(end, close + titleMax)));
    if (name === 'script') this.#addScript(open, close, end);
    return end;
  }

  #addScript(open: number, close: number, end: number): void {
    if (this.#quotes > 0) return;
    this.#scripted = true;
    if (this.scripts.length >= findingsMax || !this.#hasMark(close, end)) return;
    const { attributes } = elementOf(this.#html.slice(open, close));
    if (runningTypes.test(attributes.get('type') ?? '')) this.scripts.push(this.#html.slice(close, end));
  }

  #addText(from: number, to: number): void {
    if (this.textLength > textLimit) return;
    // Cut before it is cleaned: a run of white space is as long as the page allows.
    const piece = toText(this.#html.slice(from, Math.min(to, from + 4 * textLimit)));
    if (piece === '') return;
    this.text = (this.text === '' ? piece : `${this.text} ${piece}`).slice(0, textLimit);
    this.textLength += piece.length + 1;
  }

  /** Asked in the order of the page, so that the whole of it is searched once. */
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

/** The name at this place when it is a notable one, else nothing. */
function notableAt(html: string, at: number): string {
  if (notableStarts[startCode(html, at)] === 0) return '';
  notable.lastIndex = at;
  return notable.test(html) ? html.slice(at, notable.lastIndex).toLowerCase() : '';
}

/** Behind the `>` of a start tag, or -1. Only a quote behind `=` quotes. */
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

/** The place behind the next `mark`, or -1. */
function behind(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from);
  return found === -1 ? -1 : found + mark.length;
}

const rawEnds = new Map(rawElements.map((name) => [name, new RegExp(`</${name}`, 'gi')]));

const attribute = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+)))?/g;
/** A longer tag is told by its first attributes. */
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
