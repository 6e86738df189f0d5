import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, fetchPage, getSession, runActions, type FetchResponse } from '@berth/contract';
import { assertPrompt } from '../../yardstick.ts';
import { readPng } from '@berth/devtools/testing/images.ts';
import type { Client } from '../../harness.ts';
import { ada } from '../../shop/pages/account.ts';
import { articles, price, productNamed, products, reviewsOf } from '../../shop/data.ts';
import { csvName, exportBytes } from '../../shop/pages/files.ts';
import { startShop, type Shop } from '../../shop/shop.ts';
import { bandHeight, bands, fetchPages } from './fetch-pages.ts';
import { Service } from '../service.ts';
import { startSite, type Site } from '../site.ts';

const lamp = products[0];
assert.ok(lamp);
const modes = ['browser', 'http', 'auto'] as const;

describe('a fetch of the shop', () => {
  let shop: Shop;
  let site: Site;
  let service: Service;
  let client: Client;
  before(async () => {
    [shop, site] = await Promise.all([startShop(), startSite({ pages: fetchPages })]);
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: `${shop.host},${shop.otherHost},${site.host}` } });
    client = service.client;
  });
  after(async () => {
    await service.close();
    await Promise.all([shop.close(), site.close()]);
  });

  const fetchShop = async (url: string, body: Record<string, unknown> = {}): Promise<FetchResponse> => {
    const reply = await client.call(fetchPage, { body: { url, ...body } });
    assert.equal(reply.status, 200, reply.text.slice(0, 1000));
    return reply.body;
  };
  const get = async (url: string, body: Record<string, unknown> = {}): Promise<FetchResponse> => {
    const answer = await fetchShop(url, body);
    assert.equal(answer.status, 'ok', JSON.stringify([answer.error, answer.block, answer.warnings]));
    return answer;
  };
  const productUrl = (): string => `${shop.url}/products/${lamp.slug}`;
  const plain = async (path: string): Promise<string> => (await fetch(shop.url + path)).text();

  describe('as HTML, text and bytes', () => {
    it('a fetch of the shop returns HTML and metadata by default', async () => {
      for (const mode of modes) {
        const answer = await get(productUrl(), { mode, metadata: { order: '12' } });
        assert.deepEqual(
          [answer.status_code, answer.url, answer.final_url, answer.title],
          [200, productUrl(), productUrl(), `${lamp.name} – Quayside Goods`],
        );
        assert.ok(answer.html?.includes(`<h1>${lamp.name}</h1>`));
        assert.equal(answer.content_type, 'text/html; charset=utf-8');
        assert.equal(answer.headers['cache-control'], 'no-cache');
        assert.deepEqual(answer.metadata, { order: '12' });
        assert.deepEqual(
          [answer.raw, answer.markdown, answer.text, answer.links, answer.tables, answer.har, answer.screenshot, answer.pdf, answer.json],
          Array(9).fill(null),
        );
        assert.deepEqual([answer.redirects, answer.warnings, answer.block, answer.error], [[], [], null, null]);
        assert.deepEqual(
          answer.resolved_by,
          {
            browser: { mode: 'browser', strategy: 'direct', reason: null },
            http: { mode: 'http', strategy: 'direct', reason: null },
            auto: { mode: 'http', strategy: 'direct', reason: 'no_browser_needed' },
          }[mode],
        );
        assert.equal(answer.session_id === null, mode !== 'browser');
        assert.deepEqual(
          answer.attempts.map(({ n, mode: by, status, status_code, strategy }) => [n, by, status, status_code, strategy]),
          [[1, mode === 'browser' ? 'browser' : 'http', 'ok', 200, 'direct']],
        );
        assert.ok(answer.bytes.in > 3000 && answer.bytes.out > 50, JSON.stringify(answer.bytes));
        assert.ok(answer.timings.total_ms >= (answer.timings.ttfb_ms ?? 0) && answer.finished_at !== null);
      }
    });

    it('a fetch of the shop returns the exact bytes of pages and files', async () => {
      const expected = Buffer.from(await plain(`/products/${lamp.slug}`));
      for (const mode of modes) {
        const { raw, html } = await get(productUrl(), { mode, formats: ['raw', 'html'] });
        assert.ok(Buffer.from(raw?.data_base64 ?? '', 'base64').equals(expected), `${mode}: ${raw?.bytes} of ${expected.length} bytes`);
        assert.deepEqual([raw?.bytes, raw?.truncated, raw?.filename], [expected.length, false, null]);
        assert.ok(html?.includes('</html>'));
        const file = await get(`${shop.url}/export.bin`, { mode });
        assert.ok(Buffer.from(file.raw?.data_base64 ?? '', 'base64').equals(exportBytes), mode);
        assert.deepEqual(
          [file.raw?.filename, file.content_type, file.html, file.title ?? ''],
          ['export.bin', 'application/octet-stream', null, ''],
        );
        const csv = await get(`${shop.url}/export.csv`, { mode, formats: ['text'] });
        assert.equal(csv.raw?.filename, csvName);
        assert.equal(csv.text, await plain('/export.csv'));
        const image = await get(`${shop.url}/img/p1.png`, { mode, formats: ['html'] });
        assert.ok(
          Buffer.from(image.raw?.data_base64 ?? '', 'base64')
            .subarray(1, 4)
            .equals(Buffer.from('PNG')),
        );
        const invoice = await get(`${shop.url}/invoices/1.pdf`, { mode, formats: ['markdown'] });
        assert.ok(
          Buffer.from(invoice.raw?.data_base64 ?? '', 'base64')
            .subarray(0, 5)
            .equals(Buffer.from('%PDF-')),
        );
      }
    });

    it('a fetch of the shop returns visible text and markdown only', async () => {
      for (const mode of ['browser', 'http'] as const) {
        const { text, markdown, html } = await get(`${site.url}/hidden`, { mode, formats: ['text', 'markdown', 'html'] });
        for (const made of [text ?? '', markdown ?? '']) {
          assert.match(made, /Seen[\s\S]*Also \**seen/, mode);
          for (const unseen of ['Hidden by attribute', 'In a template', 'In a script'])
            assert.ok(!made.includes(unseen), `${mode}: ${unseen} in ${made}`);
          if (mode === 'browser')
            for (const unseen of ['Hidden by style', 'Hidden by visibility', 'Without scripts'])
              assert.ok(!made.includes(unseen), `${unseen} in ${made}`);
        }
        assert.match(markdown ?? '', /^# Seen$/m);
        assert.ok(html?.includes('Hidden by style'));
      }
    });

    it('a fetch of the shop returns markdown with headings, tables and absolute URLs', async () => {
      for (const mode of ['browser', 'http'] as const) {
        const { markdown } = await get(`${shop.url}/compare`, { mode, formats: ['markdown'] });
        assert.match(markdown ?? '', /^# Compare lamps$/m);
        assert.match(markdown ?? '', /^\| *Name *\| *Price *\| *Material *\| *Stock *\|$/m);
        assert.ok(markdown?.includes(`[${lamp.name}](${productUrl()})`), markdown ?? '');
        assert.ok(markdown?.includes(price(lamp.price)));
        assert.ok(!/\]\(\//.test(markdown ?? ''), 'a link is not whole');
      }
    });

    it('a fetch of the shop returns only the article or the selected elements', async () => {
      const [article] = articles;
      assert.ok(article);
      for (const mode of ['browser', 'http'] as const) {
        const url = `${shop.url}/journal/${article.slug}`;
        const { markdown, text, links } = await get(url, { mode, formats: ['markdown', 'text', 'links'], only_main_content: true });
        for (const made of [markdown ?? '', text ?? '']) {
          assert.ok(made.includes(article.paragraphs[7] ?? '-'), mode);
          assert.ok(!made.includes('Cookies at the quay') && !made.includes('A shop that sells nothing'), `${mode}: ${made.slice(0, 500)}`);
        }
        assert.ok(!links?.some(({ url: address }) => address.endsWith('/downloads')), mode);
        const some = await get(url, {
          mode,
          formats: ['html', 'text', 'markdown'],
          include_selectors: ['.by', 'aside'],
          exclude_selectors: ['aside h2'],
        });
        for (const made of [some.html ?? '', some.text ?? '', some.markdown ?? '']) {
          assert.ok(
            made.includes(article.author) && !made.includes('Read on') && !made.includes(article.paragraphs[0] ?? '-'),
            `${mode}: ${made.slice(0, 300)}`,
          );
        }
        const without = await get(url, { mode, formats: ['text'], exclude_selectors: ['header', 'footer', '.consent'] });
        assert.ok(without.text?.includes(article.title) && !without.text.includes('A shop that sells nothing'));
      }
      const issues = await client.issues(fetchPage, {
        body: { url: shop.url, include_selectors: ['div[', 'p'], extract: { fields: { a: { selector: '>>>' } } } },
      });
      assert.deepEqual(
        issues.map(({ loc }) => loc.join('.')),
        ['body.include_selectors.0', 'body.extract.fields.a.selector'],
      );
    });
  });

  describe('as data', () => {
    it('a fetch of the shop returns absolute links by kind', async () => {
      for (const mode of ['browser', 'http'] as const) {
        const { links } = await get(`${site.url}/based/page`, { mode, formats: ['links'] });
        assert.deepEqual(
          links?.map(({ url, text, internal, rel }) => [url, text, internal, rel]),
          [
            [`${site.url}/elsewhere/x`, 'relative', true, null],
            [`${site.url}/elsewhere/#part`, 'part', true, null],
            ['http://other.example/y', 'other', false, null],
            ['https://sub.other.example/', 'deep', false, 'nofollow noopener'],
          ],
        );
        const home = await get(shop.url, { mode, formats: ['links'] });
        assert.ok(home.links?.some(({ url, text }) => url === `${shop.url}/c/lighting` && text === 'Lighting'));
        assert.equal(new Set(home.links?.map(({ url }) => url)).size, home.links?.length);
      }
    });

    it('a fetch of the shop returns structured data and metadata', async () => {
      for (const mode of ['browser', 'http'] as const) {
        const { page } = await get(productUrl(), { mode });
        assert.deepEqual(
          [page?.title, page?.description, page?.language, page?.canonical, page?.favicon],
          [`${lamp.name} – Quayside Goods`, lamp.description, 'en', productUrl(), `${shop.url}/favicon.svg`],
        );
        assert.deepEqual([page?.open_graph['og:type'], page?.open_graph['og:title']], ['product', lamp.name]);
        const [linked] = (page?.json_ld ?? []) as {
          '@type': string;
          offers: { price: string };
          aggregateRating: { reviewCount: number };
        }[];
        assert.deepEqual(
          [linked?.['@type'], linked?.offers.price, linked?.aggregateRating.reviewCount],
          ['Product', (lamp.price / 100).toFixed(2), reviewsOf(lamp.id).length],
        );
      }
    });

    it('a fetch of the shop returns tables with every cell in place', async () => {
      // The specification is in a tab panel.
      const { tables } = await get(productUrl(), {
        formats: ['tables'],
        actions: [
          { type: 'click', selectors: ['[data-consent=none]'] },
          { type: 'click', selectors: ['#tab-1'] },
        ],
      });
      const [table] = tables ?? [];
      assert.equal(table?.caption, `Specification of ${lamp.name}`);
      assert.deepEqual(table?.headers, ['Property', 'Property', 'Value']);
      assert.deepEqual(table?.rows[0], ['Size', 'Width', `${lamp.size.width} cm`]);
      assert.deepEqual(table?.rows[1], ['Size', 'Depth', `${lamp.size.depth} cm`]);
      assert.deepEqual(table?.rows[3], ['Material', 'Material', lamp.material]);
      for (const mode of ['browser', 'http'] as const) {
        const [comparison] = (await get(`${shop.url}/compare`, { mode, formats: ['tables'] })).tables ?? [];
        assert.deepEqual(
          [comparison?.caption, comparison?.headers],
          ['Five desk lamps side by side', ['Name', 'Price', 'Material', 'Stock']],
        );
        assert.deepEqual(comparison?.rows[0], [lamp.name, price(lamp.price), lamp.material, String(lamp.stock)]);
      }
    });

    it('a fetch of the shop returns the requested fields with their types', async () => {
      const fields = {
        name: { selector: '.offer h1' },
        price: { selector: '[data-testid=price]', type: 'number' },
        image: { selector: '.gallery img', attr: 'src' },
        canonical: { selector: 'link[rel=canonical]', attr: 'href', type: 'url' },
        reviewed: { selector: '.reviews time', type: 'date', list: true },
        authors: { selector: '.reviews .by', list: true },
        heading: { selector: '.reviews h3', type: 'html' },
        missing: { selector: '.nowhere' },
        none: { selector: '.nowhere', list: true, type: 'number' },
      };
      for (const mode of modes) {
        const { json } = await get(productUrl(), { mode, formats: ['json'], extract: { fields } });
        const extracted = json as Record<keyof typeof fields, unknown>;
        assert.deepEqual(
          [extracted.name, extracted.price, extracted.image, extracted.canonical, extracted.missing, extracted.none],
          [lamp.name, lamp.price / 100, `${shop.url}/img/p${lamp.id}.svg`, productUrl(), null, []],
        );
        assert.deepEqual(
          extracted.reviewed,
          reviewsOf(lamp.id).map(({ date }) => date),
        );
        assert.equal((extracted.authors as string[]).length, 4);
        assert.match(String(extracted.heading), /^(<h3>)?\w/);
      }
    });

    it('a fetch of the shop returns JSON of an API as data', async () => {
      for (const mode of modes) {
        const { json, status_code, content_type } = await get(`${shop.url}/api/products?page=2`, { mode, formats: ['json', 'text'] });
        assert.deepEqual([status_code, content_type?.split(';')[0]], [200, 'application/json']);
        const { items, page, total } = json as { items: { id: number; name: string }[]; page: number; total: number };
        assert.deepEqual([items.length, items[0]?.id, items[0]?.name, page, total], [12, 13, products[12]?.name, 2, 300]);
      }
    });

    it('a fetch of the shop returns the requests of a page without secrets', async () => {
      const { har } = await get(`${site.url}/parts`, {
        formats: ['har'],
        headers: { authorization: 'Bearer own-secret' },
        cookies: [{ name: 'sid', value: 'cookie-secret' }],
        // With the response to what its script asks for.
        wait_until: 'networkidle',
      });
      const entries = har?.log['entries'] as {
        request: { url: string; method: string; headers: { name: string; value: string }[] };
        response: { status: number };
      }[];
      const reported = entries.map(({ request, response }) => `${response.status} ${new URL(request.url).pathname}`);
      for (const wanted of ['200 /parts', '200 /style.css', '200 /part.js', '200 /band', '200 /inner', '200 /echo'])
        assert.ok(reported.includes(wanted), `${wanted} is not in ${reported.join()}`);
      const serialized = JSON.stringify(har);
      for (const secret of ['own-secret', 'cookie-secret', 'page-secret', 'key-secret', 'secret=abc'])
        assert.ok(!serialized.includes(secret), secret);
      assert.equal(har?.log['version'], '1.2');
    });
  });

  describe('as pictures', () => {
    it('a fetch of the shop captures the full page with lazy content', async () => {
      const { screenshot } = await get(`${site.url}/bands`, { formats: ['screenshot'] });
      assert.equal(screenshot?.content_type, 'image/png');
      const picture = readPng(Buffer.from(screenshot.data_base64 ?? '', 'base64'));
      assert.deepEqual([picture.width, picture.height], [screenshot.width, screenshot.height]);
      assert.equal(picture.height, bands.length * bandHeight);
      const seen = bands.map((_, n) => hex(picture.at(300, n * bandHeight + 450)));
      assert.deepEqual(seen, bands);
      const seenOnly = await get(`${site.url}/bands`, { formats: ['screenshot'], screenshot: { full_page: false } });
      assert.ok((seenOnly.screenshot?.height ?? 0) < 1400, `${seenOnly.screenshot?.height}`);
    });

    it('a fetch of the shop captures one element, as JPEG or WebP, or reports that it is missing', async () => {
      const { screenshot } = await get(`${site.url}/bands`, { formats: ['screenshot'], screenshot: { selector: 'img:nth-of-type(1)' } });
      const picture = readPng(Buffer.from(screenshot?.data_base64 ?? '', 'base64'));
      assert.deepEqual([picture.width, picture.height, hex(picture.at(5, 5))], [600, bandHeight, bands[0]]);
      for (const [format, magic] of [
        ['jpeg', 'ffd8ff'],
        ['webp', '52494646'],
      ] as const) {
        const answer = await get(productUrl(), { formats: ['screenshot'], screenshot: { format, quality: 40 } });
        assert.equal(answer.screenshot?.content_type, `image/${format}`);
        assert.ok(
          Buffer.from(answer.screenshot.data_base64 ?? '', 'base64')
            .toString('hex')
            .startsWith(magic),
        );
      }
      const none = await get(site.url, { formats: ['screenshot'], screenshot: { selector: '#nowhere' }, timeout_ms: 6000 });
      assert.equal(none.screenshot, null);
      assert.match(none.warnings.join(), /^screenshot_failed:/);
    });

    it('a fetch of the shop creates a PDF', async () => {
      const { pdf } = await get(productUrl(), {
        formats: ['pdf'],
        pdf: { landscape: true, paper_width_inches: 4, paper_height_inches: 6 },
      });
      const bytes = Buffer.from(pdf?.data_base64 ?? '', 'base64');
      assert.deepEqual([bytes.subarray(0, 5).toString(), pdf?.content_type, pdf?.bytes], ['%PDF-', 'application/pdf', bytes.length]);
      assert.match(bytes.toString('latin1'), /\/MediaBox \[0 0 43[12][.\d]* 28[78]/);
    });
  });

  describe('that needs waiting or interaction', () => {
    it('a fetch of the shop waits for an element, a text or a time, and reports a timeout', async () => {
      const url = `${site.url}/late`;
      // So late that no machine is as busy.
      assert.ok(!(await get(`${url}?after=20000`, { formats: ['text'] })).text?.includes('And then this'));
      for (const wait_for of [{ selector: '#later' }, { text: 'And then this' }, { ms: 3000 }])
        assert.ok((await get(url, { formats: ['text'], wait_for })).text?.includes('And then this'), JSON.stringify(wait_for));
      const since = performance.now();
      // Of its time a busy machine needs seconds to start a browser. Without it, it would have thirty.
      const never = await get(url, { formats: ['text'], wait_for: { selector: '#never' }, timeout_ms: 8000 });
      assertPrompt(since, 20_000);
      assert.ok(
        never.text?.includes('Now') && never.warnings.some((warning) => warning.startsWith('wait_for_failed')),
        JSON.stringify(never.warnings),
      );
    });

    it('a fetch of the shop runs scripts in a browser when auto mode detects that they are needed', async () => {
      for (const mode of ['browser', 'auto']) {
        const answer = await get(`${shop.url}/discover`, { mode, formats: ['text'], wait_for: { selector: '#feed .card' } });
        assert.ok(answer.text?.includes(lamp.name));
        assert.deepEqual(
          answer.resolved_by,
          mode === 'auto'
            ? { mode: 'browser', strategy: 'direct', reason: 'needs_actions' }
            : { mode: 'browser', strategy: 'direct', reason: null },
        );
      }
      assert.deepEqual((await get(site.url, { mode: 'auto', formats: ['screenshot'] })).resolved_by, {
        mode: 'browser',
        strategy: 'direct',
        reason: 'needs_format',
      });
      const moved = await get(`${shop.url}/moved-meta`, { mode: 'auto', wait_until: 'networkidle' });
      assert.deepEqual(
        [moved.resolved_by, moved.title],
        [{ mode: 'browser', strategy: 'direct', reason: 'meta_refresh' }, 'Journal – Quayside Goods'],
      );
    });

    it('a fetch of the shop accepts the consent, searches, logs in and returns the resulting page', async () => {
      const actions = [
        { type: 'click', selectors: ['[data-consent=none]'] },
        { type: 'fill', selectors: ['#q'], value: 'lantern' },
        { type: 'press', keys: 'Enter' },
        { type: 'wait', url: '/search' },
        { type: 'extract', selectors: ['h1'] },
        { type: 'navigate', url: `${shop.url}/login` },
        { type: 'fill', selectors: ['label/E-mail address'], value: ada.email },
        { type: 'fill', selectors: ['#password'], value: ada.password },
        { type: 'click', selectors: ['aria/Log in[role="button"]'] },
        { type: 'wait', url: '/account' },
      ];
      const answer = await get(shop.url, { actions, formats: ['text', 'html'], timeout_ms: 90_000 });
      assert.deepEqual(
        answer.actions.map(({ status }) => status),
        actions.map(() => 'ok'),
      );
      assert.equal(new URL(answer.final_url ?? '').pathname, '/account');
      assert.ok(answer.text?.includes(ada.name) && !answer.text.includes('Cookies at the quay'), answer.text?.slice(0, 400));
      assert.equal(answer.usage.actions, actions.length + 1);
      const failed = await get(shop.url, {
        actions: [
          { type: 'click', selectors: ['#nowhere'], timeout_ms: 500 },
          { type: 'wait', ms: 10 },
        ],
        formats: ['html'],
      });
      assert.equal(failed.actions[0]?.status, 'error');
      assert.ok(failed.html?.includes('Quayside'));
      const out = await fetchShop(`${shop.url}/account`);
      assert.equal(new URL(out.final_url ?? '').pathname, '/login', 'a later fetch is still logged in');
    });

    it('a fetch of the shop uses a logged-in session and keeps it', async () => {
      const { session_id } = (await client.call(createSession, { body: {} })).body;
      const params = { session_id };
      const login = [
        { type: 'navigate', url: `${shop.url}/login` },
        { type: 'click', selectors: ['[data-consent=none]'], optional: true },
        { type: 'fill', selectors: ['#email'], value: ada.email },
        { type: 'fill', selectors: ['#password'], value: ada.password },
        { type: 'click', selectors: ['#login button'] },
        { type: 'wait', url: '/account' },
      ];
      await client.call(runActions, { params, body: { actions: login } });
      const account = await get(`${shop.url}/account`, { session_id, formats: ['text', 'raw', 'screenshot', 'har'] });
      assert.deepEqual([account.session_id, new URL(account.final_url ?? '').pathname, account.status_code], [session_id, '/account', 200]);
      assert.ok(account.text?.includes(ada.name));
      assert.ok(account.screenshot !== null && account.raw !== null && account.har !== null);
      assert.equal((await client.call(getSession, { params })).body.current_url, `${shop.url}/account`);
      const file = await get(`${shop.url}/account/report.csv`, { session_id });
      assert.ok(file.raw?.filename?.endsWith('.csv'), JSON.stringify([file.raw?.filename, file.status_code]));
      assert.equal((await get(productUrl(), { session_id })).title, `${lamp.name} – Quayside Goods`);
      await client.call(endSession, { params });
      await client.refuse(fetchPage, 'session_ended', { body: { url: shop.url, session_id } });
      await client.refuse(fetchPage, 'session_not_found', { body: { url: shop.url, session_id: 'ses_00000000000000000000000000' } });
    });
  });

  it('fetches of the shop find every product page', async () => {
    for (const slug of products.filter(({ id }) => id % 60 === 0).map((product) => product.slug)) {
      const { json } = await get(`${shop.url}/products/${slug}`, {
        mode: 'http',
        extract: { fields: { price: { selector: '[data-testid=price]', type: 'number' } } },
      });
      assert.deepEqual(json, { price: (productNamed(slug)?.price ?? 0) / 100 });
    }
  });
});

const hex = ([red, green, blue]: readonly number[]): string =>
  `#${[red, green, blue].map((value) => (value ?? 0).toString(16).padStart(2, '0')).join('')}`;
