import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { movingPage, movingScript, movingStyle } from './moving-page.ts';
import { innerPages, picture, pressedPage, shiftingPages } from './shifting-pages.ts';
import type { Stage } from './stage.ts';

/** Rows of the long page. */
export const longRows = 72;

const rows = Array.from({ length: 40 }, (_, i) => `<tr><td>${i}</td><td>row ${i}</td><td>${(i * 37) % 101}</td></tr>`).join('');
const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Bench</title>
<link rel="stylesheet" href="/style.css"></head>
<body><h1>A small page</h1><table>${rows}</table><script src="/script.js"></script></body></html>`;

/** Six screens long; a row has another colour under the mouse. */
const longPage = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Long</title>
<style>p { margin: 0; height: 60px } p:hover { background: gold }</style></head>
<body>${Array.from({ length: longRows }, (_, i) => `<p>row ${i}</p>`).join('')}</body></html>`;

const files: Record<string, [type: string, text: string]> = {
  '/': ['text/html; charset=utf-8', page],
  '/style.css': ['text/css; charset=utf-8', 'body { font-family: sans-serif } td { border: 1px solid #ccc; padding: 2px }'],
  '/script.js': ['text/javascript; charset=utf-8', 'document.body.dataset.ready = String(document.querySelectorAll("tr").length);'],
  '/long': ['text/html; charset=utf-8', longPage],
  '/moving': ['text/html; charset=utf-8', movingPage],
  '/moving.css': ['text/css; charset=utf-8', movingStyle],
  '/moving.js': ['text/javascript; charset=utf-8', movingScript],
  ...Object.fromEntries(
    Object.entries({ ...shiftingPages, ...innerPages, pressed: pressedPage }).map(([name, text]) => [
      `/shifting/${name}`,
      ['text/html; charset=utf-8', text],
    ]),
  ),
  '/shifting/picture.svg': ['image/svg+xml', picture],
};

export interface Site {
  url: string;
  longUrl: string;
  /** The constantly changing page. */
  movingUrl: string;
  /** `host:port`, for the service's list of allowed addresses. */
  address: string;
}

/** Serves a page with a stylesheet and a script, and a constantly changing one, from this process. */
export async function serveSite(stage: Stage): Promise<Site> {
  const server = createServer((request, response) => {
    const [type, text] = files[request.url ?? ''] ?? ['text/plain', ''];
    response.writeHead(text ? 200 : 404, { 'content-type': type, 'cache-control': 'no-store' }).end(text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stage.onEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${address}/`, longUrl: `http://${address}/long`, movingUrl: `http://${address}/moving`, address };
}
