/** Plain text as a reader sees it: one line per block, a blank line between paragraphs, a tab between cells. */
import { isElement, isText, nonTextTags, type Element, type Node, type Parent } from './dom.ts';

export function textOf(parent: Parent): string {
  const page = new TextPage();
  addChildren(page, parent, 'name' in parent && preformatted.has(parent.name));
  return page.toString();
}

const paragraphs = new Set('p h1 h2 h3 h4 h5 h6 ul ol dl pre blockquote figure table hr fieldset'.split(' '));
const blocks = new Set(
  `address article aside body caption center dd details dialog dir div dt figcaption footer form frameset header hgroup html legend li main
   menu nav optgroup option search section summary tbody textarea tfoot thead tr`.split(/\s+/),
);
const preformatted = new Set(['pre', 'textarea', 'listing', 'xmp', 'plaintext']);

/** Nested lists read as one list. */
const nested = new Set(['ul', 'ol', 'dl']);

function addChildren(page: TextPage, parent: Parent, isPreformatted: boolean): void {
  for (const child of parent.children) {
    if (isText(child)) page.addText(child.data, isPreformatted);
    else if (isElement(child)) addElement(page, child, isPreformatted);
  }
}

function addElement(page: TextPage, element: Element, isPreformatted: boolean): void {
  const { name } = element;
  if (nonTextTags.has(name) || labels.has(name)) return;
  if (name === 'br') return page.endLine(1, { adds: true });
  if (name === 'td' || name === 'th') return addCell(page, element, isPreformatted);
  const lines = linesAround(element);
  if (name === 'tr') page.endRow();
  else page.endLine(lines);
  addChildren(page, element, isPreformatted || preformatted.has(name));
  if (name === 'tr') page.endRow();
  else page.endLine(lines);
}

/** Names of a page or of a part of an SVG. */
const labels = new Set(['head', 'title', 'desc']);

function linesAround(element: Element): number {
  if (paragraphs.has(element.name)) return nested.has(element.name) && isIn(element, 'li') ? 1 : 2;
  return blocks.has(element.name) ? 1 : 0;
}

function addCell(page: TextPage, cell: Element, isPreformatted: boolean): void {
  if (hasCellBefore(cell)) page.startCell();
  addChildren(page, cell, isPreformatted);
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
  /** Whether the current row has any text. */
  #rowHasText = false;

  addText(text: string, isPreformatted: boolean): void {
    if (isPreformatted) {
      if (text !== '') this.#write(text);
      return;
    }
    const collapsed = text.replace(/[\s\u00a0]+/g, ' ');
    if (collapsed.startsWith(' ')) this.#space = true;
    const trimmed = collapsed.trim();
    if (trimmed === '') return;
    this.#write(trimmed);
    this.#space = collapsed.endsWith(' ');
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
    if (this.#lines > 0) this.#output.push('\n'.repeat(this.#lines));
    if (this.#tabs > 0) this.#output.push('\t'.repeat(this.#tabs));
    else if (this.#lines === 0 && this.#space) this.#output.push(' ');
    this.#output.push(text);
    this.#lines = 0;
    this.#tabs = 0;
    this.#space = false;
    this.#rowHasText = true;
  }
}
