/** What a site could save, by the definitions of Lighthouse's audits. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { InspectAssets } from '@berth/contract';
import type { ReportInput } from '../exchange.ts';
import { isText, type Asset, urlOf } from './asset.ts';

const listMax = 50;
const largestFirst = <T>(items: T[], sizeOf: (item: T) => number): T[] => items.sort((a, b) => sizeOf(b) - sizeOf(a));

/** A smaller response does not get smaller on the wire: it is one packet. */
const compressibleBytesMin = 1400;
/** Maximum characters to compress, of all bodies together: a report takes no longer for a large site. */
const measuredCharsMax = 2_000_000;
const savingRatioMin = 0.1;

export function findUncompressed(assets: readonly Asset[]): InspectAssets['uncompressed'] {
  let charsLeft = measuredCharsMax;
  const results = assets.flatMap((asset) => {
    const { exchange, resourceBytes, compression } = asset;
    const isCandidate = isText(asset) && compression === null && !asset.fromCache && (exchange.statusCode ?? 0) >= 200;
    if (!isCandidate || resourceBytes < compressibleBytesMin) return [];
    const { responseText } = exchange;
    const isMeasured = responseText.length >= compressibleBytesMin && responseText.length <= charsLeft;
    if (isMeasured) charsLeft -= responseText.length;
    const ratio = isMeasured ? 1 - gzipSync(responseText, { level: 6 }).length / Buffer.byteLength(responseText) : 2 / 3;
    const saving = Math.round(resourceBytes * ratio);
    if (saving < compressibleBytesMin || ratio < savingRatioMin) return [];
    return { request_id: exchange.id, url: urlOf(exchange), resource_bytes: resourceBytes, saving_bytes: saving };
  });
  return largestFirst(results, ({ saving_bytes: saving }) => saving).slice(0, listMax);
}

const isStatic = ({ type }: Asset): boolean => /^(?:script|stylesheet|image|font|media)$/.test(type);
const weekSeconds = 7 * 86_400;

export function findUncached(assets: readonly Asset[]): InspectAssets['uncached'] {
  const results = assets.flatMap((asset) => {
    const { exchange, cacheTtlSeconds, transferBytes } = asset;
    if (!isStatic(asset) || ![200, 203, 206].includes(exchange.statusCode ?? 0)) return [];
    // A site that forbids caching means it.
    if (/\b(?:no-store|no-cache|private)\b/i.test(exchange.responseHeaders.get('cache-control') ?? '')) return [];
    if (cacheTtlSeconds !== null && cacheTtlSeconds >= weekSeconds) return [];
    return { request_id: exchange.id, url: urlOf(exchange), cache_ttl_s: cacheTtlSeconds, transfer_bytes: transferBytes };
  });
  return largestFirst(results, ({ transfer_bytes: bytes }) => bytes).slice(0, listMax);
}

/** Minimum length of a duplicate: smaller copies are icons and empty files. */
const duplicateCharsMin = 1000;

export function findDuplicates(assets: readonly Asset[]): InspectAssets['duplicates'] {
  const byUrl = new Map<string, Asset[]>();
  const byContent = new Map<string, Asset[]>();
  for (const asset of assets) {
    const { exchange } = asset;
    if (!isStatic(asset) || asset.fromCache || exchange.method !== 'GET' || exchange.statusCode !== 200) continue;
    append(byUrl, `${exchange.entry.pageref ?? ''} ${exchange.url.href}`, asset);
    if (exchange.responseText.length < duplicateCharsMin) continue;
    append(byContent, createHash('sha1').update(exchange.responseText).digest('base64'), asset);
  }
  const sameContent = [...byContent.values()].map((copies) => [...new Map(copies.map((copy) => [copy.exchange.url.href, copy])).values()]);
  return largestFirst(
    [...toDuplicates(byUrl.values(), 'url'), ...toDuplicates(sameContent, 'content')],
    ({ wasted_bytes: bytes }) => bytes,
  ).slice(0, listMax);
}

function append(groups: Map<string, Asset[]>, key: string, asset: Asset): void {
  const group = groups.get(key);
  if (group) group.push(asset);
  else groups.set(key, [asset]);
}

const toDuplicates = (groups: Iterable<Asset[]>, by: 'url' | 'content'): InspectAssets['duplicates'] =>
  [...groups].flatMap(([first, ...copies]) => {
    if (!first || copies.length === 0) return [];
    const wasted = copies.reduce((sum, { transferBytes }) => sum + transferBytes, 0);
    return {
      url: urlOf(first.exchange),
      request_ids: [first, ...copies].slice(0, 20).map(({ exchange }) => exchange.id),
      by,
      wasted_bytes: wasted,
    };
  });

const unusedBytesMin = 20 * 1024;
const unusedFilesMax = 20;

/** A file that several pages load is unused as far as none of them uses it: at best the smallest of their remainders. */
export function findUnused({ capture }: ReportInput): InspectAssets['unused_bytes'] {
  const files = new Map<string, { url: string; type: 'js' | 'css'; total_bytes: number; unused_bytes: number }>();
  for (const { url, type, totalBytes, usedBytes } of capture.pages.flatMap(({ coverage }) => coverage)) {
    const unused = Math.max(0, totalBytes - usedBytes);
    const before = files.get(`${type} ${url}`);
    if (before) before.unused_bytes = Math.min(before.unused_bytes, unused);
    else files.set(`${type} ${url}`, { url, type, total_bytes: totalBytes, unused_bytes: unused });
  }
  if (files.size === 0) return null;
  const all = [...files.values()];
  const sum = (wanted: string): number => all.reduce((total, { type, unused_bytes: bytes }) => total + (type === wanted ? bytes : 0), 0);
  const worst = all.filter(({ unused_bytes: bytes }) => bytes >= unusedBytesMin);
  return { js: sum('js'), css: sum('css'), files: largestFirst(worst, ({ unused_bytes: bytes }) => bytes).slice(0, unusedFilesMax) };
}

/** Lighthouse ignores smaller savings. */
const imageSavingMin = 4096;

export function findOversizedImages(assets: readonly Asset[], { capture }: ReportInput): InspectAssets['oversized_images'] {
  const byUrl = new Map(assets.filter(({ type }) => type === 'image').map((asset) => [asset.exchange.url.href, asset]));
  const shown = new Map<string, (typeof capture.pages)[number]['images'][number]>();
  for (const image of capture.pages.flatMap(({ images }) => images)) {
    const before = shown.get(image.url);
    if (!before || image.width * image.height > before.width * before.height) shown.set(image.url, image);
  }
  const results = [...shown.values()].flatMap(({ url, naturalWidth, naturalHeight, width, height }) => {
    const asset = byUrl.get(url);
    const [natural, displayed] = [naturalWidth * naturalHeight, width * height];
    if (natural <= 0 || displayed <= 0 || displayed >= natural || asset?.exchange.responseType === 'image/svg+xml') return [];
    const wasted = Math.round((asset?.resourceBytes ?? 0) * (1 - displayed / natural));
    if (wasted < imageSavingMin) return [];
    const sizes = { natural: `${naturalWidth}x${naturalHeight}`, displayed: `${Math.round(width)}x${Math.round(height)}` };
    return { url, request_id: asset?.exchange.id ?? null, ...sizes, wasted_bytes: wasted };
  });
  return largestFirst(results, ({ wasted_bytes: bytes }) => bytes).slice(0, listMax);
}
