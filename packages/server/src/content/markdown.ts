/**
 * Markdown of a page: CommonMark with the tables, task lists and strikethrough
 * of GitHub. One pass over the tree, linear for any input.
 */
import { isBlank, isElement, isText, textIn, type Element, type Node, type Parent } from './dom.ts';
import { addressOf, blockNames, escapeText, fenceFor, inlineOf, linkTo, omitted, type LineBreaks } from './markdown-inline.ts';
import { MarkdownOutput } from './markdown-output.ts';
import { captionOf, cellsOf, isLayout, rowsOf, tableOf } from './markdown-table.ts';
import type { Warnings } from './model.ts';

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
      const isHolder = visit(child);
      if (isHolder) holders.add(child);
      if (isHolder || blockNames.has(child.name)) holdsBlocks = true;
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
    const isBlock = blockNames.has(node.name);
    if (!isBlock && !this.#holders.has(node)) {
      this.#run.push(node);
      return;
    }
    if (!isBlock && node.name !== 'a') return this.#addChildren(node.children);
    this.#endParagraph();
    if (isBlock) this.#addBlock(node);
    else this.#addLinked(node);
    this.#endParagraph();
  }

  #endParagraph(): void {
    const run = this.#run;
    if (run.length === 0) return;
    this.#run = [];
    this.output.add(this.#inline(run, 'lines'));
  }

  #inline(nodes: readonly Node[], breaks: LineBreaks): string {
    const link = this.#link;
    if (link === null) return inlineOf(nodes, { base: this.#base, breaks });
    const text = inlineOf(nodes, { base: this.#base, breaks: 'spaces', insideLink: true });
    if (text === '') return '';
    this.#link = null;
    return linkTo(text, link);
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
      const text = this.#inline(element.children, 'spaces');
      if (text !== '') this.output.add(`${'#'.repeat(Number(level))} ${text}`);
    } else if (listNames.has(name)) this.#addList(element);
    else if (name === 'blockquote') this.#addNested('> ', '> ', element.children);
    else if (codeBlocks.has(name)) this.output.add(codeBlockOf(element));
    else if (name === 'hr') this.output.add('---');
    else if (name === 'table') this.#addTable(element);
    else if (name === 'dl') this.#addDefinitions(element);
    else if (name === 'summary') this.#addSummary(element);
    else if (name === 'textarea') this.output.add(escapeText(textIn(element).trim()));
    else this.#addChildren(element.children);
  }

  #addNested(marker: string, indent: string, nodes: readonly Node[]): void {
    const level = this.output.enter(marker, indent);
    this.addAll(nodes);
    this.output.exit(level);
  }

  #addList(list: Element): void {
    const isInItem = list.parent !== null && 'name' in list.parent && (list.parent.name === 'li' || listNames.has(list.parent.name));
    const start = Number.parseInt(list.attribs['start'] ?? '1', 10);
    let number = Number.isNaN(start) ? 1 : start;
    let isFirst = true;
    for (const child of list.children) {
      if (isBlank(child) || (isElement(child) && omitted.has(child.name))) continue;
      if (!isFirst || isInItem) this.output.gap = Math.min(this.output.gap, 1);
      isFirst = false;
      if (isElement(child) && listNames.has(child.name)) {
        this.#addNested('  ', '  ', [child]);
        continue;
      }
      const bullet = list.name === 'ol' ? `${number}. ` : '- ';
      number += 1;
      const item = isElement(child) && child.name === 'li' ? child : null;
      this.#addNested(bullet + (item ? taskOf(item) : ''), ' '.repeat(bullet.length), item ? item.children : [child]);
    }
  }

  #addTable(table: Element): void {
    const caption = captionOf(table);
    if (caption) this.output.add(this.#inline(caption.children, 'lines'));
    if (!isLayout(table)) return this.output.add(tableOf(table, this.#base));
    for (const row of rowsOf(table)) for (const cell of cellsOf(row)) this.addAll(cell.children);
  }

  /** Markdown has none: a line for each, `term: definition`. */
  #addDefinitions(list: Element): void {
    let term = '';
    let isFirst = true;
    const addLine = (line: string): void => {
      if (line === '') return;
      if (!isFirst) this.output.gap = 1;
      isFirst = false;
      this.output.add(line);
    };
    const items = list.children.filter(isElement).flatMap((child) => (child.name === 'div' ? child.children.filter(isElement) : [child]));
    for (const item of items) {
      if (item.name === 'dt') {
        addLine(term);
        term = this.#inline(item.children, 'spaces');
      } else if (this.#holds(item)) {
        addLine(term);
        term = '';
        this.addAll(item.children);
      } else {
        const text = this.#inline(item.children, 'lines');
        if (text !== '') addLine(`${term}: ${text}`.replace(/^: /, ''));
        term = '';
      }
    }
    addLine(term);
  }

  /** Whether a definition is more than one paragraph. */
  #holds({ children }: Element): boolean {
    const blocks = children.filter((child) => isElement(child) && (blockNames.has(child.name) || this.#holders.has(child)));
    return blocks.some((child) => isElement(child) && child.name !== 'p' && child.name !== 'div') || blocks.length > 1;
  }

  #addSummary(summary: Element): void {
    const text = this.#inline(summary.children, 'spaces');
    if (text !== '') this.output.add(text.includes('**') || text.startsWith('#') ? text : `**${text}**`);
  }
}

