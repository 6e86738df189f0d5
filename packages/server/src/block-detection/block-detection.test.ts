import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Block } from '@berth/contract';
import fc from 'fast-check';
import { classify, signaturesVersion, type DomProbe, type PageFacts, type Strictness, type Verdict } from './block-detection.ts';

const factsOf = (facts: Partial<PageFacts>): PageFacts => ({
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
  ...facts,
});

const judge = (facts: Partial<PageFacts>, strictness?: Strictness): Verdict => classify(factsOf(facts), strictness);
const seenBy = (dom: Partial<DomProbe>): DomProbe => ({ selectors: [], visibleCaptcha: null, presentCaptcha: null, ...dom });
const told = ({ blocked, block, warnings }: Verdict): unknown[] => [
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
  it('is high on one strong observation, and that is a block with any status', () => {
    for (const status of [200, 202, 403, 500, 503])
      assert.deepEqual(told(judge({ ...challenge, status })), [true, 'challenge', 'cloudflare', 'high']);
  });

  it('is medium on a guess with an error status, and a block where the status is a refusal', () => {
    for (const status of [401, 403, 405, 503])
      assert.deepEqual(told(judge({ ...weakTitle, status })), [true, 'challenge', 'cloudflare', 'medium']);
  });

  it('is medium and only a warning where the status is another error', () => {
    for (const status of [400, 410, 500, 502])
      assert.deepEqual(told(judge({ ...weakTitle, status })), [
        false,
        'challenge',
        'cloudflare',
        'medium',
        'possible_block:challenge:cloudflare',
      ]);
  });

  it('is low on a guess about a small page that was served, and only a warning', () => {
    assert.deepEqual(told(judge({ ...weakTitle, html: '<p>Wait.</p>' })), [
      false,
      'challenge',
      'cloudflare',
      'low',
      'possible_block:challenge:cloudflare',
    ]);
  });

  it('is low on the shape alone, also with a refusal', () => {
    assert.deepEqual(told(judge(bare403)), [false, 'access_denied', 'generic', 'low', 'possible_block:access_denied:generic']);
  });

  it('is not told of a guess about a page with something to read', () => {
    assert.deepEqual(judge({ ...weakTitle, html: longText }), { ...nothing, captcha: noCaptcha });
    assert.deepEqual(judge({ ...weakTitle, html: `<!--${'x'.repeat(6000)}--><p>Short.</p>` }), { ...nothing, captcha: noCaptcha });
  });
});

describe('a page that was served with more than 500 visible characters', () => {
  it('is never blocked, and a strong observation becomes a warning', () => {
    for (const strictness of ['default', 'strict'] as const) {
      const verdict = judge({ html: `<div id="px-captcha"></div>${longText}` }, strictness);
      assert.deepEqual(told(verdict), [false, 'captcha', 'human', 'high', 'possible_block:captcha:human']);
    }
  });

  it('is told by the browser’s count where there is one', () => {
    const html = '<div id="px-captcha"></div>';
    assert.equal(judge({ html, visibleTextLength: 501 }).blocked, false);
    assert.equal(judge({ html, visibleTextLength: 500 }).blocked, true);
    assert.equal(judge({ html: html + longText, visibleTextLength: 20 }).blocked, true);
  });

  it('is blocked all the same with an error status', () =>
    assert.equal(judge({ status: 403, html: `<div id="px-captcha"></div>${longText}` }).blocked, true));
});

describe('statuses', () => {
  it('404 is never a block, in any strictness', () => {
    for (const strictness of ['default', 'strict'] as const) {
      assert.deepEqual(told(judge({ ...weakTitle, status: 404, html: 'x'.repeat(42) }, strictness)), [false, null, null, null]);
      assert.equal(judge({ ...challenge, status: 404 }, strictness).blocked, false);
    }
  });

  it('429 is rate limiting whatever the page says, and its vendor is the one that was seen', () => {
    assert.deepEqual(told(judge({ status: 429 })), [true, 'rate_limited', 'generic', 'high']);
    assert.deepEqual(told(judge({ ...challenge, status: 429 })), [true, 'rate_limited', 'cloudflare', 'high']);
    assert.deepEqual(told(judge({ status: 429, contentType: 'application/json', html: '{}' })), [true, 'rate_limited', 'generic', 'high']);
  });

  it('451 is a place or a law', () => assert.deepEqual(told(judge({ status: 451 })), [true, 'geo_blocked', 'generic', 'high']));

  it('407 and a broken way out are no block, and no warning', () => {
    assert.deepEqual(told(judge({ ...challenge, status: 407 }, 'strict')), [false, null, null, null]);
    for (const netError of ['net::ERR_TUNNEL_CONNECTION_FAILED', 'net::ERR_PROXY_CONNECTION_FAILED'])
      assert.deepEqual(told(judge({ ...bare403, netError }, 'strict')), [false, null, null, null]);
  });

  it('an error page of the browser itself is not the site’s', () => {
    const facts = {
      status: 403,
      netError: 'net::ERR_HTTP_RESPONSE_CODE_FAILURE',
      title: 'Just a moment...',
      html: '<div id="px-captcha"></div>',
    };
    assert.deepEqual(told(judge(facts)), [false, null, null, null]);
    assert.equal(judge({ ...facts, headers: challenge.headers }).blocked, true);
  });

  it('a page without a status is judged like one that was served', () => {
    assert.equal(judge({ status: null, html: `<div id="px-captcha"></div>${longText}` }).blocked, false);
    assert.deepEqual(told(judge({ status: null, netError: 'net::ERR_NAME_NOT_RESOLVED' })), [false, null, null, null]);
  });
});

