/** Builds HARs as Chrome exports them. */
import type { Entry, Har, Header } from 'har-format';

export interface Exchange {
  method?: string;
  url: string;
  status?: number;
  requestHeaders?: Record<string, string>;
  responseHeaders?: Record<string, string>;
  /** Sent as `requestType`. */
  requestBody?: string;
  requestType?: string;
  /** Received as `type`. */
  body?: string;
  type?: string;
  resourceType?: string;
  /** WebSocket messages that were sent. */
  frames?: string[];
}

const startMs = Date.parse('2026-02-03T10:00:00Z');
const stepMs = 12;

const headersOf = (headers: Record<string, string>): Header[] => Object.entries(headers).map(([name, value]) => ({ name, value }));

function entryOf(exchange: Exchange, index: number): Entry {
  const { method = 'GET', url, status = 200, body = '', type = 'application/json', requestBody, frames } = exchange;
  const requestType = exchange.requestType ?? 'application/json';
  const entry = {
    pageref: 'page_1',
    startedDateTime: new Date(startMs + index * stepMs).toISOString(),
    time: 20 + (index % 30),
    request: {
      method,
      url,
      httpVersion: 'http/2.0',
      headers: headersOf({
        accept: '*/*',
        ...(requestBody === undefined ? {} : { 'content-type': requestType }),
        ...exchange.requestHeaders,
      }),
      queryString: [...new URL(url).searchParams].map(([name, value]) => ({ name, value })),
      cookies: [],
      headersSize: -1,
      bodySize: requestBody?.length ?? 0,
      ...(requestBody === undefined ? {} : { postData: { mimeType: requestType, text: requestBody } }),
    },
    response: {
      status,
      statusText: '',
      httpVersion: 'http/2.0',
      headers: headersOf({ 'content-type': type, ...exchange.responseHeaders }),
      cookies: [],
      content: { size: body.length, mimeType: type, text: body },
      redirectURL: exchange.responseHeaders?.['location'] ?? '',
      headersSize: -1,
      bodySize: body.length,
    },
    cache: {},
    timings: { blocked: 1, dns: -1, connect: -1, ssl: -1, send: 1, wait: 12, receive: 5 },
    _resourceType: exchange.resourceType ?? 'fetch',
    _transferSize: body.length + 200,
    ...(frames && {
      _webSocketMessages: frames.map((data, n) => ({ type: 'send', time: startMs / 1000 + n, opcode: 1, data })),
    }),
  };
  return entry as unknown as Entry;
}

export function harOf(exchanges: readonly Exchange[]): Har {
  return {
    log: {
      version: '1.2',
      creator: { name: 'WebInspector', version: '537.36' },
      pages: [
        {
          id: 'page_1',
          title: exchanges[0]?.url ?? '',
          startedDateTime: new Date(startMs).toISOString(),
          pageTimings: { onContentLoad: 300, onLoad: 600 },
        },
      ],
      entries: exchanges.map(entryOf),
    },
  };
}

const pageHtml = `<!doctype html><html lang="en"><head><title>Large</title>${'<script src="/a.js"></script>'.repeat(20)}</head><body>${'<p>Text</p>'.repeat(200)}</body></html>`;
const nouns = ['orders', 'customers', 'invoices', 'parcels', 'notes', 'ships', 'docks', 'crews', 'routes', 'rates'];

/** A site of this many requests: its document, then assets and calls of some sixty endpoints in turns. */
export function largeHar(count: number): Har {
  const site = 'https://large.example';
  const exchanges: Exchange[] = [{ url: `${site}/`, body: pageHtml, type: 'text/html', resourceType: 'document' }];
  for (let i = 1; i < count; i += 1) {
    const noun = nouns[i % nouns.length] ?? '';
    const depth = i % 6;
    if (depth < 2) {
      const isScript = depth === 0;
      exchanges.push({
        url: `${site}/assets/${noun}-${i.toString(16).padStart(8, '0')}.${isScript ? 'js' : 'png'}`,
        body: isScript ? `export const a${i} = ${i};\n`.repeat(20) : '',
        type: isScript ? 'text/javascript' : 'image/png',
        resourceType: isScript ? 'script' : 'image',
      });
    } else exchanges.push(callOf(site, { noun, depth, i }));
  }
  return harOf(exchanges);
}

function callOf(site: string, { noun, depth, i }: { noun: string; depth: number; i: number }): Exchange {
  const path = ['', '', '', `/${i}`, `/${i}/events`, `/${i}/events/${i * 3}`][depth] ?? '';
  const items = Array.from({ length: 4 }, (_, n) => ({ id: i * 10 + n, name: `${noun} ${n}`, price: n + 0.5, tags: ['a', 'b'], at: null }));
  return {
    url: `https://api.large.example/v1/${noun}${path}?page=${i % 5}&sort=name`,
    body: JSON.stringify({ items, page: i % 5, total: 500, owner: { id: i, active: i % 2 === 0 } }),
    requestHeaders: { authorization: `Bearer large-${noun}-0123456789abcdef` },
  };
}
