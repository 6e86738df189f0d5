/** A crawl of a site as sites are linked: every page once, menus followed, files apart. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, it } from 'node:test';
import { runAgent } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { Service } from '../service.ts';
import { startSite, type Site } from '../site.ts';

interface Output {
  pages: { url: string; title: string; links: number; markdown: string; error: string | null }[];
  files: string[];
  duplicates: number;
  skipped: number;
}

let site: Site;
let service: Service;
let client: Client;

const text = '<p>Some words of this page, which a reader would read with care and pleasure.</p>'.repeat(20);
const html =
  (title: string, body: string, head = '') =>
  (_: IncomingMessage, response: ServerResponse) =>
    void response
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
      .end(`<!doctype html><html lang="en"><head><title>${title}</title>${head}</head><body>${body}</body></html>`);
const moved = (location: string) => (_: IncomingMessage, response: ServerResponse) => void response.writeHead(301, { location }).end();
const file =
  (type: string, headers: Record<string, string> = {}) =>
  (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': type, ...headers }).end('%PDF-1.4 content');
const links = (...paths: string[]): string => paths.map((path) => `<a href="${path}">link</a>`).join(' ');

before(async () => {
  site = await startSite({
    pages: {
      '/start/': (request, response) => {
        const { host = '' } = request.headers;
        const same = ['a', './a#x', '/start/a', `http://${host}/start/a?`, '../start/./a', `//${host}/start/a`, '%61'];
        const queries = ['c?x=1&y=2', 'c?y=2&x=1', 'c?x=1&y=2&utm_source=z&gclid=1'];
        html('Start', text + links(...same, ...queries, 'b#only', 'mailto:a@b.test', 'javascript:void(0)', 'logout', 'to-a', 'slash'))(
          request,
          response,
        );
      },
      '/start/a': html('A', text + links('/start/')),
      '/start/b': html('B', text),
      '/start/c': html('C', text),
      '/start/to-a': moved('/start/a'),
      '/start/slash': moved('/start/slash/'),
      '/start/slash/': html('Slash', text + links('/start/slash')),
      '/start/logout': html('Out', text),
      '/menus/': html(
        'Menus',
        `<header><nav>${links('/menus/top')}</nav></header><main>${text}${links('/menus/inner')}</main><div id="host"></div><aside>${links('/menus/side')}</aside><footer>${links('/menus/bottom')}</footer>
         <script>host.attachShadow({ mode: 'open' }).innerHTML = '<nav><a href="/menus/hidden">Deep</a></nav>'</script>`,
      ),
      ...Object.fromEntries(['top', 'inner', 'side', 'bottom', 'hidden'].map((name) => [`/menus/${name}`, html(name, text)])),
      '/stated/': html('Start', text + links('one?session=1', 'one?session=2', 'one', 'wrong', 'other')),
      '/stated/one': html('One', text, '<link rel="canonical" href="/stated/one">'),
      // Many sites state their home page on every page.
      '/stated/wrong': html('Wrong', text, '<link rel="canonical" href="/stated/">'),
      '/stated/other': html('Other', text, '<link rel="canonical" href="https://elsewhere.test/">'),
      '/files/': html(
        'Files',
        text + links('a.pdf', 'b.zip', 'C.PDF?x=1', 'picture.JPG', 'shown', 'sent', 'image', 'page.html', 'notes.txt', 'video.mp4'),
      ),
      '/files/shown': file('application/pdf'),
      '/files/sent': file('application/octet-stream', { 'content-disposition': 'attachment; filename="a.bin"' }),
      '/files/image': file('image/png'),
      '/files/page.html': html('Page', text),
      '/files/notes.txt': file('text/plain'),
    },
  });
  service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } });
  client = service.client;
});
after(async () => {
  await service.close();
  await site.close();
});

async function crawl(path: string, inputs: Record<string, unknown> = {}) {
  const { body, text: reply } = await client.call(runAgent, {
    body: { task: 'crawl', inputs: { url: site.url + path, ...inputs }, max_steps: 300 },
  });
  assert.equal(body.status, 'ok', reply.slice(0, 2000));
  const output = body.output as Output;
  const requested = site.hits.filter((hit) => hit.startsWith(path));
  return { ...output, requested, paths: output.pages.map(({ url }) => url.slice(site.url.length + path.length)).sort() };
}

it('a crawl counts a page once, however its URL is written, and requests it once', async () => {
  const { paths, requested, duplicates, skipped } = await crawl('/start/', { depth: 2 });
  assert.deepEqual(paths, ['', 'a', 'b', 'c?x=1&y=2', 'slash/']);
  assert.equal(requested.filter((hit) => hit.startsWith('/start/c')).length, 1);
  // Once for its own link, once for the redirect.
  assert.equal(requested.filter((hit) => /^\/start\/(?:a|%61)\??$/.test(hit)).length, 2);
  assert.deepEqual([duplicates, skipped, requested.includes('/start/logout')], [1, 1, false]);
});

it('a crawl follows the links of menus, sidebars, footers and shadow trees, and returns the main content without them', async () => {
  const { paths, pages } = await crawl('/menus/');
  assert.deepEqual(paths, ['', 'bottom', 'hidden', 'inner', 'side', 'top']);
  assert.equal(pages[0]?.links, 5);
  assert.ok(!/top|bottom/.test(pages[0]?.markdown ?? ''), pages[0]?.markdown.slice(-500));
});

it('a crawl lists a page once that states the same canonical URL, and those that state a wrong one', async () => {
  const { paths, duplicates } = await crawl('/stated/');
  assert.deepEqual(paths, ['', 'one?session=1', 'other', 'wrong']);
  assert.equal(duplicates, 2);
});

it('a crawl lists files apart, by their names without a request, and by their responses', async () => {
  const { paths, files, requested } = await crawl('/files/');
  assert.deepEqual(paths, ['', 'notes.txt', 'page.html']);
  const names = files.map((url) => url.slice(`${site.url}/files/`.length)).sort();
  assert.deepEqual(names, ['C.PDF?x=1', 'a.pdf', 'b.zip', 'image', 'picture.JPG', 'sent', 'shown', 'video.mp4']);
  assert.deepEqual(
    requested.filter((hit) => /pdf|zip|jpg|mp4/i.test(hit)),
    [],
  );
});

it('a crawl lists a first page that is a file', async () => {
  const { pages, files } = await crawl('/files/shown');
  assert.deepEqual([pages, files], [[], [`${site.url}/files/shown`]]);
});
