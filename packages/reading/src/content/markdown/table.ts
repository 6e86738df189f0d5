/** Tables of Markdown. */
import { isElement, type Element, type Node } from '../dom.ts';
import { spaceOf } from '../main-content/layout.ts';
import { inlineOf } from './inline.ts';

/** Maximum cells of all rows: one cell may span a thousand columns and every row. */
const cellsMax = 100_000;
const columnsMax = 1000;

/** Whether a table arranges the page, and its cells are blocks: Markdown's cells are single lines. */
export function isLayout(table: Element): boolean {
  if (/^(?:presentation|none)$/i.test(table.attribs['role'] ?? '')) return true;
  const rows = rowsOf(table);
  if (rows.some((row) => cellsOf(row).some(({ name }) => name === 'th'))) return false;
  const widest = Math.max(0, ...rows.slice(0, 100).map((row) => cellsOf(row).length));
  return widest <= 1 || holdsBlocks(table.children);
}

const layoutNames: ReadonlySet<string> = new Set(['table', 'pre', 'h1', 'h2', 'h3', 'h4', 'form', 'blockquote', 'article', 'section']);

const holdsBlocks = (nodes: readonly Node[]): boolean =>
  nodes.some((node) => isElement(node) && (layoutNames.has(node.name) || holdsBlocks(node.children)));

export function captionOf(table: Element): Element | undefined {
  return table.children.filter(isElement).find(({ name }) => name === 'caption');
}

/** Header rows first. */
export function rowsOf(table: Element): Element[] {
  const groups = table.children.filter(isElement);
  const order = (name: string): number => (name === 'thead' ? 0 : name === 'tfoot' ? 2 : 1);
  return groups
    .filter(({ name }) => name === 'thead' || name === 'tbody' || name === 'tfoot' || name === 'tr')
    .toSorted((one, other) => order(one.name) - order(other.name))
    .flatMap((group) => (group.name === 'tr' ? [group] : group.children.filter(isElement).filter(({ name }) => name === 'tr')));
}

export const cellsOf = (row: Element): Element[] => row.children.filter(isElement).filter(({ name }) => name === 'td' || name === 'th');

/** '' for a table without text. */
export function tableOf(table: Element, base: string | null): string {
  const grid = new Grid(base);
  const rows = rowsOf(table).map((row) => grid.row(row));
  const filled = rows.filter((cells) => cells.some((text) => text !== ''));
  const [head, ...body] = filled;
  if (head === undefined) return '';
  const width = filled.reduce((most, cells) => Math.max(most, cells.length), 0);
  const headings = [...head, ...Array.from({ length: width - head.length }, () => '')];
  return [headings, headings.map(() => '---'), ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The cells of a row with an empty one for each further column or row that a cell spans. */
class Grid {
  readonly #base: string | null;
  /** Number of rows below that a cell above still spans, for each column. */
  #spanned: number[] = [];
  #left = cellsMax;

  constructor(base: string | null) {
    this.#base = base;
  }

  row(row: Element): string[] {
    const above = this.#spanned;
    const spanned: number[] = [];
    const texts: string[] = [];
    const put = (text: string, rowsBelow: number): void => {
      if (rowsBelow > 0) spanned[texts.length] = rowsBelow;
      texts.push(text);
    };
    const skip = (): void => {
      for (let rows = above[texts.length] ?? 0; rows > 0 && this.#left > 0; rows = above[texts.length] ?? 0, this.#left -= 1)
        put('', rows - 1);
    };
    for (const cell of cellsOf(row)) {
      skip();
      const below = Math.min(spanOf(cell.attribs['rowspan']), cellsMax) - 1;
      put(inlineOf(cell.children, { base: this.#base, place: 'cell', space: spaceOf(cell, 'normal') }), below);
      for (let n = Math.min(spanOf(cell.attribs['colspan']), columnsMax); n > 1 && this.#left > 0; n -= 1, this.#left -= 1) put('', below);
    }
    skip();
    this.#spanned = this.#left > 0 ? spanned : [];
    return texts;
  }
}

function spanOf(value: string | undefined): number {
  const span = Number.parseInt(value ?? '1', 10);
  return Number.isNaN(span) || span < 1 ? 1 : span;
}
