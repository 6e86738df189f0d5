/** A local site for the tests of this folder. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

type Reply = (request: IncomingMessage, response: ServerResponse, url: URL) => void;

const html = (response: ServerResponse, body: string, status = 200, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(`<!doctype html>${body}`);
};

const replies: Record<string, Reply> = {
  '/': (_, response) =>
    html(response, '<title>home</title><h1>Home</h1><input id="q"><button id="b" onclick="document.title=q.value">go</button>'),
  '/status': (_, response, url) => html(response, '<title>status</title>', Number(url.searchParams.get('code'))),
  '/empty': (_, response, url) => void response.writeHead(Number(url.searchParams.get('code'))).end(),
  '/redirect': (_, response, url) => void response.writeHead(302, { location: url.searchParams.get('to') ?? '/' }).end(),
  '/loop': (_, response) => void response.writeHead(302, { location: '/loop' }).end(),
  '/hang': () => {},
  '/half': (_, response) => html(response, '<title>half</title><img src="/hang">'),
  '/reset': (request) => void request.socket.resetAndDestroy(),
  '/download': (_, response) =>
    void response
      .writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment; filename="a.bin"' })
      .end('contents'),
  // As the egress gate replies for a site that it does not reach.
  '/unreachable': (_, response) => void response.writeHead(502, ['Location', '/1', 'Location', '/2']).end(),
  '/onward': (_, response) => html(response, '<title>onward</title><script>location.href="/"</script>'),
  '/refresh': (_, response) => html(response, '<title>refresh</title><meta http-equiv="refresh" content="0; url=/child">'),
  '/download-start': (_, response) => html(response, '<title>starting</title><h1>Thanks</h1><script>location.href="/download"</script>'),
  '/alert': (_, response) =>
    html(response, '<title>before</title><script>alert(1); confirm(2); prompt(3); print(); document.title="after"</script>'),
  '/leave': (_, response) =>
    html(
      response,
      '<title>leave</title><script>onbeforeunload = (e) => { e.preventDefault(); return "stay"; }</script><button id="b">b</button>',
    ),
  '/popup': (_, response) => html(response, '<title>opener</title><button id="b" onclick="window.open(\'/child\')">open</button>'),
  '/popups': (_, response) =>
    html(response, '<title>many</title><button id="b" onclick="for (let i = 0; i < 8; i++) window.open(\'/child?\' + i)">open</button>'),
  '/long': (_, response) => html(response, '<title>long</title><p style="height: 3000px">text</p>'),
  '/beacon': (_, response) => html(response, '<title>beacon</title><script>navigator.sendBeacon("/ran")</script>'),
  '/child': (_, response) =>
    html(
      response,
      `<title>child</title><script>first = {
        inner: innerWidth, screen: screen.width, agent: navigator.userAgent, injected: globalThis.injected,
        zone: Intl.DateTimeFormat().resolvedOptions().timeZone
      }</script>`,
    ),
  '/pdf': (_, response) =>
    void response.writeHead(200, { 'content-type': 'application/pdf' }).end(`%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj
trailer<</Root 1 0 R>>`),
  '/auth': (_, response) =>
    void response.writeHead(401, { 'www-authenticate': 'Basic realm="x"', 'content-type': 'text/html' }).end('<title>who</title>'),
  '/echo': (request, response) =>
    void response
      .writeHead(200, { 'content-type': 'application/json', 'access-control-allow-origin': '*' })
      .end(JSON.stringify(request.headers)),
  '/media': (_, response) =>
    html(
      response,
      `<title>media</title><link rel=stylesheet href="/s.css"><img src="/i.png"><video src="/v.mp4" preload=auto></video>
        <style>@font-face{font-family:f;src:url(/f.woff2)} p{font-family:f}</style><p>text</p>`,
    ),
};

export interface Site {
  url: string;
  host: string;
  /** Requested paths, in order. */
  requests: string[];
  close(): Promise<void>;
}

export async function openSite(): Promise<Site> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://site');
    requests.push(url.pathname);
    (replies[url.pathname] ?? ((_, out) => void out.writeHead(404).end()))(request, response, url);
  });
  server.on('upgrade', (request, socket) => {
    requests.push(`upgrade ${request.url}`);
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url: `http://${host}`, host, requests, close };
}
