import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InspectAutomation, InspectCookie, InspectSecurity, InspectSeo, InspectSite, InspectThirdParty } from '@berth/contract';
import { cookie, entry, inputOf, page, startTime } from '../../testing/captures.ts';
import { createAutomation } from './automation.ts';
import { createCookies } from './cookies.ts';
import { createSecurity } from './security.ts';
import { createSeo } from './seo.ts';
import { createSite } from './site.ts';
import { technologyRules } from './technologies/technology-rules.ts';
import { createThirdParties } from './third-parties.ts';

const shop = 'https://shop.test/';
type Fields = Parameters<typeof inputOf>[0];

/** Each section is what its schema says, no more and no less. */
function checked<T>(schema: { parse(value: unknown): unknown }, section: T): T {
  assert.deepEqual(schema.parse(section), section);
  return section;
}
const siteOf = (fields: Fields) => checked(InspectSite, createSite(inputOf(fields)));
const securityOf = (fields: Fields) => checked(InspectSecurity, createSecurity(inputOf(fields)));
const seoOf = (html: string, fields: Fields = {}) => checked(InspectSeo, createSeo(inputOf({ pages: [page({ html })], ...fields })));
const automationOf = (fields: Fields) => checked(InspectAutomation, createAutomation(inputOf(fields)));
const probe = (path: string, body: string, fields = {}) => ({ path, statusCode: 200, contentType: 'text/plain', body, ...fields });

const words = 'Fresh bread from the quay, every morning. '.repeat(10);

