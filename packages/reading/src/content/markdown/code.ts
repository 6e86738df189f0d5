/** Blocks of code: their lines, without what highlighters put beside them. */
import { isElement, isText, markPrefix, setChildren, textIn, type Element, type Node, type Parent } from '../dom.ts';
import { isBlock } from '../main-content/layout.ts';
import { fenceFor } from './inline.ts';
import { cellsOf, rowsOf } from './table.ts';

export function codeBlockOf(element: Element): string {
  const code = new CodeLines();
  code.addChildren(element);
  const text = code.toString();
  if (text.trim() === '') return '';
  const fence = fenceFor(text, 3);
  return `${fence}${languageOf(element)}\n${text}\n${fence}`;
}

/** Chroma, highlight.js, Prism, Shiki and VitePress, GitHub and GitLab, Rouge, Pygments and Sphinx, Docusaurus, SyntaxHighlighter. */
const numberClass =
  /(?:^|[\s_-])(?:code)?(?:line-?no(?:s|div)?|line-?numbers?(?:-rows|-wrapper)?|gutter|lnt|lntd|blob-num|ln-numbers|line-num)(?:$|[\s_-])|(?:^|\s)ln(?:$|\s)/i;

/** A class alone says too little: blocks whose lines have numbers are named alike. */
const isLineNumber = (element: Element): boolean =>
  (numberClass.test((element.attribs['class'] ?? '').slice(0, 500)) || element.attribs['data-line-number'] !== undefined) &&
  hasOnlyNumbers(element);

const hasOnlyNumbers = ({ children }: Parent): boolean =>
  children.every((child) => (isText(child) ? /^[\d\s\u00a0]*$/.test(child.data) : !isElement(child) || hasOnlyNumbers(child)));

const codeMark = `${markPrefix}code`;

export const isCodeTable = ({ attribs }: Element): boolean => attribs[codeMark] !== undefined;

/** Whether the first column is the numbers of the lines. */
function hasNumberedLines(table: Element): boolean {
  const cells = rowsOf(table).slice(0, 1).flatMap(cellsOf);
  const [first, ...others] = cells;
  return first !== undefined && others.length > 0 && others.length <= 2 && isLineNumber(first) && !others.every(hasOnlyNumbers);
}

/** Elements that hold lines, and are none. */
const holders: ReadonlySet<string> = new Set(['pre', 'code', 'table', 'tbody', 'thead', 'td', 'th']);

class CodeLines {
  readonly #parts: string[] = [];
  /** A line that is a block has just ended. */
  #isAfterLine = false;

  addChildren(parent: Parent): void {
    for (const child of parent.children) {
      if (isText(child)) this.#addText(child.data.replace(/\r\n?/g, '\n'));
      else if (isElement(child)) this.#addElement(child);
    }
  }

  toString(): string {
    return this.#parts.join('').replace(/^\n/, '').trimEnd();
  }

  #addElement(element: Element): void {
    const { name } = element;
    if (name === 'button') return;
    if (name === 'br') return this.#push('\n');
    if (!(isBlock(element) || name === 'tr' || name === 'li') || holders.has(name)) return this.addChildren(element);
    this.#startLine();
    const parts = this.#parts.length;
    this.addChildren(element);
    const isEmpty = this.#parts.length === parts;
    // An empty line has nothing to show; a box without text is no line.
    if (!this.#isEnded() || (isEmpty && (name === 'span' || /line/i.test(element.attribs['class'] ?? '')))) {
      this.#push('\n');
      this.#isAfterLine = true;
    }
  }

  #addText(text: string): void {
    // Highlighters have a line end between lines that are blocks, for those who copy them.
    const own = this.#isAfterLine && text.startsWith('\n') ? text.slice(1) : text;
    this.#isAfterLine = false;
    if (own !== '') this.#push(own);
  }

  #startLine(): void {
    this.#isAfterLine = false;
    if (this.#parts.length > 0 && !this.#isEnded()) this.#push('\n');
  }

  #push(text: string): void {
    this.#parts.push(text);
    this.#isAfterLine = false;
  }

  #isEnded(): boolean {
    return this.#parts.length === 0 || this.#parts.at(-1)?.endsWith('\n') === true;
  }
}

