/** Pages that the shop lacks: lazy colours, hidden text, changing answers, echoes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { page } from '../site.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const html = { 'content-type': 'text/html; charset=utf-8' };
export const bandHeight = 900;
export const bands = ['#e01010', '#10e010', '#1010e0', '#e0e010', '#e010e0', '#10e0e0'];

const flat = (colour: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="600" height="${bandHeight}"><rect width="600" height="${bandHeight}" fill="${colour}"/></svg>`;

/** Each path answers 503 `times` times, and then 200. */
export function failing(headers: Record<string, string> = {}): Answer {
  const seen = new Map<string, number>();
  return ({ url = '' }, response) => {
    const { searchParams } = new URL(url, 'http://site');
    const [times, status] = [Number(searchParams.get('times')), Number(searchParams.get('status') ?? 503)];
    const n = (seen.get(url) ?? 0) + 1;
    seen.set(url, n);
    response
      .writeHead(n <= times ? status : 200, { ...html, ...(n <= times ? headers : {}) })
      .end(page(n <= times ? 'Not now' : 'At last', `<p>Try ${n}</p>`));
  };
}

export const fetchPages: Record<string, string | Answer> = {
  '/bands': page(
    'Bands',
    `<style>body{margin:0}img{display:block}</style>${bands.map((_, n) => `<img loading="lazy" src="/band?n=${n}" width="600" height="${bandHeight}">`).join('')}`,
  ),
  '/band': ({ url = '' }, response) => {
    const n = Number(new URL(url, 'http://site').searchParams.get('n'));
    response.writeHead(200, { 'content-type': 'image/svg+xml' }).end(flat(bands[n] ?? '#000'));
  },
  '/hidden': page(
    'Hidden',
    `<style>.gone{display:none}</style><h1>Seen</h1><p hidden>Hidden by attribute</p><p class="gone">Hidden by style</p><p style="visibility:hidden">Hidden by visibility</p>
     <template>In a template</template><noscript>Without scripts</noscript><script>var words = 'In a script';</script><p>Also <b>seen</b></p>
     <details><summary>Summed up</summary><p>Folded away</p></details>`,
  ),
  '/based/page': `<!doctype html><html lang="de"><head><title>Base</title><base href="/elsewhere/"></head><body>
    <a href="x">relative</a> <a href="#part">part</a> <a href="//other.example/y">other</a> <a href="mailto:a@b.example">mail</a> <a href="javascript:void 0">script</a> <a href="https://sub.other.example/" rel="nofollow noopener">deep</a></body></html>`,
  '/main': page(
    'Main',
    `<nav><a href="/n">Navigation words</a></nav><main><article><h1>The matter</h1>${'<p>What the page is about stands here, in sentences that are long enough, with commas, to be read as such.</p>'.repeat(8)}<aside class="ad">Buy this</aside></article></main><footer>Footer words</footer>`,
  ),
  '/late': page(
    'Late',
    `<p id="now">Now</p><script>setTimeout(() => document.body.append(Object.assign(document.createElement('p'), { id: 'later', textContent: 'And then this' })), Number(new URLSearchParams(location.search).get('after') ?? 700))</script>`,
  ),
  '/echo': ({ headers, method, url = '' }, response) => {
    const chunks: string[] = [];
    void url;
    response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': ['seen=1; Path=/', 'secret=abc; HttpOnly'] });
    response.end(JSON.stringify({ method, headers, chunks }));
  },
  '/echo-body': (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () =>
      response
        .writeHead(201, { 'content-type': 'application/json' })
        .end(JSON.stringify({ method: request.method, type: request.headers['content-type'], body })),
    );
  },
  '/cookies': ({ headers }, response) =>
    void response
      .writeHead(200, { ...html, 'set-cookie': 'left=behind; Path=/; Max-Age=3600' })
      .end(
        page(
          'Cookies',
          `<p id="sent">${headers.cookie ?? 'none'}</p><p id="kept"></p><script>document.getElementById('kept').textContent = localStorage.left ?? 'nothing'; localStorage.left = 'behind'</script>`,
        ),
      ),
  '/hops': ({ url = '' }, response) => {
    const n = Number(new URL(url, 'http://site').searchParams.get('n'));
    if (n === 0) return void response.writeHead(200, html).end(page('Arrived', '<p>Arrived</p>'));
    response
      .writeHead([301, 302, 303, 307, 308][n % 5] ?? 302, {
        location: n === 1 ? '/hops?n=0#part' : `/hops?n=${n - 1}`,
        'set-cookie': `hop${n}=1`,
      })
      .end();
  },
  '/parts': page(
    'Parts',
    `<link rel="stylesheet" href="/style.css"><img src="/band?n=1"><script src="/part.js"></script><iframe src="/inner"></iframe><p id="done">done</p>`,
  ),
  '/style.css': (_, response) => void response.writeHead(200, { 'content-type': 'text/css' }).end('p { color: red }'),
  '/part.js': (_, response) =>
    void response
      .writeHead(200, { 'content-type': 'text/javascript' })
      .end(
        `document.title = 'Scripted'; fetch('/echo?from=script', { headers: { authorization: 'Bearer page-secret', 'x-api-key': 'key-secret' } })`,
      ),
  '/inner': page('Inner', '<p>inner</p>'),
  '/ads': page('Ads', `<script src="http://securepubads.doubleclick.net/tag/js/gpt.js"></script><p>Content</p>`),
  '/flaky': failing(),
  '/busy': failing({ 'retry-after': '1' }),
  '/denied': failing({ server: 'AkamaiGHost' }),
  '/robots.txt': (_, response) =>
    void response
      .writeHead(200, { 'content-type': 'text/plain' })
      .end('User-agent: *\nDisallow: /main\n\nUser-agent: berth\nDisallow: /hidden\n'),
};
