/** Fetches without a browser: the HTTP request, and the page of its response. */
import type { FetchRequest } from '@berth/contract';
import { classify, readOutline } from '../block-detection/block-detection.ts';
import { decodeBody, kindOf, type Converter } from '../content/content.ts';
import type { HttpResult } from '../egress/egress.ts';
import type { Deadline } from '../lib/deadline.ts';
import { section } from '../lib/sections.ts';
import { convertPage } from './convert.ts';
import { limits } from './limits.ts';
import { needsBrowser, type BrowserReason } from './needs-browser.ts';
import { addBody, createPageResult, toBytes, warnOfNoJson, type PageResult } from './result.ts';

export interface PlainResult {
  page: PageResult;
  /** Why the page needs a browser; null when it does not. */
  needsBrowser: BrowserReason | null;
}

/** Kept back from the request, for the conversion. */
const conversionMs = (leftMs: number): number => Math.min(4000, leftMs * 0.15);

export const toHttpRequest = (request: FetchRequest, leftMs: number) => ({
  url: request.url,
  method: request.method,
  headers: request.headers,
  body: request.body,
  cookies: request.cookies,
  bodyBytesMax: limits.rawBytesMax,
  wireBytesMax: limits.wireBytesMax,
  redirectsMax: limits.redirectsMax,
  timeoutMs: Math.max(1, leftMs - conversionMs(leftMs)),
});

/** Classifies the response and converts its body. @throws the signal's reason */
export async function readResponse(
  { request, content, budget }: { request: FetchRequest; content: Converter; budget: Deadline },
  response: HttpResult,
  signal: AbortSignal,
): Promise<PlainResult> {
  const { url, contentType, setCookieNames: cookieNames, truncated, body } = response;
  const page = toPageResult(response);
  const kind = kindOf(contentType, body);
  const html = kind === 'html' ? (await decodeBody(body, contentType)).text : '';
  const outline = section('outline', () => readOutline(html));
  const info = { ...response, cookieNames, html, title: outline.title, visibleTextLength: null, dom: null, netError: null };
  const { blocked, block, captcha, warnings } = classify(info, request.block_detection);
  Object.assign(page, { block, captcha });
  page.warnings.push(...warnings);
  // Browsers show nothing of these, whatever body comes with them.
  if (page.statusCode === 204 || page.statusCode === 205 || page.statusCode === 304) return { page, needsBrowser: null };
  if (kind !== 'html') {
    if (body.length > 0) await addBody(page, { data: body, truncated }, request);
    warnOfNoJson(page, request);
    return { page, needsBrowser: blocked ? 'blocked' : null };
  }
  const reason = request.mode === 'auto' ? needsBrowser(outline, { blocked }) : null;
  // When a browser takes over, it converts the page itself.
  if (reason) return { page, needsBrowser: reason };
  page.title = outline.title;
  if (request.formats.includes('raw')) page.raw = toBytes({ data: body, truncated }, contentType);
  const source = { url, html, visible: null, full: null, isRendered: false };
  await convertPage({ content, request, result: page }, source, { signal, timeoutMs: budget.leftMs });
  warnOfNoJson(page, request);
  return { page, needsBrowser: null };
}

const toPageResult = ({ url, status, headers, contentType, redirects, ttfbMs, warnings }: HttpResult): PageResult => ({
  ...createPageResult(url),
  statusCode: status,
  headers,
  contentType,
  redirects,
  ttfbMs,
  warnings: [...warnings],
});
