/** Each template with real browsers in the shop, against what the shop is known to show. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { listTemplates, runTemplate } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { ada } from '../../shop/pages/account.ts';
import { articles, jobs, price, products } from '../../shop/data.ts';
import { startShop, type Shop } from '../../shop/shop.ts';
import { Service } from '../service.ts';

const lamp = products[0] ?? assert.fail('the shop has no products');

let shop: Shop;
let service: Service;
let client: Client;
const outputs = new Map<string, ValidateFunction>();
const succeeded = new Set<string>();
before(async () => {
  shop = await startShop({ consent: false });
  service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: shop.host } });
  client = service.client;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  for (const { name, output } of (await client.call(listTemplates)).body) outputs.set(name, ajv.compile(output));
});
after(async () => {
  await service.close();
  await shop.close();
});

/** The output of a successful run. */
async function outputOf<T = Record<string, unknown>>(template: string, inputs: Record<string, unknown>): Promise<T> {
  const reply = await client.call(runTemplate, { body: { template, inputs } });
  assert.equal(reply.status, 200, reply.text.slice(0, 2000));
  const { status, output, error, block, steps } = reply.body;
  assert.equal(status, 'ok', JSON.stringify([error, block, steps.at(-1)]));
  const validate = outputs.get(template);
  assert.ok(validate?.(output), `${template}: ${JSON.stringify(validate?.errors)}`);
  succeeded.add(template);
  const runs = results[template] ?? [];
  results[template] = [...runs, withoutPorts(output)];
  return output as T;
}

/** Outputs by template as the golden file has them: the same in every run. */
const results: Record<string, unknown[]> = {};
const goldenPath = join(import.meta.dirname, 'templates.golden.json');
const withoutPorts = (output: unknown): unknown =>
  JSON.parse(
    JSON.stringify(output)
      .replaceAll(new RegExp(`${shop.host}|${shop.otherHost}`, 'g'), 'shop.test')
      // Ids, pictures, and a digest of a text with the port in it.
      .replaceAll(/"(download_id|data_base64|hash)":"[^"]+"/g, '"$1":"…"')
      .replaceAll(/"(\w+_ms)":\d+/g, '"$1":0'),
  );
const at = (path: string): string => shop.url + path;
const productUrl = (): string => at(`/products/${lamp.slug}`);

describe('templates', { concurrency: 4 }, () => {
  it('templates read products', async () => {
    assert.deepEqual(await outputOf('price_monitor', { url: productUrl() }), {
      product: { name: lamp.name, price: lamp.price / 100, price_text: price(lamp.price), stock: `${lamp.stock} in stock` },
      final_url: productUrl(),
    });
    const { product, json_ld } = await outputOf<{ product: object; json_ld: { sku: string }[] }>('product_details', { url: productUrl() });
    assert.deepEqual(product, {
      name: lamp.name,
      description: lamp.description,
      image: at(`/img/p${lamp.id}.png`),
      price: lamp.price / 100,
    });
    assert.deepEqual(
      json_ld.map(({ sku }) => sku),
      [lamp.sku],
    );
  });

  it('templates list jobs, headlines and tables', async () => {
    assert.deepEqual(await outputOf('job_listings', { url: at('/jobs') }), {
      jobs: jobs.map(({ title, team, place }, n) => ({ title, team, place, url: at(`/support?about=job-${n + 1}`) })),
      final_url: at('/jobs'),
    });
    assert.deepEqual(await outputOf('news_headlines', { url: at('/journal') }), {
      headlines: articles.map(({ title, slug, date }) => ({ title, url: at(`/journal/${slug}`), date })),
      final_url: at('/journal'),
    });
    const { csv } = await outputOf<{ csv: string }>('table_to_csv', { url: at('/compare'), table_selector: '#comparison' });
    const lines = csv.trimEnd().split('\r\n');
    assert.deepEqual([lines.length, lines[0]], [6, 'Name,Price,Material,Stock']);
    assert.ok(lines[1]?.startsWith(`${lamp.name},`), lines[1]);
  });

  it('templates search and collect', async () => {
    const { search } = await outputOf<{ search: { results: { url: string }[] } }>('search_and_collect', {
      url: at('/'),
      query: 'lamp',
      max_results: 3,
    });
    assert.deepEqual([search.results.length, search.results.every(({ url }) => url.startsWith(at('/products/')))], [3, true]);
  });

  it('templates audit and watch pages', async () => {
    const { health, links } = await outputOf<{ health: { passed: boolean }; links: { broken: unknown[] } }>('site_audit', {
      url: at('/compare'),
    });
    assert.deepEqual([health.passed, links.broken.length], [true, 3]);
    const { change } = await outputOf<{ change: { changed: boolean; baseline: object } }>('change_monitor', {
      url: at('/deal'),
      selectors: ['main'],
    });
    assert.equal(change.changed, false);
    shop.setDeal(9);
    const later = await outputOf<{ change: { added: string[] } }>('change_monitor', {
      url: at('/deal'),
      selectors: ['main'],
      baseline: change.baseline,
    });
    assert.ok(later.change.added.some((line) => line.includes(products[8]?.name ?? '?')));
  });

  it('templates read the pages of a sitemap', async () => {
    const { sitemap, markdown } = await outputOf<{ sitemap: { urls: { url: string }[] }; markdown: string[] }>('sitemap_to_markdown', {
      url: at('/'),
      max_urls: 2,
    });
    assert.deepEqual([sitemap.urls.map(({ url }) => url), markdown.length], [[at('/'), at('/products')], 2]);
  });

  it('templates send forms, log in and download', async () => {
    const fields = { Subject: 'A repair', Message: 'The lamp flickers.' };
    const { answer } = await outputOf<{ answer: string }>('form_submission', { url: at('/support'), fields });
    assert.match(answer, /We have your message/);
    const { login, report } = await outputOf<{ login: { logged_in: boolean }; report: object }>('login_and_download_report', {
      url: at('/login'),
      username: ada.email,
      password: ada.password,
      report_url: at('/account/report.csv'),
    });
    assert.equal(login.logged_in, true);
    assert.deepEqual(
      { ...report, download_id: '' },
      { download_id: '', file_name: 'report.csv', url: at('/account/report.csv'), bytes: 12 },
    );
    const { invoice } = await outputOf<{ invoice: { file_name: string } }>('invoice_download', { url: at('/downloads') });
    assert.equal(invoice.file_name, 'invoice-1.pdf');
  });

  it('templates keep a page as text', async () => {
    const { markdown } = await outputOf<{ markdown: string }>('page_snapshot', { url: productUrl() });
    assert.ok(markdown.includes(lamp.name));
  });
});

it('templates have the outputs of the golden file, which BERTH_TEST_UPDATE=1 writes', () => {
  const sorted = Object.fromEntries(Object.entries(results).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  if (process.env['BERTH_TEST_UPDATE'] === '1') writeFileSync(goldenPath, `${JSON.stringify(sorted, null, 2)}\n`);
  assert.deepEqual(sorted, JSON.parse(readFileSync(goldenPath, 'utf8')));
});

it('all templates have run successfully', () => {
  assert.deepEqual(
    [...outputs.keys()].filter((name) => !succeeded.has(name)),
    [],
  );
});
