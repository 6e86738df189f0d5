/** Pages for the fetch benchmark, served from this process, each with what a truthful fetch must say of it. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type PlainPage, type Serving, longPage, plainPages } from './corpus-pages.ts';

/** How a page fails that never answers, in Chromium's words. */
export type NetworkFault = 'ERR_CONNECTION_RESET' | 'ERR_CONNECTION_REFUSED' | 'ERR_UNSAFE_PORT';

export interface CorpusPage {
  name: string;
  /** Whole, as some pages are at ports of their own. */
  url: string;
  /** What `url` asks for. */
  path: string;
  /** The last answer's; null where none comes. */
  status: number | null;
  /** The path at the end of all redirects. */
  finalPath: string;
  /** A text that the content has once its scripts have run, and that stands in no script or tag; empty where there is no content. */
  contains: string;
  /** Without parameters; null where there is no content. */
  contentType: string | null;
  fault: NetworkFault | null;
  /** Whether the text is not there before scripts have run. */
  scripted: boolean;
}

export interface Corpus {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** Of all pages, `host:port`, as the service's list of allowed addresses wants them. */
  addresses: string[];
  /** What fetches are timed on. */
  pages: CorpusPage[];
  /** What only the truth of the answer is judged on: one page for each status, and for each way to get none. */
  truthPages: CorpusPage[];
  /** One of `pages`: ten kilobytes that need no script and load nothing else. */
  staticPage: CorpusPage;
  /** What conversions are timed on: a hundred kilobytes. */
  longPage: CorpusPage;
  close(): Promise<void>;
}

/** Browsers refuse to connect to the port of X11. */
const unsafePort = 6000;
const staticPath = '/article';
const landing = 'The page at the end of the way';

const statusTexts: Record<number, string> = {
  200: 'All is well',
  403: 'You may not read this',
  404: 'There is no such page',
  410: 'This page has gone for good',
  418: 'A teapot answers',
  429: 'Too many asked',
  500: 'The server is at fault',
  503: 'Closed for repairs',
};

const shown = (text: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${text}</title></head><body><h1>${text}</h1></body></html>`;

const html = 'text/html; charset=utf-8';

const withText = Object.entries(statusTexts).map(([status, text]): [string, Serving] => [
  `/status/${status}`,
  {
    status: Number(status),
    type: html,
    body: shown(text),
    ...(status === '429' || status === '503' ? { headers: { 'retry-after': '1' } } : {}),
  },
]);

const servings: Record<string, Serving> = {
  ...Object.fromEntries(withText),
  ...Object.assign({}, ...[...plainPages, longPage].map(({ servings }) => servings)),
  '/status/204': { status: 204 },
  // Nobody asked conditionally, so a browser drops the answer; the status is in its extra info alone.
  '/status/304': { status: 304 },
  '/status/301': { status: 301, headers: { location: '/landing' } },
  '/status/302': { status: 302, headers: { location: '/landing' } },
  '/landing': { type: html, body: shown(landing) },
  '/empty': { type: html, body: '' },
};

/** How all pages begin: an answer with a page of text in it. */
const usual = { status: 200, contains: '', contentType: 'text/html', fault: null, scripted: false } as const;

type Truth = Omit<CorpusPage, 'url'>;

const truthOf = ({ name, path, truth }: PlainPage): Truth => ({ ...usual, name, path, finalPath: path, ...truth });

const answeredTruths: Truth[] = [
  ...Object.entries(statusTexts).map(([status, contains]) => at(`/status/${status}`, { name: status, status: Number(status), contains })),
  at('/status/204', { name: '204', status: 204, contentType: null }),
  at('/status/304', { name: '304', status: 304, contentType: null }),
  at('/status/301', { name: '301', finalPath: '/landing', contains: landing }),
  at('/status/302', { name: '302', finalPath: '/landing', contains: landing }),
  at('/empty', { name: 'empty body' }),
];

const unanswered = { status: null, contentType: null } as const;
const resetTruth = at('/reset', { ...unanswered, name: 'connection reset', fault: 'ERR_CONNECTION_RESET' });
const refusedTruth = at('/', { ...unanswered, name: 'refused connection', fault: 'ERR_CONNECTION_REFUSED' });
const unsafeTruth = at('/', { ...unanswered, name: 'unsafe port', fault: 'ERR_UNSAFE_PORT' });

function at(path: string, truth: Partial<Truth> & { name: string }): Truth {
  return { ...usual, path, finalPath: path, ...truth };
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? '/';
  const serving = servings[path];
  if (path === '/reset') return void request.socket.resetAndDestroy();
  if (!serving) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here');
  const { status = 200, type, body, headers, delayMs = 0 } = serving;
  const send = (): void =>
    void response.writeHead(status, { 'cache-control': 'no-store', ...(type && { 'content-type': type }), ...headers }).end(body);
  if (delayMs === 0) return send();
  const timer = setTimeout(send, delayMs);
  response.once('close', () => clearTimeout(timer));
}

/** A port of this machine at which nobody listens. */
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
  const placed = (truth: Truth, at = port): CorpusPage => ({ ...truth, url: `http://127.0.0.1:${at}${truth.path}` });
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  const pages = plainPages.map((page) => placed(truthOf(page)));
  const truthPages = [
    ...answeredTruths.map((truth) => placed(truth)),
    placed(resetTruth),
    placed(refusedTruth, refused),
    placed(unsafeTruth, unsafePort),
  ];
  const staticPage = pages.find(({ path }) => path === staticPath);
  if (!staticPage) throw new Error(`the corpus has no page ${staticPath}`);
  return {
    url: `http://127.0.0.1:${port}`,
    addresses: [...new Set(truthPages.map(({ url }) => new URL(url).host))],
    pages,
    truthPages,
    staticPage,
    longPage: placed(truthOf(longPage)),
    close,
  };
}
