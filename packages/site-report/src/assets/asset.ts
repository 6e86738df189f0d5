/** A request as the assets section reads it: its type, sizes, timings and cache rules. */
import type { AssetType } from '@berth/contract';
import type { CapturedExchange } from '../exchange.ts';

export interface Asset {
  exchange: CapturedExchange;
  type: AssetType;
  /** Bytes on the wire; 0 from a cache. */
  transferBytes: number;
  /** Bytes after decompression. */
  resourceBytes: number;
  durationMs: number;
  ttfbMs: number | null;
  fromCache: boolean;
  fromServiceWorker: boolean;
  error: string | null;
  isBlocked: boolean;
  /** Lifetime in a cache; null where the response does not say. */
  cacheTtlSeconds: number | null;
  compression: string | null;
  initiatorUrl: string | null;
  initiatorType: string | null;
}

export const createAssets = (exchanges: readonly CapturedExchange[]): Asset[] => exchanges.map(toAsset);

/** Maximum length of a URL: longer ones hold data. */
const urlCharsMax = 2048;

export const urlOf = ({ url }: CapturedExchange): string => url.href.slice(0, urlCharsMax);

/** HARs state sizes and times as -1 where they are unknown, and an uploaded one may hold anything. */
export const amountOf = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;

const assetTypeOf = ({ resourceType }: CapturedExchange): AssetType =>
  resourceType === 'eventsource' || resourceType === 'preflight' ? 'other' : resourceType;

function toAsset(exchange: CapturedExchange): Asset {
  const { entry, responseHeaders } = exchange;
  const fromCache = Boolean(entry._fromCache) || entry['_servedFromCache'] === true || exchange.statusCode === 304;
  const fromServiceWorker = entry['_fetchedViaServiceWorker'] === true || entry['_fromServiceWorker'] === true;
  const error = errorOf(exchange);
  return {
    exchange,
    type: assetTypeOf(exchange),
    transferBytes: entry._fromCache ? 0 : transferBytesOf(exchange),
    resourceBytes: amountOf(entry.response.content.size) || exchange.responseText.length,
    durationMs: amountOf(entry.time),
    ttfbMs: ttfbOf(exchange),
    fromCache,
    fromServiceWorker,
    error,
    isBlocked: error !== null && /BLOCKED|ERR_ACCESS_DENIED/.test(error),
    cacheTtlSeconds: cacheTtlOf(exchange),
    compression: responseHeaders.get('content-encoding')?.toLowerCase().slice(0, 50) || null,
    ...initiatorOf(exchange),
  };
}

function transferBytesOf({ entry: { response } }: CapturedExchange): number {
  const stated = response._transferSize;
  if (typeof stated === 'number' && stated >= 0) return amountOf(stated);
  return amountOf(response.bodySize) + amountOf(response.headersSize);
}

function errorOf({ entry }: CapturedExchange): string | null {
  const error = entry['_error'] ?? (entry.response as { _error?: unknown })['_error'];
  return typeof error === 'string' && error !== '' ? error.slice(0, 200) : null;
}

function ttfbOf({ entry: { timings }, statusCode }: CapturedExchange): number | null {
  if (statusCode === null || amountOf(timings.wait) === 0) return null;
  return [timings.blocked, timings.dns, timings.connect, timings.send, timings.wait].reduce<number>((sum, part) => sum + amountOf(part), 0);
}

function cacheTtlOf({ responseHeaders, entry }: CapturedExchange): number | null {
  const control = responseHeaders.get('cache-control')?.toLowerCase().slice(0, 500) ?? '';
  if (/\bno-(?:store|cache)\b/.test(control)) return 0;
  const [, maxAge] = /\bmax-age\s?=\s?"?(\d{1,10})/.exec(control) ?? [];
  if (maxAge !== undefined) return Number(maxAge);
  const expires = responseHeaders.get('expires');
  if (expires === undefined) return null;
  const base = Date.parse(responseHeaders.get('date') ?? entry.startedDateTime);
  const seconds = Math.round((Date.parse(expires) - base) / 1000);
  return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
}

interface CallFrames {
  callFrames?: { url?: unknown }[];
  parent?: CallFrames;
}

/** Chains of asynchronous calls are that long at most. */
const stackDepthMax = 20;

function initiatorOf({ entry }: CapturedExchange): Pick<Asset, 'initiatorUrl' | 'initiatorType'> {
  const initiator = entry._initiator as { type?: unknown; url?: unknown; stack?: CallFrames } | string | null | undefined;
  if (typeof initiator === 'string') return { initiatorUrl: initiator.slice(0, 2048), initiatorType: null };
  if (typeof initiator !== 'object' || initiator === null) return { initiatorUrl: null, initiatorType: null };
  const type = typeof initiator.type === 'string' ? initiator.type.slice(0, 50) : null;
  const url = typeof initiator.url === 'string' && initiator.url !== '' ? initiator.url : stackUrl(initiator.stack);
  return { initiatorUrl: url?.slice(0, 2048) ?? null, initiatorType: type };
}

function stackUrl(stack: CallFrames | undefined): string | null {
  for (let level = stack, depth = 0; level && depth < stackDepthMax; level = level.parent, depth += 1) {
    const frame = Array.isArray(level.callFrames) ? level.callFrames.find(({ url }) => typeof url === 'string' && url !== '') : undefined;
    if (typeof frame?.url === 'string') return frame.url;
  }
  return null;
}

export const isText = ({ type, exchange }: Asset): boolean =>
  /^(?:document|script|stylesheet|manifest)$/.test(type) ||
  /^(?:text\/(?!event-stream)|application\/(?:json|javascript|xml|xhtml\+xml)|image\/svg\+xml)|\+(?:json|xml)$/.test(exchange.responseType);