describe('the site', () => {
  it('the site section has its page, server, protocol, TLS and redirects', () => {
    const security = { protocol: 'TLS 1.3', issuer: 'R11', validTo: startTime / 1000, sanCount: 2 };
    const site = siteOf({
      entries: [
        entry('http://shop.test/', { status: 301 }),
        entry('https://shop.test/en', { reply: '<meta http-equiv="refresh" content="0;url=/">' }),
        entry(shop, {
          replyHeaders: { server: 'nginx/1.27.1', 'x-powered-by': 'Express' },
          fields: { serverIPAddress: '192.0.2.1', _securityDetails: security },
        }),
      ],
      pages: [page({ title: 'Quay Street', html: '<html lang="en-GB"><meta name="description" content="Bread">' })],
    });
    assert.deepEqual([site.title, site.description, site.language, site.status_code], ['Quay Street', 'Bread', 'en-GB', 200]);
    assert.deepEqual([site.ip, site.protocol, site.server, site.powered_by], ['192.0.2.1', 'h2', 'nginx/1.27.1', 'Express']);
    assert.deepEqual(site.tls, { version: 'TLS 1.3', issuer: 'R11', valid_to: '2026-03-01T12:00:00.000Z', san_count: 2 });
    assert.deepEqual(
      site.redirects.map(({ status_code: status, type }) => [status, type]),
      [
        [301, 'http'],
        [200, 'meta'],
      ],
    );
  });

  it('the rendering of a site is the one that makes its text', () => {
    const renderingOf = (raw: string, rendered: string) => {
      const { type, confidence, evidence } = siteOf({
        entries: [entry(shop, { reply: raw })],
        pages: [page({ html: rendered, textChars: words.length })],
      }).rendering;
      return [type, confidence, ...evidence];
    };
    const full = `<body><p>${words}</p></body>`;
    const long = `<body><p>${words.repeat(3)}</p></body>`;
    assert.deepEqual(renderingOf(full, full), ['ssr', 'medium', 'r0']);
    assert.deepEqual(renderingOf(long, long), ['ssr', 'high', 'r0']);
    assert.deepEqual(renderingOf('<body><div id="root"></div><script src="/a.js"></script></body>', long), ['csr', 'high', 'r0']);
    assert.deepEqual(renderingOf(`<body><p>${words.slice(0, 200)}</p></body>`, full), ['hybrid', 'medium', 'r0']);
    assert.deepEqual(siteOf({}).rendering, { type: 'unknown', ratio: null, confidence: 'low', evidence: [] });
  });

  it('the site section has the rules of robots.txt for this service, security.txt and llms.txt', () => {
    const robots =
      'User-agent: *\nDisallow: /private\nCrawl-delay: 2.5\nSitemap: https://shop.test/sitemap.xml\n\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n';
    const site = siteOf({
      probes: [
        probe('/robots.txt', robots),
        probe('/.well-known/security.txt', 'Contact: mailto:{{email_1}}\nExpires: 2027-01-01T00:00:00Z'),
      ],
    });
    assert.deepEqual(site.robots, {
      ...{ allowed_for_us: true, crawl_delay: 2.5, sitemaps: ['https://shop.test/sitemap.xml'], ai_agents_disallowed: ['gptbot', 'ccbot'] },
    });
    assert.deepEqual(site.security_txt, { present: true, contact: ['mailto:{{email_1}}'], expires: '2027-01-01T00:00:00Z' });
    assert.deepEqual(site.llms_txt, { present: null, bytes: 0 });
    assert.equal(siteOf({ url: `${shop}private/a`, probes: [probe('/robots.txt', robots)] }).robots?.allowed_for_us, false);
    assert.equal(siteOf({ probes: [probe('/robots.txt', '', { statusCode: 503 })] }).robots?.allowed_for_us, false);
    assert.equal(siteOf({ probes: [probe('/robots.txt', '', { statusCode: 404 })] }).robots, null);
    assert.equal(siteOf({ probes: [probe('/robots.txt', '<!doctype html><p>Not found')] }).robots, null);
  });

  it('the site section has structured data by type, and the names of data blobs', () => {
    const jsonLd = JSON.stringify({
      '@graph': [{ '@type': 'Product', offers: { '@type': ['Offer', 'Thing'] } }, { '@type': 'https://schema.org/Product' }],
    });
    const html = `<script type="application/ld+json">${jsonLd}</script><script type="application/ld+json">{"@type":</script>
      <div itemscope itemtype="https://schema.org/Recipe"></div><div typeof="schema:Event"></div><meta property="og:type" content="website">`;
    const site = siteOf({ pages: [page({ html, dataBlobs: [{ name: '__NEXT_DATA__', keys: ['props'], bytes: 900 }] })] });
    assert.deepEqual(site.structured_data.map(({ type, format, count }) => `${format} ${type} ${count}`).sort(), [
      'json_ld Offer 1',
      'json_ld Product 2',
      'json_ld Thing 1',
      'microdata Recipe 1',
      'open_graph website 1',
      'rdfa Event 1',
    ]);
    assert.deepEqual(site.data_blobs, [{ name: '__NEXT_DATA__', keys: ['props'], bytes: 900 }]);
  });

  it('the site section has the types of JSON-LD with comments, CDATA and commas too many', () => {
    const html = [`<!-- {"@type":"Product",} -->`, `//<![CDATA[\n{"@type":"Offer"}\n//]]>`, `/* a */{"@type":"Event"};`]
      .map((text) => `<script type="application/ld+json; charset=utf-8">${text}</script>`)
      .join('');
    assert.deepEqual(
      siteOf({ pages: [page({ html })] })
        .structured_data.map(({ type }) => type)
        .sort(),
      ['Event', 'Offer', 'Product'],
    );
  });
});

