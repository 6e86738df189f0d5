/** A site chooses what its pages, headers and requests have, so each list and text of the report has a limit of its own. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAssetsSection } from './assets/assets.ts';
import { createAuth } from './auth/auth.ts';
import { createCookies } from './site/cookies.ts';
import { createSecurity } from './site/security.ts';
import { createSeo } from './site/seo.ts';
import { createSite } from './site/site.ts';
import { createThirdParties } from './site/third-parties.ts';
import { cookie, entry, inputOf, page } from '../testing/captures.ts';

const many = 2500;
const times = <T>(count: number, of: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => of(index));
const repeat = (of: (index: number) => string, count = many): string => times(count, of).join('');

describe('whatever a site has, a list of its report ends at its limit', () => {
  it('headings end at 10, alternates at 50 and feeds at 20', () => {
    const head = repeat(
      (i) => `<link rel="alternate" hreflang="l${i}" href="/l/${i}"><link rel="alternate" type="application/rss+xml" href="/f/${i}">`,
    );
    const html = `<head>${head}</head><body>${repeat((i) => `<h1>${i}</h1>`)}</body>`;
    const { h1, alternates, feeds } = createSeo(inputOf({ pages: [page({ html })] }));
    assert.deepEqual([h1.length, alternates.length, feeds.length], [10, 50, 20]);
  });

  it('redirects end at 20, kinds of structured data at 100 of 100 characters, a title at 1,000 characters', () => {
    const redirects = times(60, (i) =>
      entry(`https://shop.test/${i}`, { status: 302, startMs: i, replyHeaders: { location: `https://shop.test/${i + 1}` } }),
    );
    for (const each of redirects) each.response.redirectURL = each.response.headers.find(({ name }) => name === 'location')?.value ?? '';
    const types = repeat((i) => `<script type="application/ld+json">{"@type":"T${i}${'t'.repeat(200)}"}</script>`);
    const html = `<head>${types}</head>`;
    const entries = [...redirects, entry('https://shop.test/60', { startMs: 60 })];
    const site = createSite(inputOf({ entries, pages: [page({ html, title: 't'.repeat(5000), url: 'https://shop.test/60' })] }));
    assert.deepEqual([site.redirects.length, site.structured_data.length], [20, 100]);
    assert.equal(site.structured_data[0]?.type.length, 100);
    assert.equal(site.title.length, 1000);
  });

  it('requests end at 2,000, and what stands out among them at 20 to 100', () => {
    const hints = repeat((i) => `<link rel="preload" href="/p/${i}.js">`);
    const entries = [
      entry('https://shop.test/'),
      ...times(many, (i) => entry(`https://t${i}.example/a.js`, { type: 'script', status: i % 2 === 0 ? 200 : 404, startMs: i, bytes: 9 })),
      ...times(many, (i) => entry(`https://h${i}.one.example/f.woff2`, { type: 'font', startMs: i, bytes: 9 })),
    ];
    const consoleErrors = times(many, (i) => ({ text: `${i} ${'e'.repeat(2000)}`, url: null, line: null }));
    const input = inputOf({ entries, pages: [page({ html: `<head>${hints}</head>`, consoleErrors })] });
    const { requests, largest, uncached, fonts, hints: listed, failed, console_errors: errors } = createAssetsSection(input);
    assert.deepEqual([requests.length, largest.length, uncached.length, fonts.length], [2000, 20, 50, 50]);
    assert.deepEqual([listed.length, failed.length, errors.length, errors[0]?.text.length], [100, 100, 100, 500]);
    const parties = createThirdParties(input);
    assert.equal(parties.length, 200);
    assert.equal(parties.find(({ hosts }) => hosts.some((host) => host.endsWith('.one.example')))?.hosts.length, 50);
  });

  it('cookies end at 300', () => {
    assert.equal(createCookies(inputOf({ cookies: times(many, (i) => cookie(`c${i}`)) })).length, 300);
  });

  it('login forms end at 20, their fields at 30', () => {
    const fields = repeat((i) => `<input name="n${i}">`, 60);
    const html = repeat((i) => `<form action="/login/${i}"><input type="password" name="p">${fields}<button>Log in</button></form>`, 60);
    const { login_forms: forms } = createAuth(inputOf({ pages: [page({ html })] }));
    assert.deepEqual([forms.length, forms[0]?.fields.length], [20, 30]);
  });

  it('addresses of a security finding end at 50, a header at 500 characters', () => {
    const html = repeat((i) => `<script src="https://cdn${i}.example/a.js"></script><form action="http://shop.test/${i}"></form>`, 200);
    const replyHeaders = { 'strict-transport-security': 'm'.repeat(3000) };
    const entries = [
      entry('https://shop.test/', { replyHeaders }),
      ...times(200, (i) => entry(`http://shop.test/${i}.png`, { type: 'image', startMs: i })),
      ...times(200, (i) => entry(`https://cdn${i}.example/a.js`, { type: 'script', startMs: i })),
    ];
    const security = createSecurity(inputOf({ entries, pages: [page({ html })] }));
    const { mixed_content: mixed, sri_missing: unsigned, forms_http: forms, headers } = security;
    assert.deepEqual([mixed.length, unsigned.length, forms.length, headers.hsts?.length], [50, 50, 50, 500]);
  });
});
