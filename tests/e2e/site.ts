/** A small web site on loopback for browsers to visit. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

export interface Site {
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** `127.0.0.1:PORT`, for BERTH_EGRESS_ALLOW. */
  host: string;
  /** Requested paths in order. */
  hits: string[];
  /** The headers of the latest request for a path, including upgrades; empty when there was none. */
  headersOf(path: string): IncomingHttpHeaders;
  /** The number of opened connections, with or without requests. */
  connections(): number;
  /** Bytes in both directions on all connections. */
  bytes(): number;
  close(): Promise<void>;
}

export interface SiteOptions {
  /** Additional pages: HTML, or a function that writes the response. */
  pages?: Record<string, string | ((request: IncomingMessage, response: ServerResponse) => void)>;
  /** A private key and its certificate in PEM; the site then uses https. */
  tls?: { key: string; cert: string };
}

export const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body>${body}</body></html>`;

const pages: Record<string, string> = {
  '/': page('Home', '<h1>Welcome</h1><a id="second" href="/second">Second</a> <a id="popup" href="/second" target="_blank">New tab</a>'),
  '/second': page('Second', '<p>The second page.</p>'),
  '/form': page(
    'Form',
    `<input id="name" aria-label="Name"><button id="greet" onclick="document.title = 'Hello ' + document.getElementById('name').value">Greet</button>
     <a id="file" href="/file" download>Download</a>`,
  ),
  '/dialogs': page(
    'Dialogs',
    `<script>alert('one'); if (confirm('two')) document.title = 'confirmed'; addEventListener('beforeunload', (event) => event.preventDefault());</script>`,
  ),
  '/fetches': page('Fetches', `<script>fetch('/second').then((answer) => { document.title = 'fetched ' + answer.status; })</script>`),
  '/image': page('Image', '<img id="image" src="/pixel.png">'),
  '/popups': page('Popups', `<script>for (let n = 0; n < 30; n += 1) window.open('/second?' + n);</script>`),
};

const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://site');
  const html = pages[url.pathname];
  const status = /^\/status\/(\d{3})$/.exec(url.pathname)?.[1];
  if (html !== undefined) response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
  else if (status) response.writeHead(Number(status), { 'content-type': 'text/html' }).end(page(`Status ${status}`, status));
  else if (url.pathname === '/redirect') response.writeHead(302, { location: '/second' }).end();
  else if (url.pathname === '/loop') response.writeHead(302, { location: '/loop' }).end();
  else if (url.pathname === '/to') response.writeHead(302, { location: url.searchParams.get('url') ?? '/' }).end();
  else if (url.pathname === '/file')
    response
      .writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment; filename="data.bin"' })
      .end(Buffer.alloc(100_000, 1));
  else if (url.pathname === '/pixel.png') response.setHeader('content-type', 'image/png').end(pixel);
  else if (url.pathname === '/cookie')
    response
      .writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'seen=yes; Path=/' })
      .end(page('Cookie', request.headers.cookie ?? 'none'));
  else if (url.pathname === '/headers') response.setHeader('content-type', 'application/json').end(JSON.stringify(request.headers));
  else if (url.pathname === '/hang') return;
  else if (url.pathname === '/endless') endless(response);
  else if (url.pathname === '/reset') request.socket.destroy();
  else response.writeHead(404, { 'content-type': 'text/html' }).end(page('Not found', 'nothing here'));
}

/** A page that is sent until the client disconnects. */
function endless(response: ServerResponse): void {
  const chunk = `<p>${'more '.repeat(2000)}</p>`;
  const more = (): void => {
    while (response.writable && response.write(chunk));
  };
  response.on('drain', more).setHeader('content-type', 'text/html');
  more();
}

export async function startSite({ pages: more = {}, tls }: SiteOptions = {}): Promise<Site> {
  const hits: string[] = [];
  const latest = new Map<string, IncomingHttpHeaders>();
  const sockets = new Set<Socket>();
  let connections = 0;
  let bytes = 0;
  const bytesOf = ({ bytesRead, bytesWritten }: Socket): number => bytesRead + bytesWritten;
  const note = ({ url = '', headers }: IncomingMessage): void => {
    hits.push(url);
    latest.set(new URL(url, 'http://site').pathname, headers);
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    note(request);
    const own = more[new URL(request.url ?? '/', 'http://site').pathname];
    if (typeof own === 'string') response.setHeader('content-type', 'text/html; charset=utf-8').end(own);
    else if (own) own(request, response);
    else answer(request, response);
  };
  const server = tls ? createTlsServer(tls, serve) : createServer(serve);
  server.on('upgrade', (request, socket) => {
    note(request);
    socket.destroy();
  });
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      bytes += bytesOf(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return {
    url: `${tls ? 'https' : 'http'}://${host}`,
    host,
    hits,
    headersOf: (path) => latest.get(path) ?? {},
    connections: () => connections,
    bytes: () => [...sockets].reduce((sum, socket) => sum + bytesOf(socket), bytes),
    close,
  };
}
