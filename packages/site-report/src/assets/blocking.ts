/** What the first paint waits for: render-blocking resources, as Lighthouse defines them, and the chain of critical requests. */
import type { InspectAssets } from '@berth/contract';
import type { ReportInput } from '../exchange.ts';
import { firstDocument, rawTreeOf, readPages, resolve, type ReportPage } from '../page/pages.ts';
import { closest, type PageElement } from '../page/tree.ts';
import { urlOf, type Asset } from './asset.ts';

export function findRenderBlocking(assets: readonly Asset[], input: ReportInput): Set<Asset> {
  const stated = assets.filter(({ exchange }) => typeof exchange.entry._renderBlocking === 'string');
  if (stated.length > 0)
    return new Set(stated.filter(({ exchange }) => /^(?:in_body_parser_)?blocking$/.test(exchange.entry._renderBlocking ?? '')));
  const [page] = readPages(input);
  if (!page) return new Set();
  const urls = blockingUrls(page);
  const paintedMs = page.snapshot?.vitals.fcpMs ?? null;
  const documentMs = page.document?.startedMs ?? 0;
  const blocking = new Set<Asset>();
  for (const asset of assets) {
    const { exchange, durationMs } = asset;
    if (asset.type !== 'script' && asset.type !== 'stylesheet') continue;
    if (!urls.delete(exchange.url.href)) continue;
    const isLate = paintedMs !== null && exchange.startedMs + durationMs - documentMs > paintedMs + lateMs;
    if (!isLate) blocking.add(asset);
  }
  return blocking;
}

/** Clocks of the page and of the network differ by less. */
const lateMs = 50;

/** URLs that block by the markup that the server sent: what scripts add does not block the parser. */
function blockingUrls({ document, tree, url }: ReportPage): Set<string> {
  const raw = document && document.responseText !== '' ? rawTreeOf(document) : tree;
  const base = resolve(raw.named('base')[0]?.attributes.get('href') ?? '', url) ?? url;
  const urls = new Set<string>();
  for (const element of raw.named('script', 'link')) {
    const source = element.name === 'script' ? blockingScript(element) : blockingStyle(element);
    const address = source === null ? null : resolve(source, base);
    if (address !== null) urls.add(address);
  }
  return urls;
}

function blockingScript(element: PageElement): string | null {
  const { attributes } = element;
  const type = (attributes.get('type') ?? '').toLowerCase();
  if (attributes.has('async') || attributes.has('defer') || attributes.has('nomodule') || (type !== '' && !/javascript/.test(type)))
    return null;
  return closest(element, 'head') ? (attributes.get('src') ?? null) : null;
}

function blockingStyle({ attributes }: PageElement): string | null {
  if (!/(?:^|\s)stylesheet(?:\s|$)/i.test(attributes.get('rel') ?? '') || attributes.has('disabled')) return null;
  const media = (attributes.get('media') ?? '').trim().toLowerCase();
  return media === '' || media === 'all' || media.startsWith('screen') ? (attributes.get('href') ?? null) : null;
}

type ChainLink = InspectAssets['critical_chain'][number];

const chainMax = 20;

/** The chain from the document to the critical request that ended last, each started by the one before. */
export function findCriticalChain(assets: readonly Asset[], input: ReportInput): ChainLink[] {
  const first = firstDocument(input);
  const document = assets.find(({ exchange }) => exchange === first);
  if (!document) return [];
  const own = assets.filter(({ exchange }) => exchange.entry.pageref === document.exchange.entry.pageref);
  const byUrl = new Map<string, Asset>();
  for (const asset of own) if (!byUrl.has(asset.exchange.url.href)) byUrl.set(asset.exchange.url.href, asset);
  let last: Asset = document;
  for (const asset of own) if (isCritical(asset) && endOf(asset) > endOf(last)) last = asset;
  const chain: Asset[] = [];
  const seen = new Set<Asset>();
  for (let link: Asset | undefined = last; link && !seen.has(link) && chain.length < chainMax; link = initiatorIn(link, byUrl)) {
    seen.add(link);
    chain.unshift(link);
    if (link === document) break;
  }
  if (chain[0] !== document) chain.unshift(document);
  return chain.map(({ exchange, transferBytes, durationMs }, depth) => ({
    request_id: exchange.id,
    url: urlOf(exchange),
    depth,
    start_ms: exchange.startedMs,
    end_ms: exchange.startedMs + durationMs,
    transfer_bytes: transferBytes,
  }));
}

const endOf = ({ exchange, durationMs }: Asset): number => exchange.startedMs + durationMs;

/** Whether Lighthouse counts a request as critical: never images, calls of scripts, or what the browser gave a low priority. */
function isCritical({ type, exchange, error }: Asset): boolean {
  if (error !== null || !/^(?:script|stylesheet|font)$/.test(type)) return false;
  const priority = exchange.entry._priority ?? exchange.entry._initialPriority;
  return typeof priority !== 'string' || /^(?:VeryHigh|High|Medium)$/i.test(priority);
}

const initiatorIn = ({ initiatorUrl }: Asset, byUrl: ReadonlyMap<string, Asset>): Asset | undefined =>
  initiatorUrl === null ? undefined : byUrl.get(initiatorUrl);
