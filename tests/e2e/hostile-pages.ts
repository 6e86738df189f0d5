/** Hostile pages and servers. Page scripts are text, because pages have other globals than this file. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { page } from './site.ts';

const script = (title: string, source: string): string => page(title, `<script>${source}</script>`);
const asScript = (source: string) => (_: IncomingMessage, response: ServerResponse) =>
  void response.setHeader('content-type', 'text/javascript').end(source);

export const hostilePages = {
  '/windows': script(
    'Windows',
    `const open = () => { for (let n = 0; n < 100; n += 1) window.open('/second?' + n); }; setInterval(open, 0); open();`,
  ),
  '/frames': script(
    'Frames',
    `const count = Number(new URLSearchParams(location.search).get('count') ?? 1000);
     addEventListener('DOMContentLoaded', () => { for (let n = 0; n < count; n += 1) document.body.append(Object.assign(document.createElement('iframe'), { src: '/second?' + n })); })`,
  ),
  '/dialog-loop': script('Dialog loop', `for (;;) { alert(1); confirm(2); prompt(3); print(); }`),
  '/print-loop': script('Print loop', `setInterval(print, 0); print(); addEventListener('afterprint', print)`),
  '/downloads': script(
    'Downloads',
    `addEventListener('DOMContentLoaded', () => { for (let n = 0; n < 200; n += 1) Object.assign(document.body.appendChild(document.createElement('a')), { href: '/bomb?' + n, download: 'bomb' + n }).click(); })`,
  ),
  '/memory': script('Memory', `const held = []; for (;;) held.push(new Array(4e6).fill().map((_, n) => ({ n })));`),
  '/spin': script('Spin', `for (;;);`),
  '/spin-later': script('Spin later', `addEventListener('load', () => setTimeout(() => { for (;;); }))`),
  '/spin-again': script(
    'Spin again',
    `setInterval(() => { for (;;); }); addEventListener('beforeunload', () => { for (;;); }); addEventListener('pagehide', () => { for (;;); })`,
  ),
  '/history': script(
    'History',
    `let n = 0; const storm = () => { for (let end = n + 200; n < end; n += 1) history.pushState(n, '', '/history?' + n); }; setInterval(storm, 0); storm();`,
  ),
  '/reloads': script('Reloads', `location.replace('/reloads?' + Math.random())`),
  '/title': script('Title', `document.title = 'x'.repeat(10 * 1024 * 1024)`),
  '/titles': script('Titles', `let n = 0; setInterval(() => { document.title = 'y'.repeat(1024 * 1024) + n++; }, 0)`),
  '/half-characters': script(
    'Half characters',
    `const half = 'a\\ud800b\\u0000c';
     document.title = half; console.log(half); alert(half); localStorage.setItem(half, half); history.replaceState(0, '', '?' + half);
     document.cookie = 'half=' + half; fetch('/second?' + half, { headers: { half: 'yes' } }); setTimeout(() => { throw half; });
     addEventListener('load', () => Object.assign(document.body.appendChild(document.createElement('a')), { href: URL.createObjectURL(new Blob([half])), download: half + '.txt' }).click());`,
  ),
  '/never-loads': page('Never loads', '<p>Here.</p><img src="/hang">'),
  '/log': script('Log', `setInterval(() => { for (let n = 0; n < 1000; n += 1) console.log('x'.repeat(1000)); }, 0)`),
  '/bomb': (_: IncomingMessage, response: ServerResponse) =>
    void response
      .writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment; filename="bomb.bin"' })
      .end(Buffer.alloc(10_000)),
  '/auth': (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(401, { 'www-authenticate': 'Basic realm="who"', 'content-type': 'text/html' }).end(page('Who', 'who are you')),
  '/drip': drip,
  '/drip-header': dripHeader,
  '/fetcher.js': asScript(`
    addEventListener('install', () => skipWaiting());
    addEventListener('activate', (event) => event.waitUntil(clients.claim()));
    addEventListener('message', ({ data, source }) => fetch(data, { mode: 'no-cors' }).then(() => 'reached', () => 'failed').then((word) => source.postMessage(word)));`),
  '/shared.js': asScript(`
    addEventListener('connect', ({ ports: [port] }) => { port.onmessage = ({ data }) => fetch(data, { mode: 'no-cors' }).then(() => 'reached', () => 'failed').then((word) => port.postMessage(word)); });`),
  '/cached': (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'max-age=3600' }).end('kept'),
};

/** Sends single letters: the page never ends and never fails. */
function drip(_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/html' });
  const timer = setInterval(() => response.write('x'), 50);
  response.on('close', () => clearInterval(timer));
}

