/** One attempt without a browser: a request, and what is made of its reply. */
import type { FetchRequest } from '@berth/contract';
import { decodeBody, kindOf, type Content } from '../content/content.ts';
import { judgeReply } from '../drive/drive.ts';
import type { HttpClient, HttpOutcome } from '../egress/egress.ts';
import type { Budget } from './budget.ts';
import { takeBody, toBytes } from './bytes.ts';
import { convertPage } from './convert.ts';
import { emptyFound, type Found } from './found.ts';
import { limits } from './limits.ts';
import { needsBrowser, type BrowserReason } from './needs-browser.ts';

export interface PlainParts {
  request: FetchRequest;
  client: HttpClient;
  content: Content;
  budget: Budget;
  /** Of the time that is left, what this attempt may take. */
  timeoutMs: number;
}

export interface PlainFound {
  found: Found;
  bytes: { in: number; out: number };
  /** Why a browser would do better; null where it would not. */
  needsBrowser: BrowserReason | null;
}

/** What has come by then is still to be turned into what was asked for. */
const requestPart = 0.85;

/** Throws HttpFailure, or the signal's reason. */
export async function fetchPlainly({ request, client, content, budget, timeoutMs }: PlainParts, signal: AbortSignal): Promise<PlainFound> {
  const outcome = await client.request(orderOf(request, Math.max(1, timeoutMs * requestPart)), { signal });
  const found = foundOf(outcome);
  const bytes = { in: outcome.bytesIn, out: outcome.bytesOut };
  const kind = kindOf(outcome.contentType, outcome.body);
  const html = kind === 'html' ? decodeBody(outcome.body, outcome.contentType).text : '';
  const { verdict, ...judged } = judgeReply({ ...factsOf(outcome), html, title: titleIn(html) }, request.block_detection);
  found.block = judged.block;
  found.captcha = judged.captcha;
  found.warnings.push(...judged.warnings);
  if (kind !== 'html') {
    if (outcome.body.length > 0) takeBody(found, { data: outcome.body, truncated: outcome.truncated }, request);
    return { found, bytes, needsBrowser: verdict.blocked ? 'blocked' : null };
  }
  const wanted = request.mode === 'auto' ? needsBrowser(html, verdict) : null;
  // What a browser will do again is not done here.
  if (!wanted) await takePage(found, { request, content, outcome, html, timeoutMs: budget.leftMs() }, signal);
  return { found, bytes, needsBrowser: wanted };
}

const orderOf = (request: FetchRequest, timeoutMs: number) => ({
  url: request.url,
  method: request.method,
  headers: request.headers,
  body: request.body,
  cookies: request.cookies,
  maxBytes: limits.rawBytes,
  maxWireBytes: limits.wireBytes,
  redirectsMax: limits.redirects,
  timeoutMs,
});

const foundOf = (outcome: HttpOutcome): Found => ({
  ...emptyFound(outcome.url),
  statusCode: outcome.status,
  headers: outcome.headers,
  contentType: outcome.contentType,
  redirects: outcome.redirects,
  ttfbMs: outcome.ttfbMs,
  warnings: [...outcome.warnings],
});

const factsOf = ({ status, headers, setCookieNames, url, contentType }: HttpOutcome) => ({
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
  outcome: HttpOutcome;
  html: string;
  timeoutMs: number;
}

async function takePage(found: Found, { request, content, outcome, html, timeoutMs }: PlainPage, signal: AbortSignal): Promise<void> {
  if (request.formats.includes('raw')) found.raw = toBytes({ data: outcome.body, truncated: outcome.truncated }, outcome.contentType);
  const source = { url: outcome.url, html, mainHtml: undefined, visible: null, text: null };
  const { warnings = [], ...made } = await convertPage(content, request, source, { signal, timeoutMs });
  Object.assign(found, { title: titleIn(html), ...made });
  found.warnings.push(...warnings);
}

/** Good enough for a title: what needs a parser is in `page`. */
function titleIn(html: string): string {
  const [, text = ''] = /<title\b[^>]{0,200}>([^<]{0,2000})/i.exec(html) ?? [];
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' };
  return text
    .replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (all, name: string) => entities[name] ?? all)
    .replace(/\s+/g, ' ')
    .trim();
}
