/** Plain text as a reader sees it: one line per block, a blank line between paragraphs, a tab between cells. */
import { collapse, isElement, isFilledFrame, isText, nonTextTags, textIn, type Element, type Node, type Parent } from './dom.ts';
import { isEmbed } from './markdown/embeds.ts';
import { gapsOf, isBlock, scriptOf, spaceOf, type Space } from './main-content/layout.ts';
import { isFormulaBlock, texOf } from './markdown/math.ts';
import { scriptText } from './scripts.ts';

export function textOf(parent: Parent): string {
  const page = new TextPage();
  addChildren(page, parent, 'name' in parent ? spaceOf(parent, 'normal') : 'normal');
  return page.toString();
}

const paragraphs = new Set('p h1 h2 h3 h4 h5 h6 ul ol dl pre blockquote figure table hr fieldset'.split(' '));

/** Nested lists read as one list. */
const nested = new Set(['ul', 'ol', 'dl']);

function addChildren(page: TextPage, parent: Parent, space: Space): void {
  for (const child of parent.children) {
    if (isText(child)) page.addText(child.data, space);
    else if (isElement(child)) addElement(page, child, space);
  }
}

function addElement(page: TextPage, element: Element, space: Space): void {
  const { name } = element;
  if ((nonTextTags.has(name) && !isFilledFrame(element)) || labels.has(name) || isEmbed(element)) return;
  if (name === 'br') return page.endLine(1, { adds: true });
  if (name === 'td' || name === 'th') return addCell(page, element, space);
  const tex = texOf(element);
  if (tex !== null) return addFormula(page, tex, isFormulaBlock(element));
  const script = scriptOf(element);
  if (script !== null && !element.children.some((child) => isElement(child) && scriptOf(child) !== null))
    return page.addText(scriptText(script, collapse(textIn(element))), space);
  if (name === 'tr') {
    page.endRow();
    addChildren(page, element, space);
    return page.endRow();
  }
  const lines = linesAround(element);
  const gaps = gapsOf(element);
  page.endLine(lines);
  if (gaps.before) page.addGap();
  addChildren(page, element, spaceOf(element, space));
  page.endLine(lines);
  if (gaps.after) page.addGap();
}

function addFormula(page: TextPage, tex: string, isApart: boolean): void {
  if (isApart) page.endLine(1);
  page.addText(tex, 'normal');
  if (isApart) page.endLine(1);
}

/** Names of a page or of a part of an SVG. */
const labels = new Set(['head', 'title', 'desc']);

function linesAround(element: Element): number {
  if (!isBlock(element)) return 0;
  return paragraphs.has(element.name) && !(nested.has(element.name) && isIn(element, 'li')) ? 2 : 1;
}

function addCell(page: TextPage, cell: Element, space: Space): void {
  if (hasCellBefore(cell)) page.startCell();
  addChildren(page, cell, spaceOf(cell, space));
}

const isIn = (element: Node, name: string): boolean => element.parent !== null && 'name' in element.parent && element.parent.name === name;

function hasCellBefore(element: Node): boolean {
  for (let node = element.prev; node; node = node.prev) if (isElement(node) && (node.name === 'td' || node.name === 'th')) return true;
  return false;
}

class TextPage {
  readonly #output: string[] = [];
  /** Output before the next word: line ends and then tabs, or else a space. */
  #lines = 0;
  #tabs = 0;
  #space = false;
  /** The space is drawn, and no character of the page: before a comma there is none. */
  #isGap = false;
  /** Whether the current row has any text. */
  #rowHasText = false;

  addText(text: string, space: Space): void {
    if (space === 'normal') return this.#addWords(text);
    if (space === 'pre') {
      // The line end between two lines that are blocks is theirs.
      const own = this.#lines > 0 ? text.replace(/^\r?\n/, '') : text;
      if (own !== '') this.#write(own);
      return;
    }
    for (const [at, line] of text.split(/\r?\n/).entries()) {
      if (at > 0) this.endLine(1, { adds: true });
      this.#addWords(line);
    }
  }

  addGap(): void {
    if (this.#space) return;
    this.#space = true;
    this.#isGap = true;
  }

  #addWords(text: string): void {
    const collapsed = text.replace(/[\s\u00a0]+/g, ' ');
    if (collapsed.startsWith(' ')) this.#addSpace();
    const trimmed = collapsed.trim();
    if (trimmed === '') return;
    this.#write(trimmed);
    if (collapsed.endsWith(' ')) this.#addSpace();
  }

  #addSpace(): void {
    this.#space = true;
    this.#isGap = false;
  }

  /** Several line ends collapse to one blank line. At the start of a cell they are dropped. */
  endLine(lines: number, { adds = false } = {}): void {
    if (this.#tabs === 0) this.#lines = adds ? Math.min(this.#lines + lines, 2) : Math.max(this.#lines, lines);
  }

  /** A cell stays on the line of the cell before it. */
  startCell(): void {
    if (this.#rowHasText) this.#lines = 0;
    this.#tabs += 1;
  }

  endRow(): void {
    this.#tabs = 0;
    this.#rowHasText = false;
    this.endLine(1);
  }

  toString(): string {
    return this.#output.join('').trim();
  }

  #write(text: string): void {
    const isEnded = this.#output.at(-1)?.endsWith('\n') === true;
    if (this.#lines > 0) this.#output.push('\n'.repeat(this.#lines - (isEnded ? 1 : 0)));
    if (this.#tabs > 0) this.#output.push('\t'.repeat(this.#tabs));
    else if (this.#lines === 0 && this.#space && !(this.#isGap && /^[.,;:!?)\]}]/.test(text))) this.#output.push(' ');
    this.#output.push(text);
    this.#lines = 0;
    this.#tabs = 0;
    this.#space = false;
    this.#isGap = false;
    this.#rowHasText = true;
  }
}
