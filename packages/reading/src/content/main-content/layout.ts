/**
 * How elements are displayed where their tags do not say it. The page's snapshot
 * marks it from the computed styles; a page that no browser has rendered has only
 * its tags and inline styles.
 */
import { isElement, markPrefix, type Element, type Parent } from '../dom.ts';

export const layoutMark = `${markPrefix}layout`;

/** What happens to white space: only `pre` keeps blanks, and `lines` the line ends. */
export type Space = 'normal' | 'pre' | 'lines';

const blockNames: ReadonlySet<string> = new Set(
  `address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6
   header hgroup hr html legend li listing main menu nav ol optgroup option p plaintext pre search section summary table tbody td textarea
   tfoot th thead tr ul xmp`.split(/\s+/),
);
const preformatted: ReadonlySet<string> = new Set(['pre', 'textarea', 'listing', 'xmp', 'plaintext']);

const marksOf = ({ attribs }: Element): string[] => attribs[layoutMark]?.split(' ') ?? [];

const hasMark = (element: Element, mark: string): boolean => element.attribs[layoutMark] !== undefined && marksOf(element).includes(mark);

/** Whether an element ends the line before and after it. */
export const isBlock = (element: Element): boolean =>
  blockNames.has(element.name) ? !hasMark(element, 'inline') : hasMark(element, 'block');

/** Whether words before and after an element's border stand apart, although it is in a line with them. */
export function gapsOf(element: Element): { before: boolean; after: boolean } {
  const marks = marksOf(element);
  const isApart = marks.includes('gap');
  return { before: isApart || marks.includes('gap-before'), after: isApart || marks.includes('gap-after') };
}

export function spaceOf(element: Element, around: Space): Space {
  for (const mark of marksOf(element)) {
    if (mark === 'code') return 'pre';
    if (mark === 'space-pre' || mark === 'space-lines' || mark === 'space-normal') return mark.slice('space-'.length) as Space;
  }
  return preformatted.has(element.name) ? 'pre' : around;
}

/** Whether an element is displayed as a block of code: it keeps its lines, in a font of fixed width. */
export const isShownAsCode = (element: Element): boolean => hasMark(element, 'code');

export type Script = 'sup' | 'sub';

export function scriptOf(element: Element): Script | null {
  if (element.name === 'sup' || element.name === 'sub') return element.name;
  return hasMark(element, 'sup') ? 'sup' : hasMark(element, 'sub') ? 'sub' : null;
}

/** Marks what inline styles say. A page that a browser has rendered is marked already; no other has marks of its own. */
export function markLayout(root: Parent): void {
  const isMarked = root.children.some((child) => isElement(child) && hasMark(child, 'computed'));
  if (!isMarked) markChildren(root, '');
}

const styleCharsMax = 2000;

function markChildren(parent: Parent, display: string): void {
  for (const child of parent.children) {
    if (!isElement(child)) continue;
    delete child.attribs[layoutMark];
    const styles = stylesOf(child);
    const marks = [placeIn(child, styles, display), spaceIn(styles), scriptIn(styles)].filter((mark) => mark !== '');
    if (marks.length > 0) child.attribs[layoutMark] = marks.join(' ');
    markChildren(child, styles.get('display') ?? '');
  }
}

const noStyles: ReadonlyMap<string, string> = new Map();

function stylesOf({ attribs: { style } }: Element): ReadonlyMap<string, string> {
  if (style === undefined) return noStyles;
  const declarations = style.slice(0, styleCharsMax).toLowerCase().split(';');
  return new Map(declarations.map((declaration) => [nameIn(declaration), valueIn(declaration)]));
}

const nameIn = (declaration: string): string => declaration.slice(0, Math.max(0, declaration.indexOf(':'))).trim();
const valueIn = (declaration: string): string =>
  declaration
    .slice(declaration.indexOf(':') + 1)
    .replace('!important', '')
    .trim();

const isBox = (display: string): boolean => /^(?:inline-)?(?:flex|grid)$/.test(display);

function placeIn({ name }: Element, styles: ReadonlyMap<string, string>, outer: string): string {
  const display = styles.get('display') ?? '';
  if (blockNames.has(name)) return (name === 'div' || name === 'p') && display === 'inline' ? 'inline' : '';
  if (name === 'br' || name === 'wbr') return '';
  if (/^(?:absolute|fixed)$/.test(styles.get('position') ?? '') || /^(?:left|right)$/.test(styles.get('float') ?? '')) return 'gap';
  if (isBox(outer)) return outer.startsWith('inline') ? 'gap' : 'block';
  if (display === 'table-cell') return 'gap';
  return /^(?:block|flex|grid|flow-root|list-item|table|table-row)$/.test(display) ? 'block' : '';
}

function spaceIn(styles: ReadonlyMap<string, string>): string {
  const value = styles.get('white-space') ?? '';
  if (value === 'pre-line') return 'space-lines';
  if (/^(?:pre|pre-wrap|break-spaces)$/.test(value)) return 'space-pre';
  return /^(?:normal|nowrap)$/.test(value) ? 'space-normal' : '';
}

const scriptIn = (styles: ReadonlyMap<string, string>): string => ({ super: 'sup', sub: 'sub' })[styles.get('vertical-align') ?? ''] ?? '';
