import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Block } from '@berth/contract';
import fc from 'fast-check';
import { classify, signaturesVersion, type DomProbe, type PageInfo, type Strictness, type Classification } from './block-detection.ts';

const toPageInfo = (info: Partial<PageInfo>): PageInfo => ({
  status: 200,
  headers: {},
  cookieNames: [],
  url: 'https://harbour.example/list',
  contentType: 'text/html; charset=utf-8',
  title: '',
  html: '',
  visibleTextLength: null,
  dom: null,
  netError: null,
  ...info,
});

const classifyPage = (info: Partial<PageInfo>, strictness?: Strictness): Classification => classify(toPageInfo(info), strictness);
const toDomProbe = (dom: Partial<DomProbe>): DomProbe => ({ selectors: [], visibleCaptcha: null, presentCaptcha: null, ...dom });
const summaryOf = ({ blocked, block, warnings }: Classification): unknown[] => [
  blocked,
  block?.type ?? null,
  block?.vendor ?? null,
  block?.confidence ?? null,
  ...warnings,
];

const challenge = { headers: { 'cf-mitigated': 'challenge' } };
const weakTitle = { title: 'Just a moment...' };
const bare403 = { status: 403, html: '<p>No.</p>' };
const longText = '<p>' + 'The boats are in and the office is open. '.repeat(20) + '</p>';
const nothing = { blocked: false, block: null, warnings: [], selfClearing: false };
const noCaptcha = { present: false, vendor: null, visible: null };

describe('confidence', () => {
  it('confidence is high for one strong signal, which is a block with any status', () => {
    for (const status of [200, 202, 403, 500, 503])
      assert.deepEqual(summaryOf(classifyPage({ ...challenge, status })), [true, 'challenge', 'cloudflare', 'high']);
  });

  it('confidence is medium for a weak signal with a refusal, which is a block', () => {
    for (const status of [401, 403, 405, 503])
      assert.deepEqual(summaryOf(classifyPage({ ...weakTitle, status })), [true, 'challenge', 'cloudflare', 'medium']);
  });

  it('a weak signal with an error status that is no refusal is a warning and no block', () => {
    for (const status of [400, 410, 500, 502])
      assert.deepEqual(summaryOf(classifyPage({ ...weakTitle, status })), [false, null, null, null, 'possible_block:challenge:cloudflare']);
  });

  it('a weak signal on a small successful page is a warning and no block', () => {
    assert.deepEqual(summaryOf(classifyPage({ ...weakTitle, html: '<p>Wait.</p>' })), [
      false,
      null,
      null,
      null,
      'possible_block:challenge:cloudflare',
    ]);
  });

  it('the shape of a block page without a signal is a warning and no block, also with a refusal', () => {
    assert.deepEqual(summaryOf(classifyPage(bare403)), [false, null, null, null, 'possible_block:access_denied:generic']);
  });

  it('a weak signal on a page with content is ignored', () => {
    assert.deepEqual(classifyPage({ ...weakTitle, html: longText }), { ...nothing, captcha: noCaptcha });
    assert.deepEqual(classifyPage({ ...weakTitle, html: `<!--${'x'.repeat(6000)}--><p>Short.</p>` }), { ...nothing, captcha: noCaptcha });
  });
});

describe('an empty shell', () => {
  const script = '<script src="/app.js"></script>';
  const article = `<title>Boats</title>${script}<article>${longText}</article>`;

  it('an empty page of scripts is a warning', () => {
    const shell = { html: `<title>Boats</title><div id="root"></div>${script}` };
    assert.deepEqual(classifyPage(shell).warnings, ['possible_block:empty_shell:generic']);
    assert.deepEqual(classifyPage({ ...shell, visibleTextLength: 0 }).warnings, ['possible_block:empty_shell:generic']);
  });

  it('an article that fades in when a script has run is not an empty shell', () => {
    assert.deepEqual(classifyPage({ html: article, visibleTextLength: 0 }), { ...nothing, captcha: noCaptcha });
    assert.deepEqual(classifyPage({ html: article.replace(longText, longText.repeat(20)), visibleTextLength: 12 }).warnings, []);
  });

  it('a page whose text comes after the part that was read is not an empty shell', () => {
    const html = `<title>Boats</title><script>${'let boats = 1;'.repeat(20_000)}</script><article>${longText}</article>`;
    assert.deepEqual(classifyPage({ html }), { ...nothing, captcha: noCaptcha });
  });
});

