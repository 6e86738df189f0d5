/** Drawings as inline SVG without scripts or inline styles: the waterfall, and which hosts the pages talk to. */
import type { InspectAssets } from '@berth/contract';
import { html, nothing, type Markup } from '@berth/lib/text/html.ts';
import { badge, bytes, count, cut, duration, type Tone } from './parts.ts';

type AssetRequest = InspectAssets['requests'][number];

/** More rows are no overview. */
const rowsMax = 250;

export function waterfall({ requests, summary }: InspectAssets): Markup {
  if (requests.length === 0) return nothing;
  const shown = requests.slice(0, rowsMax);
  const endMs = Math.max(1, ...shown.map(({ start_ms: start, duration_ms: length }) => start + length));
  const more =
    requests.length > shown.length
      ? html`<p class="muted">The first ${count(shown.length)} of ${count(summary.requests)} requests.</p>`
      : nothing;
  return html`<div class="wide" role="region" aria-label="Waterfall of requests" tabindex="0">
      <table class="waterfall">
        <caption>
          Waterfall, ${duration(endMs)} in all. Pale: waiting for the server. Solid: receiving.
        </caption>
        <thead>
          <tr>
            <th scope="col">Request</th>
            <th scope="col">Status</th>
            <th scope="col">Type</th>
            <th scope="col" class="number">Size</th>
            <th scope="col" class="number">Time</th>
            <th scope="col" class="timeline">Timeline</th>
          </tr>
        </thead>
        <tbody>
          ${shown.map((request) => row(request, endMs))}
        </tbody>
      </table>
    </div>
    ${more}`;
}

const percent = (ms: number, endMs: number): string => `${Math.min(100, Math.max(0, (ms / endMs) * 100)).toFixed(2)}%`;

function row(request: AssetRequest, endMs: number): Markup {
  const { id, url, method, type, status_code: status, error, start_ms: start, duration_ms: length, ttfb_ms: wait } = request;
  const waited = Math.min(length, wait ?? 0);
  const marks = [
    request.render_blocking ? badge('blocks paint', 'warn') : nothing,
    request.from_cache ? badge('cache') : nothing,
    request.first_party ? nothing : badge('3rd party'),
  ];
  return html`<tr>
    <th scope="row">
      <span class="id">${id}</span> ${method === 'GET' ? nothing : badge(cut(method, 12))} <code>${cut(shortUrl(url), 90)}</code> ${marks}
    </th>
    <td>${badge(status === 0 ? cut(error ?? 'none', 40) : String(status), toneOf(status, error))}</td>
    <td>${type}</td>
    <td class="number">${bytes(request.transfer_bytes)}</td>
    <td class="number">${duration(length)}</td>
    <td class="timeline">
      <svg class="bar ${type}" width="100%" height="14" aria-hidden="true" focusable="false">
        <rect class="waiting" x="${percent(start, endMs)}" y="3" width="${percent(waited, endMs)}" height="8" rx="2" />
        <rect
          class="receiving"
          x="${percent(start + waited, endMs)}"
          y="3"
          width="${percent(Math.max(length - waited, endMs / 400), endMs)}"
          height="8"
          rx="2"
        />
      </svg>
    </td>
  </tr>`;
}

const toneOf = (status: number, error: string | null): Tone =>
  error !== null || status >= 500 ? 'bad' : status >= 400 ? 'warn' : status >= 300 || status === 0 ? 'plain' : 'good';

