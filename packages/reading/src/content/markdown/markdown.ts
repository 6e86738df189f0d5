/**
 * Markdown of a page: CommonMark with the tables, task lists and strikethrough
 * of GitHub. One pass over the tree, linear for any input.
 */
import { isBlank, isElement, isText, textIn, type Element, type Node, type Parent } from '../dom.ts';
import { isBlock, isShownAsCode, spaceOf, type Space } from '../main-content/layout.ts';
import { isCodeTable, codeBlockOf } from './code.ts';
import type { Spot } from './escape.ts';
import { addressOf, codeNames, inlineOf, omitted, plainBlock, fenceFor } from './inline.ts';
import { isFormulaBlock, texOf } from './math.ts';
import { MarkdownOutput } from './output.ts';
import { captionOf, cellsOf, isLayout, rowsOf, tableOf } from './table.ts';
import type { Warnings } from '../conversion.ts';

/** A long base URL in front of a million links would exhaust the memory. */
const growthCharsMax = 50_000_000;

/** Links and images become absolute, unless that exceeds the limit. Hidden elements must have been dropped. */
export function toMarkdown(root: Parent, base: string | null, warnings: Warnings): string {
  const survey = surveyOf(root);
  const isTooLong = base !== null && survey.addresses * base.length > growthCharsMax;
  if (isTooLong) warnings.add('links_left_relative');
  const writer = new BlockWriter(survey.holders, isTooLong ? null : base);
  writer.addAll(root.children);
  if (writer.output.isCut) warnings.add('markdown_cut');
  return writer.output.toString().trim();
}

interface Survey {
  /** Inline elements with blocks inside. */
  holders: ReadonlySet<Node>;
  addresses: number;
}

function surveyOf(root: Parent): Survey {
  const holders = new Set<Node>();
  let addresses = 0;
  const visit = (parent: Parent): boolean => {
    let holdsBlocks = false;
    for (const child of parent.children) {
      if (!isElement(child)) continue;
      if (child.attribs['href'] !== undefined || child.attribs['src'] !== undefined) addresses += 1;
      const tex = texOf(child);
      // A list of choices is one word in its line.
      const isHolder = tex === null && child.name !== 'select' && visit(child);
      if (isHolder) holders.add(child);
      if (isHolder || (tex === null ? isBlock(child) : isFormulaBlock(child))) holdsBlocks = true;
    }
    return holdsBlocks;
  };
  visit(root);
  return { holders, addresses };
}

const listNames: ReadonlySet<string> = new Set(['ul', 'ol', 'menu', 'dir']);
const codeBlocks: ReadonlySet<string> = new Set(['pre', 'listing', 'xmp', 'plaintext']);

class BlockWriter {
  readonly output = new MarkdownOutput();
  readonly #holders: ReadonlySet<Node>;
  readonly #base: string | null;
  /** Inline nodes of the paragraph that is being read. */
  #run: Node[] = [];
  /** The address of a link around blocks: the first text gets it. */
  #link: string | null = null;
  /** Treatment of white space in what is being read. */
  #space: Space = 'normal';
  /** Place where the last ordered list has ended: another one right after it would go on with its numbers. */
  #listEnd = { blocks: -1, sign: '.' };

  constructor(holders: ReadonlySet<Node>, base: string | null) {
    this.#holders = holders;
    this.#base = base;
  }

  /** The blocks of the nodes, with the last paragraph ended. */
  addAll(nodes: readonly Node[]): void {
    this.#addChildren(nodes);
    this.#endParagraph();
  }

