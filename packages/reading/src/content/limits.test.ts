/** What a page may have in its head and its tables is bounded, whoever wrote it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import convert from './convert.ts';

const repeat = (count: number, of: (index: number) => string): string => Array.from({ length: count }, (_, index) => of(index)).join('');

const read = (html: string, format: 'metadata' | 'tables') =>
  convert({
    html,
    url: 'https://shop.example/',
    formats: [format],
    onlyMainContent: false,
    includeSelectors: [],
    excludeSelectors: [],
    extract: null,
  });

it('metadata has 200 properties of Open Graph, 100 blocks of JSON-LD and 5,000 characters of a text', () => {
  const head =
    `<title>${'t'.repeat(20_000)}</title>${repeat(500, (i) => `<meta property="og:p${i}" content="${i === 0 ? 'c'.repeat(20_000) : 'c'}">`)}` +
    repeat(300, (i) => `<script type="application/ld+json">{"@type":"T${i}"}</script>`);
  const result = read(`<head>${head}</head>`, 'metadata');
  const { title, open_graph: openGraph, json_ld: jsonLd } = result.page ?? assert.fail();
  assert.deepEqual([title?.length, openGraph['og:p0']?.length], [5000, 5000]);
  assert.deepEqual([Object.keys(openGraph).length, jsonLd.length, result.warnings.length], [200, 100, 1]);
});

it('a cell of a table spans 1,000 columns and has 10,000 characters', () => {
  const result = read(
    `<table><caption>${'c'.repeat(30_000)}</caption><tr><th colspan="5000">${'h'.repeat(30_000)}</th></tr><tr><td>1</td></tr></table>`,
    'tables',
  );
  const { caption, headers } = result.tables?.[0] ?? assert.fail();
  assert.deepEqual([caption?.length, headers.length, headers[0]?.length], [10_000, 1000, 10_000]);
});
