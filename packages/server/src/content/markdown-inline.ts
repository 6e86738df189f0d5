/** Text, emphasis, links, images and code within a block of Markdown. */
import { collapse, isElement, isText, resolveUrl, textIn, type Element, type Node } from './dom.ts';
import { isPixel, pictureSource } from './pictures.ts';

export type LineBreaks = 'lines' | 'spaces' | 'tags';

export interface InlineOptions {
  /** Null leaves addresses as they are. */
  base: string | null;
  /** What `<br>` becomes: a hard break, a blank, or the tag. */
  breaks: LineBreaks;
  /** Links do not nest. */
  insideLink?: boolean;
}

/** Never text of the page. `annotation` repeats a formula in another notation. */
export const omitted: ReadonlySet<string> = new Set(
  `script style template noscript noframes iframe head title desc annotation object embed video audio canvas map rp datalist
   input meta link source track param`.split(/\s+/),
);

/** Elements that end the line before and after them. */
export const blockNames: ReadonlySet<string> = new Set(
  `address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6
   header hgroup hr html legend li listing main menu nav ol optgroup option p plaintext pre search section summary table tbody td textarea
   tfoot th thead tr ul xmp`.split(/\s+/),
);

/** The text of the nodes, without blanks at its ends. */
export function inlineOf(nodes: readonly Node[], options: InlineOptions): string {
  const raw = new InlineWriter(options).childrenOf(nodes, { link: options.insideLink === true, marks: '' });
  const lines = raw
    .split('\n')
    .map((line) => line.replace(/ {2,}/g, ' ').trim())
    .join('\n')
    .trim();
  if (options.breaks === 'spaces') return lines.replace(/\n+/g, ' ');
  if (options.breaks === 'tags') return lines.replace(/\n+/g, '<br>').replace(/\|/g, '\\|');
  return lines
    .split(/\n{2,}/)
    .map(toParagraph)
    .join('\n\n');
}

const toParagraph = (lines: string): string => lines.split('\n').map(escapeLineStart).join('  \n');

/** What would begin a heading, a list, a quotation or a rule. */
const lineStart = /^(?:#{1,6}(?=\s|$)|[-+](?=\s|$)|>|={3,}$|-{3,}$|~{3,}|(\d{1,9})([.)])(?=\s|$))/;

function escapeLineStart(line: string): string {
  return line.replace(lineStart, (start, digits?: string, end?: string) =>
    digits === undefined ? `\\${start}` : `${digits}\\${end ?? ''}`,
  );
}

interface Context {
  link: boolean;
  /** The marks that are open: `*`, `**`, `~~`. */
  marks: string;
}

const markOf: Readonly<Record<string, string>> = { b: '**', strong: '**', i: '*', em: '*', s: '~~', del: '~~', strike: '~~' };
const codeNames: ReadonlySet<string> = new Set(['code', 'kbd', 'samp', 'tt']);

/** Line ends in the result are breaks; white space of the page is single blanks. */
class InlineWriter {
  readonly #options: InlineOptions;

  constructor(options: InlineOptions) {
    this.#options = options;
  }

  childrenOf(nodes: readonly Node[], context: Context): string {
    const parts: string[] = [];
    for (const node of nodes) {
      let next = this.#one(node, context);
      if (next === '') continue;
      const last = parts.at(-1) ?? '';
      // A `!` before a link would make it an image.
      if (next.startsWith('[') && last.endsWith('!')) parts[parts.length - 1] = `${last.slice(0, -1)}\\!`;
      if (isStrong(node) && next.startsWith('**') && last.endsWith('**') && last.length > 2) {
        // Two strong texts side by side are one.
        parts[parts.length - 1] = last.slice(0, -2);
        next = next.slice(2);
      }
      parts.push(next);
    }
    return parts.length === 1 ? (parts[0] ?? '') : parts.join('');
  }

  #one(node: Node, context: Context): string {
    if (isText(node)) return escapeText(node.data.replace(/[\s\u00a0]+/g, ' '));
    if (!isElement(node) || omitted.has(node.name)) return '';
    const { name } = node;
    if (name === 'br') return '\n';
    if (name === 'img') return imageOf(node, this.#options.base);
    if (name === 'a') return this.#link(node, context);
    if (codeNames.has(name)) return codeOf(node);
    if (name === 'select') return selectedOf(node);
    const mark = markOf[name];
    if (mark !== undefined && !context.marks.includes(` ${mark} `)) return this.#marked(node, mark, context);
    const inner = this.childrenOf(node.children, context);
    if (name === 'q') return `“${inner}”`;
    if (name === 'rt') return `(${inner.trim()})`;
    return blockNames.has(name) ? this.#block(name, inner) : inner;
  }

  /** Blanks move out of the marks. */
  #marked(element: Element, mark: string, context: Context): string {
    const inner = this.childrenOf(element.children, { ...context, marks: `${context.marks} ${mark} ` });
    const core = inner.trim();
    if (core === '') return inner;
    const start = inner.length - inner.trimStart().length;
    return `${inner.slice(0, start)}${mark}${core}${mark}${inner.slice(start + core.length)}`;
  }

  #block(name: string, inner: string): string {
    const text = inner.trim();
    if (text === '') return ' ';
    if (name === 'li') return `\n- ${text}\n`;
    return name === 'td' || name === 'th' ? `${text}, ` : `\n${name === 'tr' ? text.replace(/,$/, '') : text}\n`;
  }

  #link(element: Element, context: Context): string {
    const inner = this.childrenOf(element.children, { ...context, link: true });
    const address = context.link ? null : addressOf(element.attribs['href'], this.#options.base);
    const text = inner.trim();
    if (address === null) return inner;
    const { href = '' } = element.attribs;
    // The mark beside a heading that links to it.
    if (href.startsWith('#') && /^[#¶§🔗]?$/u.test(text)) return '';
    const label = text === '' ? escapeText(labelOf(element)) : joinLines(text);
    if (label === '') return /^https?:/.test(address) ? `<${address}>` : '';
    const start = text === '' ? 0 : inner.length - inner.trimStart().length;
    return `${inner.slice(0, start)}${linkTo(label, address)}${text === '' ? '' : inner.slice(start + text.length)}`;
  }
}

const joinLines = (text: string): string =>
  text.includes('\n')
    ? text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '')
        .join(' ')
    : text;