describe('strictness', () => {
  it('strict takes a guess with any error status, and a mere shape with one, for a block', () => {
    assert.equal(judge({ ...weakTitle, status: 500 }, 'strict').blocked, true);
    assert.equal(judge(bare403, 'strict').blocked, true);
    assert.deepEqual(judge(bare403, 'strict').warnings, []);
    assert.equal(judge({ ...weakTitle, html: '<p>Wait.</p>' }, 'strict').blocked, false);
  });

  it('off says nothing of blocks, and still tells of captchas', () => {
    assert.deepEqual(judge({ ...challenge, status: 403, html: '<div class="g-recaptcha"></div>' }, 'off'), {
      ...nothing,
      captcha: { present: true, vendor: 'recaptcha', visible: null },
    });
  });
});

describe('captchas', () => {
  it('on a page that was served are told apart from the verdict', () => {
    const html = '<form><input type="password"><div class="g-recaptcha"></div></form>';
    assert.deepEqual(judge({ html }), { ...nothing, captcha: { present: true, vendor: 'recaptcha', visible: null } });
  });

  it('on display beside little else on a page that was served are a warning', () => {
    const dom = seenBy({ visibleCaptcha: 'hcaptcha', presentCaptcha: 'hcaptcha' });
    const verdict = judge({ html: '<p>One moment</p>', visibleTextLength: 10, dom });
    assert.deepEqual(told(verdict), [false, 'captcha', 'hcaptcha', 'low', 'possible_block:captcha:hcaptcha']);
    assert.deepEqual(verdict.captcha, { present: true, vendor: 'hcaptcha', visible: true });
  });

  it('on display on a refusal are a block', () => {
    const dom = seenBy({ visibleCaptcha: 'recaptcha', presentCaptcha: 'recaptcha' });
    assert.deepEqual(told(judge({ status: 403, html: longText, dom })), [true, 'captcha', 'recaptcha', 'high']);
  });

  it('are told by the browser where there is one', () => {
    assert.deepEqual(judge({ html: '<div class="g-recaptcha"></div>', dom: seenBy({}) }).captcha, {
      present: false,
      vendor: null,
      visible: false,
    });
  });

  it('are present wherever a captcha is what blocks', () => {
    assert.deepEqual(judge({ status: 405, headers: { 'x-amzn-waf-action': 'captcha' } }).captcha, {
      present: true,
      vendor: 'aws_waf',
      visible: null,
    });
  });
});

describe('what is no page', () => {
  const html = '<div id="px-captcha"></div><script>window._cf_chl_opt = {}</script>';
  it('is judged by its head alone', () => {
    for (const contentType of ['application/json', 'image/png', 'application/pdf', 'text/csv', 'application/octet-stream']) {
      assert.deepEqual(told(judge({ contentType, html, status: 403, cookieNames: ['datadome'] })), [false, null, null, null]);
      assert.equal(judge({ contentType, html, status: 403, ...challenge }).blocked, true);
    }
  });

  it('may be a page that is to be saved', () => {
    assert.equal(judge({ html, headers: { 'content-disposition': 'Attachment; filename=a.html' } }).blocked, false);
  });

  it('is not a page whose type nobody told', () => assert.equal(judge({ html, contentType: null }).blocked, true));
});

