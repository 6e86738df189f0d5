/** Reads what an inspection needs to know of a page, beside its HTML. Sent as text, together with vitals.ts. */
import { blockingTime, bufferedEntries, firstPaint, largestShift, type Shift } from './vitals.ts';

export interface InspectOptions {
  itemsMax: number;
  /** Maximum characters of one text. */
  charsMax: number;
}

export interface InspectedDocument {
  url: string;
  title: string;
  textChars: number;
  localStorage: { key: string; value: string }[];
  sessionStorage: { key: string; value: string }[];
  hasServiceWorker: boolean;
  vitals: DocumentVitals;
  images: { url: string; naturalWidth: number; naturalHeight: number; width: number; height: number }[];
  links: string[];
  dataBlobs: { name: string; keys: string[]; bytes: number }[];
}

/** Times in milliseconds since the start of the navigation; null where the page had no such event. `cls` has no unit. */
export interface DocumentVitals {
  ttfbMs: number | null;
  domContentLoadedMs: number | null;
  loadMs: number | null;
  fcpMs: number | null;
  lcpMs: number | null;
  /** A CSS path of the element of the largest contentful paint. */
  lcpElement: string | null;
  cls: number | null;
  /** Total blocking time: of long tasks after the first contentful paint, what exceeds 50 ms. */
  tbtMs: number | null;
}

export async function inspectDocument(options: InspectOptions): Promise<InspectedDocument> {
  return {
    url: location.href.slice(0, options.charsMax),
    title: document.title.slice(0, 1024),
    textChars: (document.body?.innerText ?? '').length,
    localStorage: storageItems(() => localStorage, options),
    sessionStorage: storageItems(() => sessionStorage, options),
    hasServiceWorker: await isServedByWorker(),
    vitals: await readVitals(),
    images: listImages(options),
    links: listLinks(options),
    dataBlobs: listBlobs(),
  };
}

/** A document without an origin has no storage. */
export function storageItems(open: () => Storage, { itemsMax, charsMax }: InspectOptions): { key: string; value: string }[] {
  try {
    const storage = open();
    return Object.keys(storage)
      .slice(0, itemsMax)
      .map((key) => ({ key: key.slice(0, charsMax), value: (storage.getItem(key) ?? '').slice(0, charsMax) }));
  } catch {
    return [];
  }
}

export async function isServedByWorker(): Promise<boolean> {
  try {
    return (await navigator.serviceWorker.getRegistrations()).length > 0;
  } catch {
    return false;
  }
}

/** TypeScript does not know it. */
interface LargestPaint extends PerformanceEntry {
  element?: Element | null;
}

export async function readVitals(): Promise<DocumentVitals> {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  const [largest, shifts, tasks] = await Promise.all([
    bufferedEntries('largest-contentful-paint'),
    bufferedEntries('layout-shift'),
    bufferedEntries('longtask'),
  ]);
  const rounded = (ms: number | undefined): number | null => (ms === undefined || ms <= 0 ? null : Math.round(ms * 10) / 10);
  const lcp = (largest as readonly LargestPaint[]).at(-1);
  return {
    ttfbMs: rounded(navigation?.responseStart),
    domContentLoadedMs: rounded(navigation?.domContentLoadedEventEnd),
    loadMs: rounded(navigation?.loadEventEnd),
    fcpMs: rounded(firstPaint() ?? undefined),
    lcpMs: rounded(lcp?.startTime),
    lcpElement: lcp?.element ? cssPath(lcp.element) : null,
    cls: largestShift(shifts as unknown as Shift[]),
    tbtMs: blockingTime(tasks, firstPaint()),
  };
}

export function cssPath(element: Element): string {
  const steps: string[] = [];
  for (let at: Element | null = element; at && steps.length < 8; at = at.parentElement) {
    const id = at.getAttribute('id') ?? '';
    if (/^[A-Za-z][\w-]{0,60}$/.test(id)) {
      steps.unshift(`#${id}`);
      break;
    }
    const name = at.localName;
    const twins = at.parentElement ? [...at.parentElement.children].filter((each) => each.localName === name) : [];
    steps.unshift(twins.length > 1 ? `${name}:nth-of-type(${twins.indexOf(at) + 1})` : name);
  }
  return steps.join(' > ').slice(0, 300);
}

export function listImages({ itemsMax, charsMax }: InspectOptions): InspectedDocument['images'] {
  return [...document.querySelectorAll('img')].slice(0, itemsMax).map((image) => {
    const { width, height } = image.getBoundingClientRect();
    const { currentSrc, naturalWidth, naturalHeight } = image;
    return { url: currentSrc.slice(0, charsMax), naturalWidth, naturalHeight, width: Math.round(width), height: Math.round(height) };
  });
}

/** Addresses of the same origin, without fragments, each once. */
export function listLinks({ itemsMax, charsMax }: InspectOptions): string[] {
  const links = new Set<string>();
  for (const anchor of document.querySelectorAll<HTMLAnchorElement>('a[href]')) {
    if (links.size >= itemsMax) break;
    const { href } = anchor;
    if (typeof href !== 'string' || href.length > charsMax || anchor.hasAttribute('download')) continue;
    const url = URL.parse(href);
    if (url?.origin !== location.origin) continue;
    url.hash = '';
    links.add(url.href);
  }
  return [...links];
}

/** Data of frameworks in script elements, such as `__NEXT_DATA__`. */
export function listBlobs(): InspectedDocument['dataBlobs'] {
  const blobs: InspectedDocument['dataBlobs'] = [];
  for (const script of document.querySelectorAll('script[type="application/json"][id]')) {
    if (blobs.length >= 20) break;
    const text = script.textContent ?? '';
    blobs.push({ name: script.id.slice(0, 100), keys: topKeys(text), bytes: new TextEncoder().encode(text).length });
  }
  return blobs;
}

export function topKeys(text: string): string[] {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
    return Object.keys(value)
      .slice(0, 50)
      .map((key) => key.slice(0, 100));
  } catch {
    return [];
  }
}

/** Runs in the page's own context: only there are the names that its scripts define. */
export function readGlobals(
  names: readonly string[],
  blobNames: readonly string[],
): { globals: string[]; dataBlobs: InspectedDocument['dataBlobs'] } {
  const defined = (name: string): boolean => {
    try {
      return Object.prototype.hasOwnProperty.call(globalThis, name) && (globalThis as Record<string, unknown>)[name] !== undefined;
    } catch {
      return false;
    }
  };
  const dataBlobs = blobNames.filter(defined).map((name) => {
    const value = (globalThis as Record<string, unknown>)[name];
    let bytes = 0;
    try {
      bytes = (JSON.stringify(value) ?? '').length;
    } catch {
      bytes = 0;
    }
    const keys = typeof value === 'object' && value !== null ? Object.keys(value).slice(0, 50) : [];
    return { name, keys: keys.map((key) => key.slice(0, 100)), bytes };
  });
  return { globals: names.filter(defined), dataBlobs };
}
