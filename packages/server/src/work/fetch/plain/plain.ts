/** Fetches without a browser: the HTTP request, and the page of its response. */
import type { FetchRequest } from '@berth/contract';
import { classify, readOutline, type Classification, type Outline, decodeBody, kindOf, type Converter } from '@berth/reading';
import type { HttpResult } from '@berth/egress';
import type { Deadline } from '@berth/lib/deadline.ts';
import { followedMsMax, isRedirect, isSelf, refreshOf, type Refresh } from '@berth/lib/refresh.ts';
import { section } from '@berth/lib/turns/sections.ts';
import { withoutCredentials } from '@berth/lib/text/urls.ts';
import { convertPage } from '../convert.ts';
import { limits } from '../limits.ts';
import { leadsOn, needsBrowser, type BrowserReason } from './needs-browser.ts';
import { mergeParts, readBody, toBytes, warnOfNoJson, type PagePart, type PageResult } from '../result.ts';

export interface PlainResult {
  page: PageResult;
  /** Why the page needs a browser; null when it does not. */
  needsBrowser: BrowserReason | null;
}

/** Kept back from the request, for the conversion. */
const conversionMs = (leftMs: number): number => Math.min(4000, leftMs * 0.15);

/** `next`: see {@link PlainReader}. */
export const toHttpRequest = (request: FetchRequest, leftMs: number, next: PlainReader['next']) => ({
  url: request.url,
  method: request.method,
  headers: request.headers,
  body: request.body,
  cookies: request.cookies,
  bodyBytesMax: limits.rawBytesMax,
  wireBytesMax: limits.wireBytesMax,
  redirectsMax: limits.redirectsMax,
  timeoutMs: Math.max(1, leftMs - conversionMs(leftMs)),
  // In `auto` a browser follows, with what the page's scripts do before.
  next: request.mode === 'http' && request.method !== 'HEAD' ? next : undefined,
});

/** What a response shows before it is converted. */
interface Probe {
  kind: ReturnType<typeof kindOf>;
  html: string;
  outline: Outline;
  classification: Classification;
  /** Where the page sends its visitor on by itself, and when; null where it stays. */
  refresh: Refresh | null;
}

interface ReaderOptions {
  request: FetchRequest;
  content: Converter;
  budget: Deadline;
}

/** Reads the responses of one request without a browser: where each leads, and the page of the last. */
export class PlainReader {
  readonly #options: ReaderOptions;
  #latest: { response: HttpResult; probe: Probe } | null = null;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Where a page sends its visitor within seconds. One that is blocked does so for a check that takes a browser. */
  readonly next = async (response: HttpResult): Promise<string | null> => {
    const { refresh, classification } = await this.#probe(response);
    return refresh && !classification.blocked && isRedirect(refresh, { from: response.url, withinMs: followedMsMax }) ? refresh.url : null;
  };

  /** Classifies the response and converts its body. @throws the signal's reason */
  async read(response: HttpResult, signal: AbortSignal): Promise<PlainResult> {
    const { request, content, budget } = this.#options;
    const { url, contentType, truncated, body } = response;
    const probe = await this.#probe(response);
    const { kind, html, outline } = probe;
    const { blocked, block, captcha, warnings } = probe.classification;
    const parts: PagePart[] = [toPart(response), { block, captcha, warnings: [...warnings] }];
    const merge = (...others: PagePart[]): PageResult => mergeParts(url, [...parts, ...others]);
    // Browsers show nothing of these, whatever body comes with them.
    if (response.status === 204 || response.status === 205 || response.status === 304) return { page: merge(), needsBrowser: null };
    if (kind !== 'html') {
      const part = body.length > 0 ? await readBody({ data: body, truncated }, response, request) : {};
      return { page: warnOfNoJson(merge(part), request), needsBrowser: blocked ? 'blocked' : null };
    }
    const reason = request.mode === 'auto' ? needsBrowser(outline, { blocked }) : null;
    // When a browser takes over, it converts the page itself.
    if (reason) return { page: merge(), needsBrowser: reason };
    const raw = request.formats.includes('raw') ? toBytes({ data: body, truncated }, contentType) : null;
    const source = { url, html, visible: null, full: null, isRendered: false };
    const converted = await convertPage({ content, request }, source, { signal, timeoutMs: budget.leftMs });
    const page = merge({ title: outline.title, raw, warnings: stayWarnings(probe, url) }, converted);
    return { page: warnOfNoJson(page, request), needsBrowser: null };
  }

  async #probe(response: HttpResult): Promise<Probe> {
    if (this.#latest?.response === response) return this.#latest.probe;
    const { url, contentType, setCookieNames: cookieNames, body, headers } = response;
    const kind = kindOf(contentType, body);
    const html = kind === 'html' ? (await decodeBody(body, contentType)).text : '';
    const outline = section('outline', () => readOutline(html));
    const header = headers['refresh'];
    if (header !== undefined) outline.refreshes = [header, ...outline.refreshes];
    const info = { ...response, cookieNames, html, title: outline.title, visibleTextLength: null, dom: null, netError: null };
    const classification = classify(info, this.#options.request.block_detection);
    const refresh = refreshOf(outline.refreshes, { base: outline.base, from: url });
    const probe = { kind, html, outline, classification, refresh };
    this.#latest = { response, probe };
    return probe;
  }
}

/** What is to be known of a page that a browser would leave: a later refresh, and a script that was not run. */
function stayWarnings({ refresh, outline }: Probe, url: string): string[] {
  const isLater = refresh && !isSelf(refresh.url, url) && !isRedirect(refresh, { from: url, withinMs: followedMsMax });
  if (isLater) return [`redirect_not_followed:${withoutCredentials(new URL(refresh.url))}`];
  if (!leadsOn(outline)) return [];
  const target = outline.scriptTarget === '' ? null : URL.parse(outline.scriptTarget ?? '', url);
  return [target && /^https?:$/.test(target.protocol) ? `script_redirect:${withoutCredentials(target)}` : 'script_redirect'];
}

const toPart = ({ status, headers, contentType, redirects, ttfbMs, warnings }: HttpResult): PagePart => ({
  statusCode: status,
  headers,
  contentType,
  redirects,
  ttfbMs,
  warnings: [...warnings],
});