/** `[x] ` or `[ ] ` for an item that begins with a check box. */
function taskOf(item: Element): string {
  for (let element: Element | undefined = item; element; element = firstElementOf(element)) {
    if (element.name !== 'input') continue;
    if (element.attribs['type']?.toLowerCase() !== 'checkbox') return '';
    return element.attribs['checked'] === undefined ? '[ ] ' : '[x] ';
  }
  return '';
}

/** Undefined where text comes first. */
function firstElementOf({ children }: Element): Element | undefined {
  const first = children.find((child) => !isBlank(child));
  return first && isElement(first) ? first : undefined;
}

function codeBlockOf(element: Element): string {
  const parts: string[] = [];
  addCode(element, parts);
  const text = parts.join('').replace(/\r\n?/g, '\n').replace(/^\n/, '').trimEnd();
  if (text.trim() === '') return '';
  const fence = fenceFor(text, 3);
  return `${fence}${languageOf(element)}\n${text}\n${fence}`;
}

const lineNumbers = /(?:^|[\s_-])(?:line-?no|line-?numbers?|gutter)(?:$|[\s_-])/i;

/** The text of code, whose lines may be elements. */
function addCode(parent: Parent, parts: string[]): void {
  const endLine = (): void => {
    if (parts.length > 0 && parts.at(-1)?.endsWith('\n') === false) parts.push('\n');
  };
  for (const child of parent.children) {
    if (isText(child) && child.data !== '') parts.push(child.data);
    if (!isElement(child) || lineNumbers.test(child.attribs['class'] ?? '')) continue;
    if (child.name === 'br') parts.push('\n');
    const isLine = (blockNames.has(child.name) && child.name !== 'pre') || child.name === 'li';
    if (isLine) endLine();
    addCode(child, parts);
    if (isLine) endLine();
  }
}

const languageMark = /^(?:language|lang|highlight|highlight-source|brush)[-:]([\w+#.]{1,30})$/i;

function languageIn(names: string): string | undefined {
  for (const name of names.slice(0, 1000).split(/\s+/)) {
    const language = languageMark.exec(name)?.[1];
    if (language !== undefined) return language;
  }
  return undefined;
}

/** As highlighters name it: on the block, on the code in it, or on what is around it. */
function languageOf(element: Element): string {
  const code = element.children.find((child) => isElement(child) && child.name === 'code');
  const around = [element.parent, element.parent?.parent].filter(
    (parent) => parent !== null && parent !== undefined && isElement(parent as Node),
  );
  for (const one of [code, element, ...around] as (Element | undefined)[]) {
    const name = one?.attribs['data-lang'] ?? one?.attribs['data-language'] ?? languageIn(one?.attribs['class'] ?? '');
    if (name !== undefined && /^[\w+#.-]{1,30}$/.test(name)) return /^(?:text|none|plain|default|plaintext)$/i.test(name) ? '' : name;
  }
  return '';
}
