import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InspectAssets } from '@berth/contract';
import { entry, inputOf, page, type EntryOptions } from '../../testing/captures.ts';
import { createAssetsSection } from './assets.ts';

const shop = 'https://shop.test';
const cdn = 'https://cdn.example';

function assetsOf(fields: Parameters<typeof inputOf>[0]) {
  const assets = createAssetsSection(inputOf(fields));
  assert.deepEqual(InspectAssets.parse(assets), assets);
  return assets;
}

const file = (path: string, type: string, options: EntryOptions = {}) => entry(new URL(path, shop).href, { type, ...options });
const ids = (items: readonly { request_id: string | null }[]): (string | null)[] => items.map(({ request_id: id }) => id);

describe('the summary of assets', () => {
  it('the summary of assets has totals by type, protocol and party', () => {
    const { summary } = assetsOf({
      entries: [
        entry(shop, { transferBytes: 1000, bytes: 4000, replyHeaders: { 'content-encoding': 'br' } }),
        file('/a.js', 'script', { transferBytes: 4000, bytes: 4000, protocol: 'http/2.0' }),
        file(`${cdn}/b.png`, 'image', { transferBytes: 500, bytes: 500, protocol: 'h3' }),
        file('/c.css', 'stylesheet', { fields: { _fromCache: 'disk' }, bytes: 900 }),
        file('/d', 'fetch', { status: 500 }),
        file('/e', 'image', { status: 0, fields: { _error: 'net::ERR_BLOCKED_BY_CLIENT' } }),
      ],
    });
    assert.equal(summary.requests, 6);
    assert.equal(summary.transfer_bytes, 5500);
    assert.equal(summary.compressed_pct, 50);
    assert.deepEqual([summary.cached, summary.failed, summary.blocked_by_client], [1, 2, 1]);
    assert.deepEqual([summary.first_party_bytes, summary.third_party_bytes], [5000, 500]);
    assert.deepEqual(summary.by_type['script'], { count: 1, transfer_bytes: 4000, resource_bytes: 4000 });
    assert.deepEqual(summary.by_protocol, { h2: 5, h3: 1 });
  });

  it('the summary of assets has the timings of the first page, rated by the thresholds of web-vitals', () => {
    const vitals = {
      ttfbMs: 800,
      domContentLoadedMs: 1000,
      loadMs: 1500,
      fcpMs: 1801,
      lcpMs: 4001,
      lcpElement: 'main > img',
      cls: 0.1004,
      tbtMs: 10,
    };
    const { timings } = assetsOf({ pages: [page({ vitals })] }).summary;
    assert.equal(timings.lcp_element, 'main > img');
    assert.equal(timings.cls, 0.1);
    assert.deepEqual(timings.ratings, { ttfb: 'good', fcp: 'needs_improvement', lcp: 'poor', cls: 'good', tbt: 'good' });
  });
});

describe('render-blocking resources', () => {
  const head = `<head><script src="/block.js"></script><script src="/async.js" async></script><script type="module" src="/module.js"></script>
    <link rel="stylesheet" href="/all.css"><link rel="stylesheet" media="print" href="/print.css"></head><body><script src="/end.js"></script></body>`;
  const files = ['block.js', 'async.js', 'module.js', 'end.js'].map((name) => file(name, 'script'));
  const styles = ['all.css', 'print.css'].map((name) => file(name, 'stylesheet'));
  const entries = [entry(shop, { reply: head }), ...files, ...styles];

  it('render-blocking resources are scripts of the head and style sheets of the screen', () => {
    assert.deepEqual(ids(assetsOf({ entries, pages: [page({ html: head })] }).render_blocking), ['r1', 'r5']);
  });

  it('render-blocking resources are found in the markup that the server sent, not in what scripts added', () => {
    const added = [entry(shop, { reply: '<head></head>' }), ...files];
    assert.deepEqual(assetsOf({ entries: added, pages: [page({ html: head })] }).render_blocking, []);
  });

  it('render-blocking resources are what the browser states, where it does', () => {
    const stated = [
      entry(shop),
      file('/a.js', 'script', { fields: { _renderBlocking: 'blocking' } }),
      file('/b.js', 'script', { fields: { _renderBlocking: 'non_blocking' } }),
    ];
    assert.deepEqual(ids(assetsOf({ entries: stated }).render_blocking), ['r1']);
  });
});

describe('the critical chain', () => {
  it('the critical chain leads from the document to the last request that the page needed', () => {
    const by = (url: string) => ({ fields: { _initiator: { type: 'script', stack: { callFrames: [{ url: new URL(url, shop).href }] } } } });
    const entries = [
      entry(`${shop}/`),
      file('/app.js', 'script', { startMs: 30, fields: { _initiator: { type: 'parser', url: `${shop}/` } } }),
      file('/chunk.js', 'script', { startMs: 60, durationMs: 100, ...by('/app.js') }),
      file('/late.png', 'image', { startMs: 500 }),
      file('/low.js', 'script', { startMs: 900, fields: { _priority: 'Low' } }),
    ];
    assert.deepEqual(ids(assetsOf({ entries }).critical_chain), ['r0', 'r1', 'r2']);
  });

  it('the critical chain ends where requests start each other in a circle', () => {
    const by = (url: string) => ({ startMs: 10, fields: { _initiator: { type: 'script', url: new URL(url, shop).href } } });
    const entries = [entry(`${shop}/`), file('/a.js', 'script', by('/b.js')), file('/b.js', 'script', by('/a.js'))];
    assert.equal(assetsOf({ entries }).critical_chain.length, 3);
  });
});

