/** Totals and timings of a capture. */
import type { InspectAssets } from '@berth/contract';
import type { ReportInput } from '../exchange.ts';
import { firstDocument, readPages } from '../page/pages.ts';
import { amountOf, isText, type Asset } from './asset.ts';

type Summary = InspectAssets['summary'];
type Timings = Summary['timings'];

export function summarize(assets: readonly Asset[], input: ReportInput): Summary {
  const byType: Summary['by_type'] = {};
  const byProtocol: Summary['by_protocol'] = {};
  for (const { type, transferBytes, resourceBytes, exchange } of assets) {
    const amount = (byType[type] ??= { count: 0, transfer_bytes: 0, resource_bytes: 0 });
    amount.count += 1;
    amount.transfer_bytes += transferBytes;
    amount.resource_bytes += resourceBytes;
    const protocol = protocolOf(exchange.entry.response.httpVersion);
    if (protocol !== '') byProtocol[protocol] = (Object.hasOwn(byProtocol, protocol) ? (byProtocol[protocol] ?? 0) : 0) + 1;
  }
  const sum = (of: (asset: Asset) => number): number => assets.reduce((total, asset) => total + of(asset), 0);
  const texts = assets.filter((asset) => isText(asset) && !asset.fromCache);
  const textBytes = texts.reduce((total, { resourceBytes }) => total + resourceBytes, 0);
  const compressed = texts.reduce((total, { compression, resourceBytes }) => total + (compression === null ? 0 : resourceBytes), 0);
  return {
    requests: assets.length,
    transfer_bytes: sum(({ transferBytes }) => transferBytes),
    resource_bytes: sum(({ resourceBytes }) => resourceBytes),
    compressed_pct: textBytes === 0 ? 0 : Math.round((compressed / textBytes) * 1000) / 10,
    cached: assets.filter(({ fromCache }) => fromCache).length,
    failed: assets.filter(({ error, exchange }) => error !== null || (exchange.statusCode ?? 0) >= 400).length,
    blocked_by_client: assets.filter(({ isBlocked }) => isBlocked).length,
    by_type: byType,
    by_protocol: byProtocol,
    first_party_bytes: sum(({ exchange, transferBytes }) => (exchange.isFirstParty ? transferBytes : 0)),
    third_party_bytes: sum(({ exchange, transferBytes }) => (exchange.isFirstParty ? 0 : transferBytes)),
    timings: readTimings(assets, input),
  };
}

/** The protocol's name in ALPN; empty for an unknown one. */
export function protocolOf(version: string): string {
  const name = version.toLowerCase().slice(0, 20);
  if (/^http\/2(?:\.0)?$/.test(name)) return 'h2';
  if (/^(?:http\/3(?:\.0)?|h3-?\w*)$/.test(name)) return 'h3';
  return /^(?:h2c?|http\/\d\.\d|spdy\/\d|wss?)$/.test(name) ? name : '';
}

function readTimings(assets: readonly Asset[], input: ReportInput): Timings {
  const [page] = readPages(input);
  const vitals = page?.snapshot?.vitals;
  const har = input.capture.har.log.pages?.[0]?.pageTimings;
  const first = firstDocument(input);
  const document = assets.find(({ exchange }) => exchange === first);
  const known = (value: number | null | undefined): number | null => (value == null || value < 0 || !Number.isFinite(value) ? null : value);
  const timings = {
    ttfb_ms: rounded(known(vitals?.ttfbMs) ?? document?.ttfbMs ?? null),
    dcl_ms: rounded(known(vitals?.domContentLoadedMs) ?? (amountOf(har?.onContentLoad) || null)),
    load_ms: rounded(known(vitals?.loadMs) ?? (amountOf(har?.onLoad) || null)),
    fcp_ms: rounded(known(vitals?.fcpMs)),
    lcp_ms: rounded(known(vitals?.lcpMs)),
    lcp_element: vitals?.lcpElement ?? null,
    cls: vitals?.cls == null ? null : Math.round(Math.max(0, vitals.cls) * 1000) / 1000,
    tbt_ms: rounded(known(vitals?.tbtMs)),
  };
  return { ...timings, ratings: rate(timings) };
}

const rounded = (value: number | null): number | null => (value === null ? null : Math.round(value));

/** [good, poor]: those of web-vitals, and of Lighthouse for the total blocking time. */
const thresholds = { ttfb: [800, 1800], fcp: [1800, 3000], lcp: [2500, 4000], cls: [0.1, 0.25], tbt: [200, 600] } as const;

function rate(timings: Omit<Timings, 'ratings'>): Timings['ratings'] {
  const values = { ttfb: timings.ttfb_ms, fcp: timings.fcp_ms, lcp: timings.lcp_ms, cls: timings.cls, tbt: timings.tbt_ms };
  const ratings: Timings['ratings'] = {};
  for (const [name, [good, poor]] of Object.entries(thresholds)) {
    const value = values[name as keyof typeof thresholds];
    if (value !== null) ratings[name] = value <= good ? 'good' : value <= poor ? 'needs_improvement' : 'poor';
  }
  return ratings;
}
