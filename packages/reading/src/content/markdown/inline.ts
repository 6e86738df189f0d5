/** Text, emphasis, links, images and code within a block of Markdown. */
import { collapse, isElement, isText, resolveUrl, textIn, type Element, type Node } from '../dom.ts';
import { gapsOf, isBlock, scriptOf, spaceOf, type Space } from '../main-content/layout.ts';
import { balanced, gapSign, indentSign, rawText, signs, toMarkdownText, type Mark, type Spot } from './escape.ts';
import { texOf } from './math.ts';
import { lettersIn, meansTheSame, scriptText } from '../scripts.ts';
import { isPixel, pictureSource } from './pictures.ts';

export interface InlineOptions {
  /** Base of addresses; null leaves them as they are. */
  base: string | null;
  place: Spot;
  /** Treatment of white space around the nodes. */
  space?: Space;
  /** The address that all of the text links to. */
  link?: string | null;
  isStrong?: boolean;
}

/** Elements that are never text of the page. `annotation` repeats a formula in another notation. */
export const omitted: ReadonlySet<string> = new Set(
  `script style template noscript noframes iframe head title desc annotation object embed video audio canvas map rp datalist
   input meta link source track param`.split(/\s+/),
);

/** The text of the nodes, without blanks at its ends. */
export function inlineOf(nodes: readonly Node[], options: InlineOptions): string {
  const { base, place, space = 'normal', link = null, isStrong = false } = options;
  const raw = new InlineWriter(base).childrenOf(nodes, { link: link !== null, marks: isStrong ? ['strong'] : [], space });
  const text = withBlanks(raw);
  if (text === '') return '';
  const single = place === 'lines' && link === null ? text : place === 'cell' ? text.replace(/\n+/g, '\n') : text.replace(/\n+/g, ' ');
  const marked = isStrong ? signs.strong.join(single) : single;
  const whole = link === null ? marked : linkTo(marked, link);
  const written = balanced(whole.split(/\n{2,}/))
    .map((paragraph) => toMarkdownText(paragraph, place))
    .join('\n\n');
  return place === 'cell' ? written.replaceAll('|', '\\|') : written;
}

/** Leaves one blank between words, none at the ends of lines, and none before a comma where only a gap is drawn. */
function withBlanks(raw: string): string {
  const single = raw.replace(/ {2,}/g, ' ');
  const spaced = single.replace(/ ?\udd08(?: ?\udd08)* ?/gu, (gap, at: number) => {
    const isClosing = /[.,;:!?)\]}\udc2e\udc2c\udc3b\udc3a\udc21\udc3f\udc29\udc5d\udc7d]/u.test(single.charAt(at + gap.length));
    return gap.includes(' ') || !isClosing ? ' ' : '';
  });
  return spaced
    .split('\n')
    .map((line) => line.replace(/ {2,}/g, ' ').trim())
    .join('\n')
    .trim();
}

/** Text of the page by itself, as a block. */
export const plainBlock = (text: string): string => toMarkdownText(rawText(text), 'lines');

interface Context {
  link: boolean;
  /** The marks that are open. */
  marks: readonly Mark[];
  space: Space;
}

const markOf: Readonly<Record<string, Mark>> = { b: 'strong', strong: 'strong', i: 'em', em: 'em', s: 'del', del: 'del', strike: 'del' };
export const codeNames: ReadonlySet<string> = new Set(['code', 'kbd', 'samp', 'tt']);

/** Line ends in the result are breaks; white space of the page is single blanks. */
class InlineWriter {
  readonly #base: string | null;

  constructor(base: string | null) {
    this.#base = base;
  }

