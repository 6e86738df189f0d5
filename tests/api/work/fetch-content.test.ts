/** Content of fetches: formats, files, encodings, fields. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fetchPage, type FetchResponse } from '@berth/contract';
import { bytes, html, startSite, type Site } from '../../fetch-site.ts';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
let site: Site;
before(async () => {
  site = await startSite();
  served = await startApp({ environment: { BERTH_EGRESS_ALLOW: '127.0.0.1' } });
});
after(async () => {
  await served.close();
  await site.close();
});

const article = `<p>${'The harbour office keeps a ledger for every quay. '.repeat(12)}</p>`;
const page = (body: string): string =>
  `<!doctype html><html lang="en"><head><title>Tides &amp; times</title></head><body>${body}</body></html>`;

/** Fetches a page without a browser. */
async function plainly(url: string, body: Record<string, unknown> = {}): Promise<FetchResponse> {
  const reply = await served.call(fetchPage, { body: { url, mode: 'http', ...body } });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

describe('a page', () => {
  it('a fetch returns exactly the requested formats', async () => {
    const url = site.sequence(
      '/formats',
      html(page(`<h1>Tides</h1><p>High <b>water</b>.</p><a href="/next">Next</a><table><tr><th>At</th></tr><tr><td>4</td></tr></table>`)),
    );
    const made: Record<string, (reply: FetchResponse) => unknown> = {
      html: (reply) => reply.html,
      markdown: (reply) => reply.markdown,
      text: (reply) => reply.text,
      links: (reply) => reply.links,
      metadata: (reply) => reply.page,
      tables: (reply) => reply.tables,
      raw: (reply) => reply.raw,
    };
    for (const format of Object.keys(made)) {
      const reply = await plainly(url, { formats: [format] });
      const given = Object.entries(made).filter(([, of]) => of(reply) !== null);
      assert.deepEqual(
        given.map(([name]) => name),
        [format],
      );
    }
    const reply = await plainly(url, { formats: Object.keys(made) });
    assert.match(reply.markdown ?? '', /^# Tides\n+High \*\*water\*\*/);
    assert.match(reply.text ?? '', /Tides\s+High water\./);
    assert.deepEqual(reply.links, [{ url: `${site.url}/next`, text: 'Next', rel: null, internal: true }]);
    assert.deepEqual(reply.tables, [{ caption: null, headers: ['At'], rows: [['4']] }]);
    assert.equal(Buffer.from(reply.raw?.data_base64 ?? '', 'base64').toString(), reply.html);
  });

  it('a fetch decodes a page with its own encoding', async () => {
    const url = site.sequence(
      '/latin',
      bytes(Buffer.from('<title>caf\xe9</title><p>\xfcber</p>', 'latin1'), 'text/html; charset=iso-8859-1'),
    );
    const reply = await plainly(url, { formats: ['html', 'text'] });
    assert.deepEqual([reply.title, reply.html, reply.text], ['café', '<title>café</title><p>über</p>', 'über']);
  });

  it('a fetch returns only the main content or the selected elements', async () => {
    const nav = '<nav><a href="/a">Menu entry</a></nav>';
    const url = site.sequence(
      '/whole',
      html(page(`${nav}<article><h1>Ledger</h1>${article}${article}<p class="ad">Buy rope</p></article><footer>Imprint</footer>`)),
    );
    const whole = await plainly(url, { formats: ['text'] });
    assert.match(whole.text ?? '', /Menu entry[^]*Imprint/);
    const main = await plainly(url, { formats: ['text'], only_main_content: true });
    assert.match(main.text ?? '', /ledger for every quay/);
    assert.doesNotMatch(main.text ?? '', /Menu entry|Imprint/);
    const named = await plainly(url, { formats: ['text'], include_selectors: ['h1', '.ad'] });
    assert.match(named.text ?? '', /^Ledger\s+Buy rope$/);
    const without = await plainly(url, { formats: ['text'], exclude_selectors: ['nav', 'article > p'] });
    assert.match(without.text ?? '', /^Ledger\s+Imprint$/);
  });

  it('a fetch extracts typed fields, with null for no match', async () => {
    const body =
      '<h1> Rope </h1><b class="price">€ 1,250.50</b><a class="more" href="more?x=1">more</a><i>a</i><i>b</i><p>As <u>ever</u></p><time datetime="2026-03-01">1 March</time>';
    const url = site.sequence('/shop/rope', html(page(body)));
    const { json } = await plainly(url, {
      formats: ['json'],
      extract: {
        fields: {
          name: { selector: 'h1' },
          price: { selector: '.price', type: 'number' },
          more: { selector: '.more', attr: 'href' },
          letters: { selector: 'i', list: true },
          markup: { selector: 'p', type: 'html' },
          day: { selector: 'time', attr: 'datetime', type: 'date' },
          nothing: { selector: '.nothing' },
          nothings: { selector: '.nothing', list: true },
        },
      },
    });
    assert.deepEqual(json, {
      name: 'Rope',
      price: 1250.5,
      more: `${site.url}/shop/more?x=1`,
      letters: ['a', 'b'],
      markup: 'As <u>ever</u>',
      day: '2026-03-01',
      nothing: null,
      nothings: [],
    });
  });
});

describe('the format json', () => {
  it('the format json says that a page needs fields to extract', async () => {
    const url = site.sequence('/no-fields', html(page('<p>Here</p>')));
    for (const mode of ['http', 'auto', 'browser'] as const) {
      const reply = await plainly(url, { formats: ['json'], mode });
      assert.deepEqual([reply.json, reply.warnings], [null, ['json_needs_extract']], mode);
    }
    const file = await plainly(site.sequence('/no-json', bytes('a,b', 'text/csv')), { formats: ['json'] });
    assert.deepEqual([file.json, file.warnings], [null, ['json_needs_extract']]);
    const given = await plainly(site.sequence('/json-null', bytes('{}', 'application/json')), { formats: ['json'] });
    assert.deepEqual([given.json, given.warnings], [{}, []]);
  });
});

describe('a response that is not a page', () => {
  it('a fetch response has no body for HEAD and 204', async () => {
    const url = site.sequence('/empty', html(page('Here')));
    const head = await plainly(url, { method: 'HEAD', formats: ['html', 'raw'] });
    assert.deepEqual([head.status, head.status_code, head.content_type], ['ok', 200, 'text/html; charset=utf-8']);
    const none = await plainly(site.sequence('/none', html('', { status: 204 })));
    assert.deepEqual([none.status, none.status_code], ['ok', 204]);
  });

  it('a response that is not a page is returned as bytes with the site’s file name', async () => {
    const data = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]);
    const url = site.sequence('/chart', bytes(data, 'image/png', { 'content-disposition': 'attachment; filename="../charts/sea.png"' }));
    const reply = await plainly(url);
    assert.deepEqual(reply.raw, {
      data_base64: data.toString('base64'),
      content_type: 'image/png',
      bytes: 8,
      filename: 'sea.png',
      truncated: false,
    });
    assert.deepEqual([reply.status, reply.html, reply.title], ['ok', null, null]);
  });

  it('a response that is not a page is parsed when it is JSON or text', async () => {
    const json = await plainly(site.sequence('/data', bytes('{"boats":[1,2]}', 'application/json')), { formats: ['json'] });
    assert.deepEqual(json.json, { boats: [1, 2] });
    const text = await plainly(site.sequence('/notes', bytes('high water at four', 'text/plain')), { formats: ['text'] });
    assert.equal(text.text, 'high water at four');
    const broken = await plainly(site.sequence('/broken', bytes('{"boats":', 'application/json')), { formats: ['json'] });
    assert.deepEqual([broken.json, broken.warnings], [null, ['json_invalid']]);
  });

  it('a response that is not a page is truncated with a warning when it is too large', async () => {
    const url = site.sequence('/large', bytes(Buffer.alloc(13 * 1024 * 1024), 'application/octet-stream'));
    const reply = await plainly(url);
    assert.deepEqual([reply.raw?.bytes, reply.raw?.truncated], [12 * 1024 * 1024, true]);
    assert.ok(reply.warnings.includes('body_truncated'), reply.warnings.join());
  });
});
