/** A complete web shop on loopback with all common web features. Deterministic and without external resources. */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { extname, join } from 'node:path';
import { accountRoutes, sessionCookie } from './pages/account.ts';
import { apiHeaders, apiRoutes, refusal } from './api.ts';
import { catalogRoutes } from './pages/catalog.ts';
import { checkoutRoutes } from './pages/checkout.ts';
import { imageRoutes } from './pages/images.ts';
import { page } from './pages/layout.ts';
import { listRoutes } from './pages/lists.ts';
import { liveRoutes, openTicker } from './live.ts';
import { markup } from './pages/markup.ts';
import { paperRoutes } from './pages/files.ts';
import { signpostRoutes } from './pages/crawlers.ts';
import { harbourRoutes } from './tokens.ts';
import { tradeRoutes } from './pages/trade.ts';
import { widgetRoutes } from './pages/widgets.ts';
import { cookiesOf, finder, text, type Answer, type Call, type Routes } from './wire.ts';
import { addVisitor, openState, type Order, type ShopState } from './state.ts';

export interface Shop {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** `127.0.0.1:PORT`, for BERTH_EGRESS_ALLOW. */
  host: string;
  /** `localhost:PORT`: the same server as another origin, for the payment frame. */
  otherHost: string;
  /** The latest 5,000 requested paths with queries, in order. */
  hits: string[];
  /** The same requests with headers and bodies. */
  requests: SeenRequest[];
  /** Orders placed, in order. */
  orders: readonly Order[];
  /** Sets the product of the day on `/deal`, for tests that watch a page for changes. */
  setDeal(productId: number): void;
  /** Changes the product page's element ids and class names, as a redesign does. */
  redesign(): void;
  close(): Promise<void>;
}

export interface SeenRequest {
  method: string;
  /** Path with its query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface ShopOptions {
  /** A private key and its certificate in PEM; the shop then uses https. */
  tls?: { key: string; cert: string };
  /** Whether the consent dialog covers pages until it is answered. */
  consent?: boolean;
  /** The clock of the one-time codes, in milliseconds. */
  now?: () => number;
}

/** Limits uploads to a few megabytes. */
const bodyBytesMax = 32 * 1024 * 1024;
const seenMax = 5000;

const clientTypes: Record<string, string> = { '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8' };
const clientFolder = join(import.meta.dirname, 'client');

function assetRoutes(): Routes {
  const files = readdirSync(clientFolder).map(
    (name) => [name, readFileSync(join(clientFolder, name), 'utf8'), clientTypes[extname(name)] ?? 'text/plain'] as const,
  );
  const routes = files.map(([name, body, type]) => {
    // A service worker's scope is limited to its own path.
    const [path, caching] = name === 'sw.js' ? ['/sw.js', 'no-cache'] : [`/assets/${name}`, 'public, max-age=3600'];
    return [`GET ${path}`, () => text(body, type, { 'cache-control': caching })] as const;
  });
  return Object.fromEntries(routes);
}

const find = finder({
  ...assetRoutes(),
  ...accountRoutes,
  ...apiRoutes,
  ...catalogRoutes,
  ...checkoutRoutes,
  ...imageRoutes,
  ...listRoutes,
  ...liveRoutes,
  ...paperRoutes,
  ...harbourRoutes,
  ...signpostRoutes,
  ...tradeRoutes,
  ...widgetRoutes,
});

export async function startShop({ tls, consent = true, now = Date.now }: ShopOptions = {}): Promise<Shop> {
  const state = openState(consent, now);
  const hits: string[] = [];
  const requests: SeenRequest[] = [];
  const note = (seen: SeenRequest): void => {
    hits.push(seen.path);
    requests.push(seen);
    if (requests.length > seenMax) requests.shift();
    if (hits.length > seenMax) hits.shift();
  };
  const scheme = tls ? 'https' : 'http';
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    note({ method: request.method ?? 'GET', path: request.url ?? '/', headers: request.headers, body });
    const cookies: string[] = [];
    const call = callOf(request, { body, state, scheme, cookies });
    const answer = await answerTo(call);
    if (isApiPath(call.url.pathname)) response.setHeaders(new Map(Object.entries(apiHeaders(call))));
    send(response, answer, cookies);
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    serve(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' });
      response.end(String(error));
    });
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  server.on('upgrade', ({ method = 'GET', url: path = '/', headers }: IncomingMessage) =>
    note({ method, path, headers, body: Buffer.alloc(0) }),
  );
  const ticker = openTicker(server);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${scheme}://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    otherHost: `localhost:${port}`,
    hits,
    requests,
    orders: state.orders,
    setDeal: (productId) => void (state.deal = productId),
    redesign: () => void (state.redesigned = true),
    close: () =>
      new Promise<void>((resolve) => {
        ticker.close();
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new Error(`a body of more than ${bodyBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

interface Surroundings {
  body: Buffer;
  state: ShopState;
  scheme: string;
  /** Cookies that the response sets. */
  cookies: string[];
}

function callOf({ method = 'GET', url = '/', headers }: IncomingMessage, { body, state, scheme, cookies: outgoing }: Surroundings): Call {
  const cookies = cookiesOf(headers);
  const call: Call = {
    method,
    url: new URL(url, `${scheme}://${headers.host ?? '127.0.0.1'}`),
    params: {},
    headers,
    cookies,
    body,
    state,
    visitor: state.visitors.get(cookies.sid ?? ''),
    setCookie: (cookie) => void outgoing.push(cookie),
    ensureVisitor: () => {
      if (call.visitor) return call.visitor;
      call.visitor = addVisitor(state);
      outgoing.push(sessionCookie(call.visitor));
      return call.visitor;
    },
  };
  return call;
}

const isApiPath = (path: string): boolean => /^\/(api|idp)\/|^\/(graphql|rpc)$/.test(path);

async function answerTo(call: Call): Promise<Answer> {
  const { method, url } = call;
  const match = find(method, url.pathname);
  if ('route' in match) {
    call.params = match.params;
    return match.route(call);
  }
  const allow = match.allow.join(', ');
  if (allow && method === 'OPTIONS') return { status: 204, headers: { allow } };
  if (allow) return { status: 405, headers: { allow } };
  if (isApiPath(url.pathname)) return refusal(404, 'not_found', 'There is nothing here.');
  return page(call, {
    status: 404,
    title: 'Not found',
    body: markup`<h1>There is nothing here</h1><p>The page may have moved. <a href="/">Start over</a></p>`,
  });
}

function send(response: ServerResponse, answer: Answer, cookies: string[]): void {
  response.setHeader('x-content-type-options', 'nosniff').setHeader('referrer-policy', 'strict-origin-when-cross-origin');
  if (cookies.length > 0) response.setHeader('set-cookie', cookies);
  if (typeof answer === 'function') return answer(response);
  response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
}
