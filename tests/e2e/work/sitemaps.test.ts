/** Sitemaps as sites really serve them: what is in them is found, and what cannot be read is reported. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { runAgent } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { nightly } from '../../nightly.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

interface Output {
  urls: { url: string; lastmod: string | null }[];
  sitemaps: string[];
  unread: { url: string; reason: string; status_code: number | null }[];
  truncated: boolean;
}

let site: Site;
/** A site with a home page and nothing else. */
let bare: Site;
/** A site that answers every path with its home page. */
let soft: Site;
let service: Service;
let client: Client;

const send =
  (type: string, body: () => string | Buffer, headers: Record<string, string> = {}) =>
  (_: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(200, { 'content-type': type, ...headers }).end(body());
const entry = (path: string): string => `<url><loc>${site.url}${path}</loc></url>`;
const set = (inner: string): string => `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${inner}</urlset>`;
const xml = (body: () => string | Buffer, headers: Record<string, string> = {}) => send('application/xml', body, headers);

before(async () => {
  const children = ['compressed.xml.gz', 'broken.xml', 'gone.xml', 'list.txt', 'index.xml'];
  site = await startSite({
    pages: {
      '/robots.txt': send('text/plain', () => '\ufeffUser-agent: *\r\nDisallow:\r\nSITEMAP : /maps/index.xml\r\n'),
      '/maps/index.xml': xml(
        () =>
          `\r\n\r\n  <?xml version="1.0"?>\r\n<sitemapindex>${children.map((name) => `<sitemap><loc> ${site.url}/maps/${name}\r\n</loc></sitemap>`).join('\r\n')}</sitemapindex>`,
      ),
      '/maps/compressed.xml.gz': send('application/x-gzip', () => gzipSync(set(entry('/compressed')))),
      '/maps/encoded.xml.gz': send('application/gzip', () => gzipSync(set(entry('/encoded'))), { 'content-encoding': 'gzip' }),
      '/maps/plain.xml.gz': xml(() => set(entry('/plain'))),
      '/maps/broken.xml': xml(() => `<urlset>${entry('/search?a=1&b=2&copy=3&amp;d=4&#38;e=5')}<url><loc>${site.url}/kept</loc></ur`),
      '/maps/prefix.xml': xml(
        () => `<urlset>${entry('/undeclared')}<image:image><image:loc>${site.url}/picture.png</image:loc></image:image></urlset>`,
      ),
      '/maps/picture.xml': xml(
        () =>
          `<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><s:url><s:loc>/prefixed</s:loc><s:lastmod>2026-02-03</s:lastmod><image:image><image:loc>${site.url}/picture.png</image:loc></image:image></s:url></s:urlset>`,
      ),
      '/maps/cdata.xml': xml(() => `\ufeff${set(`<url><loc><![CDATA[${site.url}/cdata?a=1&b=2]]></loc></url>`)}`),
      '/maps/cdata-broken.xml': xml(() => `<urlset><url><loc><![CDATA[${site.url}/cdata?a=1&b=2]]></loc></url><other></urlset>`),
      '/maps/wide.xml': xml(() => Buffer.from(`\ufeff<?xml version="1.0" encoding="UTF-16"?>${set(entry('/wide/ä'))}`, 'utf16le')),
      '/maps/wide-big-endian.xml': xml(() => Buffer.from(`\ufeff${set(entry('/wide/ß'))}`, 'utf16le').swap16()),
      '/maps/latin.xml': xml(() => Buffer.from(`<?xml version="1.0" encoding="iso-8859-1"?>${set(entry('/latin/ä'))}`, 'latin1')),
      '/maps/list.txt': send('text/plain', () => `\ufeff${site.url}/one\r\n\r\n${site.url}/two?a=1&b=2\r\n`),
      '/maps/list.txt.gz': send('application/octet-stream', () => gzipSync(`${site.url}/one\n${site.url}/two`)),
      '/maps/rss.xml': send(
        'application/rss+xml',
        () =>
          `<rss version="2.0"><channel><link>${site.url}/</link><item><link>${site.url}/news</link><pubDate>Tue, 03 Feb 2026 10:00:00 GMT</pubDate></item></channel></rss>`,
      ),
      '/maps/rss-broken.xml': send(
        'application/rss+xml',
        () => `<rss><channel><item><link>${site.url}/news?a=1&b=2</link><x:y></item></channel></rss>`,
      ),
      '/maps/atom.xml': send(
        'application/atom+xml',
        () =>
          `<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="/maps/atom.xml"/><entry><link rel="enclosure" href="/sound.mp3"/><link href="/post"/><updated>2026-02-03</updated></entry></feed>`,
      ),
      '/maps/page.xml': send('text/html', () => page('No map', '<p>Nothing here.</p>')),
      '/maps/torn.xml.gz': send('application/x-gzip', () => gzipSync(set(entry('/torn'))).subarray(0, 20)),
      '/maps/empty.xml': xml(() => ''),
      '/maps/no-entries.xml': xml(() => set('')),
    },
  });
  bare = await startSite();
  soft = await startSite({ pages: { '/sitemap.xml': page('Home', 'Welcome') } });
  service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: [site, bare, soft].map(({ host }) => host).join(',') } });
  client = service.client;
});
after(async () => {
  await service.close();
  await Promise.all([site, bare, soft].map((each) => each.close()));
});

