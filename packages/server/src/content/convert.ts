/** What runs in a thread: one page in, what was asked for out. */
import { dropUnread, dropUnseen, setChildren, parse, type CheerioAPI, type Node, type Parent } from './dom.ts';
import { extractFields } from './extract.ts';
import { readLinks } from './links.ts';
import { isPlainlyHidden, toMarkdown } from './markdown.ts';
import { readMetadata } from './metadata.ts';
import type { ContentFormat, ContentOrder, ContentResult } from './model.ts';
import { Page } from './page.ts';
import { readTables } from './tables.ts';
import { textOf } from './text.ts';
import { Warnings } from './warnings.ts';

export default async function convert(order: ContentOrder): Promise<ContentResult> {
  const warnings = new Warnings();
  const page = new Page(order.html, order.url);
  const result: ContentResult = { title: page.title, warnings: [] };
  if (order.formats.includes('metadata')) result.page = readMetadata(page.$, page.base, warnings);
  if (order.extract) result.json = extractFields(page.$, order.extract.fields, { base: page.base, warnings });
  const formats = new Set(order.formats.filter((format) => format !== 'metadata'));
  if (formats.size > 0) addFormats(result, formats, { page, part: await narrow(page, order, warnings), warnings });
  return { ...result, warnings: warnings.toArray() };
}

/** What is wanted of the page. */
interface Part {
  $: CheerioAPI;
  html: string;
}

/** Each step spoils the page for those before it: the unseen is still in the HTML that is handed out, and tables are taken out of each other. */
function addFormats(
  result: ContentResult,
  formats: Set<ContentFormat>,
  { page, part, warnings }: { page: Page; part: Part; warnings: Warnings },
): void {
  if (formats.delete('html')) result.html = part.html;
  if (formats.has('markdown') && isPlainlyHidden(part.html)) {
    formats.delete('markdown');
    result.markdown = toMarkdown(part.html, page.base, warnings);
  }
  if (formats.size === 0) return;
  const root = part.$.root()[0] as Parent;
  dropUnread(root);
  // A table in a closed panel is one of the page's tables all the same, and so is a link in a menu.
  if (formats.has('links')) result.links = readLinks(part.$, page, warnings);
  if (formats.has('markdown') || formats.has('text')) dropUnseen(root);
  if (formats.has('markdown')) result.markdown = toMarkdown(part.$('body').html() ?? part.$.html(), page.base, warnings);
  if (formats.has('text')) result.text = textOf(root);
  if (formats.has('tables')) result.tables = readTables(part.$, warnings);
}

/** What is excluded goes first, what is included is picked from the rest. */
async function narrow(page: Page, order: ContentOrder, warnings: Warnings): Promise<Part> {
  if (order.excludeSelectors.length > 0) exclude(page.$, order.excludeSelectors);
  if (order.includeSelectors.length > 0) return include(page.$, order.includeSelectors, warnings);
  const main = order.onlyMainContent ? await findMain(page, order) : null;
  if (main !== null) {
    const part = new Page(main, order.url);
    if (order.excludeSelectors.length === 0) return part;
    exclude(part.$, order.excludeSelectors);
    return { $: part.$, html: part.$('body').html() ?? '' };
  }
  if (order.onlyMainContent) warnings.add('main_content_not_found');
  return order.excludeSelectors.length === 0 ? page : { $: page.$, html: page.$.html() };
}

function exclude($: CheerioAPI, selectors: readonly string[]): void {
  for (const selector of selectors) $.root().find(selector).remove();
}

function include($: CheerioAPI, selectors: readonly string[], warnings: Warnings): Part {
  const matches = new Set<Node>($.root().find(selectors.join(', ')).toArray());
  if (matches.size === 0) warnings.add('include_selectors_matched_nothing');
  const part = parse('');
  const body = part('body')[0];
  if (body)
    setChildren(
      body,
      [...matches].filter((node) => !hasAncestor(node, matches)),
    );
  return { $: part, html: part('body').html() ?? '' };
}

function hasAncestor(node: Node, others: ReadonlySet<Parent | Node>): boolean {
  for (let above = node.parent; above; above = above.parent) if (others.has(above)) return true;
  return false;
}

/** Null where there is none. */
async function findMain(page: Page, order: ContentOrder): Promise<string | null> {
  if (order.mainHtml != null) return order.mainHtml || null;
  // Loaded late: jsdom is large, and few need it.
  const { findMainContent } = await import('./main-content.ts');
  return findMainContent(page.$, page.base);
}
