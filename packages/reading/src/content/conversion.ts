/** The options and the result of a conversion: plain data, because both cross a thread boundary. */

export type ContentFormat = 'markdown' | 'text' | 'links' | 'metadata' | 'tables' | 'html';

export interface ExtractField {
  /** CSS. Matched in the whole page, hidden elements included. */
  selector: string;
  /** The attribute to read; default: the element's text. URLs become absolute. */
  attr?: string | undefined;
  type?: 'text' | 'html' | 'number' | 'url' | 'date' | 'boolean' | undefined;
  /** All matches as an array, instead of the first. */
  list?: boolean | undefined;
}

export interface ContentOptions {
  html: string;
  /** The final URL: the base of relative links, unless the page has `<base href>`. */
  url: string;
  formats: readonly ContentFormat[];
  /** Whether html, markdown, text, links and tables have only the main content. Ignored with `includeSelectors`. */
  onlyMainContent: boolean;
  includeSelectors: readonly string[];
  excludeSelectors: readonly string[];
  extract: { fields: Record<string, ExtractField> } | null;
}

export interface Link {
  url: string;
  text: string;
  rel: string | null;
  /** Whether the link stays on the registrable domain of the page. */
  internal: boolean;
}

export interface PageMetadata {
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
  page?: PageMetadata;
  tables?: Table[];
  /** Present with `extract`: a value, an array or null for each field. */
  json?: Record<string, unknown>;
  /** '' for a page without one. */
  title: string;
  /** Visible frames of which the source has only the address. */
  framesLeftOut: number;
  /** Codes, such as `extract_failed:price`, `links_cut`, `main_content_not_found`. */
  warnings: string[];
}

/** Warning codes of a conversion, without duplicates and limited in number. */
export class Warnings {
  readonly #codes = new Set<string>();

  add(code: string): void {
    if (this.#codes.size < warningsMax) this.#codes.add(code);
  }

  toArray(): string[] {
    return [...this.#codes];
  }
}

const warningsMax = 100;