async function read(url: string): Promise<Output & { warnings: string[] }> {
  const { body, status, text } = await client.call(runAgent, { body: { task: 'sitemap', inputs: { url } } });
  assert.equal(status, 200, text);
  assert.equal(body.status, 'ok', JSON.stringify(body.error));
  return { ...(body.output as Output), warnings: body.warnings };
}
const paths = ({ urls }: Output): string[] => urls.map(({ url }) => url.replace(site.url, ''));

describe('a sitemap', { concurrency: 3 }, () => {
  it('a sitemap of an index that robots.txt names is read with its children, and the broken ones are reported', async () => {
    const output = await read(site.url);
    assert.deepEqual(paths(output), ['/compressed', '/search?a=1&b=2&copy=3&d=4&e=5', '/kept', '/one', '/two?a=1&b=2']);
    const map = (name: string): string => `${site.url}/maps/${name}`;
    assert.deepEqual(output.sitemaps, ['index.xml', 'compressed.xml.gz', 'broken.xml', 'list.txt'].map(map));
    assert.deepEqual(output.unread, [{ url: map('gone.xml'), reason: 'http_error', status_code: 404 }]);
    assert.deepEqual([output.warnings, output.truncated], [['sitemap_malformed', 'sitemap_unread'], true]);
  });

  const cases: [string, string, string[], string[]?][] = [
    ['that is compressed with a Content-Encoding', 'encoded.xml.gz', ['/encoded']],
    ['that is named as compressed and is not', 'plain.xml.gz', ['/plain']],
    ['with prefixes, relative addresses and pictures', 'picture.xml', ['/prefixed']],
    ['with prefixes that are not declared', 'prefix.xml', ['/undeclared'], ['sitemap_malformed']],
    ['with CDATA after a byte order mark', 'cdata.xml', ['/cdata?a=1&b=2']],
    ['with CDATA that is not well-formed', 'cdata-broken.xml', ['/cdata?a=1&b=2'], ['sitemap_malformed']],
    ['in UTF-16', 'wide.xml', ['/wide/%C3%A4']],
    ['in big-endian UTF-16', 'wide-big-endian.xml', ['/wide/%C3%9F']],
    ['in the charset of its declaration', 'latin.xml', ['/latin/%C3%A4']],
    ['that is a compressed list of addresses', 'list.txt.gz', ['/one', '/two']],
    ['that is a feed of RSS', 'rss.xml', ['/news']],
    ['that is a feed of RSS that is not well-formed', 'rss-broken.xml', ['/news?a=1&b=2'], ['sitemap_malformed']],
    ['that is a feed of Atom', 'atom.xml', ['/post']],
    ['without entries', 'no-entries.xml', []],
  ];
  for (const [index, [kind, name, expected, warnings = []]] of cases.entries())
    it(`a sitemap ${kind} is read by its own address`, index % 3 === 0 ? {} : nightly, async () => {
      const output = await read(`${site.url}/maps/${name}`);
      assert.deepEqual([paths(output), output.unread, output.warnings], [expected, [], warnings]);
    });

  it("a sitemap's last changes are returned as it states them", async () => {
    const [{ lastmod } = assert.fail('no entry')] = (await read(`${site.url}/maps/picture.xml`)).urls;
    assert.equal(lastmod, '2026-02-03');
  });

  for (const [kind, name, reason] of [
    ['that is a page', 'page.xml', 'not_a_sitemap'],
    ['that is empty', 'empty.xml', 'not_a_sitemap'],
    ['whose compressed data end too early', 'torn.xml.gz', 'not_a_sitemap'],
    ['that does not exist', 'gone.xml', 'http_error'],
  ] as const)
    it(`a sitemap ${kind} is reported, and the site's own is read`, async () => {
      const { unread, urls, warnings } = await read(`${site.url}/maps/${name}`);
      assert.deepEqual([unread[0]?.url, unread[0]?.reason], [`${site.url}/maps/${name}`, reason]);
      assert.ok(urls.length > 0 && warnings.includes('sitemap_unread'));
    });

  it('a sitemap that a site does not have is reported', async () => {
    const { urls, warnings } = await read(bare.url);
    assert.deepEqual([urls, warnings], [[], ['sitemap_not_found']]);
  });

  it('a sitemap that is a page at the usual address is reported', async () => {
    const { urls, unread, warnings } = await read(soft.url);
    assert.deepEqual([urls, warnings], [[], ['sitemap_unread', 'sitemap_not_found']]);
    assert.deepEqual(unread, [{ url: `${soft.url}/sitemap.xml`, reason: 'not_a_sitemap', status_code: 200 }]);
  });
});
