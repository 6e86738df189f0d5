import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { endpoints, type Health } from '@berth/contract';
import { yardsticksOf } from '../../../../tests/yardstick.ts';
import { serve } from '../../testing/server.ts';
import type { Http } from '../http/server/server.ts';
import { mountDocs, type DocsOptions } from './docs.ts';
import { Guides } from './guides.ts';
import { readDocument } from './reference/reference-document.ts';

const well: Health = { status: 'ok', checks: { store: { status: 'ok', note: 'the database is available' } } };
const mountWith =
  (options: Partial<DocsOptions> = {}) =>
  (http: Http): void =>
    mountDocs(http, { readHealth: () => Promise.resolve(well), hasSignIn: false, ...options });

const idsOf = (page: string): Set<string> => new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? ''));
const targetsOf = (page: string): string[] =>
  [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => (address ?? '').replaceAll('&amp;', '&'));

describe('the front page', () => {
  test('the front page has the address at which it was opened in its examples, and says how the service is', async (t) => {
    const { port } = await serve(t, mountWith());
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
      const response = await fetch(`http://${host}/`);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
      const page = await response.text();
      assert.match(page, new RegExp(`export BERTH=http://${host}\n`));
      assert.match(page, />Ready<\/a>/);
    }
  });

  test('the front page says which checks fail', async (t) => {
    const ill: Health = { status: 'unhealthy', checks: { ...well.checks, disk: { status: 'unhealthy', note: '<12 MB free' } } };
    const { origin } = await serve(t, mountWith({ readHealth: () => Promise.resolve(ill) }));
    const page = await (await fetch(origin)).text();
    assert.match(page, />Unhealthy<\/a>/);
    assert.match(page, /<strong>disk<\/strong>: &lt;12 MB free/);
    assert.doesNotMatch(page, /the database is available/);
  });

  test('the front page links to the dashboard, and to the sign-in only where it is served', async (t) => {
    const without = await serve(t, mountWith());
    const plain = targetsOf(await (await fetch(without.origin)).text());
    assert.deepEqual([plain.includes('/dashboard'), plain.includes('/dev-idp')], [true, false]);
    const withSignIn = await serve(t, mountWith({ hasSignIn: true }));
    assert.ok(targetsOf(await (await fetch(withSignIn.origin)).text()).includes('/dev-idp'));
  });

  test('the front page does not repeat an invalid host', async (t) => {
    const { origin } = await serve(t, mountWith());
    const page = await (await fetch(origin, { headers: { 'x-forwarded-host': '"><script>' } })).text();
    assert.doesNotMatch(page, /<script>/);
  });
});

describe('the guides', () => {
  test('the guides link only to pages, images and headings that exist, all of this service', async (t) => {
    const { origin } = await serve(t, mountWith());
    const pages = new Map<string, string>();
    const open = async (path: string): Promise<string> => {
      const known = pages.get(path);
      if (known !== undefined) return known;
      const response = await fetch(origin + path);
      assert.equal(response.status, 200, path);
      const text = await response.text();
      pages.set(path, response.headers.get('content-type')?.startsWith('text/html') ? text : '');
      return pages.get(path) ?? '';
    };
    const pending = ['/', '/docs/guides'];
    const broken: string[] = [];
    for (const path of pending) {
      for (const target of targetsOf(await open(path))) {
        const { origin: at, pathname, hash } = new URL(target, origin + path);
        // Pages that other parts of the service serve.
        if (at !== origin || ['/health', '/dashboard', '/dev-idp', '/metrics'].includes(pathname)) continue;
        const page = await open(pathname);
        if (hash !== '' && page !== '' && !idsOf(page).has(decodeURIComponent(hash.slice(1)))) broken.push(`${path} -> ${target}`);
        if (pathname.startsWith('/docs/') && page !== '' && !pending.includes(pathname)) pending.push(pathname);
      }
    }
    assert.deepEqual(broken, []);
    for (const path of [
      '/docs/quickstart',
      '/docs/examples/playwright.mjs',
      '/docs/examples/with_scrapy.py',
      '/docs/configuration',
      '/docs/adr',
      '/docs/architecture',
      '/docs/images/recording.png',
    ])
      assert.ok(pages.has(path), `${path} is not linked`);
  });

  test('the guides show the address of the service in their examples, escaped', async (t) => {
    const { port } = await serve(t, mountWith());
    const page = await (await fetch(`http://localhost:${port}/docs/quickstart`)).text();
    assert.match(page, new RegExp(`export BERTH=http://localhost:${port}\n`));
    for (const guide of new Guides().addresses)
      assert.doesNotMatch(await (await fetch(`http://localhost:${port}${guide}`)).text(), /127\.0\.0\.1:8080/, guide);
    assert.match(
      await (await fetch(`http://localhost:${port}/docs/connect`)).text(),
      new RegExp(`ws://localhost:${port}/v1/connect\\?token=`),
    );
    assert.match(page, /<title>Quickstart · Berth<\/title>/);
    assert.match(page, /<a href="\/docs\/quickstart" aria-current="page">/);
  });

  test('the guides write what is not served as text', async (t) => {
    const { origin } = await serve(t, mountWith());
    const page = await (await fetch(`${origin}/docs/contributing`)).text();
    assert.doesNotMatch(page, /href="[^"]*tests\/ledger/);
    assert.ok(existsSync(join(import.meta.dirname, '../../../../tests/ledger/README.md')));
  });
});