  childrenOf(nodes: readonly Node[], context: Context): string {
    const parts = nodes.map((node) => this.#one(node, context)).filter((part) => part !== '');
    // Side by side, the end of code and the beginning of the next would be one row of backticks.
    return parts.map((part, at) => (part.startsWith('`') && parts[at - 1]?.endsWith('`') === true ? `<wbr>${part}` : part)).join('');
  }

  #one(node: Node, context: Context): string {
    if (isText(node)) return textOf(node.data, context.space);
    if (!isElement(node) || omitted.has(node.name)) return '';
    const { name } = node;
    if (name === 'br') return '\n';
    const { before, after } = gapsOf(node);
    const text = this.#element(node, { ...context, space: spaceOf(node, context.space) });
    return text === '' ? '' : `${before ? gapSign : ''}${text}${after ? gapSign : ''}`;
  }

  #element(node: Element, context: Context): string {
    const { name } = node;
    const tex = texOf(node);
    if (tex !== null) return inBlock(node, inlineMath(tex));
    if (name === 'img') return inBlock(node, imageOf(node, this.#base));
    if (name === 'a') return inBlock(node, this.#link(node, context));
    if (codeNames.has(name)) return inBlock(node, codeOf(node, context.space));
    if (name === 'select') return selectedOf(node);
    if (scriptOf(node) !== null) return this.#script(node, context);
    const mark = markOf[name];
    if (mark !== undefined && !context.marks.includes(mark)) return inBlock(node, this.#marked(node, mark, context));
    const inner = this.childrenOf(node.children, context);
    if (name === 'q') return `“${inner}”`;
    if (name === 'rt') return `${rawText('(')}${inner.trim()}${rawText(')')}`;
    return isBlock(node) ? this.#block(name, inner) : inner;
  }

  /** Blanks move out of the marks. */
  #marked(element: Element, mark: Mark, context: Context): string {
    const inner = this.childrenOf(element.children, { ...context, marks: [...context.marks, mark] });
    const [open, close] = signs[mark];
    return aroundCore(inner, (core) => `${open}${core}${close}`);
  }

  /** Superscript or subscript in tags of HTML, for which Markdown has no letters. */
  #script(element: Element, context: Context): string {
    const script = scriptOf(element) ?? 'sup';
    const inner = this.childrenOf(element.children, context);
    const text = collapse(textIn(element));
    if (lettersIn(script, text) === null && meansTheSame(text)) return inner;
    return aroundCore(inner, (core) => (core.includes('\n') ? core : `<${script}>${core}</${script}>`));
  }

  #block(name: string, inner: string): string {
    const text = inner.trim();
    if (text === '') return ' ';
    if (name === 'li') return `\n${rawText('-')} ${text}\n`;
    return name === 'td' || name === 'th' ? `${text}, ` : `\n${name === 'tr' ? text.replace(/,$/, '') : text}\n`;
  }

  #link(element: Element, context: Context): string {
    const inner = this.childrenOf(element.children, { ...context, link: true });
    const address = context.link ? null : addressOf(element.attribs['href'], this.#base);
    const text = inner.trim();
    if (address === null) return inner;
    const { href = '' } = element.attribs;
    // The mark beside a heading that links to it.
    if (href.startsWith('#') && isSelfLinkText(collapse(textIn(element))) && !text.includes(`!${signs.label[0]}`)) return '';
    if (text !== '') return aroundCore(inner, (core) => linkTo(joinLines(core), address));
    const label = rawText(labelOf(element));
    return label !== '' ? linkTo(label, address) : /^https?:/.test(address) ? `<${address}>` : '';
  }
}