const isStrong = (node: Node): boolean => isElement(node) && markOf[node.name] === '**';

export const linkTo = (label: string, address: string): string => `[${label}](${address})`;

/** Null for a link that leads nowhere. */
export function addressOf(href: string | undefined, base: string | null): string | null {
  const trimmed = href?.trim() ?? '';
  if (trimmed === '' || /^(?:javascript|data):/i.test(trimmed)) return null;
  return escapeAddress(resolveUrl(trimmed, base) ?? trimmed);
}

function escapeAddress(address: string): string {
  const plain = address.replace(/[\s<>]/g, (letter) => encodeURIComponent(letter));
  const opened = plain.split('(').length;
  return opened === plain.split(')').length && !/^[^(]*\)/.test(plain) ? plain : plain.replace(/\(/g, '%28').replace(/\)/g, '%29');
}

/** The name of a link that shows only a picture. */
function labelOf({ attribs, children }: Element): string {
  return collapse(attribs['aria-label'] || attribs['title'] || titleIn(children)).slice(0, 200);
}

function titleIn(nodes: readonly Node[]): string {
  for (const node of nodes) {
    if (!isElement(node)) continue;
    const own = node.name === 'title' ? textIn(node) : node.attribs['aria-label'] || node.attribs['title'] || node.attribs['alt'];
    const title = own || titleIn(node.children);
    if (title) return title;
  }
  return '';
}

function codeOf(element: Element): string {
  const text = textIn(element).replace(/[\s\u00a0]+/g, ' ');
  const core = text.trim();
  if (core === '') return text;
  const fence = fenceFor(core, 1);
  const padded = core.startsWith('`') || core.endsWith('`') ? ` ${core} ` : core;
  return `${text.startsWith(' ') ? ' ' : ''}${fence}${padded}${fence}${text.endsWith(' ') ? ' ' : ''}`;
}

/** Longer than each run of backticks in the text. */
export function fenceFor(text: string, least: number): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0);
  return '`'.repeat(Math.max(least, longest + 1));
}

/** Of a list of choices, the one that is shown. */
function selectedOf(element: Element): string {
  const options = element.children
    .filter(isElement)
    .flatMap((child) => (child.name === 'optgroup' ? child.children.filter(isElement) : child));
  const shown = options.find(({ attribs }) => attribs['selected'] !== undefined) ?? options[0];
  return shown ? escapeText(collapse(textIn(shown))) : '';
}

/** '' without an address. */
function imageOf(element: Element, base: string | null): string {
  const { attribs } = element;
  if (isPixel(element)) return '';
  const address = addressOf(pictureSource(element), base);
  const alt = collapse(attribs['alt'] ?? '').replace(/[[\]\\]/g, '\\$&');
  return address === null ? escapeText(alt) : `![${alt}](${address})`;
}

const isSpace = (letter: string | undefined): boolean => letter === undefined || /\s/.test(letter);
const isWord = (letter: string | undefined): boolean => letter !== undefined && /[\p{L}\p{N}]/u.test(letter);

/** Escapes what would be read as Markdown, and no more: the text is for reading. */
export function escapeText(text: string): string {
  return /[\\`*_\]<&~]/.test(text)
    ? text.replace(/[\\`*_\]<&~]/g, (letter, at: number) => (isMarkup(text, at) ? `\\${letter}` : letter))
    : text;
}

function isMarkup(text: string, at: number): boolean {
  const [before, after] = [text[at - 1], text[at + 1]];
  switch (text[at]) {
    case '`':
      return true;
    case '*':
      return !(isSpace(before) && isSpace(after));
    case '_':
      return !(isWord(before) && isWord(after)) && !(isSpace(before) && isSpace(after));
    case '\\':
      return after !== undefined && /[!-/:-@[-`{-~]/.test(after);
    case ']':
      return after === '(' || after === '[';
    case '<':
      return after !== undefined && /[a-z/!?]/i.test(after);
    case '&':
      return /^&(?:#\w{1,7}|[a-z]\w{1,30});/i.test(text.slice(at, at + 34));
    default:
      return after === '~';
  }
}