describe('the API reference', () => {
  test('each operation has a page, which the list links to, and which has its fields, errors and samples', async (t) => {
    const { origin } = await serve(t, mountWith());
    const read = async (path: string): Promise<string> => {
      const response = await fetch(origin + path);
      assert.equal(response.status, 200, path);
      return response.text();
    };
    const list = await read('/docs');
    assert.match(list, /<li><a href="\/docs\/task-sign-in">Keep a sign-in<\/a>: /);
    for (const { id, method, path, tag, summary } of endpoints) {
      assert.ok(list.includes(`<li id="/${tag}/${id}">`) && list.includes(`href="/docs/reference/${id}"`), id);
      const page = await read(`/docs/reference/${id}`);
      assert.ok(page.includes(`>${method}</span> <code>${path}</code>`) && page.includes(`<h1>${summary}</h1>`), id);
      const markdown = await read(`/docs/reference/${id}.md`);
      assert.ok(markdown.startsWith(`# ${summary}\n\n\`${method} ${path}\``), id);
    }
    const page = await read('/docs/reference/createSession');
    for (const part of [
      'id="body.viewport"',
      'id="body.viewport.width"',
      '320 to 3840',
      '&quot;object&quot;: &quot;session&quot;',
      'berth open --new',
    ])
      assert.ok(page.includes(part), part);
    assert.match(page, /href="\/docs\/errors#insufficient_credits"/);
    assert.ok(idsOf(await read('/docs/errors')).has('insufficient_credits'));
  });

  test('the ids of a page are unique, and its links within lead to one', async (t) => {
    const { origin } = await serve(t, mountWith());
    for (const id of ['runActions', 'fetchPage', 'inspect', 'createSession']) {
      const page = await (await fetch(`${origin}/docs/reference/${id}`)).text();
      const ids = Array.from(page.matchAll(/ id="([^"]+)"/g), ([, one]) => one);
      assert.deepEqual(
        ids.filter((one, index) => ids.indexOf(one) !== index),
        [],
        id,
      );
      for (const target of targetsOf(page).filter((one) => one.startsWith('#')))
        assert.ok(ids.includes(target.slice(1)), `${id}: ${target}`);
    }
  });

  test('the example replies are what the contract allows', async () => {
    const { reference } = await readDocument();
    const wrong: string[] = [];
    let count = 0;
    for (const { id, reply } of endpoints) {
      const { example } = reference.page(id).reply;
      if (example === null || !reply) continue;
      count++;
      const { error } = reply.safeParse(JSON.parse(example));
      if (error) wrong.push(`${id}: ${error.message.slice(0, 300)}`);
    }
    assert.deepEqual(wrong, []);
    assert.ok(count > 60, String(count));
  });

  test('an example reply shows what runs well', async () => {
    const { reference } = await readDocument();
    const { status, ended_at, ended_reason, timeout_seconds } = JSON.parse(reference.page('createSession').reply.example ?? '') as Record<
      string,
      unknown
    >;
    assert.deepEqual(
      { status, ended_at, ended_reason, timeout_seconds },
      { status: 'ready', ended_at: null, ended_reason: null, timeout_seconds: 900 },
    );
  });

  test('no default is said twice', async () => {
    const { reference } = await readDocument();
    for (const { id } of endpoints)
      for (const { fields } of reference.page(id).parameters)
        for (const { name, description, facts } of fields)
          assert.ok([description, ...facts].join(' ').split('Default:').length <= 2, `${id}: ${name}`);
  });

  test('a sample of each language has the address at which the page was opened', async (t) => {
    const { port } = await serve(t, mountWith());
    const page = await (await fetch(`http://localhost:${port}/docs/reference/createSession`)).text();
    assert.match(page, new RegExp(`curl &quot;http://localhost:${port}/v1/session&quot;`));
    for (const language of ['curl', 'typescript', 'python', 'cli']) assert.ok(page.includes(`data-language="${language}"`), language);
  });
});

