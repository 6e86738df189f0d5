/** The entry point of a conversion thread: one page per call. */
import {
  dropHidden,
  innerHtml,
  dropNonText,
  setChildren,
  parse,
  type CheerioAPI,
  type Node,
  type Parent,
  collapse,
  elementsNamed,
  resolveUrl,
  webSchemes,
  type Element,
  baseOf,
} from './dom.ts';
import { linkEmbeds, markEmbeds } from './markdown/embeds.ts';
import { extractFields } from './extract.ts';
import { fillFrames, unwrapFrames } from './frames.ts';
import { markLayout } from './main-content/layout.ts';
import { findMainContent } from './main-content/main-content.ts';
import { dropCodeFurniture } from './markdown/code.ts';
import { markMath } from './markdown/math.ts';
import { toMarkdown } from './markdown/markdown.ts';
import { readMetadata, titleOf } from './metadata.ts';
import { type ContentFormat, type ContentOptions, type ContentResult, type Link, Warnings } from './conversion.ts';
import { readNoscriptPictures } from './markdown/pictures.ts';
import { readTables } from './tables.ts';
import { textOf } from './text.ts';
import { getDomain } from 'tldts';
import type { MessagePort } from 'node:worker_threads';

/** A conversion as the thread gets it. */
export interface ConversionTask extends ContentOptions {
  /** Gets a message when the conversion begins, after the thread's start. */
  started?: MessagePort;
}

export default function convert({ started, ...options }: ConversionTask): ContentResult {
  started?.postMessage(null, []);
  const warnings = new Warnings();
  const page = new Page(options.html, options.url);
  const result: ContentResult = { title: page.title, framesLeftOut: 0, warnings: [] };
  if (options.formats.includes('metadata')) result.page = readMetadata(page.$, page.base, warnings);
  const frames = readsFrames(options) ? fillFrames(page.$) : { filled: [], leftOut: 0 };
  result.framesLeftOut = frames.leftOut;
  if (options.extract) result.json = extractFields(page.$, options.extract.fields, { base: page.base, warnings });
  unwrapFrames(frames);
  const formats = new Set(options.formats.filter((format) => format !== 'metadata'));
  if (formats.has('markdown') || formats.has('text')) {
    const root = page.$.root()[0] as Parent;
    markLayout(root);
    markMath(root);
  }
  if (formats.has('markdown')) {
    readNoscriptPictures(page.$);
    markEmbeds(page.$.root()[0] as Parent);
  }
  if (formats.size > 0) addFormats(result, formats, { page, selection: narrow(page, options, warnings), warnings });
  return { ...result, warnings: warnings.toArray() };
}

/** The HTML is the document's own, and its metadata, too. */
const readsFrames = ({ formats, extract }: ContentOptions): boolean =>
  extract !== null || formats.some((format) => format !== 'html' && format !== 'metadata');

/** The part of the page that the formats are made of. */
interface Selection {
  readonly $: CheerioAPI;
  readonly html: string;
}

/** The order matters, because steps modify the page: `html` includes hidden elements, and reading tables removes them. */
function addFormats(
  result: ContentResult,
  formats: Set<ContentFormat>,
  { page, selection, warnings }: { page: Page; selection: Selection; warnings: Warnings },
): void {
  if (formats.delete('html')) result.html = selection.html;
  if (formats.size === 0) return;
  const root = selection.$.root()[0] as Parent;
  dropNonText(root);
  // Tables in closed panels and links in hidden menus count.
  if (formats.has('links')) result.links = readLinks(selection.$, page, warnings);
  if (formats.has('markdown') || formats.has('text')) {
    dropHidden(root);
    dropCodeFurniture(root);
  }
  if (formats.has('text')) result.text = textOf(root);
  if (formats.has('markdown')) {
    linkEmbeds(root);
    result.markdown = toMarkdown(root, page.base, warnings);
  }
  if (formats.has('tables')) result.tables = readTables(selection.$, warnings);
}

/** Exclusions apply first, inclusions to the rest. */
function narrow(page: Page, options: ContentOptions, warnings: Warnings): Selection {
  if (options.excludeSelectors.length > 0) exclude(page.$, options.excludeSelectors);
  if (options.includeSelectors.length > 0) return include(page.$, options.includeSelectors, warnings);
  const main = options.onlyMainContent ? findMainContent(page.$, { base: page.base, title: page.title }) : null;
  if (main !== null) return bodyOf(main);
  if (options.onlyMainContent) warnings.add('main_content_not_found');
  if (options.excludeSelectors.length === 0) return page;
  return {
    $: page.$,
    get html() {
      return innerHtml(page.$.root()[0] as Parent);
    },
  };
}