describe('technologies', () => {
  const namesOf = (fields: Fields) =>
    siteOf(fields).technologies.map(({ name, version }) => (version === null ? name : `${name} ${version}`));

  it('technologies are known by headers, cookies, hosts, files, globals, elements and the generator, and imply others', () => {
    const html = '<meta name="generator" content="WordPress 6.7"><div id="__next"></div><div data-v-app></div><div _ngcontent-abc></div>';
    const names = namesOf({
      entries: [
        entry(shop, { replyHeaders: { server: 'nginx/1.27.1', 'cf-ray': '8a', 'x-powered-by': 'PHP/8.3.1' } }),
        entry('https://js.stripe.com/v3/', { type: 'script' }),
        entry('https://cdn.jsdelivr.net/npm/bootstrap@5.3.3/dist/css/bootstrap.min.css', { type: 'stylesheet' }),
        entry(`${shop}assets/jquery-3.7.1.min.js`, { type: 'script' }),
      ],
      cookies: [cookie('_ga'), cookie('laravel_session')],
      pages: [page({ html, globals: ['Sentry'] })],
    });
    assert.deepEqual(
      names.sort(),
      [
        ...['nginx 1.27.1', 'PHP 8.3.1', 'Node.js', 'Laravel', 'Next.js', 'React', 'Vue.js', 'Angular', 'jQuery 3.7.1', 'Bootstrap 5.3.3'],
        ...['WordPress 6.7', 'Cloudflare', 'jsDelivr', 'Google Analytics', 'Sentry', 'Stripe'],
      ].sort(),
    );
  });

  it('technologies have reasons and evidence, and decide CDN and protection', () => {
    const site = siteOf({ entries: [entry(shop, { replyHeaders: { 'cf-ray': '8a', 'set-cookie': 'datadome={{cookie_1}}' } })] });
    assert.deepEqual(site.technologies[0], {
      ...{ name: 'Cloudflare', category: 'cdn', version: null, reasons: ['response header cf-ray'], confidence: 'high', evidence: ['r0'] },
    });
    const claim = { confidence: 'high', evidence: ['r0'] };
    assert.deepEqual([site.cdn, site.waf], [{ name: 'Cloudflare', ...claim }, [{ name: 'DataDome', ...claim }]]);
  });

  it('technologies of other sites, and of pages that write about them, are not reported', () => {
    const html =
      '<p>Next.js, WordPress and PHP/8 are used with nginx/1.2</p><a href="https://js.stripe.com">Stripe</a><script>// react.js</script>';
    const others = entry('https://api.example/v1', { type: 'fetch', replyHeaders: { server: 'Apache/2.4', 'x-powered-by': 'Express' } });
    assert.deepEqual(namesOf({ entries: [entry(shop, { reply: html }), others], pages: [page({ html })] }), []);
  });

  it('technologies are at least 80, each with a name of its own and with marks or implied', () => {
    const names = technologyRules.map(({ name }) => name);
    const implied = new Set(technologyRules.flatMap(({ implies = [] }) => implies));
    assert.ok(names.length >= 80, `${names.length}`);
    assert.equal(new Set(names).size, names.length);
    for (const name of implied) assert.ok(names.includes(name), name);
    for (const { name, category, implies, ...marks } of technologyRules)
      assert.ok(Object.keys(marks).length > 0 || implied.has(name) || name === 'GraphQL', `${name} of ${category} ${String(implies)}`);
  });
});

describe('third parties', () => {
  it('third parties are grouped by who runs them, and the site and its sibling hosts are none', () => {
    const parties = createThirdParties(
      inputOf({
        entries: [
          entry(shop),
          entry('https://img.shop.test/a.png', { type: 'image' }),
          entry('https://www.google-analytics.com/g/collect', { type: 'fetch', transferBytes: 10 }),
          entry('https://region1.google-analytics.com/g/collect', {
            type: 'fetch',
            transferBytes: 10,
            replyHeaders: { 'set-cookie': 'a=b' },
          }),
          entry('https://a.unknown-party.example/x.js', { type: 'script', transferBytes: 90 }),
        ],
      }),
    );
    for (const party of parties) checked(InspectThirdParty, party);
    assert.deepEqual(
      parties.map(({ entity, category, requests, transfer_bytes: bytes, sets_cookies: sets, evidence }) => [
        entity,
        category,
        requests,
        bytes,
        sets,
        evidence,
      ]),
      [
        ['unknown-party.example', 'unknown', 1, 90, false, ['r4']],
        ['Google Analytics', 'analytics', 2, 20, true, ['r2', 'r3']],
      ],
    );
  });
});