/** Number of levels above a block of code where its buttons may be. */
const levelsMax = 3;

/** Removes the numbers and the buttons that stand in and beside blocks of code, and marks tables that are such blocks. Returns the levels down to one. */
export function dropCodeFurniture(parent: Parent): number {
  if ('name' in parent && parent.name === 'table') {
    delete parent.attribs[codeMark];
    if (hasNumberedLines(parent)) parent.attribs[codeMark] = '';
  }
  if ('name' in parent && (parent.name === 'pre' || isCodeTable(parent))) {
    dropBeside(parent, () => true);
    return 0;
  }
  const levels = parent.children.map((child) => (isElement(child) ? dropCodeFurniture(child) : Infinity));
  const least = levels.reduce((one, other) => Math.min(one, other), Infinity);
  if (least < levelsMax) dropBeside(parent, (at) => levels[at] === Infinity);
  return least + 1;
}

function dropBeside(parent: Parent, isBeside: (at: number) => boolean): void {
  const isRetained = (child: Node, at: number): boolean => !isElement(child) || !isBeside(at) || !isFurniture(child);
  if (!parent.children.every(isRetained)) setChildren(parent, parent.children.filter(isRetained));
  for (const [at, child] of parent.children.entries()) if (isElement(child) && isBeside(at)) dropBeside(child, () => true);
}

const copyLabel =
  /^(?:copy|copy code|copied!?|copy to clipboard|copy snippet|kopieren|copier|copiar|copia|скопировать|コピー|复制|複製|복사)$/i;
const copyClass = /(?:^|[\s_-])(?:copy|copybtn|copycode|copybutton|clipboard|clipboardbutton)(?:$|[\s_-])/i;
const labelCharsMax = 40;

function isFurniture(element: Element): boolean {
  const { name, attribs } = element;
  if (isLineNumber(element)) return true;
  const isButton = name === 'button' || name === 'clipboard-copy' || name === 'a' || attribs['role'] === 'button';
  if (!isButton) return name === 'span' && attribs['class'] === 'lang';
  const text = textIn(element).trim();
  return text.length <= labelCharsMax && (copyLabel.test(text) || copyClass.test((attribs['class'] ?? '').slice(0, 500)));
}

/** The first code in a block, which has its language. */
function codeIn({ children }: Element, depth: number): Element | undefined {
  for (const child of children) {
    if (!isElement(child)) continue;
    if (child.name === 'code') return child;
    const match = depth < 6 ? codeIn(child, depth + 1) : undefined;
    if (match) return match;
  }
  return undefined;
}

const languageMark = /^(?:language|lang|highlight|highlight-source|brush)[-:]([\w+#.]{1,30})$/i;

function languageIn(names: string): string | undefined {
  for (const name of names.slice(0, 1000).split(/\s+/)) {
    const language = languageMark.exec(name)?.[1];
    if (language !== undefined) return language;
  }
  return undefined;
}

/** The language as highlighters name it: on the block, on the code in it, or on what is around it. */
function languageOf(element: Element): string {
  const code = codeIn(element, 0);
  const around = [element.parent, element.parent?.parent].filter(
    (parent) => parent !== null && parent !== undefined && isElement(parent as Node),
  );
  for (const one of [code, element, ...around] as (Element | undefined)[]) {
    const name = one?.attribs['data-lang'] ?? one?.attribs['data-language'] ?? languageIn(one?.attribs['class'] ?? '');
    if (name !== undefined && /^[\w+#.-]{1,30}$/.test(name)) return /^(?:text|none|plain|default|plaintext)$/i.test(name) ? '' : name;
  }
  return '';
}