/** The URL without scheme and query: the row has little room, and the JSON report has all. */
export function shortUrl(url: string): string {
  const [address = ''] = url.slice(0, 2048).split(/[?#]/, 1);
  return address.replace(/^https?:\/\//, '');
}

const nodesMax = 10;
const [width, rowHeight, nodeWidth] = [880, 40, 250];

interface Node {
  name: string;
  requests: number;
  size: number;
}

/** Draws what makes the requests, on the left, and the hosts that receive them. */
export function requestGraph({ requests }: InspectAssets): Markup {
  const edges = new Map<string, { from: string; to: string; requests: number }>();
  const sources = new Map<string, Node>();
  const targets = new Map<string, Node>();
  for (const request of requests) {
    const [from, to] = [sourceName(request), hostOf(request.url)];
    if (to === '') continue;
    add(sources, from, request.transfer_bytes);
    add(targets, to, request.transfer_bytes);
    const edge = edges.get(`${from}\n${to}`);
    if (edge) edge.requests += 1;
    else edges.set(`${from}\n${to}`, { from, to, requests: 1 });
  }
  const [left, right] = [topOf(sources), topOf(targets)];
  if (right.length === 0) return nothing;
  const height = Math.max(left.length, right.length) * rowHeight + 44;
  const lines = [...edges.values()].flatMap((edge) => {
    const [from, to] = [left.findIndex(({ name }) => name === edge.from), right.findIndex(({ name }) => name === edge.to)];
    return from === -1 || to === -1 ? [] : line(yOf(from, left.length, height), yOf(to, right.length, height), edge.requests);
  });
  return html`<div class="wide" role="region" aria-label="Request graph" tabindex="0">
    <svg
      class="graph"
      viewBox="0 0 ${String(width)} ${String(height)}"
      width="${String(width)}"
      height="${String(height)}"
      role="img"
      aria-labelledby="graph-title"
    >
      <title id="graph-title">Which parts of the pages send requests to which hosts, in ${count(requests.length)} requests</title>
      <text class="axis" x="0" y="14">Sent by</text>
      <text class="axis" x="${String(width - nodeWidth)}" y="14">To host</text>
      ${lines} ${left.map((node, index) => box(node, 0, yOf(index, left.length, height)))}
      ${right.map((node, index) => box(node, width - nodeWidth, yOf(index, right.length, height)))}
    </svg>
  </div>`;
}

function add(nodes: Map<string, Node>, name: string, size: number): void {
  const node = nodes.get(name);
  if (!node) nodes.set(name, { name, requests: 1, size });
  else {
    node.requests += 1;
    node.size += size;
  }
}

const topOf = (nodes: ReadonlyMap<string, Node>): Node[] =>
  [...nodes.values()].sort((a, b) => b.requests - a.requests || (a.name < b.name ? -1 : 1)).slice(0, nodesMax);
const hostOf = (url: string): string => shortUrl(url).split('/', 1)[0] ?? '';

function sourceName({ initiator, type }: AssetRequest): string {
  if (initiator === null || initiator === 'other') return type === 'document' ? 'navigation' : 'page';
  return initiator.includes('/') ? shortUrl(initiator) : initiator;
}

const yOf = (index: number, nodes: number, height: number): number => 26 + ((height - 26) / nodes) * (index + 0.5) - 15;

function line(from: number, to: number, requests: number): Markup {
  const [x1, x2] = [nodeWidth, width - nodeWidth];
  const middle = (x1 + x2) / 2;
  const d = `M${x1} ${from + 15} C${middle} ${from + 15} ${middle} ${to + 15} ${x2} ${to + 15}`;
  return html`<path class="edge" d="${d}" stroke-width="${(1 + Math.log2(requests) * 1.6).toFixed(1)}" />`;
}

/** About as many characters as fit. */
const labelCharsMax = 27;

function box({ name, requests, size }: Node, x: number, y: number): Markup {
  const label = name.length > labelCharsMax ? `…${name.slice(-labelCharsMax)}` : name;
  return html`<g class="node">
    <rect x="${String(x)}" y="${y.toFixed(1)}" width="${String(nodeWidth)}" height="30" rx="7" />
    <text x="${String(x + 10)}" y="${(y + 13).toFixed(1)}">${label}</text>
    <text class="small" x="${String(x + 10)}" y="${(y + 25).toFixed(1)}"
      >${count(requests)} ${requests === 1 ? 'request' : 'requests'}, ${bytes(size)}</text
    >
  </g>`;
}