describe('cookies', () => {
  it('cookies of a site have attributes, a purpose and who set them, and never a value', () => {
    const cookies = createCookies(
      inputOf({
        entries: [
          entry(`${shop}?a=1`, {
            replyHeaders: {
              'set-cookie': ['sid={{cookie_3}}; HttpOnly; Secure; SameSite=Strict; Path=/', '_ga=1; Domain=.shop.test; Max-Age=60'],
            },
          }),
          entry('https://ads.example/p', {
            type: 'image',
            replyHeaders: { 'set-cookie': 'IDE=visible; Path=/; Secure; SameSite=None; Partitioned' },
          }),
        ],
        cookies: [
          cookie('sid', { sameSite: 'Strict' }),
          cookie('_ga', { domain: '.shop.test', expires: startTime / 1000 + 60, httpOnly: false }),
        ],
      }),
    );
    for (const each of cookies) checked(InspectCookie, each);
    assert.deepEqual(
      cookies.map((each) => [
        each.name,
        each.purpose,
        each.first_party,
        each.http_only,
        each.same_site,
        each.lifetime_s,
        each.partitioned,
        each.set_by,
      ]),
      [
        ['sid', 'auth', true, true, 'strict', null, false, `${shop}?a=`],
        ['_ga', 'analytics', true, false, 'lax', 60, false, `${shop}?a=`],
        ['IDE', 'ads', false, false, 'none', null, true, 'https://ads.example/p'],
      ],
    );
    assert.doesNotMatch(JSON.stringify(cookies), /visible|\{\{/);
  });
});

describe('security', () => {
  const codesOf = (fields: Fields): string[] => securityOf(fields).score_notes.map(({ code }) => code);

  it('the security section has nothing to note about a page with good headers', () => {
    const replyHeaders = {
      'strict-transport-security': 'max-age=63072000; includeSubDomains',
      'content-security-policy': "default-src 'self'; script-src 'self' 'nonce-abc' 'unsafe-inline'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
    };
    const fields = { entries: [entry(shop, { replyHeaders, fields: { _securityDetails: { protocol: 'TLS 1.3' } } })] };
    assert.deepEqual(codesOf(fields), []);
    assert.deepEqual(securityOf(fields).headers.csp, {
      present: true,
      unsafe_inline: false,
      unsafe_eval: false,
      report_only: false,
      in: 'header',
    });
    assert.equal(securityOf(fields).tls_ok, true);
  });

  it('the security section notes what is missing, mixed content, forms and scripts of others', () => {
    const html = `<form action="http://shop.test/a"></form><script src="https://cdn.example/a.js"></script>
      <script src="https://cdn.example/b.js" integrity="sha384-x"></script><meta http-equiv="Content-Security-Policy" content="img-src *">`;
    const entries = [
      entry('http://shop.test/', { status: 301, replyHeaders: { location: shop } }),
      entry(shop, { replyHeaders: { 'set-cookie': 'sid={{cookie_1}}', server: 'nginx/1.2' } }),
      entry('http://shop.test/a.png', { type: 'image' }),
    ];
    const security = securityOf({ entries, pages: [page({ html })] });
    assert.deepEqual(
      [security.https_redirect, security.mixed_content, security.forms_http],
      [true, ['http://shop.test/a.png'], ['http://shop.test/a']],
    );
    assert.deepEqual(security.sri_missing, ['https://cdn.example/a.js']);
    assert.deepEqual(codesOf({ entries, pages: [page({ html })] }), [
      ...[
        'hsts_missing',
        'csp_unsafe_inline',
        'csp_unsafe_eval',
        'framing_allowed',
        'nosniff_missing',
        'referrer_policy_missing',
        'server_version',
      ],
      ...['session_cookie_readable', 'session_cookie_insecure', 'mixed_content', 'forms_http', 'sri_missing'],
    ]);
  });
});

describe('search engines', () => {
  it('the search engine section has canonical URL, languages, headings, links and feeds', () => {
    const seo =
      seoOf(`<html lang="en"><head><link rel="canonical" href="/bread"><link rel="alternate" hreflang="de" href="/de"><meta name="viewport" content="width=device-width">
      <meta name="description" content="d"><meta property="og:title" content="t"><link rel="alternate" type="application/rss+xml" href="/feed"></head>
      <body><h1>Bread</h1><h2>Rye</h2><img src="a"><img src="b" alt=""><a href="/a">a</a><a href="https://b.example">b</a><a href="#c">c</a></body></html>`);
    assert.deepEqual(seo.alternates, [{ lang: 'de', url: `${shop}de` }]);
    assert.deepEqual(
      [seo.canonical, seo.h1, seo.headings, seo.feeds, seo.open_graph],
      [`${shop}bread`, ['Bread'], 2, [`${shop}feed`], ['og:title']],
    );
    assert.deepEqual([seo.links_internal, seo.links_external, seo.images_without_alt, seo.indexable], [1, 1, 1, true]);
    assert.deepEqual(seo.notes, ['Images have no alternative text.']);
    assert.equal(seoOf('', { entries: [entry(shop, { replyHeaders: { 'x-robots-tag': 'noindex' } })] }).indexable, false);
  });
});

describe('automation', () => {
  const list = `<main><ul class="products">${`<li class="product"><a href="/p">${words.slice(0, 80)}</a></li>`.repeat(6)}</ul><a rel="next" href="/?page=2">Next</a></main>`;

  it('automation advises plain HTTP where the server sends the content, with selectors of items and of the next page', () => {
    const automation = automationOf({ entries: [entry(shop, { reply: list })], pages: [page({ html: list, textChars: 500 })] });
    assert.equal(automation.recommended_mode, 'http');
    assert.equal(automation.wait_for, null);
    assert.deepEqual(automation.content_selectors, ['li.product', 'main']);
    assert.deepEqual(automation.pagination, { selector: 'a[rel="next"]', param: 'page' });
  });

  it('automation advises the API where a script shows JSON, and a browser where nothing else is known', () => {
    const shell = entry(shop, { reply: '<body><div id="root"></div></body>' });
    const api = entry(`${shop}api/products`, { type: 'fetch', reply: JSON.stringify({ items: words }) });
    const replay = automationOf({ entries: [shell, api], pages: [page({ html: list, textChars: 500 })] });
    assert.deepEqual([replay.recommended_mode, replay.wait_for, replay.evidence], ['api_replay', 'li.product', ['r1']]);
    assert.equal(automationOf({ entries: [shell], pages: [page({ html: list, textChars: 500 })] }).recommended_mode, 'browser');
  });

  it('automation reports the consent banner, frames, shadow trees, and what asks for a person', () => {
    const html = `<div id="onetrust-banner-sdk"></div><iframe src="https://www.google.com/recaptcha/api2/anchor"></iframe><iframe src="/own"></iframe><x-cart></x-cart>`;
    const automation = automationOf({
      pages: [page({ html })],
      cookies: [cookie('_abck')],
      probes: [probe('/robots.txt', 'User-agent: *\nDisallow: /')],
    });
    assert.deepEqual(automation.consent_banner, { vendor: 'OneTrust', selector: '#onetrust-banner-sdk' });
    assert.deepEqual(
      automation.iframes.map(({ first_party: isOwn }) => isOwn),
      [false, true],
    );
    assert.equal(automation.shadow_dom, true);
    assert.deepEqual(
      automation.anti_automation.map(({ vendor, challenge_seen: isSeen }) => [vendor, isSeen]),
      [
        ['recaptcha', false],
        ['akamai', false],
      ],
    );
    assert.match(automation.robots_note ?? '', /disallows/);
  });

  it('automation advises a browser where a challenge was shown', () => {
    const challenge = entry(shop, { status: 403, replyHeaders: { 'cf-mitigated': 'challenge' }, reply: '<title>Just a moment...</title>' });
    const automation = automationOf({
      entries: [challenge],
      pages: [page({ html: '<title>Just a moment...</title>', title: 'Just a moment...' })],
    });
    assert.equal(automation.recommended_mode, 'browser');
    assert.deepEqual(automation.anti_automation[0]?.challenge_seen, true);
  });
});
