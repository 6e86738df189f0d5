/** Hostile pages and responses. Page scripts are text, because pages have other globals than this file. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { brotliCompressSync, constants, crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { hostilePages } from '../hostile-pages.ts';
import { page } from '../site.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const mebibyte = 1024 * 1024;
const script = (title: string, source: string): string => page(title, `<h1>${title}</h1><script>${source}</script>`);
const html = { 'content-type': 'text/html; charset=utf-8' };
const answer =
  (headers: Record<string, string>, body: string | Buffer = '', status = 200): Answer =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);

/** Sends bytes until the client disconnects. */
const pour =
  (headers: Record<string, string>, chunk: Buffer = Buffer.alloc(64 * 1024, 0x61)): Answer =>
  (_, response) => {
    const more = (): void => {
      while (response.writable && response.write(chunk));
    };
    response.on('drain', more).writeHead(200, headers);
    more();
  };

/** A gibibyte of spaces compressed to a mebibyte: one piece, which refers to nothing before it, again and again. */
const gzip = (() => {
  const spaces = Buffer.alloc(mebibyte, 0x20);
  const piece = deflateRawSync(spaces, { finishFlush: constants.Z_SYNC_FLUSH });
  let sum = 0;
  for (let n = 0; n < 1024; n += 1) sum = crc32(spaces, sum);
  const [head, end] = [Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]), Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0])];
  end.writeUInt32LE(sum, 2);
  end.writeUInt32LE(1024 * mebibyte, 6);
  return Buffer.concat([head, ...Array.from({ length: 1024 }, () => piece), end]);
})();

/** Two hundred mebibytes compressed to a few hundred bytes. */
const brotli = brotliCompressSync(Buffer.alloc(200 * mebibyte, 0x20), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 24 },
});

const deep = 20_000;
const clobbered = `<!doctype html><html><head><title>Clobbered</title></head><body>
<form id="documentElement" name="documentElement"><input name="attributes"><input name="childNodes"><input name="innerHTML"><input name="outerHTML"><input name="parentNode"><input name="tagName"></form>
<img name="querySelector"><img name="querySelectorAll"><img name="body"><img name="title"><img name="createTreeWalker"><img name="getElementsByTagName">
<form name="location"></form><form name="head"></form><form name="baseURI"></form><a id="href" href="/there">An exit</a>
<script>
  JSON.stringify = () => { throw new Error('no'); };
  Array.prototype.map = Array.prototype.push = Array.prototype.filter = () => { throw new Error('no'); };
  Object.prototype.toJSON = () => 'owned';
  Element.prototype.querySelectorAll = Document.prototype.querySelectorAll = () => { throw new Error('no'); };
  Object.defineProperty(Element.prototype, 'outerHTML', { get() { return '<p>owned</p>'; } });
  Object.defineProperty(Document.prototype, 'title', { get() { return 'owned'; } });
  Node.prototype.cloneNode = () => document.createElement('b');
  window.getComputedStyle = () => ({ display: 'none', visibility: 'hidden' });
</script><p>The truth of the page.</p></body></html>`;

export const worker = `
addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => event.respondWith(new Response('<title>Owned</title><h1>Owned by the worker</h1>', { status: 299, headers: { 'content-type': 'text/html' } })));`;

