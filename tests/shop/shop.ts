/** A whole web shop on loopback, with everything in it that browsing meets: the same in every run, and nothing from outside. */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { extname, join } from 'node:path';
import { accountRoutes, sessionCookie } from './account.ts';
import { apiHeaders, apiRoutes, fault } from './api.ts';
import { catalogRoutes } from './catalog.ts';
import { checkoutRoutes } from './checkout.ts';
import { imageRoutes } from './images.ts';
import { page } from './layout.ts';
import { listRoutes } from './lists.ts';
import { liveRoutes, openTicker } from './live.ts';
import { markup } from './markup.ts';
import { paperRoutes } from './papers.ts';
import { signpostRoutes } from './signposts.ts';
import { widgetRoutes } from './widgets.ts';
import { cookiesOf, finder, text, type Answer, type Call, type Routes } from './wire.ts';
import { addVisitor, openWorld, type Order, type World } from './world.ts';

export interface Shop {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** `127.0.0.1:PORT`, for BERTH_EGRESS_ALLOW. */
  host: string;
  /** `localhost:PORT`, the same server as another origin: the payment frame comes from there. */
  otherHost: string;
  /** Paths asked for, with their queries, in order; the latest 5,000. */
  hits: string[];
  /** The same requests with all that came with them. */
  requests: SeenRequest[];
  /** Orders placed, in order. */
  orders: readonly Order[];
  /** The product of the day on `/deal`, for what watches a page for changes. */
  setDeal(productId: number): void;
  /** Gives the product page other element ids and class names, as a new design does. */
  redesign(): void;
  close(): Promise<void>;
}

export interface SeenRequest {
  method: string;
  /** With its query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface ShopOptions {
  /** A private key and its certificate in PEM: the shop is then an https one. */
  tls?: { key: string; cert: string };
  /** Whether the consent dialog covers the pages of who has not answered it. */
  consent?: boolean;
  /** The clock of the one-time codes, in milliseconds. */
  now?: () => number;
}

/** The largest upload is a few megabytes. */
const bodyBytesMax = 32 * 1024 * 1024;
/** No test looks further back. */
const seenMax = 5000;

const clientTypes: Record<string, string> = { '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8' };
const clientFolder = join(import.meta.dirname, 'client');

function assetRoutes(): Routes {
  const files = readdirSync(clientFolder).map(
    (name) => [name, readFileSync(join(clientFolder, name), 'utf8'), clientTypes[extname(name)] ?? 'text/plain'] as const,
  );
  const routes = files.map(([name, body, type]) => {
    // A service worker reaches no further than its own path.
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
  ...signpostRoutes,
  ...widgetRoutes,
});

export async function startShop({ tls, consent = true, now = Date.now }: ShopOptions = {}): Promise<Shop> {
  const world = openWorld(consent, now);
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
    const call = callOf(request, { body, world, scheme, cookies });
    const answer = await answerTo(call);
    if (call.url.pathname.startsWith('/api/') || call.url.pathname === '/graphql')
      response.setHeaders(new Map(Object.entries(apiHeaders(call))));
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
    orders: world.orders,
    setDeal: (productId) => void (world.deal = productId),
    redesign: () => void (world.redesigned = true),
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
  world: World;
  scheme: string;
  /** Cookies that go out with the answer. */
  cookies: string[];
}

function callOf({ method = 'GET', url = '/', headers }: IncomingMessage, { body, world, scheme, cookies: outgoing }: Surroundings): Call {
  const cookies = cookiesOf(headers);
  const call: Call = {
    method,
    url: new URL(url, `${scheme}://${headers.host ?? '127.0.0.1'}`),
    params: {},
    headers,
    cookies,
    body,
    world,
    visitor: world.visitors.get(cookies.sid ?? ''),
    setCookie: (cookie) => void outgoing.push(cookie),
    meet: () => {
      if (call.visitor) return call.visitor;
      call.visitor = addVisitor(world);
      outgoing.push(sessionCookie(call.visitor));
      return call.visitor;
    },
  };
  return call;
}

async function answerTo(call: Call): Promise<Answer> {
  const { method, url } = call;
  const isApi = url.pathname.startsWith('/api/') || url.pathname === '/graphql';
  const found = find(method, url.pathname);
  if ('route' in found) {
    call.params = found.params;
    return found.route(call);
  }
  const allow = found.allow.join(', ');
  if (allow && method === 'OPTIONS') return { status: 204, headers: { allow } };
  if (allow) return { status: 405, headers: { allow } };
  if (isApi) return fault(404, 'not_found', 'There is nothing here.');
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
