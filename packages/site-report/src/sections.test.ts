/** All sections of site and auth together: the same bytes for the same capture, and bounded work for any. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Entry } from 'har-format';
import { yardsticksOf } from '../../../tests/yardstick.ts';
import { createAssetsSection } from './assets/assets.ts';
import { createAuth } from './auth/auth.ts';
import type { ReportInput } from './exchange.ts';
import { smallCapture } from '../testing/small-capture.ts';
import { createAutomation } from './site/automation.ts';
import { createCookies } from './site/cookies.ts';
import { createSecurity } from './site/security.ts';
import { createSeo } from './site/seo.ts';
import { createSite } from './site/site.ts';
import { createThirdParties } from './site/third-parties.ts';
import { entry, inputOf, page, secret } from '../testing/captures.ts';

const sectionsOf = (input: ReportInput) => ({
  site: createSite(input),
  auth: createAuth(input),
  assets: createAssetsSection(input),
  third_parties: createThirdParties(input),
  cookies: createCookies(input),
  security: createSecurity(input),
  seo: createSeo(input),
  automation: createAutomation(input),
});

const goldenPath = join(import.meta.dirname, 'sections.golden.json');

describe('the sections of a small capture', () => {
  it('the sections of a small capture match the golden file, which BERTH_TEST_UPDATE=1 writes, in every run', () => {
    const text = JSON.stringify(sectionsOf(inputOf(smallCapture())), null, 2);
    assert.equal(JSON.stringify(sectionsOf(inputOf(smallCapture())), null, 2), text);
    if (process.env['BERTH_TEST_UPDATE'] === '1') writeFileSync(goldenPath, `${text}\n`);
    assert.deepEqual(JSON.parse(text), JSON.parse(readFileSync(goldenPath, 'utf8')));
  });
});

/** Far above what they take, since memory and caches are shared with other tests. */
const yardsticksMax = 1000;

async function assertQuick(t: TestContext, name: string, fields: Parameters<typeof inputOf>[0]): Promise<void> {
  const input = inputOf(fields);
  let text = '';
  const yardsticks = await yardsticksOf(() => (text = JSON.stringify(sectionsOf(input))));
  t.diagnostic(`${name}: ${yardsticks.toFixed(1)} yardsticks, ${(text.length / 1024).toFixed(0)} KB`);
  assert.ok(yardsticks < yardsticksMax, `${name} took ${yardsticks} yardsticks`);
  assert.ok(text.length < 4_000_000, `${name} has ${text.length} characters`);
}

function manyEntries(count: number): Entry[] {
  const types = ['script', 'fetch', 'image', 'stylesheet'];
  const body = JSON.stringify({ items: Array.from({ length: 40 }, (_, id) => ({ id, name: `Bread ${id}`, price: id * 1.5 })) });
  return Array.from({ length: count }, (_, index) => {
    const type = types[index % types.length] ?? 'fetch';
    const host = index % 5 === 0 ? `t${index % 40}.tracker.example` : 'shop.test';
    return entry(`https://${host}/${type}/${index}.js?key={{api_key_1}}&v=${index}`, {
      ...{ type, startMs: index, reply: body, transferBytes: 1000 },
      headers: { cookie: 'sid={{cookie_1}}; theme=dark', authorization: 'Bearer {{token_1}}', 'x-csrf-token': '{{csrf_1}}' },
      replyHeaders: {
        server: 'nginx/1.2',
        'cache-control': 'max-age=60',
        'set-cookie': [`sid={{cookie_1}}; Path=/${index}`, `b${index}=1`],
      },
    });
  });
}

describe('a hostile capture is reported in bounded time', () => {
  const secrets = [secret('{{token_1}}'), secret('{{api_key_1}}', { kind: 'api_key' }), secret('{{csrf_1}}', { kind: 'csrf_token' })];

  it('a hostile capture of 2,000 requests is reported in bounded time', (t) =>
    assertQuick(t, '2,000 requests', { entries: [entry('https://shop.test/'), ...manyEntries(1999)], secrets, pages: [page()] }));

  it('a hostile capture of a page with 100,000 elements, or a deep one, is reported in bounded time', async (t) => {
    const pages: Record<string, string> = {
      items: `<main>${'<div class="item"><a href="/a?page=2">Bread and butter</a></div>'.repeat(50_000)}</main>`,
      deep: `${'<div id="a" class="cookie-banner">'.repeat(100_000)}x`,
      forms: '<form action="/login"><input type="password"><button>Log in</button></form>'.repeat(5000),
      inputs: `<form>${'<input type="password" name="a">'.repeat(20_000)}</form>`,
      'inputs without a form': `<div>${'<p><input type="password" name="a"></p>'.repeat(5000)}</div>`,
      links: '<a href="https://accounts.google.com/o/oauth2/auth?client_id=a">Sign in with Google</a>'.repeat(5000),
      scripts: '<script type="application/ld+json">{"@type":"A"}</script>'.repeat(5000),
      text: `<p>${'&amp; '.repeat(100_000)}</p>`,
      frames: '<iframe src="/a" name="x"></iframe><link rel="preload stylesheet next" href="/b">'.repeat(5000),
    };
    for (const [name, html] of Object.entries(pages))
      await assertQuick(t, name, { entries: [entry('https://shop.test/', { reply: html })], pages: [page({ html, textChars: 1000 })] });
  });

  it('a hostile capture of headers, URLs and files without end is reported in bounded time', async (t) => {
    const long = 'a'.repeat(1_000_000);
    const hostile = [
      entry('https://shop.test/', {
        headers: { cookie: 'a=b; '.repeat(100_000), authorization: long },
        replyHeaders: {
          link: '<a>; rel=preload, '.repeat(50_000),
          server: long,
          'content-security-policy': `script-src ${'a '.repeat(100_000)}`,
          'set-cookie': Array.from({ length: 5000 }, (_, i) => `c${i}=1`),
        },
      }),
      entry(`https://shop.test/${long}?${'a=1&'.repeat(100_000)}`, { type: 'script', reply: '//# sourceMappingURL='.repeat(50_000) }),
      entry('https://shop.test/a', { type: 'fetch', reply: '['.repeat(500_000), status: -1, durationMs: -5 }),
      entry('not a url', { type: 'image', transferBytes: Number.NaN }),
    ];
    const probes = [
      { path: '/robots.txt', statusCode: 200, contentType: 'text/plain', body: 'User-agent: a\nCrawl-delay: 1\n'.repeat(16_000) },
    ];
    await assertQuick(t, 'long values', { entries: hostile, probes, pages: [page({ globals: ['__proto__', 'constructor'] })] });
  });
});
