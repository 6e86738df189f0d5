/** One attempt without a browser: an HTTP request and the conversion of its response. */
import type { FetchRequest } from '@berth/contract';
import { classify } from '../block-detection/block-detection.ts';
import { decodeBody, kindOf, type Content } from '../content/content.ts';
import type { HttpClient, HttpResult } from '../egress/egress.ts';
import type { Budget } from './budget.ts';
import { addBody, toBytes } from './bytes.ts';
import { convertPage } from './convert.ts';
import { createPageResult, type PageResult } from './result.ts';
import { limits } from './limits.ts';
import { needsBrowser, type BrowserReason } from './needs-browser.ts';

export interface PlainFetchOptions {
  request: FetchRequest;
  client: HttpClient;
  content: Content;
  budget: Budget;
  /** The part of the remaining budget for this attempt. */
  timeoutMs: number;
}

export interface PlainFetchResult {
  page: PageResult;
  bytes: { in: number; out: number };
  /** Why the page needs a browser; null when it does not. */
  needsBrowser: BrowserReason | null;
}

/** The share of the timeout for the request; the rest is for the conversion. */
const requestShare = 0.85;

/** @throws HttpFailure, or the signal's reason */
export async function fetchPlain(
  { request, client, content, budget, timeoutMs }: PlainFetchOptions,
  signal: AbortSignal,
): Promise<PlainFetchResult> {
  const outcome = await client.request(toHttpRequest(request, Math.max(1, timeoutMs * requestShare)), { signal });
  const page = toPageResult(outcome);
  const bytes = { in: outcome.bytesIn, out: outcome.bytesOut };
  const kind = kindOf(outcome.contentType, outcome.body);
  const html = kind === 'html' ? decodeBody(outcome.body, outcome.contentType).text : '';
  const classification = classify({ ...toReplyInfo(outcome), html, title: parseTitle(html) }, request.block_detection);
  const { block, captcha, warnings } = classification;
  Object.assign(page, { block, captcha });
  page.warnings.push(...warnings);
  if (kind !== 'html') {
    if (outcome.body.length > 0) addBody(page, { data: outcome.body, truncated: outcome.truncated }, request);
    return { page: page, bytes, needsBrowser: classification.blocked ? 'blocked' : null };
  }
  const wanted = request.mode === 'auto' ? needsBrowser(html, classification) : null;
  // When a browser takes over, it converts the page itself.
  if (!wanted) await addFormats(page, { request, content, outcome, html, timeoutMs: budget.leftMs() }, signal);
  return { page: page, bytes, needsBrowser: wanted };
}

const toHttpRequest = (request: FetchRequest, timeoutMs: number) => ({
  url: request.url,
  method: request.method,
  headers: request.headers,
  body: request.body,
  cookies: request.cookies,
  bodyBytesMax: limits.rawBytesMax,
  wireBytesMax: limits.wireBytesMax,
  redirectsMax: limits.redirectsMax,
  timeoutMs,
});

const toPageResult = (outcome: HttpResult): PageResult => ({
  ...createPageResult(outcome.url),
  statusCode: outcome.status,
  headers: outcome.headers,
  contentType: outcome.contentType,
  redirects: outcome.redirects,
  ttfbMs: outcome.ttfbMs,
  warnings: [...outcome.warnings],
});

const toReplyInfo = ({ status, headers, setCookieNames, url, contentType }: HttpResult) => ({
  status,
  headers,
  cookieNames: setCookieNames,
  url,
  contentType,
  visibleTextLength: null,
  dom: null,
  netError: null,
});

interface PlainPage {
  request: FetchRequest;
  content: Content;
  outcome: HttpResult;
  html: string;
  timeoutMs: number;
}

async function addFormats(page: PageResult, { request, content, outcome, html, timeoutMs }: PlainPage, signal: AbortSignal): Promise<void> {
  if (request.formats.includes('raw')) page.raw = toBytes({ data: outcome.body, truncated: outcome.truncated }, outcome.contentType);
  const source = { url: outcome.url, html, mainHtml: undefined, visible: null, text: null };
  const { warnings = [], ...converted } = await convertPage(content, request, source, { signal, timeoutMs });
  Object.assign(page, { title: parseTitle(html), ...converted });
  page.warnings.push(...warnings);
}

/** Without a parser, which is good enough for a title; the format `page` parses the document. */
function parseTitle(html: string): string {
  const [, text = ''] = /<title\b[^>]{0,200}>([^<]{0,2000})/i.exec(html) ?? [];
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' };
  return text
    .replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (all, name: string) => entities[name] ?? all)
    .replace(/\s+/g, ' ')
    .trim();
}
