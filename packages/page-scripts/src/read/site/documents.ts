/** Reads documents and figures of a page. Sent as text, together with vitals.ts. */
import { blockingTime, bufferedEntries, firstPaint, largestShift, type Shift } from './vitals.ts';

export interface TextReply {
  status: number;
  url: string;
  text: string;
}
export interface Vitals {
  lcp_ms: number | null;
  cls: number;
  tbt_ms: number;
  ttfb_ms: number;
  dcl_ms: number;
  load_ms: number;
  requests: number;
  bytes: number;
}

/** Requests a URL of the page's own origin. Status 0: it could not be read. */
export async function fetchText(url: string, max: number, method: string): Promise<TextReply> {
  try {
    const reply = await fetch(url, { method, redirect: 'follow', credentials: 'include', signal: AbortSignal.timeout(10_000) });
    const text = method === 'HEAD' || max === 0 ? '' : (await reply.text()).slice(0, max);
    if (max === 0) await reply.body?.cancel();
    return { status: reply.status, url: reply.url, text };
  } catch {
    return { status: 0, url, text: '' };
  }
}

export interface ReplayReply {
  /** 0: the browser did not allow or reach it. */
  status: number;
  url: string;
  headers: Record<string, string>;
  text: string;
  truncated: boolean;
}

/** Sends a request as the page does, with its cookies. */
export async function sendRequest(
  url: string,
  {
    method,
    headers,
    body,
    max,
    timeoutMs,
  }: { method: string; headers: Record<string, string>; body: string | null; max: number; timeoutMs: number },
): Promise<ReplayReply> {
  try {
    const init: RequestInit = { method, headers, credentials: 'include', signal: AbortSignal.timeout(timeoutMs) };
    const reply = await fetch(url, body === null ? init : { ...init, body });
    const decoder = new TextDecoder();
    const reader = reply.body?.getReader();
    let text = '';
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      text += decoder.decode(part.value, { stream: true });
      if (text.length > max) break;
    }
    await reader?.cancel();
    const truncated = text.length > max;
    return { status: reply.status, url: reply.url, headers: Object.fromEntries(reply.headers), text: text.slice(0, max), truncated };
  } catch {
    return { status: 0, url, headers: {}, text: '', truncated: false };
  }
}

export interface CrawledDocument {
  contentType: string;
  /** The http and https links in document order, each once. */
  links: string[];
  /** The canonical URL that the page states. */
  canonical: string | null;
}

/** The links of the whole page, menus and open shadow trees included. */
export function readLinks(max: number): CrawledDocument {
  const links = new Set<string>();
  const add = (href: string | null): void => {
    const address = href === null ? null : URL.parse(href.trim(), document.baseURI);
    if (address && /^https?:$/.test(address.protocol) && address.href.length <= 8192) links.add(address.href);
  };
  const walk = (root: Document | ShadowRoot): void => {
    for (const link of root.querySelectorAll('a[href], area[href]')) {
      if (links.size >= max) return;
      add(link.getAttribute('href'));
    }
    for (const each of root.querySelectorAll('*')) if (each.shadowRoot) walk(each.shadowRoot);
  };
  walk(document);
  const canonical = document.querySelector('link[rel~="canonical" i][href]')?.getAttribute('href') ?? null;
  return { contentType: document.contentType, links: [...links], canonical: URL.parse(canonical ?? '', document.baseURI)?.href ?? null };
}

/** The template of the page's OpenSearch description, for results as a page; null where there is none that a script may read. */
export async function readSearchTemplate(): Promise<string | null> {
  const link = document.querySelector<HTMLLinkElement>('link[rel~="search"][type="application/opensearchdescription+xml"]');
  if (!link) return null;
  const { status, text } = await fetchText(link.href, 100_000, 'GET');
  if (status !== 200) return null;
  const parsed = new DOMParser().parseFromString(text, 'application/xml');
  const ofPages = [...parsed.getElementsByTagNameNS('*', 'Url')].find(
    (each) => each.getAttribute('type') === 'text/html' && (each.getAttribute('method') ?? 'get').toLowerCase() === 'get',
  );
  return ofPages?.getAttribute('template') ?? null;
}

/** Core Web Vitals as the browser has measured them so far. */
export async function readVitals(): Promise<Vitals> {
  const [paints, shifts, tasks] = await Promise.all([
    bufferedEntries('largest-contentful-paint'),
    bufferedEntries('layout-shift'),
    bufferedEntries('longtask'),
  ]);
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  const resources = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
  const round = (value: number | undefined): number => Math.round(value ?? 0);
  return {
    lcp_ms: paints.length > 0 ? round(paints.at(-1)?.startTime) : null,
    cls: largestShift(shifts as unknown as Shift[]),
    tbt_ms: blockingTime(tasks, firstPaint()),
    ttfb_ms: round(navigation?.responseStart),
    dcl_ms: round(navigation?.domContentLoadedEventEnd),
    load_ms: round(navigation?.loadEventEnd),
    requests: resources.length + 1,
    bytes: resources.reduce((sum, { transferSize }) => sum + transferSize, navigation?.transferSize ?? 0),
  };
}
