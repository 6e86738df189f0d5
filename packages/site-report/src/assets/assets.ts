/** What the pages load, how fast, and what they could save. */
import type { InspectAssets } from '@berth/contract';
import type { ReportInput } from '../exchange.ts';
import { createAssets, type Asset, urlOf } from './asset.ts';
import { findCriticalChain, findRenderBlocking } from './blocking.ts';
import { findDuplicates, findOversizedImages, findUncached, findUncompressed, findUnused } from './opportunities.ts';
import { readConsoleErrors, readFonts, readHints, readSourceMaps } from './references.ts';
import { protocolOf, summarize } from './summary.ts';

const requestsMax = 2000;
const blockingMax = 50;
const largestMax = 20;
const failedMax = 100;

export function createAssetsSection(input: ReportInput): InspectAssets {
  const assets = createAssets(input.exchanges);
  const blocking = findRenderBlocking(assets, input);
  const hints = readHints(input);
  return {
    summary: summarize(assets, input),
    requests: assets.slice(0, requestsMax).map((asset) => toRequest(asset, blocking.has(asset))),
    critical_chain: findCriticalChain(assets, input),
    render_blocking: [...blocking].slice(0, blockingMax).map(({ exchange, type, transferBytes, durationMs }) => ({
      request_id: exchange.id,
      url: urlOf(exchange),
      type: type === 'script' ? ('script' as const) : ('stylesheet' as const),
      transfer_bytes: transferBytes,
      duration_ms: durationMs,
    })),
    largest: largestOf(assets),
    duplicates: findDuplicates(assets),
    uncompressed: findUncompressed(assets),
    uncached: findUncached(assets),
    unused_bytes: findUnused(input),
    oversized_images: findOversizedImages(assets, input),
    fonts: readFonts(assets, hints),
    hints,
    failed: failedOf(assets),
    console_errors: readConsoleErrors(input),
    sourcemaps: readSourceMaps(assets),
  };
}

function toRequest(asset: Asset, isRenderBlocking: boolean): InspectAssets['requests'][number] {
  const { exchange, type, error, isBlocked } = asset;
  const { entry } = exchange;
  const priority = entry._priority ?? entry._initialPriority;
  return {
    id: exchange.id,
    page: entry.pageref ?? null,
    url: urlOf(exchange),
    method: exchange.method,
    type,
    status_code: exchange.statusCode ?? 0,
    mime_type: exchange.statusCode === null ? '' : exchange.responseType,
    protocol: protocolOf(entry.response.httpVersion),
    priority: typeof priority === 'string' ? priority.slice(0, 20) : null,
    first_party: exchange.isFirstParty,
    start_ms: exchange.startedMs,
    duration_ms: asset.durationMs,
    ttfb_ms: asset.ttfbMs,
    transfer_bytes: asset.transferBytes,
    resource_bytes: asset.resourceBytes,
    initiator: asset.initiatorUrl ?? asset.initiatorType,
    from_cache: asset.fromCache,
    from_service_worker: asset.fromServiceWorker,
    render_blocking: isRenderBlocking,
    compression: asset.compression,
    cache_ttl_s: asset.cacheTtlSeconds,
    blocked_reason: isBlocked ? error : null,
    error,
  };
}

const largestOf = (assets: readonly Asset[]): InspectAssets['largest'] =>
  assets
    .filter(({ transferBytes }) => transferBytes > 0)
    .sort((a, b) => b.transferBytes - a.transferBytes || a.exchange.index - b.exchange.index)
    .slice(0, largestMax)
    .map(({ exchange, type, transferBytes, resourceBytes }) => ({
      request_id: exchange.id,
      url: urlOf(exchange),
      type,
      transfer_bytes: transferBytes,
      resource_bytes: resourceBytes,
    }));

const failedOf = (assets: readonly Asset[]): InspectAssets['failed'] =>
  assets
    .filter(({ error, exchange }) => error !== null || (exchange.statusCode ?? 0) >= 400)
    .slice(0, failedMax)
    .map(({ exchange, error }) => ({
      request_id: exchange.id,
      url: urlOf(exchange),
      status_code: exchange.statusCode ?? 0,
      net_error: error,
    }));
