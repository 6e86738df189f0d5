/** What one attempt found: everything of a reply that is about the page. */
import type { Block, Captcha, FetchResponse, PictureResponse, StepResult } from '@berth/contract';

export type PageFacts = NonNullable<FetchResponse['page']>;
export type FoundBytes = NonNullable<FetchResponse['raw']>;

export interface Found {
  finalUrl: string;
  statusCode: number | null;
  headers: Readonly<Record<string, string>>;
  contentType: string | null;
  redirects: readonly { url: string; statusCode: number }[];
  title: string | null;
  html: string | null;
  raw: FoundBytes | null;
  markdown: string | null;
  text: string | null;
  links: NonNullable<FetchResponse['links']> | null;
  page: PageFacts | null;
  screenshot: PictureResponse | null;
  pdf: FoundBytes | null;
  json: unknown;
  tables: NonNullable<FetchResponse['tables']> | null;
  har: FetchResponse['har'];
  actions: StepResult[];
  block: Block | null;
  captcha: Captcha | null;
  ttfbMs: number | null;
  loadMs: number | null;
  warnings: string[];
}

/** What is known of a page before anything is made of it. */
export const emptyFound = (url: string): Found => ({
  finalUrl: url,
  statusCode: null,
  headers: {},
  contentType: null,
  redirects: [],
  title: null,
  html: null,
  raw: null,
  markdown: null,
  text: null,
  links: null,
  page: null,
  screenshot: null,
  pdf: null,
  json: null,
  tables: null,
  har: null,
  actions: [],
  block: null,
  captcha: null,
  ttfbMs: null,
  loadMs: null,
  warnings: [],
});

/** An attempt that came to nothing, in the words that the caller is told. */
export interface FetchFault {
  code: string;
  message: string;
  retryable: boolean;
  details?: Record<string, unknown>;
  /** For the choice of what to try next. */
  reason: string | null;
}
