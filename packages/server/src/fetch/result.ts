/** The page part of a fetch response, as one attempt fills it. */
import type { Block, Captcha, FetchResponse, PictureResponse, StepResult } from '@berth/contract';

export type PageInfo = NonNullable<FetchResponse['page']>;
export type ResponseBytes = NonNullable<FetchResponse['raw']>;

export interface PageResult {
  finalUrl: string;
  statusCode: number | null;
  headers: Readonly<Record<string, string>>;
  contentType: string | null;
  redirects: readonly { url: string; statusCode: number }[];
  title: string | null;
  html: string | null;
  raw: ResponseBytes | null;
  markdown: string | null;
  text: string | null;
  links: NonNullable<FetchResponse['links']> | null;
  page: PageInfo | null;
  screenshot: PictureResponse | null;
  pdf: ResponseBytes | null;
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

/** A result with nothing in it but the URL. */
export const createPageResult = (url: string): PageResult => ({
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

/** Why an attempt failed, as the response says it. */
export interface FetchError {
  code: string;
  message: string;
  retryable: boolean;
  details?: Record<string, unknown>;
  /** For the choice of the next strategy; not in the response. */
  reason: string | null;
}