describe('the search', () => {
  const resultsOf = async (origin: string, words: string): Promise<string[]> => {
    const page = await (await fetch(`${origin}/docs/search?q=${encodeURIComponent(words)}`)).text();
    return Array.from(page.matchAll(/<li>\s*<a href="([^"]+)">/g), ([, address = '']) => address).filter(
      (address) => page.includes('class="results"') && address !== '',
    );
  };

  test('the search finds operations and parts of guides, also by a word that is not whole', async (t) => {
    const { origin } = await serve(t, mountWith());
    for (const [words, address] of [
      ['rotate ip', '/docs/reference/rotateIp'],
      ['screensh', '/docs/reference/screenshot'],
      ['playwright connect', '/docs/connect'],
      ['BERTH_EGRESS_ALLOW', '/docs/configuration'],
    ] as const) {
      const results = await resultsOf(origin, words);
      assert.ok(
        results.some((one) => one.startsWith(address)),
        `${words}: ${results.join()}`,
      );
    }
  });

  test('the search has the parts that name a command before those that have its words apart', async (t) => {
    const { origin } = await serve(t, mountWith());
    for (const [words, pages] of [
      ['berth up', /^\/docs\/(install|commands|command-line|upgrade|quickstart)/],
      ['berth login', /^\/docs\/(commands|command-line|install|quickstart|dashboard)/],
    ] as const) {
      const [first, second, third] = await resultsOf(origin, words);
      assert.ok(pages.test(first ?? '') && pages.test(second ?? '') && pages.test(third ?? ''), `${words}: ${first}, ${second}, ${third}`);
    }
  });

  test('the search of as many words as a query may have takes some milliseconds of the thread that serves sessions', async (t) => {
    const { origin } = await serve(t, mountWith());
    const search = (words: string) => fetch(`${origin}/docs/search?q=${encodeURIComponent(words)}`).then((response) => response.text());
    // Makes the index.
    await search('session');
    const letters = Array.from({ length: 26 }, (_, index) => String.fromCharCode(97 + index));
    const pairs = letters.flatMap((one) => ['e', 'o', 'r'].map((other) => one + other));
    for (const words of [letters, pairs]) {
      const yardsticks = await yardsticksOf(() => search(words.join(' ')), { tries: 5 });
      assert.ok(yardsticks <= 5, `${yardsticks} yardsticks for ${words.join(' ')}`);
    }
  });

  test('the search shows what was searched for as text, and finds nothing for nothing', async (t) => {
    const { origin } = await serve(t, mountWith());
    const response = await fetch(`${origin}/docs/search?q=${encodeURIComponent('"><script>alert(1)</script>')}`);
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.doesNotMatch(await response.text(), /<script>/);
    for (const words of ['', '   '])
      assert.match(await (await fetch(`${origin}/docs/search?q=${words}`)).text(), /<ul class="results">\s*<\/ul>/);
    const long = await fetch(`${origin}/docs/search?q=${'session '.repeat(500)}`);
    assert.equal(long.status, 200);
  });
});