describe('challenges', () => {
  it('that a browser passes by waiting are told, and captchas and denials are not among them', () => {
    assert.equal(judge(challenge).selfClearing, true);
    assert.equal(judge({ status: 202, headers: { 'x-amzn-waf-action': 'challenge' } }).selfClearing, true);
    assert.equal(judge({ status: 405, headers: { 'x-amzn-waf-action': 'captcha' } }).selfClearing, false);
    assert.equal(judge({ status: 403, headers: { server: 'AkamaiGHost' } }).selfClearing, false);
  });

  it('are seen in the page where the markup does not show them', () => {
    const dom = seenBy({ selectors: ['cloudflare.challenge_stage'] });
    assert.deepEqual(told(judge({ status: 403, dom })), [true, 'challenge', 'cloudflare', 'high']);
    assert.deepEqual(told(judge({ status: 200, html: '<p>A form.</p>', dom })), [false, null, null, null]);
  });

  it('are told by the address they end at', () => {
    assert.deepEqual(told(judge({ url: 'https://www.google.com/sorry/index?continue=x&q=secret' })), [true, 'captcha', 'google', 'high']);
    assert.deepEqual(told(judge({ url: 'https://www.google.co.uk/sorry/index' })), [true, 'captcha', 'google', 'high']);
    assert.deepEqual(told(judge({ url: 'https://harbour.example/sorry/index' })), [false, null, null, null]);
    assert.deepEqual(told(judge({ url: 'https://consent.youtube.com/m?continue=x', visibleTextLength: 300 })), [
      true,
      'consent_wall',
      'google',
      'high',
    ]);
    assert.deepEqual(told(judge({ url: 'not an address' })), [false, null, null, null]);
  });
});

describe('evidence', () => {
  const all = (verdict: Verdict): string => JSON.stringify(verdict);

  it('is of the contract’s shape', () => {
    const { block, blocked } = judge({ ...challenge, status: 403 });
    assert.ok(block);
    assert.doesNotThrow(() =>
      Block.parse({ ...block, blocked, signatures_version: signaturesVersion, challenge_waited_ms: 0, retry_after_seconds: null }),
    );
  });

  it('holds no queries, no values of headers that may be tokens, and no user names', () => {
    const verdict = judge({
      status: 403,
      headers: { 'x-kpsdk-ct': 'SECRET0001', 'x-iinfo': 'SECRET0002', 'x-dd-b': 'SECRET0003', 'set-cookie': 'datadome=SECRET0004' },
      cookieNames: ['datadome'],
      url: 'https://SECRET:0005@www.google.com/sorry/index?q=SECRET0006#SECRET0007',
      html: `<iframe src="/_Incapsula_Resource?incident=SECRET0008"></iframe><script src="https://ct.captcha-delivery.com/c.js?SECRET0009"></script>
        <script src="https://captcha.px-cdn.net/SECRETSECRET0010/captcha.js"></script><form action="/x/?__cf_chl_f_tk=SECRET0011"></form>`,
    });
    assert.ok((verdict.block?.evidence.length ?? 0) >= 6, all(verdict));
    assert.doesNotMatch(all(verdict), /SECRET/);
  });

  it('is cut to 80 characters and one line', () => {
    const { block } = judge({ html: `<form action="/\n${'a b '.repeat(200)}?__cf_chl_f_tk=1"></form>` });
    for (const { value_redacted: value } of block?.evidence ?? assert.fail('no block')) {
      assert.ok(value.length <= 80, value);
      // oxlint-disable-next-line no-control-regex -- They are what must be gone.
      assert.doesNotMatch(value, /[\u0000-\u001f]/);
    }
  });

  it('puts what names the block first', () => {
    const { block } = judge({ ...challenge, ...weakTitle, status: 403 });
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
  it('is judged without a failure, the same twice, and blocked only with a reason', () => {
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
    const facts = fc.record({
      status: fc.option(fc.constantFrom(200, 301, 403, 404, 407, 429, 500, 503)),
      html: fc.array(marks, { maxLength: 60 }).map((parts) => parts.join('')),
      title: fc.string(),
      url: fc.string(),
      contentType: fc.option(fc.constantFrom('text/html', 'application/json', ';', '')),
      cookieNames: fc.array(fc.string()),
      visibleTextLength: fc.option(fc.nat(1000)),
    });
    fc.assert(
      fc.property(facts, fc.constantFrom<Strictness>('default', 'strict', 'off'), (some, strictness) => {
        const verdict = judge(some, strictness);
        assert.deepEqual(judge(some, strictness), verdict);
        assert.ok(!verdict.blocked || (verdict.block !== null && verdict.block.evidence.length > 0 && verdict.warnings.length === 0));
        if (some.status === 404 || some.status === 407) assert.equal(verdict.blocked, false);
      }),
      { numRuns: 300 },
    );
  });
});