const bodyOf = ($: CheerioAPI): Selection => ({
  $,
  get html() {
    const body = $('body')[0];
    return body ? innerHtml(body) : '';
  },
});

function exclude($: CheerioAPI, selectors: readonly string[]): void {
  for (const selector of selectors) $.root().find(selector).remove();
}

function include($: CheerioAPI, selectors: readonly string[], warnings: Warnings): Selection {
  const matches = new Set<Node>($.root().find(selectors.join(', ')).toArray());
  if (matches.size === 0) warnings.add('include_selectors_matched_nothing');
  const selection = parse('');
  const body = selection('body')[0];
  if (body)
    setChildren(
      body,
      [...matches].filter((node) => !hasAncestor(node, matches)),
    );
  return bodyOf(selection);
}

function hasAncestor(node: Node, others: ReadonlySet<Parent | Node>): boolean {
  for (let above = node.parent; above; above = above.parent) if (others.has(above)) return true;
  return false;
}

/** Nobody follows more links of one page. */
const linksMax = 10_000;
const textCharsMax = 500;
/** Maximum characters of all addresses together: a long base makes them longer than the page. */
const addressCharsMax = 5_000_000;

/** The links to web pages, each address once, with the first non-empty text of its links. */
function readLinks($: CheerioAPI, { base, url }: { base: string | null; url: string }, warnings: Warnings): Link[] {
  const isInternal = sameSite(url);
  const links = new Map<string, Link>();
  let charsLeft = addressCharsMax;
  for (const element of elementsNamed($, 'a', 'area')) {
    const { href, rel } = element.attribs;
    const address = href === undefined ? null : resolveUrl(href, base);
    if (address === null || !webSchemes.has(new URL(address).protocol)) continue;
    const existing = links.get(address);
    if (existing && existing.text !== '') continue;
    const text = labelOf($, element).slice(0, textCharsMax);
    if (existing) {
      existing.text = text;
      continue;
    }
    charsLeft -= address.length;
    if (links.size >= linksMax || charsLeft < 0) {
      warnings.add('links_cut');
      break;
    }
    links.set(address, { url: address, text, rel: rel?.trim() || null, internal: isInternal(address) });
  }
  return [...links.values()];
}

function labelOf($: CheerioAPI, element: Element): string {
  const label = collapse($(element).text());
  if (label !== '') return label;
  const { 'aria-label': aria, title, alt } = element.attribs;
  return collapse(aria || title || alt || $(element).find('img[alt]').attr('alt') || '');
}

/** Sites under a private public suffix, such as github.io, are different sites. */
function sameSite(page: string): (address: string) => boolean {
  const siteOf = (host: string): string => getDomain(host, { allowPrivateDomains: true }) ?? host;
  const host = URL.parse(page)?.hostname ?? '';
  const site = siteOf(host);
  const cached = new Map<string, boolean>([[host, true]]);
  return (address) => {
    const { hostname } = new URL(address);
    const internal = cached.get(hostname) ?? siteOf(hostname) === site;
    cached.set(hostname, internal);
    return internal;
  };
}

/** A page. Only its head is parsed until `$` is read. */
class Page {
  readonly html: string;
  readonly url: string;
  /** '' for a page without one. */
  readonly title: string;
  /** The base of relative links; null without one. */
  readonly base: string | null;
  #parsed: CheerioAPI | undefined;

  constructor(html: string, url: string) {
    this.html = html;
    this.url = url;
    const $ = this.#parseHead() ?? this.$;
    this.title = titleOf($);
    this.base = baseOf($, url);
  }

  get $(): CheerioAPI {
    this.#parsed ??= parse(this.html);
    return this.#parsed;
  }

  /** The parsed head; undefined when a title or a base may be outside of it. */
  #parseHead(): CheerioAPI | undefined {
    const end = /<\/head\b|<body\b/i.exec(this.html)?.index;
    const tail = this.html.slice(end ?? 0);
    if (/<base\b/i.test(tail)) return undefined;
    const $ = parse(this.html.slice(0, end ?? 0));
    return titleOf($) === '' && /<title\b/i.test(tail) ? undefined : $;
  }
}