describe('what a site could save', () => {
  it('savings of a site include compression of text, measured', () => {
    const text = 'the same words again and again, '.repeat(100);
    const entries = [
      entry(shop),
      file('/big.js', 'script', { reply: text }),
      file('/small.js', 'script', { reply: 'a'.repeat(1000) }),
      file('/done.css', 'stylesheet', { reply: text, replyHeaders: { 'content-encoding': 'gzip' } }),
      file('/photo.jpg', 'image', { reply: text, mimeType: 'image/jpeg' }),
      file('/unread.js', 'script', { bytes: 9000 }),
    ];
    const { uncompressed } = assetsOf({ entries });
    assert.deepEqual(ids(uncompressed), ['r5', 'r1']);
    assert.equal(uncompressed[0]?.saving_bytes, 6000);
    assert.ok((uncompressed[1]?.saving_bytes ?? 0) > 2900);
  });

  it('savings of a site include a longer life in caches', () => {
    const cached = (control?: string) => ({ replyHeaders: control === undefined ? {} : { 'cache-control': control }, transferBytes: 10 });
    const entries = [
      entry(shop, cached()),
      file('/a.js', 'script', cached('max-age=60')),
      file('/b.js', 'script', cached('public, max-age=31536000')),
      file('/c.js', 'script', cached('no-store')),
      file('/d.js', 'script', cached()),
      file('/e.js', 'script', { replyHeaders: { expires: 'Sun, 01 Mar 2026 13:00:00 GMT' } }),
    ];
    const { uncached, requests } = assetsOf({ entries });
    assert.deepEqual(ids(uncached), ['r1', 'r4', 'r5']);
    assert.deepEqual(
      requests.map(({ cache_ttl_s: seconds }) => seconds),
      [null, 60, 31_536_000, 0, null, 3600],
    );
  });

  it('savings of a site include what is loaded twice, by URL or by content', () => {
    const body = 'x'.repeat(1200);
    const entries = [
      file('/a.js', 'script', { reply: body }),
      file('/a.js', 'script', { reply: body }),
      file('/copy.js', 'script', { reply: body }),
    ];
    assert.deepEqual(
      assetsOf({ entries }).duplicates.map(({ by, request_ids: copies, wasted_bytes: bytes }) => [by, copies, bytes]),
      [
        ['url', ['r0', 'r1'], 1200],
        ['content', ['r1', 'r2'], 1200],
      ],
    );
  });

  it('savings of a site include code that no page used, and pixels that no page shows', () => {
    const coverage = (usedBytes: number) => [{ url: `${shop}/a.js`, type: 'js' as const, totalBytes: 100_000, usedBytes, scriptMs: null }];
    const image = { url: `${shop}/p.jpg`, naturalWidth: 2000, naturalHeight: 1000, width: 200, height: 100 };
    const shown = { ...image, width: 1000, height: 500 };
    const assets = assetsOf({
      entries: [entry(shop), file('/p.jpg', 'image', { bytes: 100_000 })],
      pages: [
        page({ coverage: coverage(10_000), images: [image] }),
        page({ pageId: 'page_2', coverage: coverage(60_000), images: [shown] }),
      ],
    });
    assert.deepEqual([assets.unused_bytes?.js, assets.unused_bytes?.files.length], [40_000, 1]);
    assert.deepEqual(assets.oversized_images, [
      { url: `${shop}/p.jpg`, request_id: 'r1', natural: '2000x1000', displayed: '1000x500', wasted_bytes: 75_000 },
    ]);
    assert.equal(assetsOf({}).unused_bytes, null);
  });
});

describe('references', () => {
  it('asset references are hints of pages and headers, fonts, source maps and messages', () => {
    const html = `<link rel="preload" as="font" href="/f.woff2"><link rel="preconnect" href="${cdn}"><link rel="prefetch" href="/next">`;
    const error = { text: 'x is not defined', url: `${shop}/a.js`, line: 3 };
    const assets = assetsOf({
      entries: [
        entry(shop, { replyHeaders: { link: '</a.css>; rel=preload; as=style, <https://other.example>; rel="preconnect dns-prefetch"' } }),
        file('/f.woff2', 'font', { bytes: 10 }),
        file('/a.js', 'script', { reply: 'a()\n//# sourceMappingURL=a.js.map' }),
        file('/b.css', 'stylesheet', { reply: `b{}/*# sourceMappingURL=data:application/json;base64,${'A'.repeat(5000)} */` }),
      ],
      pages: [page({ html, consoleErrors: [error, error] })],
    });
    assert.deepEqual(
      assets.hints.map(({ rel, url, as, used }) => [rel, url, as, used]),
      [
        ['preload', `${shop}/f.woff2`, 'font', true],
        ['preconnect', `${cdn}/`, null, false],
        ['prefetch', `${shop}/next`, null, null],
        ['preload', `${shop}/a.css`, 'style', false],
        ['preconnect', 'https://other.example/', null, false],
        ['dns-prefetch', 'https://other.example/', null, false],
      ],
    );
    assert.deepEqual(assets.fonts[0], { request_id: 'r1', url: `${shop}/f.woff2`, format: 'woff2', transfer_bytes: 10, preloaded: true });
    assert.deepEqual(
      assets.sourcemaps.map(({ source_map: map }) => map),
      [`${shop}/a.js.map`, 'inline'],
    );
    assert.deepEqual(assets.console_errors, [{ ...error, count: 2 }]);
  });
});
