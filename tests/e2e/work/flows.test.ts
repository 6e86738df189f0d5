/** Named flows in real browsers, in the shop. Each flow runs with valid inputs, and its output matches its schema. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { endSession, inspect, listTasks, runAgent, type AgentResponse } from '@berth/contract';
import { readPng } from '@berth/devtools/testing/images.ts';
import type { Client } from '../../harness.ts';
import { ada, grace, type Customer } from '../../shop/pages/account.ts';
import { articles, products } from '../../shop/data.ts';
import { startShop, type Shop } from '../../shop/shop.ts';
import { nightly } from '../../nightly.ts';
import { Service } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

const lamp = products[0] ?? assert.fail('the shop has no products');
const articleSlug = articles[0]?.slug ?? assert.fail('the shop has no articles');
const brand = 'Quayside Goods';

let shop: Shop;
let consentShop: Shop;
/** A site that refuses. */
let wall: Site;
/** Sites that redirect to each other, with rules for crawlers. */
let apex: Site;
let www: Site;
let service: Service;
let client: Client;
const outputs = new Map<string, ValidateFunction>();
/** Flows that ran successfully. */
const succeeded = new Set<string>();
before(async () => {
  const pages = {
    '/slow-down': (_: unknown, response: ServerResponse) =>
      void response.writeHead(429, { 'retry-after': '120' }).end('Too many requests.'),
    '/long-list': ({ url = '' }: IncomingMessage, response: ServerResponse) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end(`<ul><li>${url} ${'x'.repeat(3_000_000)}</li></ul>`),
    '/robots.txt': (_: unknown, response: ServerResponse) => void response.writeHead(503).end(),
  };
  www = await startWww();
  apex = await startApex();
  [shop, consentShop, wall] = await Promise.all([startShop({ consent: false }), startShop(), startSite({ pages })]);
  const hosts = [shop, consentShop, wall, apex, www].map(({ host }) => host);
  service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: hosts.join(',') } });
  client = service.client;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  for (const { name, output } of (await client.call(listTasks)).body) outputs.set(name, ajv.compile(output));
});
after(async () => {
  await service.close();
  await Promise.all([shop, consentShop, wall, apex, www].map((site) => site.close()));
});

function startWww(): Promise<Site> {
  const links = (...paths: string[]): string => paths.map((path) => `<a href="${path}">${path}</a>`).join(' ');
  return startSite({
    pages: {
      '/': (_, response) => {
        const paths = ['/a', '/b', '/private/x', '/user_logout', '/cart?action=remove', `${wall.url}/open`];
        response.setHeader('content-type', 'text/html').end(page('Start', links(...paths)));
      },
      '/a': page('A', links('/')),
      '/b': page('B', links('/b/c')),
      '/moved': ({ url }, response) =>
        void response.writeHead(url?.includes('nowhere') === true ? 404 : 200, { 'content-type': 'text/html' }).end(page('Moved', 'x')),
      '/robots.txt': 'User-agent: *\nDisallow: /private\n',
    },
  });
}

/** A login that only selectors find: its fields have no types, and are in a shadow root. */
const shadowForm = `<div id=host></div><script>
  const root = host.attachShadow({ mode: 'open' });
  root.innerHTML = '<input class=who><input class=word><span class=go>Go</span>';
  const [who, word, go] = root.children;
  go.onclick = () => location.assign('/signed-in?' + who.value + '&' + word.value.replace(' ', '+'));
</script>`;

