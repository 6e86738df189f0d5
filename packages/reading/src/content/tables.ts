import { collapse, elementsNamed, isElement, type CheerioAPI, type Element } from './dom.ts';
import type { Table, Warnings } from './conversion.ts';
import { textOf } from './text.ts';

const tablesMax = 200;
const rowsMax = 10_000;
/** Maximum cells of all tables together: one cell may span a thousand columns and every row. */
const cellsMax = 200_000;
/** Maximum `colspan`, as in HTML. */
const colspanMax = 1000;
const cellCharsMax = 10_000;

/** Tables in document order. A nested table is a table of its own and not part of the outer cell's text. */
export function readTables($: CheerioAPI, warnings: Warnings): Table[] {
  const limits = { rows: rowsMax, cells: cellsMax };
  const tables: Table[] = [];
  // Tables are read from last to first, so that an inner table is read and removed before the text of the outer one.
  const elements = elementsNamed($, 'table');
  if (elements.length > tablesMax) warnings.add('tables_cut');
  for (const element of elements.slice(0, tablesMax).toReversed()) {
    tables.unshift(readTable($, element, limits));
    $(element).remove();
  }
  if (limits.rows <= 0 || limits.cells <= 0) warnings.add('table_rows_cut');
  return tables;
}

interface Limits {
  rows: number;
  cells: number;
}

function readTable($: CheerioAPI, table: Element, limits: Limits): Table {
  const children = table.children.filter(isElement);
  const caption = children.find(({ name }) => name === 'caption');
  const groups = [
    childrenNamed(children, 'thead'),
    children.filter(({ name }) => name === 'tbody' || name === 'tr'),
    childrenNamed(children, 'tfoot'),
  ];
  const [head = [], body = [], foot = []] = groups.map((group) => rowsOf(group));
  const grid = expandSpans([head, body, foot], limits);
  const headRows = head.length > 0 ? head.length : isHeaderRow(body[0]) ? 1 : 0;
  return {
    caption: (caption && collapse($(caption).text()).slice(0, cellCharsMax)) || null,
    headers: joinHeaders(grid.slice(0, headRows)),
    rows: grid.slice(headRows),
  };
}

const childrenNamed = (children: Element[], tag: string): Element[] => children.filter(({ name }) => name === tag);

const rowsOf = (group: Element[]): Element[] =>
  group.flatMap((element) => (element.name === 'tr' ? [element] : element.children.filter(isElement).filter(({ name }) => name === 'tr')));

const cellsOf = (row: Element): Element[] => row.children.filter(isElement).filter(({ name }) => name === 'td' || name === 'th');

function isHeaderRow(row: Element | undefined): boolean {
  const cells = row ? cellsOf(row) : [];
  return cells.length > 0 && cells.every(({ name }) => name === 'th');
}

/** Joins the rows of a header from the top down: "2024 / Q1" becomes "2024 Q1". */
function joinHeaders(rows: string[][]): string[] {
  const width = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: width }, (_, column) =>
    [...new Set(rows.map((row) => row[column] ?? ''))].filter((text) => text !== '').join(' '),
  );
}

/** The rows of each group, with each cell repeated over the columns and rows it spans. A span ends with its group. */
function expandSpans(groups: Element[][], limits: Limits): string[][] {
  const grid: string[][] = [];
  for (const rows of groups) {
    let spans: Span[] = [];
    for (const [index, row] of rows.entries()) {
      if (limits.rows <= 0 || limits.cells <= 0) return grid;
      limits.rows -= 1;
      const filled = fillRow(row, rows.length - index, spans, limits);
      grid.push(filled.texts);
      spans = filled.spans;
    }
  }
  return grid;
}

/** A cell that spans rows below. */
interface Span {
  column: number;
  width: number;
  rowsLeft: number;
  text: string;
}

function fillRow(row: Element, rowsLeft: number, above: Span[], limits: Limits): { texts: string[]; spans: Span[] } {
  const texts: string[] = [];
  const put = ({ column, width, text }: Omit<Span, 'rowsLeft'>): void => {
    for (let at = column; at < column + width && limits.cells > 0; at += 1, limits.cells -= 1) texts[at] = text;
  };
  for (const span of above) put(span);
  const spans = above.map((span) => ({ ...span, rowsLeft: span.rowsLeft - 1 }));
  let column = 0;
  for (const cell of cellsOf(row)) {
    while (texts[column] !== undefined) column += 1;
    const width = spanOf(cell.attribs['colspan'], colspanMax) || 1;
    const height = spanOf(cell.attribs['rowspan'], rowsLeft);
    const span = { column, width, text: textOf(cell).slice(0, cellCharsMax) };
    put(span);
    spans.push({ ...span, rowsLeft: (height === 0 ? rowsLeft : height) - 1 });
    column += width;
  }
  return { texts: Array.from(texts, (text) => text ?? ''), spans: spans.filter((span) => span.rowsLeft > 0) };
}

/** Zero, which means "to the end" for rows, is preserved; an invalid value is 1. */
function spanOf(value: string | undefined, max: number): number {
  const span = Number.parseInt(value ?? '1', 10);
  return Number.isNaN(span) || span < 0 ? 1 : Math.min(span, max);
}