/** The same within the headers. */
function dripHeader({ socket }: IncomingMessage): void {
  socket.write('HTTP/1.1 200 OK\r\n');
  const timer = setInterval(() => socket.write('x-drip: x\r\n'), 50);
  socket.on('close', () => clearInterval(timer));
}

/** Requests an address by mechanisms that outlive or precede a page and waits for each that reports its end. */
export const backgroundRequests = (address: string): string => `(async (address) => {
  // Some of these report nothing when they are refused.
  const settled = (source, events) =>
    Promise.race([after(1500), ...events.map((event) => new Promise((resolve) => source.addEventListener(event, resolve)))]);
  const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const link = (rel, more) => {
    const element = Object.assign(document.createElement('link'), { rel, ...more, href: address + '/' + rel });
    document.head.append(element);
    return settled(element, ['load', 'error']);
  };
  void link('preconnect');
  void link('dns-prefetch');
  navigator.sendBeacon(address + '/beacon', 'x');
  const style = document.createElement('style');
  style.textContent = '@import url(' + address + '/import.css); body { background: url(' + address + '/background.png) }';
  document.head.append(style);
  document.body.append(Object.assign(document.createElement('a'), { href: '/second', ping: address + '/ping' }));
  const registration = await navigator.serviceWorker.register('/fetcher.js');
  const worker = registration.active ?? registration.waiting ?? registration.installing;
  const fromService = new Promise((resolve) => { navigator.serviceWorker.onmessage = ({ data }) => resolve(data); });
  worker.postMessage(address + '/service-worker');
  const shared = new SharedWorker('/shared.js');
  const fromShared = new Promise((resolve) => { shared.port.onmessage = ({ data }) => resolve(data); });
  shared.port.postMessage(address + '/shared-worker');
  const transport = new WebTransport(address.replace('http:', 'https:'));
  transport.closed.catch(() => undefined);
  const [service, byShared, byTransport] = await Promise.all([
    Promise.race([fromService, after(15000)]),
    Promise.race([fromShared, after(15000)]),
    transport.ready.then(() => 'reached', () => 'failed'),
    link('prefetch'),
    link('preload', { as: 'image' }),
    link('modulepreload'),
    link('stylesheet'),
    settled(style, ['load', 'error']),
  ]);
  return { service, byShared, byTransport };
})(${JSON.stringify(address)})`;

/** Stores data in every storage of a page. */
export const storeData = `(async () => {
  document.cookie = 'trace=yes; max-age=3600';
  localStorage.setItem('trace', 'yes');
  await (await caches.open('trace')).put('/trace', new Response('yes'));
  await new Promise((resolve) => { indexedDB.open('trace').onsuccess = resolve; });
  await navigator.serviceWorker.register('/fetcher.js');
  await navigator.serviceWorker.ready;
  await (await fetch('/cached')).text();
  const folder = await navigator.storage.getDirectory();
  await folder.getFileHandle('trace', { create: true });
})()`;

export const findStoredData = `(async () => {
  const files = [];
  for await (const name of (await navigator.storage.getDirectory()).keys()) files.push(name);
  const found = {
    cookie: document.cookie,
    storage: Object.keys(localStorage),
    caches: await caches.keys(),
    databases: (await indexedDB.databases()).map(({ name }) => name),
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    files,
    history: history.length <= 2 ? 'short' : 'long',
  };
  await (await fetch('/cached')).text();
  return found;
})()`;