function startApex(): Promise<Site> {
  const moved = ({ url }: IncomingMessage, response: ServerResponse) => void response.writeHead(301, { location: www.url + url }).end();
  const links = ['/moved', '/moved?to=nowhere', `/to?url=${www.url}/file`, '/nothing', '/user_logout', '/?do=delete'];
  return startSite({
    pages: {
      '/start': (_, response) => void response.writeHead(301, { location: `${www.url}/` }).end(),
      '/moved': moved,
      '/account': page('Sign in', shadowForm),
      '/signed-in': ({ url }, response) => {
        const isRight = url?.endsWith('?ada&open+sesame') === true;
        response.writeHead(200, { 'content-type': 'text/html', ...(isRight ? { 'set-cookie': 'member=1; HttpOnly; Path=/' } : {}) });
        response.end(page('Account', 'Welcome'));
      },
      '/described': page('Library', '<link rel="search" type="application/opensearchdescription+xml" href="/search.xml"><p>No field.</p>'),
      '/search.xml': (_, response) =>
        void response
          .setHeader('content-type', 'application/opensearchdescription+xml')
          .end(
            '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/"><Url type="text/html" template="/found?q={searchTerms}&amp;page={startPage?}"/></OpenSearchDescription>',
          ),
      '/found': page('Found', `<ul>${['One', 'Two', 'Three'].map((name) => `<li><a href="/${name}">${name} lamp</a></li>`).join('')}</ul>`),
      '/links': page('Links', links.map((path) => `<a href="${path}">${path}</a>`).join(' ')),
      '/report.pdf': (_, response) => void response.setHeader('content-type', 'application/pdf').end('%PDF-1.4'),
      '/robots.txt': `User-agent: *\nDisallow: /a\nSitemap: ${www.url}/sitemap.xml\n`,
      '/sitemap.xml': (_, response) =>
        void response.setHeader('content-type', 'text/xml').end('<urlset><url><loc>https://apex.test/</loc></url></urlset>'),
    },
  });
}

async function run(task: string, inputs: Record<string, unknown>, more: Record<string, unknown> = {}): Promise<AgentResponse> {
  const reply = await client.call(runAgent, { body: { task, inputs, ...more } });
  assert.equal(reply.status, 200, reply.text.slice(0, 2000));
  return reply.body;
}

/** The output of a successful run. */
async function outputOf<T = Record<string, unknown>>(task: string, inputs: Record<string, unknown>, more = {}): Promise<T> {
  const result = await run(task, inputs, more);
  assert.equal(result.status, 'ok', JSON.stringify([result.error, result.block, result.steps.at(-1)]));
  const validate = outputs.get(task);
  assert.ok(validate?.(result.output), `${task}: ${JSON.stringify(validate?.errors)}`);
  succeeded.add(task);
  return result.output as T;
}
const at = (path: string): string => shop.url + path;
const productUrl = (): string => at(`/products/${lamp.slug}`);

describe('extraction', { concurrency: 4 }, () => {
  it('the extract flow reads fields by the first selector that matches', async () => {
    const fields = {
      name: { selectors: ['.no-such-name', 'h1'] },
      links: { selectors: ['a'], attr: 'href', type: 'url', list: true },
      missing: { selectors: ['.no-such-thing', 'text/no such text'] },
    };
    const output = await outputOf<{ data: Record<string, unknown>; selector_used: unknown }>('extract', { url: productUrl(), fields });
    assert.deepEqual([output.data['name'], output.data['missing']], [lamp.name, null]);
    assert.ok((output.data['links'] as string[]).every((url) => url.startsWith('http')));
    assert.deepEqual(output.selector_used, { name: 'h1', links: 'a', missing: null });
  });

  it('the extract flow reads every value of a list', async () => {
    const fields = { names: { selectors: ['main h3'], list: true } };
    const { data } = await outputOf<{ data: { names: string[] } }>('extract', { url: at('/products'), fields });
    assert.ok(data.names.length > 5, JSON.stringify(data));
  });

  it('the extract flow finds data without selectors', async () => {
    const { structured } = await outputOf<{ structured: Record<string, unknown[]> }>('extract', { url: productUrl(), schema: 'auto' });
    assert.ok(JSON.stringify(structured['json_ld']).includes(lamp.name), JSON.stringify(structured).slice(0, 2000));
    const listed = await outputOf<{ structured: { lists: { selector: string; count: number; items: { text: string }[] }[] } }>('extract', {
      url: at('/products'),
      schema: 'auto',
    });
    const list = listed.structured.lists[0];
    assert.ok(
      list?.items.some(({ text }) => text.includes(lamp.name)),
      JSON.stringify(listed.structured.lists).slice(0, 2000),
    );
  });

  it('extraction flows read tables, links and articles', async () => {
    const { links } = await outputOf<{ links: { url: string }[] }>('extract_links', { url: at('/') });
    assert.ok(links.some(({ url }) => url.startsWith(shop.url)));
    const { tables } = await outputOf<{ tables: { rows: string[][] }[] }>('extract_tables', { url: at('/compare') });
    assert.ok(tables.some(({ rows }) => rows.length > 0));
    const article = await outputOf<{ title: string; markdown: string; words: number }>('extract_article', {
      url: at('/journal/' + articleSlug),
    });
    assert.ok(article.title.includes(brand) && article.markdown.includes('Part 1') && article.words > 5, JSON.stringify(article));
  });
});