describe('a successful page with more than 500 visible characters', () => {
  it('a successful page with more than 500 visible characters is never blocked, and a strong signal becomes a warning', () => {
    for (const strictness of ['default', 'strict'] as const) {
      const classification = classifyPage({ html: `<div id="px-captcha"></div>${longText}` }, strictness);
      assert.deepEqual(summaryOf(classification), [false, null, null, null, 'possible_block:captcha:human']);
    }
  });

  it('the visible characters of a page are counted by the browser when there is one', () => {
    const html = '<div id="px-captcha"></div>';
    assert.equal(classifyPage({ html, visibleTextLength: 501 }).blocked, false);
    assert.equal(classifyPage({ html, visibleTextLength: 500 }).blocked, true);
    assert.equal(classifyPage({ html: html + longText, visibleTextLength: 20 }).blocked, true);
  });

  it('a page with more than 500 visible characters and an error status is blocked by a strong signal', () =>
    assert.equal(classifyPage({ status: 403, html: `<div id="px-captcha"></div>${longText}` }).blocked, true));
});

describe('statuses', () => {
  it('status 404 is never a block, in any strictness', () => {
    for (const strictness of ['default', 'strict'] as const) {
      assert.deepEqual(summaryOf(classifyPage({ ...weakTitle, status: 404, html: 'x'.repeat(42) }, strictness)), [false, null, null, null]);
      assert.equal(classifyPage({ ...challenge, status: 404 }, strictness).blocked, false);
    }
  });

  it('status 429 is rate limiting whatever the page says, and the vendor is the detected one', () => {
    assert.deepEqual(summaryOf(classifyPage({ status: 429 })), [true, 'rate_limited', 'generic', 'high']);
    assert.deepEqual(summaryOf(classifyPage({ ...challenge, status: 429 })), [true, 'rate_limited', 'cloudflare', 'high']);
    assert.deepEqual(summaryOf(classifyPage({ status: 429, contentType: 'application/json', html: '{}' })), [
      true,
      'rate_limited',
      'generic',
      'high',
    ]);
  });

  it('status 451 is a geographic block', () =>
    assert.deepEqual(summaryOf(classifyPage({ status: 451 })), [true, 'geo_blocked', 'generic', 'high']));

  it('status 407 and a failed egress are no block, and no warning', () => {
    assert.deepEqual(summaryOf(classifyPage({ ...challenge, status: 407 }, 'strict')), [false, null, null, null]);
    for (const netError of ['net::ERR_TUNNEL_CONNECTION_FAILED', 'net::ERR_PROXY_CONNECTION_FAILED'])
      assert.deepEqual(summaryOf(classifyPage({ ...bare403, netError }, 'strict')), [false, null, null, null]);
  });

  it('an error page of the browser is not classified as the site’s', () => {
    const info = {
      status: 403,
      netError: 'net::ERR_HTTP_RESPONSE_CODE_FAILURE',
      title: 'Just a moment...',
      html: '<div id="px-captcha"></div>',
    };
    assert.deepEqual(summaryOf(classifyPage(info)), [false, null, null, null]);
    assert.equal(classifyPage({ ...info, headers: challenge.headers }).blocked, true);
  });

  it('a page without a status is classified like a successful one', () => {
    assert.equal(classifyPage({ status: null, html: `<div id="px-captcha"></div>${longText}` }).blocked, false);
    assert.deepEqual(summaryOf(classifyPage({ status: null, netError: 'net::ERR_NAME_NOT_RESOLVED' })), [false, null, null, null]);
  });
});

describe('strictness', () => {
  it('strictness strict blocks on a weak signal or a shape with any error status', () => {
    assert.equal(classifyPage({ ...weakTitle, status: 500 }, 'strict').blocked, true);
    assert.equal(classifyPage(bare403, 'strict').blocked, true);
    assert.deepEqual(classifyPage(bare403, 'strict').warnings, []);
    assert.equal(classifyPage({ ...weakTitle, html: '<p>Wait.</p>' }, 'strict').blocked, false);
  });

  it('strictness off reports captchas and no blocks', () => {
    assert.deepEqual(classifyPage({ ...challenge, status: 403, html: '<div class="g-recaptcha"></div>' }, 'off'), {
      ...nothing,
      captcha: { present: true, vendor: 'recaptcha', visible: null },
    });
  });
});