describe('pages as Markdown', () => {
  test('each guide is Markdown below its address, with links to the Markdown of others and the address of the service', async (t) => {
    const { origin, port } = await serve(t, mountWith());
    for (const address of new Guides().addresses) assert.equal((await fetch(`${origin}${address}.md`)).status, 200, address);
    const response = await fetch(`http://localhost:${port}/docs/quickstart.md`);
    assert.equal(response.headers.get('content-type'), 'text/markdown; charset=utf-8');
    const text = await response.text();
    assert.match(text, /^# Quickstart/);
    assert.match(text, new RegExp(`export BERTH=http://localhost:${port}\n`));
    assert.match(text, /\]\(\/docs\/\w+\.md[#)]/);
  });

  test('llms.txt lists every guide of the index and every operation, and llms-full.txt has the guides whole', async (t) => {
    const { origin } = await serve(t, mountWith());
    const list = await (await fetch(`${origin}/llms.txt`)).text();
    const broken: string[] = [];
    for (const [, target = ''] of list.matchAll(/\]\(([^)]+)\)/g)) {
      assert.ok(target.startsWith(origin), target);
      const { status } = await fetch(target, { method: 'GET' });
      if (status !== 200) broken.push(`${status} ${target}`);
    }
    assert.deepEqual(broken, []);
    for (const { id } of endpoints) assert.ok(list.includes(`/docs/reference/${id}.md)`), id);
    const whole = await (await fetch(`${origin}/llms-full.txt`)).text();
    for (const part of ['# Quickstart', '# Sessions', 'POST /v1/fetch']) assert.ok(whole.includes(part), part);
  });
});

describe('every page', () => {
  for (const path of ['/', '/docs', '/docs/reference/runActions', '/docs/guides', '/docs/quickstart', '/docs/adr', '/docs/search?q=proxy'])
    test(`the page ${path} needs nothing from elsewhere and has no inline code`, async (t) => {
      const { origin } = await serve(t, mountWith());
      const response = await fetch(origin + path);
      assert.match(response.headers.get('content-security-policy') ?? '', /^default-src 'none';.*frame-ancestors 'none'/);
      const page = await response.text();
      assert.doesNotMatch(page, /<script>|<style>|\sstyle=|\son\w+=/);
      for (const [, part = ''] of page.matchAll(/<(?:script|link|img)[^>]* (?:src|href)="([^"]+)"/g)) {
        assert.match(part, /^\/(?!\/)/);
        const asset = await fetch(origin + part);
        assert.equal(asset.status, 200, part);
        if (!/\.(?:png|ico)$/.test(part)) assert.match(asset.headers.get('content-type') ?? '', /charset=utf-8$/);
        assert.ok((await asset.arrayBuffer()).byteLength > 50);
      }
    });

  test('every page has an icon, which browsers also ask for beside other replies', async (t) => {
    const { origin } = await serve(t, mountWith());
    const icon = await fetch(`${origin}/favicon.ico`);
    assert.deepEqual([icon.status, icon.headers.get('content-type')], [200, 'image/x-icon']);
    assert.deepEqual([...new Uint8Array(await icon.arrayBuffer()).subarray(0, 4)], [0, 0, 1, 0]);
  });
});

test('the OpenAPI document names the address at which it was requested', async (t) => {
  const { origin, http } = await serve(t, mountWith());
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as { openapi: string; servers: unknown };
  assert.equal(document.openapi, '3.1.1');
  assert.deepEqual(document.servers, [{ url: origin }]);
  assert.deepEqual([...http.mounted].sort(), ['docs', 'openapi']);
});

describe('texts', () => {
  const decoders = { br: brotliDecompressSync, gzip: gunzipSync };
  const addresses = [
    '/docs/quickstart',
    '/docs/docs.css',
    '/docs/docs.js',
    '/docs',
    '/docs/reference/fetchPage',
    '/openapi.json',
    '/llms.txt',
  ];

  for (const address of addresses)
    test(`${address} is sent in the encoding that the client prefers, and not again while the client has it`, async (t) => {
      const { port } = await serve(t, mountWith());
      // fetch would decompress by itself.
      const read = (headers: Record<string, string>) => readRaw(port, address, headers);
      const plain = await read({});
      assert.equal(plain.headers['content-encoding'], undefined);
      const etags = new Set([plain.headers.etag]);
      for (const [encoding, decode] of Object.entries(decoders)) {
        const { status, headers, body } = await read({ 'accept-encoding': encoding });
        assert.deepEqual([status, headers['content-encoding'], headers.vary], [200, encoding, 'accept-encoding']);
        assert.ok(body.length < plain.body.length / 2, `${body.length} of ${plain.body.length} bytes`);
        assert.deepEqual(decode(body), plain.body);
        const again = await read({ 'accept-encoding': encoding, 'if-none-match': `"other", W/${headers.etag}` });
        assert.deepEqual([again.status, again.body.length, again.headers.etag], [304, 0, headers.etag]);
        etags.add(headers.etag);
      }
      assert.equal(etags.size, 3);
      assert.equal((await read({ 'accept-encoding': 'gzip, br' })).headers['content-encoding'], 'br');
      assert.equal((await read({ 'if-none-match': '"other"' })).status, 200);
      // What this worker renders differs by the address, and so must what a cache compares.
      const elsewhere = await read({ host: 'berth.example' });
      assert.equal(elsewhere.headers.etag === plain.headers.etag, elsewhere.body.equals(plain.body));
    });
});

interface RawReply {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

async function readRaw(port: number, path: string, headers: Record<string, string>): Promise<RawReply> {
  const [response] = (await once(get({ host: '127.0.0.1', port, path, headers }), 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(await response.toArray()) };
}
