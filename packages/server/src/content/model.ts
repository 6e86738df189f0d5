/** What is asked of a page and what is made of it: plain data, for it crosses into a thread and back. */

export type ContentFormat = 'markdown' | 'text' | 'links' | 'metadata' | 'tables' | 'html';

export interface ExtractField {
  /** CSS. Matched in the whole page, hidden elements included. */
  selector: string;
  /** The attribute to read; without it the element's text. Addresses are made absolute. */
  attr?: string | undefined;
  type?: 'text' | 'html' | 'number' | 'url' | 'date' | 'boolean' | undefined;
  /** Every match, as an array, instead of the first. */
  list?: boolean | undefined;
}

export interface ContentOrder {
  html: string;
  /** The final address, to which relative links belong unless the page says `<base href>`. */
  url: string;
  formats: readonly ContentFormat[];
  /** For html, markdown, text, links and tables. Selectors to include say more exactly what is wanted, so with them this does nothing. */
  onlyMainContent: boolean;
  /** What Readability found in the page when a browser ran it, '' when it found nothing. Without it Readability runs here. */
  mainHtml?: string | null | undefined;
  includeSelectors: readonly string[];
  excludeSelectors: readonly string[];
  extract: { fields: Record<string, ExtractField> } | null;
}

export interface Link {
  url: string;
  text: string;
  rel: string | null;
  /** On the same registrable domain as the page. */
  internal: boolean;
}

export interface PageFacts {
  title: string | null;
  description: string | null;
  language: string | null;
  canonical: string | null;
  favicon: string | null;
  /** og:* and twitter:*, the first value of each. */
  open_graph: Record<string, string>;
  json_ld: unknown[];
}

export interface Table {
  caption: string | null;
  headers: string[];
  rows: string[][];
}

export interface ContentResult {
  html?: string;
  markdown?: string;
  text?: string;
  links?: Link[];
  page?: PageFacts;
  tables?: Table[];
  /** Present when `extract` was asked for: a value, an array or null for each field. */
  json?: Record<string, unknown>;
  /** '' for a page without one. */
  title: string;
  /** Codes, such as `extract_failed:price`, `links_cut`, `main_content_not_found`. */
  warnings: string[];
}
