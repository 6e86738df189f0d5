/** A site that means harm: each path is one attack on whoever opens it. */
import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';

const script = (code: string): string => `<!doctype html><title>hostile</title><body><script>${code}</script>`;

const megabyte = 1024 * 1024;
const downloadChunk = Buffer.alloc(megabyte, 7);

const robots = [
  ...Array.from({ length: 14_000 }, (_, i) => `User-agent: agent-${i}`),
  'User-agent: Berth',
  `Disallow: /${'*a'.repeat(60_000)}$`,
  ...Array.from({ length: 5000 }, (_, i) => `Disallow: /*${i}*x`),
].join('\n');

const pages: Record<string, () => string> = {
  '/robots.txt': () => robots,
  '/titles': () => '<title '.repeat(megabyte),
  '/deep': () => `${'<div><b><table><tr><td>'.repeat(20_000)}text`,
  '/addresses': () => script("setInterval(() => fetch('/?' + 'x'.repeat(2e6)).catch(() => {}), 50)"),
  '/names': () =>
    script(
      "setInterval(() => { for (let i = 0; i < 4; i++) new Image().src = 'http://' + Math.random().toString(36).slice(2) + '.test/' }, 100)",
    ),
  '/workers': () => script("const u = URL.createObjectURL(new Blob(['for (;;);'])); for (let i = 0; i < 60; i++) new Worker(u)"),
  '/memory': () => script('const all = []; setInterval(() => all.push(new Uint8Array(5e7).fill(1)), 20)'),
  '/downloads': () =>
    script("setInterval(() => { const a = document.createElement('a'); a.href = '/file'; a.download = 'f'; a.click() }, 500)"),
  '/text': () => script("let n = 0; setInterval(() => { document.title = 'a\\ud800' + n++; console.log('\\udfff\\0'.repeat(1e5)) }, 5)"),
  '/moving': () =>
    script("setInterval(() => { document.body.style.background = '#' + (Math.random() * 1e6 | 0).toString(16).padStart(6, '0') }, 16)"),
};

function serve(request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '/').replace(/\?.*$/s, '');
  if (path === '/file') return endless(response);
  response.writeHead(200, { 'content-type': path === '/robots.txt' ? 'text/plain' : 'text/html' }).end(pages[path]?.() ?? 'nothing');
}

function endless(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment; filename=f' });
  const more = (): void => {
    while (!response.destroyed && response.write(downloadChunk));
  };
  response.on('drain', more);
  more();
}

/** Serves it on a port of its own; 2 MB addresses are let through. */
export async function serveHostilePages(port: number): Promise<Server> {
  const server = createServer({ maxHeaderSize: 4 * megabyte }, serve).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