const isSelfLinkText = (text: string): boolean => /^[#¶§🔗]?$/u.test(text);

/** Blanks and gaps at the ends stay outside. */
function aroundCore(inner: string, write: (core: string) => string): string {
  let [start, end] = [0, inner.length];
  while (start < end && isBlankAt(inner, start)) start += 1;
  while (start < end && isBlankAt(inner, end - 1)) end -= 1;
  return start === end ? inner : `${inner.slice(0, start)}${write(inner.slice(start, end))}${inner.slice(end)}`;
}

const isBlankAt = (text: string, at: number): boolean => text[at] === gapSign || /\s/.test(text[at] ?? '');

/** An inline element that is displayed as a block has a line of its own. */
const inBlock = (element: Element, text: string): string => (isBlock(element) && text !== '' ? `\n${text}\n` : text);

const words = (text: string): string => text.replace(/[\s\u00a0]+/g, ' ');

function textOf(data: string, space: Space): string {
  if (space === 'normal') return rawText(words(data));
  const lines = data.split(/\r?\n/);
  return lines
    .map((line, at) => {
      const indent = space === 'pre' && at > 0 ? (/^[ \t\u00a0]*/.exec(line)?.[0] ?? '') : '';
      const text = rawText(words(line.slice(indent.length)));
      return text === '' ? '' : indentSign.repeat(indent.replaceAll('\t', '    ').length) + text;
    })
    .join('\n');
}

/** A formula in the notation of GitHub and GitLab, which every reader of CommonMark takes for code: TeX has backslashes. */
const inlineMath = (tex: string): string => {
  const code = codeSpan(collapse(tex));
  return code === '' ? '' : `$${code}$`;
};

const joinLines = (text: string): string =>
  text.includes('\n')
    ? text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '')
        .join(' ')
    : text;

export const linkTo = (label: string, address: string): string => `${signs.label.join(label)}(${address})`;

/** The address of a link; null for one that leads nowhere. */
export function addressOf(href: string | undefined, base: string | null): string | null {
  const trimmed = href?.trim() ?? '';
  if (trimmed === '' || /^(?:javascript|data):/i.test(trimmed)) return null;
  return escapeAddress(resolveUrl(trimmed, base) ?? trimmed);
}

function escapeAddress(address: string): string {
  const plain = address
    .toWellFormed()
    .replace(/[\s<>`]/g, (letter) => encodeURIComponent(letter))
    .replace(/&(?=#?\w{1,31};)/g, '&amp;');
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

/** A line of code for each line that is displayed. */
function codeOf(element: Element, space: Space): string {
  const text = codeText(element.children, space).toWellFormed();
  return text.includes('\n') ? text.split('\n').map(codeSpan).join('\n') : codeSpan(text);
}

const codeText = (nodes: readonly Node[], space: Space): string =>
  nodes
    .map((node) => {
      if (isText(node)) return space === 'normal' ? words(node.data) : node.data.replace(/\r?\n/g, '\n');
      if (!isElement(node)) return '';
      if (node.name === 'br') return '\n';
      const inner = codeText(node.children, spaceOf(node, space));
      const script = scriptOf(node);
      return isBlock(node) ? `\n${inner}\n` : script === null ? inner : scriptText(script, inner);
    })
    .join('');

function codeSpan(line: string): string {
  const text = words(line);
  const core = text.trim();
  if (core === '') return text;
  const fence = fenceFor(core, 1);
  const padded = core.startsWith('`') || core.endsWith('`') ? ` ${core} ` : core;
  return `${text.startsWith(' ') ? ' ' : ''}${fence}${padded}${fence}${text.endsWith(' ') ? ' ' : ''}`;
}

/** A fence that is longer than each run of backticks in the text. */
export function fenceFor(text: string, least: number): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0);
  return '`'.repeat(Math.max(least, longest + 1));
}

/** The option of a list of choices that is shown. */
function selectedOf(element: Element): string {
  const options = element.children
    .filter(isElement)
    .flatMap((child) => (child.name === 'optgroup' ? child.children.filter(isElement) : child));
  const shown = options.find(({ attribs }) => attribs['selected'] !== undefined) ?? options[0];
  return shown ? rawText(collapse(textIn(shown))) : '';
}

/** '' without an address. */
function imageOf(element: Element, base: string | null): string {
  const { attribs } = element;
  if (isPixel(element)) return '';
  const address = addressOf(pictureSource(element), base);
  const alt = rawText(collapse(attribs['alt'] ?? ''));
  return address === null ? alt : `!${linkTo(alt, address)}`;
}
