/** Pages for the fetch benchmark, served from this process, each with the expected result. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type PlainPage, type Serving, longPage, plainPages } from './corpus-pages.ts';
import { latePages } from './late-pages.ts';

/** Chromium's network error of a page without a response. */
export type NetworkError = 'ERR_CONNECTION_RESET' | 'ERR_CONNECTION_REFUSED' | 'ERR_UNSAFE_PORT';

export interface CorpusPage {
  name: string;
  /** Absolute, as some pages have their own port. */
  url: string;
  path: string;
  /** Status of the last response; null without one. */
  status: number | null;
  /** The path after all redirects. */
  finalPath: string;
  /** Text of the rendered content, which is in no script or tag; empty without content. */
  contains: string;
  /** Content type without parameters; null without content. */
  contentType: string | null;
  networkError: NetworkError | null;
  /** Whether the text is rendered by scripts. */
  scripted: boolean;
}

export interface Corpus {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** `host:port` of all pages, for the service's list of allowed addresses. */
  addresses: string[];
  /** Pages for timing. */
  pages: CorpusPage[];
  /** Pages for accuracy only: one for each status and each network error. */
  truthPages: CorpusPage[];
  /** Pages that show their content after the load. */
  latePages: CorpusPage[];
  /** One of `pages`: ten kilobytes without scripts and subresources. */
  staticPage: CorpusPage;
  /** A page of a hundred kilobytes, for timing conversions. */
  longPage: CorpusPage;
  close(): Promise<void>;
}

/** Browsers refuse to connect to the port of X11. */
const unsafePort = 6000;
const staticPath = '/article';
const landing = 'The page at the end of the redirects';

const statusTexts: Record<number, string> = {
  200: 'All is well',
  403: 'You may not read this',
  404: 'There is no such page',
  410: 'This page was removed',
  418: 'A teapot answers',
  429: 'Too many requests',
  500: 'The server failed',
  503: 'Closed for repairs',
};

const htmlOf = (text: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${text}</title></head><body><h1>${text}</h1></body></html>`;

const html = 'text/html; charset=utf-8';

const withText = Object.entries(statusTexts).map(([status, text]): [string, Serving] => [
  `/status/${status}`,
  {
    status: Number(status),
    type: html,
    body: htmlOf(text),
    ...(status === '429' || status === '503' ? { headers: { 'retry-after': '1' } } : {}),
  },
]);

const servings: Record<string, Serving> = {
  ...Object.fromEntries(withText),
  ...Object.assign({}, ...[...plainPages, ...latePages, longPage].map(({ servings }) => servings)),
  '/status/204': { status: 204 },
  // The request was not conditional, so a browser drops the response; only its extra info has the status.
  '/status/304': { status: 304 },
  '/status/301': { status: 301, headers: { location: '/landing' } },
  '/status/302': { status: 302, headers: { location: '/landing' } },
  '/landing': { type: html, body: htmlOf(landing) },
  '/empty': { type: html, body: '' },
};

/** Defaults: an HTML response. */
const defaults = { status: 200, contains: '', contentType: 'text/html', networkError: null, scripted: false } as const;

type ExpectedPage = Omit<CorpusPage, 'url'>;

const truthOfPage = ({ name, path, truth }: PlainPage): ExpectedPage => ({ ...defaults, name, path, finalPath: path, ...truth });

const answeredTruths: ExpectedPage[] = [
  ...Object.entries(statusTexts).map(([status, contains]) =>
    expectPage(`/status/${status}`, { name: status, status: Number(status), contains }),
  ),
  expectPage('/status/204', { name: '204', status: 204, contentType: null }),
  expectPage('/status/304', { name: '304', status: 304, contentType: null }),
  expectPage('/status/301', { name: '301', finalPath: '/landing', contains: landing }),
  expectPage('/status/302', { name: '302', finalPath: '/landing', contains: landing }),
  expectPage('/empty', { name: 'empty body' }),
];

const unanswered = { status: null, contentType: null } as const;
const resetTruth = expectPage('/reset', { ...unanswered, name: 'connection reset', networkError: 'ERR_CONNECTION_RESET' });
const refusedTruth = expectPage('/', { ...unanswered, name: 'refused connection', networkError: 'ERR_CONNECTION_REFUSED' });
const unsafeTruth = expectPage('/', { ...unanswered, name: 'unsafe port', networkError: 'ERR_UNSAFE_PORT' });

function expectPage(path: string, truth: Partial<ExpectedPage> & { name: string }): ExpectedPage {
  return { ...defaults, path, finalPath: path, ...truth };
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? '/';
  const serving = servings[path];
  if (path === '/reset') return void request.socket.resetAndDestroy();
  if (!serving) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here');
  const { status = 200, type, body, headers, delayMs = 0 } = serving;
  const writeHead = () => response.writeHead(status, { 'cache-control': 'no-store', ...(type && { 'content-type': type }), ...headers });
  if (serving.parts) return void sendParts(writeHead(), serving);
  const send = (): void => void writeHead().end(body);
  if (delayMs === 0) return send();
  const timer = setTimeout(send, delayMs);
  response.once('close', () => clearTimeout(timer));
}

async function sendParts(response: ServerResponse, { parts = [], partsMs = 0 }: Serving): Promise<void> {
  for (const part of parts) {
    response.write(part);
    await sleep(partsMs);
  }
  response.end();
}

/** Returns a local port without a listener. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Serves the corpus on a port of its own until it is closed. */
export async function startCorpus(): Promise<Corpus> {
  const refused = await closedPort();
  const server = createServer(serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const toCorpusPage = (truth: ExpectedPage, onPort = port): CorpusPage => ({ ...truth, url: `http://127.0.0.1:${onPort}${truth.path}` });
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  const pages = plainPages.map((page) => toCorpusPage(truthOfPage(page)));
  const truthPages = [
    ...answeredTruths.map((truth) => toCorpusPage(truth)),
    toCorpusPage(resetTruth),
    toCorpusPage(refusedTruth, refused),
    toCorpusPage(unsafeTruth, unsafePort),
  ];
  const staticPage = pages.find(({ path }) => path === staticPath);
  if (!staticPage) throw new Error(`the corpus has no page ${staticPath}`);
  return {
    url: `http://127.0.0.1:${port}`,
    addresses: [...new Set(truthPages.map(({ url }) => new URL(url).host))],
    pages,
    truthPages,
    latePages: latePages.map((page) => toCorpusPage(truthOfPage(page))),
    staticPage,
    longPage: toCorpusPage(truthOfPage(longPage)),
    close,
  };
}
