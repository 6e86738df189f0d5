/**
 * Escapes by position: a letter of the page is escaped where a reader of
 * CommonMark would take it for markup, and nowhere else. What a letter means
 * depends on the whole block, so text is written in private letters first, which
 * no text has (lone surrogates), and becomes Markdown when its block is complete.
 */
const rawStart = 0xdc00;
const privateLetter = (at: number): string => String.fromCharCode(0xdd00 + at);

/** The beginnings and ends of emphasis, and of the text of a link. */
export const signs = {
  strong: [privateLetter(0), privateLetter(1)],
  em: [privateLetter(2), privateLetter(3)],
  del: [privateLetter(4), privateLetter(5)],
  label: [privateLetter(6), privateLetter(7)],
} as const;
export type Mark = 'strong' | 'em' | 'del';
/** A blank that the page draws without a character. */
export const gapSign = privateLetter(8);
/** A blank at the beginning of a line that keeps its blanks. */
export const indentSign = privateLetter(9);

const delimiters: Readonly<Record<Mark, string>> = { strong: '**', em: '*', del: '~~' };
const markNames: readonly Mark[] = ['strong', 'em', 'del'];

/** Text of the page: its punctuation is not markup. */
export const rawText = (text: string): string =>
  /[!-/:-@[-`{-~]/.test(text)
    ? text.toWellFormed().replace(/[!-/:-@[-`{-~]/g, (letter) => String.fromCharCode(rawStart + letter.charCodeAt(0)))
    : text.toWellFormed();

const isRaw = (code: number): boolean => code > rawStart && code < rawStart + 0x80;

/** The text that a reader sees in the place of a letter: marks are punctuation. */
function seen(letter: string | undefined): string {
  if (letter === undefined) return ' ';
  const code = letter.charCodeAt(0);
  if (letter.length > 1 || code < rawStart || code > 0xdd09) return letter;
  if (isRaw(code)) return String.fromCharCode(code - rawStart);
  return letter === indentSign
    ? '\u00a0'
    : letter === gapSign
      ? ' '
      : letter === signs.label[0]
        ? '['
        : letter === signs.label[1]
          ? ']'
          : '*';
}

const decode = (text: string): string => text.replace(/[\udc00-\udd09]/gu, seen);

const before = (text: string, at: number): string => seen(lastLetter(text.slice(Math.max(0, at - 2), at)));
const after = (text: string, at: number): string => seen(firstLetter(text.slice(at, at + 2)));
const firstLetter = (text: string): string | undefined => [...text][0];
const lastLetter = (text: string): string | undefined => [...text].at(-1);

/** A run of delimiters opens or closes by what is around it. Readers differ in whether symbols are punctuation. */
function flanks(prev: string, next: string): { left: boolean; right: boolean; maybeLeft: boolean; maybeRight: boolean } {
  const [spaceBefore, spaceAfter] = [/\s/.test(prev), /\s/.test(next)];
  const results = [/[\p{P}\p{S}]/u, /[\p{P}$+<=>^`|~]/u].map((punctuation) => {
    const [isBefore, isAfter] = [punctuation.test(prev), punctuation.test(next)];
    return { left: !spaceAfter && (!isAfter || spaceBefore || isBefore), right: !spaceBefore && (!isBefore || spaceAfter || isAfter) };
  });
  return {
    left: results.every(({ left }) => left),
    right: results.every(({ right }) => right),
    maybeLeft: results.some(({ left }) => left),
    maybeRight: results.some(({ right }) => right),
  };
}

/** `lines`: paragraphs and their lines; `heading`; `spaces`: one line at the beginning of a block; `cell`: of a table. */
export type Spot = 'lines' | 'heading' | 'spaces' | 'cell';

/** The Markdown of a paragraph. */
export const toMarkdownText = (text: string, place: Spot): string => new Escaper(withPunctuationOutside(merged(text)), place).toString();

/** Ends the emphasis of a paragraph with it, and begins it again in the next. */
export function balanced(paragraphs: readonly string[]): string[] {
  const open: string[] = [];
  return paragraphs.map((paragraph) => {
    const start = open.join('');
    for (const [sign] of paragraph.matchAll(/[\udd00-\udd05]/gu)) {
      if (sign.charCodeAt(0) % 2 === 0) open.push(sign);
      else open.pop();
    }
    const end = open.toReversed().map((sign) => String.fromCharCode(sign.charCodeAt(0) + 1));
    return start + paragraph + end.join('');
  });
}

/** Joins two of the same mark that are side by side. */
const merged = (text: string): string => {
  let own = text;
  for (let n = 0; n < markNames.length; n += 1)
    own = own.replace(/\udd01\udd00|\udd03\udd02|\udd05\udd04|\udd00\udd01|\udd02\udd03|\udd04\udd05/gu, '');
  return own;
};

/** A colon or a full stop at the end of emphasis that a word follows: `**Note**:next`. */
const withPunctuationOutside = (text: string): string =>
  text.replace(/(?<=[\p{L}\p{N}])([:：,，.。、;；!！?？\udc3a\udc2c\udc2e\udc3b\udc21\udc3f])([\udd01\udd03])(?=[\p{L}\p{N}])/gu, '$2$1');

/** A mark of emphasis: with its partner in `pair`. */
interface MarkAt {
  at: number;
  mark: Mark;
  isOpen: boolean;
  pair: MarkAt | null;
  isTag: boolean;
}

class Escaper {
  readonly #text: string;
  readonly #place: Spot;
  readonly #marks = new Map<number, MarkAt>();
  /** Positions of letters that are escaped for what is around them. */
  readonly #escaped = new Set<number>();
  readonly #lastGreater: number;
  readonly #hasTicks: boolean;

  constructor(text: string, place: Spot) {
    this.#text = text;
    this.#place = place;
    this.#readMarks();
    this.#chooseTags();
    const hasTag = [...this.#marks.values()].some(({ isTag }) => isTag);
    this.#lastGreater = hasTag ? text.length : Math.max(text.lastIndexOf('>'), text.lastIndexOf('\udc3e'));
    this.#hasTicks = (text.match(/[`\udc60]+/gu)?.length ?? 0) > 1;
    this.#findDelimiters();
    this.#findBrackets();
    this.#findLineStarts();
  }

  toString(): string {
    return this.#text.replace(/[\udc00-\udd09\n]/gu, (letter, at: number) => this.#write(letter, at));
  }

  #write(letter: string, at: number): string {
    if (letter === '\n') return this.#place === 'cell' ? '<br>' : '  \n';
    const mark = this.#marks.get(at);
    if (mark) return mark.isTag ? `<${mark.isOpen ? '' : '/'}${mark.mark}>` : delimiters[mark.mark];
    const plain = seen(letter);
    if (!isRaw(letter.charCodeAt(0))) return plain;
    return this.#escaped.has(at) || this.#isMarkup(plain, at) ? `\\${plain}` : plain;
  }

  /** Whether a letter is markup here: it is one that means something beside certain others. */
  #isMarkup(letter: string, at: number): boolean {
    const next = this.#after(at + 1);
    switch (letter) {
      case '`':
        return this.#hasTicks;
      case '\\':
        return /[!-/:-@[-`{-~]/.test(next);
      case ']':
        return next === '(';
      case '!':
        return this.#text[at + 1] === signs.label[0];
      case '<':
        return at < this.#lastGreater && /[a-z/!?]/i.test(next);
      case '&':
        return /^&(?:#\w{1,7}|[a-z]\w{1,30});/i.test(decode(this.#text.slice(at, at + 34)));
      default:
        return false;
    }
  }

  /** A line in a cell ends with a tag. */
  #before(at: number): string {
    return this.#place === 'cell' && this.#text[at - 1] === '\n' ? '>' : before(this.#text, at);
  }

  #after(at: number): string {
    return this.#place === 'cell' && this.#text[at] === '\n' ? '<' : after(this.#text, at);
  }

  #readMarks(): void {
    const open: MarkAt[] = [];
    for (const { 0: letter, index: at } of this.#text.matchAll(/[\udd00-\udd05]/gu)) {
      const code = letter.charCodeAt(0) - 0xdd00;
      const one: MarkAt = { at, mark: markNames[code >> 1] ?? 'em', isOpen: code % 2 === 0, pair: null, isTag: false };
      this.#marks.set(at, one);
      if (one.isOpen) open.push(one);
      else {
        one.pair = open.pop() ?? null;
        if (one.pair) one.pair.pair = one;
      }
    }
  }

  /** Emphasis that its delimiters would not begin or end becomes tags. Each tag changes what is around others. */
  #chooseTags(): void {
    const runs = this.#runs();
    for (let pass = 0; pass < 3; pass += 1) {
      let hasChanged = false;
      for (const run of runs) hasChanged = this.#chooseIn(run) || hasChanged;
      if (!hasChanged) return;
    }
    for (const mark of this.#marks.values()) mark.isTag = true;
  }

  #runs(): MarkAt[][] {
    const runs: MarkAt[][] = [];
    for (const mark of this.#marks.values()) {
      const last = runs.at(-1);
      if (last && last.at(-1)?.at === mark.at - 1) last.push(mark);
      else runs.push([mark]);
    }
    return runs;
  }

  #chooseIn(run: readonly MarkAt[]): boolean {
    const [first, last] = [run[0], run.at(-1)];
    if (!first || !last) return false;
    let hasChanged = false;
    const isSame = (one: MarkAt | undefined, other: MarkAt | undefined): boolean =>
      one !== undefined && other !== undefined && !one.isTag && !other.isTag && (one.mark === 'del') === (other.mark === 'del');
    for (let start = 0, end = 1; start < run.length; start = end, end += 1) {
      while (isSame(run[start], run[end])) end += 1;
      const own = run.slice(start, end).filter(({ isTag }) => !isTag);
      const { left, right } = flanks(start === 0 ? this.#before(first.at) : '*', end === run.length ? this.#after(last.at + 1) : '*');
      const isMixed = own.some(({ isOpen }) => isOpen) && own.some(({ isOpen }) => !isOpen);
      const wrong = own.filter(({ isOpen, pair }) => pair === null || (isOpen ? !left || isMixed : !right));
      for (const mark of wrong) mark.isTag = true;
      for (const { pair } of wrong) if (pair) pair.isTag = true;
      hasChanged ||= wrong.length > 0;
    }
    return hasChanged;
  }

  /** Literal `*`, `_` and `~` that could be a pair with others. */
  #findDelimiters(): void {
    for (const [letter, runs] of [
      ['*', /\udc2a+/gu],
      ['_', /\udc5f+/gu],
      ['~', /\udc7e+/gu],
    ] as const) {
      const hasMarks = [...this.#marks.values()].some(({ mark, isTag }) => !isTag && delimiters[mark].startsWith(letter));
      const matches = [...this.#text.matchAll(runs)].map(({ 0: run, index: at }) => ({
        at,
        length: run.length,
        ...this.#roleOf(letter, at, run.length),
      }));
      const lastClose = matches.findLastIndex(({ closes }) => closes);
      const firstOpen = matches.findIndex(({ opens }) => opens);
      for (const [index, { at, length, opens, closes }] of matches.entries()) {
        const isLive = hasMarks ? opens || closes : (opens && lastClose > index) || (closes && firstOpen !== -1 && firstOpen < index);
        // Readers differ in whether three tildes are strikethrough.
        if (isLive) for (let n = 0; n < length; n += 1) this.#escaped.add(at + n);
      }
    }
  }

  #roleOf(letter: string, at: number, length: number): { opens: boolean; closes: boolean } {
    const [prev, next] = [this.#before(at), this.#after(at + length)];
    const { maybeLeft: left, maybeRight: right } = flanks(prev, next);
    if (letter !== '_') return { opens: left, closes: right };
    return { opens: left && (!right || /[\p{P}\p{S}]/u.test(prev)), closes: right && (!left || /[\p{P}\p{S}]/u.test(next)) };
  }

  /** Brackets in the text of a link, unless they are pairs. */
  #findBrackets(): void {
    for (const { 0: label, index } of this.#text.matchAll(/\udd06[^\udd06\udd07]*\udd07/gu)) {
      const brackets = [...label.matchAll(/[\udc5b\udc5d]/gu)];
      let depth = 0;
      const isPaired = brackets.every(({ 0: bracket }) => (depth += bracket === '\udc5b' ? 1 : -1) >= 0) && depth === 0;
      // One that is escaped for what follows leaves its partner alone.
      const isSplit = /\udc5d[(\udc28]/u.test(label);
      if (!isPaired || isSplit) for (const { index: at } of brackets) this.#escaped.add(index + at);
    }
  }

  #findLineStarts(): void {
    if (this.#place === 'cell') return;
    if (this.#place === 'heading') {
      const end = /(?:^|\s)(#+)$/.exec(decode(this.#text))?.[1]?.length;
      if (end !== undefined) this.#escaped.add(this.#text.length - end);
      return;
    }
    let at = 0;
    for (const line of this.#text.split('\n')) {
      const letter = lineStartOf(decode(line), at === 0);
      if (letter !== -1) this.#escaped.add(at + letter);
      at += line.length + 1;
    }
    // A definition of a link may go on in the next lines.
    if (/^\[(?:[^[\]\\]|\\.){1,999}\]:/s.test(decode(this.#text.slice(0, 1100)))) this.#escaped.add(0);
  }
}

/** Position of the letter that makes a block of a line; -1 for a line of text. */
function lineStartOf(line: string, isFirst: boolean): number {
  const number = /^(\d{1,9})[.)](?=\s|$)/.exec(line);
  // Within a paragraph, only a list that begins with 1 begins.
  if (number) return isFirst || (Number(number[1]) === 1 && number[0].length < line.trimEnd().length) ? number[0].length - 1 : -1;
  if (/^(?:>|#{1,6}(?:\s|$)|<[a-z/!?]|~{3}|`{3,}[^`]*$)/i.test(line)) return 0;
  if (/^(?:[*][*\s]*|-[-\s]*|_[_\s]*)$/.test(line) && /^(?:\S\s*){3,}$/.test(line)) return 0;
  if (/^[-+*](?:\s|$)/.test(line) && (isFirst || line.trim().length > 1)) return 0;
  if (isFirst) return /^\[[ x]\](?:\s|$)/i.test(line) ? 0 : -1;
  return /^(?:=+|-+)\s*$/.test(line) || (/^[-:|]/.test(line) && /[:|]/.test(line) && /^[-:|\s]+$/.test(line) && line.includes('-'))
    ? 0
    : -1;
}