describe('captchas', () => {
  it('captchas on a successful page are reported apart from the block', () => {
    const html = '<form><input type="password"><div class="g-recaptcha"></div></form>';
    assert.deepEqual(classifyPage({ html }), { ...nothing, captcha: { present: true, vendor: 'recaptcha', visible: null } });
  });

  it('a captcha on display on a nearly empty successful page is a warning', () => {
    const dom = toDomProbe({ visibleCaptcha: 'hcaptcha', presentCaptcha: 'hcaptcha' });
    const classification = classifyPage({ html: '<p>One moment</p>', visibleTextLength: 10, dom });
    assert.deepEqual(summaryOf(classification), [false, null, null, null, 'possible_block:captcha:hcaptcha']);
    assert.deepEqual(classification.captcha, { present: true, vendor: 'hcaptcha', visible: true });
  });

  it('a captcha on display on a refusal is a block', () => {
    const dom = toDomProbe({ visibleCaptcha: 'recaptcha', presentCaptcha: 'recaptcha' });
    assert.deepEqual(summaryOf(classifyPage({ status: 403, html: longText, dom })), [true, 'captcha', 'recaptcha', 'high']);
  });

  it('captchas are detected by the browser when there is one', () => {
    assert.deepEqual(classifyPage({ html: '<div class="g-recaptcha"></div>', dom: toDomProbe({}) }).captcha, {
      present: false,
      vendor: null,
      visible: false,
    });
  });

  it('a block by a captcha reports the captcha as present', () => {
    assert.deepEqual(classifyPage({ status: 405, headers: { 'x-amzn-waf-action': 'captcha' } }).captcha, {
      present: true,
      vendor: 'aws_waf',
      visible: null,
    });
  });
});

describe('a response that is no page', () => {
  const html = '<div id="px-captcha"></div><script>window._cf_chl_opt = {}</script>';
  it('a response that is no page is classified by its headers alone', () => {
    for (const contentType of ['application/json', 'image/png', 'application/pdf', 'text/csv', 'application/octet-stream']) {
      assert.deepEqual(summaryOf(classifyPage({ contentType, html, status: 403, cookieNames: ['datadome'] })), [false, null, null, null]);
      assert.equal(classifyPage({ contentType, html, status: 403, ...challenge }).blocked, true);
    }
  });

  it('an HTML attachment is classified by its headers alone', () => {
    assert.equal(classifyPage({ html, headers: { 'content-disposition': 'Attachment; filename=a.html' } }).blocked, false);
  });

  it('a response without a content type is classified as a page', () =>
    assert.equal(classifyPage({ html, contentType: null }).blocked, true));
});

describe('challenges', () => {
  it('challenges that a browser passes by waiting are marked, captchas and denials are not', () => {
    assert.equal(classifyPage(challenge).selfClearing, true);
    assert.equal(classifyPage({ status: 202, headers: { 'x-amzn-waf-action': 'challenge' } }).selfClearing, true);
    assert.equal(classifyPage({ status: 405, headers: { 'x-amzn-waf-action': 'captcha' } }).selfClearing, false);
    assert.equal(classifyPage({ status: 403, headers: { server: 'AkamaiGHost' } }).selfClearing, false);
  });

  it('challenges are detected in the page when the markup does not show them', () => {
    const dom = toDomProbe({ selectors: ['cloudflare.challenge_stage'] });
    assert.deepEqual(summaryOf(classifyPage({ status: 403, dom })), [true, 'challenge', 'cloudflare', 'high']);
    assert.deepEqual(summaryOf(classifyPage({ status: 200, html: '<p>A form.</p>', dom })), [false, null, null, null]);
  });

  it('challenges are detected by the final address', () => {
    assert.deepEqual(summaryOf(classifyPage({ url: 'https://www.google.com/sorry/index?continue=x&q=secret' })), [
      true,
      'captcha',
      'google',
      'high',
    ]);
    assert.deepEqual(summaryOf(classifyPage({ url: 'https://www.google.co.uk/sorry/index' })), [true, 'captcha', 'google', 'high']);
    assert.deepEqual(summaryOf(classifyPage({ url: 'https://harbour.example/sorry/index' })), [false, null, null, null]);
    assert.deepEqual(summaryOf(classifyPage({ url: 'https://consent.youtube.com/m?continue=x', visibleTextLength: 300 })), [
      true,
      'consent_wall',
      'google',
      'high',
    ]);
    assert.deepEqual(summaryOf(classifyPage({ url: 'not an address' })), [false, null, null, null]);
  });
});