  #addChildren(nodes: readonly Node[]): void {
    for (const node of nodes) this.#add(node);
  }

  #add(node: Node): void {
    if (!isElement(node)) {
      if (isText(node)) this.#run.push(node);
      return;
    }
    if (omitted.has(node.name)) return;
    const tex = texOf(node);
    if (tex !== null) return this.#addFormula(node, tex);
    const isHolder = this.#holders.has(node);
    if (!isBlock(node) && !isHolder) {
      this.#run.push(node);
      return;
    }
    const around = this.#space;
    if (isBlock(node) || node.name === 'a') this.#endParagraph();
    this.#space = spaceOf(node, around);
    if (isBlock(node) || node.name === 'a') {
      this.#addApart(node, isHolder);
      this.#endParagraph();
    } else this.#addChildren(node.children);
    this.#space = around;
  }

  #addApart(node: Element, isHolder: boolean): void {
    if (isHolder && node.name === 'a') this.#addLinked(node);
    else if (isCodeBlock(node)) this.output.add(codeBlockOf(node));
    else if (isHolder || isBlockTag(node)) this.#addBlock(node);
    // Text that is displayed as a block, such as a heading in bold.
    else this.#run.push(node);
  }

  #addFormula(element: Element, tex: string): void {
    if (!isFormulaBlock(element)) return void this.#run.push(element);
    this.#endParagraph();
    const fence = fenceFor(tex, 3);
    this.output.add(`${fence}math\n${tex}\n${fence}`);
  }

  #endParagraph(): void {
    const run = this.#run;
    if (run.length === 0) return;
    this.#run = [];
    this.output.add(this.#inline(run, 'lines'));
  }

  #inline(nodes: readonly Node[], place: Spot, isStrong = false): string {
    const text = inlineOf(nodes, { base: this.#base, place, space: this.#space, link: this.#link, isStrong });
    if (text !== '') this.#link = null;
    return text;
  }

  #addLinked(element: Element): void {
    this.#link ??= addressOf(element.attribs['href'], this.#base);
    this.addAll(element.children);
    this.#link = null;
  }

  #addBlock(element: Element): void {
    const { name } = element;
    const level = /^h([1-6])$/.exec(name)?.[1];
    if (level !== undefined) {
      const text = this.#inline(element.children, 'heading');
      if (text !== '') this.output.add(`${'#'.repeat(Number(level))} ${text}`);
    } else if (listNames.has(name)) this.#addList(element);
    else if (name === 'blockquote') this.#addNested('> ', '> ', element.children);
    else if (name === 'hr') this.output.add('---');
    else if (name === 'table') this.#addTable(element);
    else if (name === 'dl') this.#addDefinitions(element);
    else if (name === 'summary') this.#addSummary(element);
    else if (name === 'textarea') this.output.add(plainBlock(textIn(element).trim()));
    else this.#addChildren(element.children);
  }

  /** Returns whether anything was added. */
  #addNested(marker: string, indent: string, nodes: readonly Node[]): boolean {
    const level = this.output.enter(marker, indent);
    this.addAll(nodes);
    return this.output.exit(level);
  }

  #addList(list: Element): void {
    const isInItem = list.parent !== null && 'name' in list.parent && (list.parent.name === 'li' || listNames.has(list.parent.name));
    const numbers = list.name === 'ol' ? numbersOf(list) : null;
    let sign = this.#listEnd.blocks === this.output.blocks ? otherSign(this.#listEnd.sign) : '.';
    let expected: number | null = null;
    let isFirst = true;
    for (const child of list.children) {
      if (isBlank(child) || (isElement(child) && omitted.has(child.name))) continue;
      const { gap } = this.output;
      if (isElement(child) && listNames.has(child.name)) {
        if (!isFirst || isInItem) this.output.gap = Math.min(this.output.gap, 1);
        if (this.#addNested('  ', '  ', [child])) isFirst = false;
        else this.output.gap = gap;
        continue;
      }
      const item = isElement(child) && child.name === 'li' ? child : null;
      const number = numbers?.(item) ?? null;
      // A list goes on with the next number, whatever it says; with another sign, another list begins.
      if (number !== null && expected !== null && number !== expected) sign = otherSign(sign);
      // Only a list that begins with 1 begins right after a line of text.
      const beginsAfterText = isInItem && !this.output.isAtMarker && (number === null || number === 1);
      if (!isFirst || beginsAfterText) this.output.gap = Math.min(this.output.gap, 1);
      const bullet = number === null ? '- ' : `${number}${sign} `;
      const isAdded = this.#addNested(bullet + (item ? taskOf(item) : ''), ' '.repeat(bullet.length), item ? item.children : [child]);
      // An item without text leaves no marker.
      if (isAdded) isFirst = false;
      else this.output.gap = gap;
      if (isAdded && number !== null) expected = number + 1;
    }
    if (expected !== null) this.#listEnd = { blocks: this.output.blocks, sign };
  }

  #addTable(table: Element): void {
    const caption = captionOf(table);
    if (caption) this.output.add(this.#inline(caption.children, 'lines'));
    if (isCodeTable(table)) return this.output.add(codeBlockOf(table));
    if (!isLayout(table)) return this.output.add(tableOf(table, this.#base));
    for (const row of rowsOf(table)) for (const cell of cellsOf(row)) this.addAll(cell.children);
  }

  /** Markdown has none: a line for each, `term: definition`. */
  #addDefinitions(list: Element): void {
    let term = '';
    let lines: string[] = [];
    const addLine = (line: string): void => void (line !== '' && lines.push(line));
    const endLines = (): void => {
      this.output.add(lines.join('  \n'));
      lines = [];
    };
    const items = list.children.filter(isElement).flatMap((child) => (child.name === 'div' ? child.children.filter(isElement) : [child]));
    for (const item of items) {
      if (item.name === 'dt') {
        addLine(term);
        term = this.#inline(item.children, 'spaces');
      } else if (this.#holds(item)) {
        addLine(term);
        term = '';
        endLines();
        this.addAll(item.children);
      } else {
        const text = this.#inline(item.children, 'lines');
        if (text !== '') addLine(term === '' ? text : `${term}: ${text}`);
        term = '';
      }
    }
    addLine(term);
    endLines();
  }

  /** Whether a definition is more than one paragraph. */
  #holds({ children }: Element): boolean {
    const blocks = children.filter((child) => isElement(child) && (isBlock(child) || this.#holders.has(child)));
    return blocks.some((child) => isElement(child) && child.name !== 'p' && child.name !== 'div') || blocks.length > 1;
  }

  #addSummary(summary: Element): void {
    const isHeading = summary.children.some((child) => isElement(child) && /^h[1-6]$/.test(child.name));
    if (isHeading) this.addAll(summary.children);
    else this.output.add(this.#inline(summary.children, 'spaces', true));
  }
}

const otherSign = (sign: string): string => (sign === '.' ? ')' : '.');

const blockTag = /^(?!a$|b$|i$|s$|em$|strong$|del$|strike$|code$|kbd$|samp$|tt$|span$|img$|q$|sup$|sub$|label$|button$|select$|font$)/;
const isBlockTag = ({ name }: Element): boolean => blockTag.test(name);

/** Whether lines and blanks of an element are those of code. */
function isCodeBlock(element: Element): boolean {
  if (codeBlocks.has(element.name)) return true;
  const isOwn =
    isShownAsCode(element) || (codeNames.has(element.name) && /\n/.test(textIn(element).trim()) && spaceOf(element, 'normal') === 'pre');
  return isOwn && !holdsStructure(element);
}

const structure: ReadonlySet<string> = new Set(
  'h1 h2 h3 h4 h5 h6 ul ol dl table blockquote p img a figure form article section'.split(' '),
);

const holdsStructure = ({ children }: Element): boolean =>
  children.some((child) => isElement(child) && (structure.has(child.name) || holdsStructure(child)));

/** `[x] ` or `[ ] ` for an item that begins with a check box. */
function taskOf(item: Element): string {
  for (let element: Element | undefined = item; element; element = firstElementOf(element)) {
    if (element.name !== 'input') continue;
    if (element.attribs['type']?.toLowerCase() !== 'checkbox') return '';
    return element.attribs['checked'] === undefined ? '[ ] ' : '[x] ';
  }
  return '';
}

/** The first element; undefined where text comes first. */
function firstElementOf({ children }: Element): Element | undefined {
  const first = children.find((child) => !isBlank(child));
  return first && isElement(first) ? first : undefined;
}

/** The number of each item, in turn; null for one that Markdown has no marker for. */
function numbersOf(list: Element): (item: Element | null) => number | null {
  const step = list.attribs['reversed'] === undefined ? 1 : -1;
  const items = list.children.filter((child) => isElement(child) && child.name === 'li').length;
  let next = integerIn(list.attribs['start']) ?? (step === 1 ? 1 : items);
  return (item) => {
    const number = integerIn(item?.attribs['value']) ?? next;
    next = number + step;
    // As in CommonMark.
    return number >= 0 && number <= 999_999_999 ? number : null;
  };
}

function integerIn(value: string | undefined): number | null {
  const number = Number.parseInt(value ?? '', 10);
  return Number.isNaN(number) ? null : number;
}
