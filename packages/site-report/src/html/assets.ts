/** What the pages load: timings, the waterfall, the request graph, and what could be saved. */
import type { InspectAssets } from '@berth/contract';
import { html, nothing, type Markup } from '@berth/lib/text/html.ts';
import { requestGraph, shortUrl, waterfall } from './graph.ts';
import { badge, bytes, code, count, countText, cut, duration, muted, seconds, section, table, type Tone } from './parts.ts';

export function assetsSection(assets: InspectAssets): Markup {
  const { summary } = assets;
  return section('assets', 'Loading', [
    html`<p>
      ${countText(summary.requests, 'request')}, ${bytes(summary.transfer_bytes)} on the wire, ${bytes(summary.resource_bytes)} unpacked.
      ${count(summary.cached)} came from the cache, ${count(summary.failed)} failed. ${String(summary.compressed_pct)} % of the text was
      compressed.
    </p>`,
    vitals(assets),
    table({
      caption: 'By type',
      head: ['Type', 'Requests', 'On the wire', 'Unpacked'],
      numeric: [1, 2, 3],
      rows: Object.entries(summary.by_type).map(([type, amount]) => [
        type,
        count(amount.count),
        bytes(amount.transfer_bytes),
        bytes(amount.resource_bytes),
      ]),
    }),
    html`<h3>Who requests from whom</h3>`,
    requestGraph(assets),
    html`<h3>Waterfall</h3>`,
    waterfall(assets),
    ...opportunities(assets),
    ...failures(assets),
  ]);
}

const tones: Readonly<Record<string, Tone>> = { good: 'good', needs_improvement: 'warn', poor: 'bad' };

function vitals({ summary: { timings } }: InspectAssets): Markup {
  const { ratings } = timings;
  const values: [key: string, label: string, value: string | null][] = [
    ['ttfb', 'Time to First Byte', ms(timings.ttfb_ms)],
    ['fcp', 'First Contentful Paint', ms(timings.fcp_ms)],
    ['lcp', 'Largest Contentful Paint', ms(timings.lcp_ms)],
    ['cls', 'Cumulative Layout Shift', timings.cls === null ? null : String(timings.cls)],
    ['tbt', 'Total Blocking Time', ms(timings.tbt_ms)],
    ['load', 'Load', ms(timings.load_ms)],
  ];
  const known = values.filter(([, , value]) => value !== null);
  if (known.length === 0) return nothing;
  return html`<ul class="stats">
      ${known.map(([key, label, value]) => {
        const rating = Object.hasOwn(ratings, key) ? ratings[key] : undefined;
        return html`<li>
          <strong>${value ?? ''}</strong><span>${label}</span>${rating ? badge(rating.replace('_', ' '), tones[rating]) : nothing}
        </li>`;
      })}
    </ul>
    ${timings.lcp_element === null ? nothing : html`<p class="muted">Largest element: ${code(timings.lcp_element)}</p>`}`;
}

const ms = (value: number | null): string | null => (value === null ? null : duration(value));
const link = (url: string): Markup => html`<code>${cut(shortUrl(url), 120)}</code>`;

function opportunities(assets: InspectAssets): Markup[] {
  const { unused_bytes: unused } = assets;
  return [
    table({
      caption: 'Delays the first paint',
      head: ['File', 'Type', 'Size', 'Time'],
      numeric: [2, 3],
      rows: assets.render_blocking.map(({ url, type, transfer_bytes: size, duration_ms: time }) => [
        link(url),
        type,
        bytes(size),
        duration(time),
      ]),
    }),
    table({
      caption: 'Critical chain',
      head: ['File', 'Ends at', 'Size'],
      numeric: [1, 2],
      rows: assets.critical_chain.map(({ url, depth, end_ms: end, transfer_bytes: size }) => [
        html`<span class="depth">${'› '.repeat(Math.min(depth, 20))}</span>${link(url)}`,
        duration(end),
        bytes(size),
      ]),
    }),
    table({
      caption: 'Code that no page used',
      head: ['File', 'Unused', 'Size'],
      numeric: [1, 2],
      rows: (unused?.files ?? []).map(({ url, unused_bytes: size, total_bytes: total }) => [link(url), bytes(size), bytes(total)]),
    }),
    table({
      caption: 'Images larger than shown',
      head: ['Image', 'File', 'Shown', 'Could save'],
      numeric: [3],
      rows: assets.oversized_images.map(({ url, natural, displayed, wasted_bytes: size }) => [link(url), natural, displayed, bytes(size)]),
    }),
    table({
      caption: 'Text sent uncompressed',
      head: ['File', 'Size', 'Could save'],
      numeric: [1, 2],
      rows: assets.uncompressed.map(({ url, resource_bytes: size, saving_bytes: saving }) => [link(url), bytes(size), bytes(saving)]),
    }),
    table({
      caption: 'Cached for less than a week',
      head: ['File', 'Cached for', 'Size'],
      numeric: [2],
      rows: assets.uncached.map(({ url, cache_ttl_s: ttl, transfer_bytes: size }) => [
        link(url),
        ttl === null ? muted('not stated') : seconds(ttl),
        bytes(size),
      ]),
      rowsMax: 20,
    }),
    table({
      caption: 'Loaded more than once',
      head: ['File', 'Copies', 'Wasted'],
      numeric: [1, 2],
      rows: assets.duplicates.map(({ url, request_ids: copies, wasted_bytes: size }) => [link(url), count(copies.length), bytes(size)]),
    }),
  ];
}

const failures = (assets: InspectAssets): Markup[] => [
  table({
    caption: 'Failed requests',
    head: ['URL', 'Result', 'Request'],
    rows: assets.failed.map(({ url, status_code: status, net_error: error, request_id: id }) => [
      link(url),
      badge(error ?? String(status), 'bad'),
      id,
    ]),
    rowsMax: 50,
  }),
  table({
    caption: 'Errors in the console',
    head: ['Message', 'Source', 'Times'],
    numeric: [2],
    rows: assets.console_errors.map(({ text, url, count: times }) => [
      cut(text),
      url === null ? muted('unknown') : link(url),
      count(times),
    ]),
    rowsMax: 50,
  }),
];
