/** What pages and files refer to: hints for the browser, fonts, source maps, messages in the console. */
import type { InspectAssets } from '@berth/contract';
import type { ReportInput } from '../exchange.ts';
import { firstDocument, readPages, resolve } from '../page/pages.ts';
import { urlOf, type Asset } from './asset.ts';

type Hint = InspectAssets['hints'][number];

const hintsMax = 100;
const relations: ReadonlySet<string> = new Set(['preload', 'modulepreload', 'prefetch', 'preconnect', 'dns-prefetch', 'prerender']);

export function readHints(input: ReportInput): Hint[] {
  const requested = new Set(input.exchanges.map(({ url }) => url.href));
  const origins = new Set(input.exchanges.map(({ url }) => url.origin));
  const hosts = new Set(input.exchanges.map(({ url }) => url.hostname));
  const hints = new Map<string, Hint>();
  const add = (rel: string, href: string, { as, base }: { as: string | null; base: string }): void => {
    const url = relations.has(rel) ? resolve(href, base) : null;
    if (url === null || hints.size >= hintsMax || hints.has(`${rel} ${url}`)) return;
    const { origin, hostname } = new URL(url);
    const isUsed = rel === 'preconnect' ? origins.has(origin) : rel === 'dns-prefetch' ? hosts.has(hostname) : requested.has(url);
    hints.set(`${rel} ${url}`, { rel: rel as Hint['rel'], url, as, used: /^pre(?:fetch|render)$/.test(rel) ? null : isUsed });
  };
  for (const { tree, url } of readPages(input)) {
    for (const { attributes } of tree.named('link')) {
      const as = attributes.get('as')?.slice(0, 50) || null;
      for (const rel of (attributes.get('rel') ?? '').toLowerCase().split(/\s+/, 5))
        add(rel, attributes.get('href') ?? '', { as, base: url });
    }
  }
  const document = firstDocument(input);
  for (const link of (document?.responseHeaders.get('link') ?? '').slice(0, 8192).split(/,\s?(?=<)/)) {
    const [, href, parameters = ''] = /^\s?<([^<>]{1,2048})>([^<>]{0,500})/.exec(link) ?? [];
    if (href === undefined || !document) continue;
    const parameter = (name: string): string | null =>
      parameters.split(';').flatMap((part) =>
        part.trim().toLowerCase().startsWith(`${name}=`)
          ? [
              part
                .trim()
                .slice(name.length + 1)
                .replaceAll('"', ''),
            ]
          : [],
      )[0] ?? null;
    for (const rel of (parameter('rel') ?? '').split(' ', 5)) add(rel, href, { as: parameter('as'), base: document.url.href });
  }
  return [...hints.values()];
}

const fontsMax = 50;

export function readFonts(assets: readonly Asset[], hints: readonly Hint[]): InspectAssets['fonts'] {
  const preloaded = new Set(hints.flatMap(({ rel, url }) => (rel === 'preload' ? [url] : [])));
  return assets
    .filter(({ type }) => type === 'font')
    .slice(0, fontsMax)
    .map(({ exchange, transferBytes }) => ({
      request_id: exchange.id,
      url: urlOf(exchange),
      format: formatOf(exchange.url.path, exchange.responseType),
      transfer_bytes: transferBytes,
      preloaded: preloaded.has(exchange.url.href),
    }));
}

function formatOf(path: string, mediaType: string): string | null {
  const [, extension] = /\.(woff2?|ttf|otf|eot)$/i.exec(path) ?? [];
  if (extension !== undefined) return extension.toLowerCase();
  return /(?:font\/|font-)(woff2?|ttf|otf|sfnt)/.exec(mediaType)?.[1] ?? null;
}

const sourceMapsMax = 100;
/** The comment stands at the end of a file. */
const tailChars = 2000;

export function readSourceMaps(assets: readonly Asset[]): InspectAssets['sourcemaps'] {
  const results: InspectAssets['sourcemaps'] = [];
  for (const { exchange, type } of assets) {
    if (results.length >= sourceMapsMax) break;
    if (type !== 'script' && type !== 'stylesheet') continue;
    const target =
      exchange.responseHeaders.get('sourcemap') ?? exchange.responseHeaders.get('x-sourcemap') ?? commentTarget(exchange.responseText);
    if (target === null) continue;
    const url = target.startsWith('data:') ? 'inline' : resolve(target, exchange.url.href);
    if (url !== null) results.push({ request_id: exchange.id, url: urlOf(exchange), source_map: url });
  }
  return results;
}

function commentTarget(text: string): string | null {
  const tail = text.slice(-tailChars);
  const at = tail.lastIndexOf('sourceMappingURL=');
  if (at !== -1) return /^[^\s*'"]{1,2000}/.exec(tail.slice(at + 'sourceMappingURL='.length))?.[0] ?? null;
  // A map within the file is longer than its tail.
  return text.lastIndexOf('sourceMappingURL=data:') === -1 ? null : 'data:';
}

const messagesMax = 100;
const messageCharsMax = 500;

export function readConsoleErrors({ capture }: ReportInput): InspectAssets['console_errors'] {
  const messages = new Map<string, InspectAssets['console_errors'][number]>();
  for (const { text, url, line } of capture.pages.flatMap(({ consoleErrors }) => consoleErrors)) {
    const short = text.slice(0, messageCharsMax);
    const key = JSON.stringify([short, url, line]);
    const before = messages.get(key);
    if (before) before.count += 1;
    else if (messages.size < messagesMax)
      messages.set(key, { text: short, url, line: line === null ? null : Math.max(0, Math.round(line)), count: 1 });
  }
  return [...messages.values()];
}