describe('captures', { concurrency: 4 }, () => {
  it('capture flows return images, documents and snapshots', async () => {
    const png = await outputOf<{ data_base64: string; width: number }>('screenshot', { url: productUrl(), full_page: false });
    assert.equal(readPng(Buffer.from(png.data_base64, 'base64')).width, png.width);
    const pdf = await outputOf<{ data_base64: string; title: string }>('pdf', { url: productUrl() });
    assert.equal(Buffer.from(pdf.data_base64, 'base64').subarray(0, 5).toString(), '%PDF-');
    const { html, text } = await outputOf<{ html: string; text: string }>('snapshot', { url: productUrl() });
    assert.ok(html.includes('</html>') && text.includes(lamp.name));
  });

  it('the accessibility_tree flow returns the tree, whose references work in steps', async () => {
    const { tree, refs, truncated } = await outputOf<{
      tree: string;
      refs: Record<string, { role: string; name: string; selectors: unknown[] }>;
      truncated: boolean;
    }>('accessibility_tree', { url: at('/support') });
    assert.match(tree, /^ *- heading "[^"]+" \[level=1\]/m);
    assert.equal(truncated, false);
    const [ref, field] = Object.entries(refs).find(([, { role, name }]) => role === 'textbox' && name.includes('Message')) ?? [];
    assert.ok(field && tree.includes(`[ref=${ref}]`), tree);
    const steps = field.selectors.flatMap((selector) => [
      { type: 'fill', selectors: [selector], value: 'By reference.' },
      { type: 'extract', selectors: [selector], as: 'value', save_as: 'typed' },
    ]);
    const { vars } = await outputOf<{ vars: object }>('custom', { url: at('/support'), steps });
    assert.deepEqual(vars, { typed: 'By reference.' });
    const few = await outputOf<{ nodes: number; truncated: boolean }>('accessibility_tree', { url: at('/support'), max_nodes: 3 });
    assert.deepEqual([few.nodes, few.truncated], [3, true]);
  });

  it('the download_files flow downloads the files of links, which can be read while the session is kept', async () => {
    const inputs = { url: at('/downloads'), link_selectors: ['#files a'], pattern: '/in', max_files: 2 };
    const result = await run('download_files', inputs, { keep_session: true });
    const { files, skipped } = result.output as { files: { file_id: string; sha256: string; bytes: number }[]; skipped: object[] };
    const params = { session_id: result.session_id ?? '', download_id: files[0]?.file_id ?? '' };
    const reply = await fetch(`${service.url}/v1/session/${params.session_id}/downloads/${params.download_id}`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    const content = Buffer.from(await reply.arrayBuffer());
    assert.deepEqual(
      [{ ...files[0], file_id: '' }, skipped],
      [
        {
          ...{ file_id: '', name: 'invoice-1.pdf', url: at('/invoices/1.pdf'), bytes: content.length },
          ...{ sha256: createHash('sha256').update(content).digest('hex'), content_type: 'application/pdf' },
        },
        [],
      ],
    );
    await client.call(endSession, { params: { session_id: params.session_id } });
    const small = await outputOf<{ files: object[]; skipped: { code: string }[] }>('download_files', {
      ...{ url: at('/downloads'), link_selectors: ['#files a'], pattern: '*export.*', max_bytes: 500_000 },
    });
    assert.deepEqual([small.files.length, small.skipped.map(({ code }) => code)], [1, ['too_large']]);
  });
});

describe('navigation', { concurrency: 4 }, () => {
  it('the click_path flow clicks through pages', async () => {
    const steps = [
      { click: ['.no-such-link'], optional: true },
      { click: [`a[href="/products/${lamp.slug}"]`], wait_for: ['h1'] },
    ];
    const output = await outputOf('click_path', { url: at('/products'), steps, html: true });
    assert.ok(output['final_url'] === productUrl() && String(output['html']).includes(lamp.name));
  });

  it('the scroll_to_end flow scrolls until nothing more comes', async () => {
    const output = await outputOf<{ items: string[]; reached_end: boolean }>('scroll_to_end', {
      url: at('/discover'),
      item_selectors: ['main li'],
      // Longer than a busy machine takes for the next page of the list.
      idle_ms: 1500,
    });
    assert.ok(output.reached_end && output.items.length > 10, JSON.stringify(output).slice(0, 500));
  });
});

describe('forms', { concurrency: 4 }, () => {
  const loginAs = ({ email, password, otpSecret }: Customer, path: string, more: object = {}) =>
    outputOf<{ logged_in: boolean; method: string; message: string | null; final_url: string }>('login', {
      url: at(path),
      username: email,
      password,
      ...(otpSecret === undefined ? {} : { otp_secret: otpSecret }),
      ...more,
    });

  it('the login flow logs in, in one step and in several, with one-time codes', async () => {
    assert.deepEqual(await loginAs(ada, '/login'), { logged_in: true, method: 'password', message: null, final_url: at('/account') });
    assert.deepEqual(await loginAs(grace, '/login/steps'), {
      logged_in: true,
      method: 'password_otp',
      message: null,
      final_url: at('/account'),
    });
  });

  it('the login flow reports a wrong password, and returns none', async () => {
    const result = await run('login', { url: at('/login'), username: ada.email, password: 'wrong-horse-9' });
    const { logged_in, message } = result.output as { logged_in: boolean; message: string };
    assert.deepEqual([logged_in, message], [false, 'The e-mail address or the password is wrong.']);
    assert.ok(!JSON.stringify(result).includes('wrong-horse-9'));
  });

  it('the login flow keeps its session on request, in which other flows go on', async () => {
    const { session_id, status } = await run(
      'login',
      { url: at('/login'), username: ada.email, password: ada.password },
      { keep_session: true },
    );
    assert.equal(status, 'ok');
    const { data } = await outputOf<{ data: object }>(
      'extract',
      { url: at('/account'), fields: { email: { selectors: ['testid/email'] } } },
      { session_id },
    );
    assert.deepEqual(data, { email: ada.email });
    await client.call(endSession, { params: { session_id: session_id ?? '' } });
  });

  it('the form_fill flow fills in fields by their labels, and sends the form', async () => {
    const fields = { Subject: 'A repair', message: 'The lamp {{inputs.x}} flickers.', 'No such field': 'x' };
    const sent = await outputOf('form_fill', { url: at('/support'), fields, submit: true, success: ['[role=status]'] });
    assert.deepEqual(
      [sent['filled'], sent['unmatched'], sent['submitted'], sent['succeeded']],
      [['Subject', 'message'], ['No such field'], true, true],
    );
    const body = shop.requests.find(({ method, path }) => method === 'POST' && path === '/support')?.body.toString();
    assert.ok(body?.includes('The lamp {{inputs.x}} flickers.') && body.includes('repair'), body);
    const short = await outputOf<{ validation_messages: { field: string }[]; submitted: boolean }>('form_fill', {
      url: at('/support'),
      fields: { message: 'x' },
      submit: true,
    });
    assert.deepEqual([short.submitted, short.validation_messages.map(({ field }) => field)], [false, ['message']]);
  });

  it('the login flow logs in where only given selectors find the fields, and by the cookie that then is there', async () => {
    const selectors = { username: ['pierce/.who'], password: ['pierce/.word'], submit: ['pierce/.go'] };
    const inputs = { url: `${apex.url}/account`, username: 'ada', selectors, success: { cookie: 'member' } };
    const done = await outputOf<{ logged_in: boolean; method: string }>('login', { ...inputs, password: 'open sesame' });
    assert.deepEqual([done.logged_in, done.method], [true, 'password']);
    const wrong = await outputOf<{ logged_in: boolean }>('login', { ...inputs, password: 'open barley' });
    assert.equal(wrong.logged_in, false);
  });

  it('the search flow uses the search description of a page that has no field', async () => {
    const { results, final_url } = await outputOf<{ results: { title: string }[]; final_url: string }>('search', {
      url: `${apex.url}/described`,
      query: 'desk & lamp',
      results: ['li'],
    });
    assert.equal(final_url, `${apex.url}/found?q=desk%20%26%20lamp&page=`);
    assert.deepEqual(
      results.map(({ title }) => title),
      ['One lamp', 'Two lamp', 'Three lamp'],
    );
  });

  it('the search flow searches a site', async () => {
    const { results } = await outputOf<{ results: { title: string; url: string }[] }>('search', { url: at('/'), query: 'lamp' });
    assert.ok(
      results.length > 5 && results.every(({ url }) => url.startsWith(`${shop.url}/products/`)),
      JSON.stringify(results.slice(0, 3)),
    );
  });
});

describe('several pages', { concurrency: 4 }, () => {
  const item = { selectors: ['[data-testid=results] > li'], fields: { name: { selectors: ['h3'] } } };

  it('the paginate flow collects pages by their next links, and by a page number', async () => {
    const first = await outputOf<{ items: object[]; pages: number; stop_reason: string }>('paginate', {
      url: at('/products'),
      item,
      max_pages: 3,
    });
    assert.deepEqual([first.pages, first.stop_reason], [3, 'max_pages']);
    const byNumber = await outputOf<{ items: object[] }>('paginate', { url: at('/products'), item, max_pages: 3, page_param: 'page' });
    assert.deepEqual(byNumber.items, first.items);
    assert.equal(new Set(first.items.map((each) => JSON.stringify(each))).size, first.items.length);
    const limited = await outputOf<{ pages: number; stop_reason: string }>('paginate', { url: at('/products'), item }, { max_steps: 7 });
    assert.equal(limited.stop_reason, 'budget');
  });

  it('the paginate flow collects pages until the output is as long as it may be', nightly, async () => {
    const inputs = {
      url: `${wall.url}/long-list`,
      item: { selectors: ['li'], fields: { text: { selectors: ['xpath/.'] } } },
      page_param: 'page',
    };
    const result = await run('paginate', inputs, { timeout_ms: 120_000 });
    const { items, stop_reason } = result.output as { items: object[]; stop_reason: string };
    assert.deepEqual([result.status, items.length, stop_reason, result.warnings], ['ok', 7, 'budget', ['limit_reached']]);
  });

  interface Crawled {
    pages: { url: string; markdown: string; error: null }[];
    disallowed: number;
    skipped: number;
    stop_reason: string;
  }

  // `crawl.test.ts` has it in every run.
  it('the crawl flow crawls a site', nightly, async () => {
    const inputs = { url: at('/journal'), depth: 1, max_pages: 4, include: ['/journal'] };
    const { pages } = await outputOf<Crawled>('crawl', inputs);
    assert.equal(pages.length, 4);
    assert.ok(
      pages.every(({ url, error }) => url.startsWith(at('/journal')) && error === null),
      JSON.stringify(pages).slice(0, 500),
    );
  });

  it('the crawl flow crawls as far as the steps of a run go', nightly, async () => {
    const inputs = { url: at('/journal'), depth: 1, include: ['/journal'] };
    const whole = await outputOf<Crawled>('crawl', { ...inputs, max_pages: 6 });
    const result = await run('crawl', inputs, { max_steps: 12 });
    const { pages, stop_reason } = result.output as Crawled;
    assert.deepEqual([result.status, stop_reason, result.warnings], ['ok', 'budget', ['limit_reached']]);
    assert.ok(pages.length > 0 && pages.length < whole.pages.length, `${pages.length} of ${whole.pages.length} pages`);
    assert.deepEqual(pages, whole.pages.slice(0, pages.length));
    assert.ok(result.usage.actions <= 12);
  });

  it('the crawl flow crawls where the first page redirects to, without what robots.txt disallows there, and what signs out or deletes', async () => {
    const { pages, disallowed, skipped } = await outputOf<Crawled>('crawl', { url: `${apex.url}/start`, depth: 1 });
    assert.deepEqual(
      pages.map(({ url }) => url),
      ['/', '/a', '/b'].map((path) => www.url + path),
    );
    assert.deepEqual([disallowed, skipped], [1, 2]);
    const unwanted = ['/private/x', '/user_logout', '/cart?action=remove'];
    assert.deepEqual(
      www.hits.filter((path) => unwanted.includes(path)),
      [],
    );
  });

  it('the crawl flow keeps to the rules of each host, which are read before its first page', async () => {
    const { disallowed } = await outputOf<Crawled>('crawl', { url: `${www.url}/`, depth: 1, same_host: false });
    assert.deepEqual([disallowed, wall.hits.includes('/open')], [2, false]);
    for (const url of [`${wall.url}/open`, `${www.url}/private/x`])
      assert.deepEqual((await run('crawl', { url })).error?.code, 'not_allowed', url);
    assert.deepEqual([wall.hits.includes('/open'), www.hits.includes('/private/x')], [false, false]);
    // Another address than above: the test before counts on it, and may run at the same time.
    assert.equal((await outputOf<Crawled>('crawl', { url: `${www.url}/private/y`, respect_robots: false })).pages.length, 1);
  });

  it('the sitemap flow lists the pages of a sitemap', async () => {
    const { urls, sitemaps } = await outputOf<{ urls: { url: string; lastmod: string }[]; sitemaps: string[] }>('sitemap', {
      url: productUrl(),
    });
    assert.deepEqual(sitemaps, [at('/sitemap.xml')]);
    assert.ok(urls.some(({ url, lastmod }) => url === productUrl() && lastmod === '2026-01-15'));
  });

  it('the sitemap flow reads the usual sitemap where robots.txt names only one of another origin, with a warning', async () => {
    const { output, warnings } = await run('sitemap', { url: apex.url });
    assert.deepEqual(output, {
      urls: [{ url: 'https://apex.test/', lastmod: null }],
      sitemaps: [`${apex.url}/sitemap.xml`],
      unread: [{ url: `${www.url}/sitemap.xml`, reason: 'another_origin', status_code: null }],
      truncated: true,
    });
    assert.deepEqual(warnings, ['sitemap_of_another_origin']);
  });
});

describe('checks', { concurrency: 4 }, () => {
  it('the check_links flow finds broken links', async () => {
    const { broken } = await outputOf<{ broken: { url: string; status_code: number }[] }>('check_links', { url: at('/compare') });
    const statuses = new Map(broken.map(({ url, status_code }) => [url, status_code]));
    assert.deepEqual([statuses.get(at('/nowhere')), statuses.get(at('/status/410')), statuses.get(at('/status/500'))], [404, 410, 500]);
    assert.ok(!statuses.has(at('/journal')));
  });

  it('the check_links flow finds no broken links where one redirects to another site, and follows none that sign out or delete', async () => {
    const { broken, ...counts } = await outputOf<{ broken: { url: string; status_code: number }[] }>('check_links', {
      url: `${apex.url}/links`,
    });
    assert.deepEqual(
      new Map(broken.map(({ url, status_code }) => [url.slice(apex.url.length), status_code])),
      new Map([
        ['/nothing', 404],
        ['/moved?to=nowhere', 404],
      ]),
    );
    assert.deepEqual(counts, { checked: 4, skipped: 2, unsafe: 2, final_url: `${apex.url}/links` });
    assert.deepEqual(
      apex.hits.filter((path) => path === '/user_logout' || path === '/?do=delete'),
      [],
    );
  });

  it('the health_check flow says what does not hold', async () => {
    const assertions = [
      { status_code: 200 },
      { text: lamp.name },
      { selectors: ['h1'], max_load_ms: 60_000 },
      { text: 'no such text', url: '/nowhere' },
    ];
    const { passed, checks } = await outputOf<{ passed: boolean; checks: { passed: boolean }[] }>('health_check', {
      url: productUrl(),
      assertions,
      wait_ms: 2500,
    });
    assert.deepEqual([passed, checks.map((check) => check.passed)], [false, [true, true, true, false]]);
  });

  it('the web_vitals flow measures Web Vitals', async () => {
    const vitals = await outputOf<{ load_ms: number; requests: number; bytes: number }>('web_vitals', { url: productUrl() });
    assert.ok(vitals.load_ms > 0 && vitals.requests > 3 && vitals.bytes > 1000, JSON.stringify(vitals));
  });

  it('the monitor_change flow notices changes', async () => {
    const inputs = { url: at('/deal'), selectors: ['main'] };
    const first = await outputOf<{ changed: boolean; baseline: object }>('monitor_change', inputs);
    const same = await outputOf<{ changed: boolean }>('monitor_change', { ...inputs, baseline: first.baseline });
    shop.setDeal(7);
    const other = await outputOf<{ changed: boolean; added: string[] }>('monitor_change', { ...inputs, baseline: first.baseline });
    assert.deepEqual([first.changed, same.changed, other.changed], [false, false, true]);
    assert.ok(
      other.added.some((line) => line.includes(products[6]?.name ?? '?')),
      JSON.stringify(other.added),
    );
  });

  it('the accept_cookies flow answers cookie banners', async () => {
    const { vendor, clicked } = await outputOf<{ vendor: string; clicked: boolean }>('accept_cookies', {
      url: `http://${consentShop.host}/`,
    });
    assert.deepEqual([vendor, clicked], ['generic', true]);
    assert.deepEqual((await outputOf<{ clicked: boolean }>('accept_cookies', { url: at('/') })).clicked, false);
  });
});

describe('an API that an inspection has found', () => {
  it('an API that an inspection has found is called again by the page, and only with what its report allows', async () => {
    const steps = [
      { type: 'fill', selectors: ['#desk-email'], value: ada.email },
      { type: 'fill', selectors: ['#desk-password'], value: ada.password },
      { type: 'click', selectors: ['#desk-login button'] },
      { type: 'wait', text: 'All loaded.', timeout_ms: 30_000 },
    ];
    const report = (await client.call(inspect, { body: { url: at('/trade'), actions: steps, include: ['api'] } })).body;
    const endpoints = report.api?.endpoints ?? [];
    const idOf = (method: string, path: string): string =>
      endpoints.find((each) => each.method === method && each.path_template === path)?.id ??
      assert.fail(endpoints.map((each) => `${each.method} ${each.path_template} ${each.replayable}`).join('\n'));
    const { job_id } = report;
    const allowed = idOf('GET', '/api/v2/notices');
    const reply = await outputOf<{ status_code: number; json: unknown }>('api_replay', { job_id, endpoint_id: allowed });
    assert.equal(reply.status_code, 200, JSON.stringify(reply));
    const failsWith = async (inputs: object): Promise<string | undefined> =>
      (await run('api_replay', { job_id, endpoint_id: allowed, ...inputs })).error?.code;
    assert.equal(await failsWith({ endpoint_id: idOf('POST', '/api/v2/auth/login') }), 'not_allowed');
    assert.equal(await failsWith({ endpoint_id: 'E9999' }), 'not_found');
    assert.equal(await failsWith({ params: { query: { 'no-such-parameter': '1' } } }), 'invalid_value');
    assert.equal(await failsWith({ job_id: 'job_nothing' }), 'job_not_found');
  });
});

describe('custom steps', { concurrency: 4 }, () => {
  it('the custom flow runs a recording, and exports it', async () => {
    const recording = {
      title: 'Lamp',
      steps: [
        { type: 'navigate', url: productUrl() },
        { type: 'waitForElement', selectors: [['h1']], visible: true },
        { type: 'customStep', name: 'berth', parameters: { type: 'extract', selectors: ['h1'], save_as: 'name' } },
      ],
    };
    const output = await outputOf<{ vars: object; export: { steps: object[] } }>('custom', { recording, export: 'recorder' });
    assert.deepEqual(output.vars, { name: lamp.name });
    const again = await outputOf<{ vars: object; export: string }>('custom', { recording: output.export, export: 'playwright' });
    assert.deepEqual(again.vars, { name: lamp.name });
    assert.match(again.export, /await page\.goto\(/);
  });

  it('the custom flow says that a PDF is no page', async () => {
    const { status, error } = await run('custom', { steps: [{ type: 'navigate', url: `${apex.url}/report.pdf` }] });
    assert.deepEqual([status, error?.code, error?.retryable], ['error', 'not_a_page', false], JSON.stringify(error));
  });

  it('the custom flow lists its steps with those in loops and branches, each before the step that it is in', async () => {
    const links = { type: 'links' };
    const steps = [
      { type: 'repeat', max: 2, steps: [links, { type: 'if', if: { exists: ['h1'] }, steps: [{ type: 'html' }] }] },
      { type: 'markdown' },
    ];
    const { steps: ran, usage } = await run('custom', { url: apex.url, steps });
    assert.deepEqual(
      ran.map(({ index, type, turn }) => [index, type, turn]),
      [
        ...[
          [0, 'navigate', undefined],
          [1, 'links', 0],
          [2, 'html', undefined],
          [3, 'if', 0],
        ],
        ...[
          [4, 'links', 1],
          [5, 'html', undefined],
          [6, 'if', 1],
          [7, 'repeat', undefined],
          [8, 'markdown', undefined],
        ],
      ],
    );
    assert.equal(usage.actions, ran.length);
  });

  it('a flow reports a page that blocks', async () => {
    const { status, output, block, error, usage } = await run('extract_links', { url: `${wall.url}/slow-down` });
    assert.deepEqual([status, output, block?.type, error], ['blocked', null, 'rate_limited', null]);
    assert.ok(usage.actions >= 1);
  });

  it('the custom flow fails when the page changes under a step', async () => {
    const steps = [
      { type: 'navigate', url: productUrl() },
      { type: 'wait', selectors: ['h1'] },
      { type: 'navigate', url: at('/products') },
      { type: 'click', selectors: ['#no-such-button'], timeout_ms: 500 },
    ];
    const { status, error, steps: ran } = await run('custom', { steps });
    assert.deepEqual([status, error?.code, ran.at(-1)?.error?.code], ['error', 'not_found', 'not_found']);
  });
});

it('every listed flow has run', () => {
  assert.deepEqual(
    [...outputs.keys()].filter((name) => !succeeded.has(name)),
    [],
  );
});