describe('evidence', () => {
  const all = (classification: Classification): string => JSON.stringify(classification);

  it('the evidence of a block has the contract’s shape', () => {
    const { block } = classifyPage({ headers: { ...challenge.headers, 'retry-after': '7' }, status: 403 });
    assert.deepEqual(Block.parse(block), block);
    assert.deepEqual([block?.signatures_version, block?.challenge_waited_ms, block?.retry_after_seconds], [signaturesVersion, 0, 7]);
  });

  it('the evidence of a block holds no queries, no values of headers that may be tokens, and no user names', () => {
    const classification = classifyPage({
      status: 403,
      headers: { 'x-kpsdk-ct': 'SECRET0001', 'x-iinfo': 'SECRET0002', 'x-dd-b': 'SECRET0003', 'set-cookie': 'datadome=SECRET0004' },
      cookieNames: ['datadome'],
      url: 'https://SECRET:0005@www.google.com/sorry/index?q=SECRET0006#SECRET0007',
      html:
        `<iframe src="/_Incapsula_Resource?incident=SECRET0008"></iframe>` +
        `<script src="https://ct.captcha-delivery.com/c.js?SECRET0009"></script>
        <script src="https://captcha.px-cdn.net/SECRETSECRET0010/captcha.js"></script><form action="/x/?__cf_chl_f_tk=SECRET0011"></form>`,
    });
    assert.ok((classification.block?.evidence.length ?? 0) >= 6, all(classification));
    assert.doesNotMatch(all(classification), /SECRET/);
  });

  it('the evidence of a block is cut to 80 characters and one line', () => {
    const { block } = classifyPage({ html: `<form action="/\n${'a b '.repeat(200)}?__cf_chl_f_tk=1"></form>` });
    for (const { value_redacted: value } of block?.evidence ?? assert.fail('no block')) {
      assert.ok(value.length <= 80, value);
      // oxlint-disable-next-line no-control-regex -- Control characters must be removed.
      assert.doesNotMatch(value, /[\u0000-\u001f]/);
    }
  });

  it('the evidence of a block begins with what names the block', () => {
    const { block } = classifyPage({ ...challenge, ...weakTitle, status: 403 });
    assert.deepEqual(
      block?.evidence.map(({ kind, id }) => [kind, id]),
      [
        ['header', 'cloudflare.cf_mitigated'],
        ['title', 'cloudflare.title_wait'],
        ['status', 'generic.bare_403'],
      ],
    );
  });
});

describe('any input', () => {
  it('any input is classified without an error, the same twice, and blocked only with a reason', () => {
    const marks = fc.constantFrom(
      '<',
      '>',
      '<!--',
      '-->',
      '"',
      "'",
      '=',
      '<script>',
      '</script>',
      '<pre>',
      '</pre>',
      '<title>',
      '<div id="px-captcha">',
      'g-recaptcha',
      '&#x;',
      '&#99999;',
      ' ',
      '\u0000',
      '😀',
      'text',
    );
    const info = fc.record({
      status: fc.option(fc.constantFrom(200, 301, 403, 404, 407, 429, 500, 503)),
      html: fc.array(marks, { maxLength: 60 }).map((fragments) => fragments.join('')),
      title: fc.string(),
      url: fc.string(),
      contentType: fc.option(fc.constantFrom('text/html', 'application/json', ';', '')),
      cookieNames: fc.array(fc.string()),
      visibleTextLength: fc.option(fc.nat(1000)),
    });
    fc.assert(
      fc.property(info, fc.constantFrom<Strictness>('default', 'strict', 'off'), (some, strictness) => {
        const classification = classifyPage(some, strictness);
        assert.deepEqual(classifyPage(some, strictness), classification);
        assert.ok(
          !classification.blocked ||
            (classification.block !== null && classification.block.evidence.length > 0 && classification.warnings.length === 0),
        );
        if (some.status === 404 || some.status === 407) assert.equal(classification.blocked, false);
      }),
      { numRuns: 300 },
    );
  });
});