export const fetchHostilePages: Record<string, string | Answer> = {
  ...hostilePages,
  '/never-loads': page('Never loads', '<p>Here.</p><img src="/hang">'),
  '/ten-gigabytes': pour({ ...html, 'content-length': String(10 * 1024 ** 3) }),
  '/ten-gigabytes.bin': pour({ 'content-type': 'application/octet-stream', 'content-length': String(10 * 1024 ** 3) }),
  '/ten-gigabytes.txt': pour({ 'content-type': 'text/plain', 'content-length': String(10 * 1024 ** 3) }),
  '/short': (request, response) => {
    response.writeHead(200, { ...html, 'content-length': '100000' }).write(page('Cut off', '<p>This is all that came.</p>'));
    setImmediate(() => request.socket.end());
  },
  '/endless-json': pour({ 'content-type': 'application/json' }, Buffer.from('[1,2,3],'.repeat(8192))),
  '/scroll': script(
    'Scroll',
    `const add = () => { for (let n = 0; n < 20; n += 1) document.body.append(Object.assign(document.createElement('div'), { style: 'height:500px;background:rgb(' + (n * 12) + ',100,200)' })); };
     addEventListener('scroll', add); new IntersectionObserver(add).observe(document.querySelector('h1')); setInterval(add, 50); add();`,
  ),
  '/crowd': script(
    'Crowd',
    `const all = document.createDocumentFragment(); for (let n = 0; n < 300000; n += 1) all.append(Object.assign(document.createElement('i'), { textContent: n })); document.body.append(all);`,
  ),
  '/grows': script(
    'Grows',
    `setInterval(() => { for (let n = 0; n < 2000; n += 1) document.body.append(Object.assign(document.createElement('p'), { textContent: 'more'.repeat(50) })); }, 0);`,
  ),
  '/gzip': answer({ 'content-type': 'text/html', 'content-encoding': 'gzip' }, gzip),
  '/gzip.bin': answer({ 'content-type': 'application/octet-stream', 'content-encoding': 'gzip' }, gzip),
  '/brotli': answer({ ...html, 'content-encoding': 'br' }, brotli),
  '/brotli.bin': answer({ 'content-type': 'application/octet-stream', 'content-encoding': 'br' }, brotli),
  '/matryoshka': answer({ ...html, 'content-encoding': 'gzip, gzip' }, gzipSync(gzipSync(page('Twice', '<p>Packed twice.</p>')))),
  '/not-gzip': answer({ ...html, 'content-encoding': 'gzip' }, page('Liar', '<p>Not packed at all.</p>')),
  '/charset-utf16': answer({ 'content-type': 'text/html; charset=utf-16le' }, page('Lie', '<p>plain letters</p>')),
  '/charset-unknown': answer({ 'content-type': 'text/html; charset=x-klingon"\\' }, page('Unknown', '<p>plain letters</p>')),
  '/charset-meta': answer(
    { 'content-type': 'text/html' },
    Buffer.from(
      '<!doctype html><meta charset="windows-1251"><title>\xcf\xf0\xe8\xe2\xe5\xf2</title><p>\xcf\xf0\xe8\xe2\xe5\xf2</p>',
      'latin1',
    ),
  ),
  '/charset-bom': answer(
    { 'content-type': 'text/html; charset=iso-8859-1' },
    Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('<!doctype html><title>Grüße</title><p>Grüße</p>')]),
  ),
  '/charset-broken': answer(
    html,
    Buffer.concat([
      Buffer.from('<!doctype html><title>Broken</title><p>before '),
      Buffer.from([0xff, 0xfe, 0xc3]),
      Buffer.from(' after</p>'),
    ]),
  ),
  '/named': (request, response) =>
    void response
      .writeHead(200, {
        'content-type': 'application/octet-stream',
        'content-disposition': new URL(request.url ?? '', 'http://site').searchParams.get('as') ?? '',
      })
      .end('the bytes'),
  '/headers-many': (_, response) => {
    for (let n = 0; n < 400; n += 1) response.setHeader(`x-many-${n}`, 'v');
    response.writeHead(200, html).end(page('Many', '<p>Many headers.</p>'));
  },
  '/headers-large': answer({ ...html, 'x-large': 'v'.repeat(200 * 1024) }, page('Large', '<p>A large header.</p>')),
  '/headers-huge': answer({ ...html, 'x-huge': 'v'.repeat(4 * mebibyte) }, page('Huge', '<p>A huge header.</p>')),
  '/clobbered': answer(html, clobbered),
  '/title-1mb': page('t'.repeat(mebibyte), '<p>Under a long title.</p>'),
  '/links': page('Links', Array.from({ length: 50_000 }, (_, n) => `<a href="/l/${n}">l${n}</a>`).join(' ')),
  '/nested': page('Nested', `${'<div>'.repeat(deep)}The bottom.${'</div>'.repeat(deep)}`),
  '/nested-list': page('Lists', `${'<ul><li>'.repeat(deep)}The bottom.`),
  '/nested-script': script(
    'Nested by script',
    `let at = document.body; for (let n = 0; n < ${deep}; n += 1) { const next = document.createElement('div'); at.append(next); at = next; } at.textContent = 'The bottom.';`,
  ),
  '/wide-table': page(
    'Table',
    `<table><tr><td colspan="1000" rowspan="65534">a</td></tr>${'<tr><td colspan="1000" rowspan="65534">b</td></tr>'.repeat(2000)}</table>`,
  ),
  '/worker.js': answer({ 'content-type': 'text/javascript' }, worker),
  '/worker': script(
    'Before the worker',
    `navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => { if (!sessionStorage.again) { sessionStorage.again = 1; location.reload(); } });`,
  ),
  '/empty': answer(html),
  '/nothing': answer({}, '', 204),
  '/unchanged': answer({}, '', 304),
  '/no-type': answer({}, page('Untyped', '<p>Nobody said what this is.</p>')),
  '/no-type.txt': answer({}, 'just some words, and a < sign'),
  '/moves': script('Moves', `let n = 0; setInterval(() => { location.hash = n++; }, 0)`),
  '/moves-on': script('Moves on', `setTimeout(() => { location.href = '/moves-on?' + Math.random(); }, 200)`),
  '/frozen': script(
    'Frozen',
    `addEventListener('load', () => { Object.freeze(Object.prototype); Object.freeze(Array.prototype); for (const name of ['Promise', 'Map', 'Set', 'URL']) window[name] = null; })`,
  ),
  '/leave': script('Leave', `addEventListener('load', () => { window.close(); document.open(); document.write('<p>Rewritten.</p>'); })`),
};
