import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { chromium, type Browser, type Page } from 'playwright-core';
import { exchanges, serve, type Served } from '../../../../tests/corpus/corpus.ts';
import { classify, probeScript, type PageInfo, type ProbeResult } from './block-detection.ts';

let served: Served;
let browser: Browser;
let page: Page;

before(async () => {
  served = await serve();
  browser = await chromium.launch({
    executablePath: '/usr/lib/chromium/chromium-headless-shell',
    args: ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
  page = await browser.newPage();
});
after(async () => {
  await browser.close();
  await served.close();
});

async function probe(): Promise<ProbeResult> {
  const cdp = await page.context().newCDPSession(page);
  const { frameTree } = await cdp.send('Page.getFrameTree');
  const { executionContextId: contextId } = await cdp.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id });
  const { result, exceptionDetails } = await cdp.send('Runtime.evaluate', { expression: probeScript, contextId, returnByValue: true });
  await cdp.detach();
  assert.equal(exceptionDetails, undefined);
  return result.value as ProbeResult;
}

async function visit(url: string): Promise<PageInfo & { probed: ProbeResult }> {
  const response = await page.goto(url, { waitUntil: 'load' });
  assert.ok(response);
  const headers = await response.allHeaders();
  const { title, visibleTextLength, ...dom } = await probe();
  return {
    status: response.status(),
    headers,
    cookieNames: (headers['set-cookie'] ?? '').split('\n').map((cookie) => cookie.split('=', 1)[0] ?? ''),
    url: page.url(),
    contentType: headers['content-type'] ?? null,
    title,
    html: await page.content(),
    visibleTextLength,
    dom,
    netError: null,
    probed: { title, visibleTextLength, ...dom },
  };
}

async function show(html: string): Promise<ProbeResult> {
  await page.setContent(html, { waitUntil: 'load' });
  return probe();
}

describe('the classification of a page in a browser', () => {
  const pages = [
    'cloudflare: older challenge form with status 503',
    'cloudflare: running challenge element',
    'cloudflare: firewall page with details',
    'akamai: edge denial',
    'datadome: captcha frame with status 200',
    'human: captcha script alone',
    'imperva: incident frame with status 200',
    'f5: rejected request with status 200',
    'turnstile: frame on a refusal',
    'recaptcha: widget on a refusal',
    'generic: bare refusal of a web server',
    'article that quotes the challenge of Cloudflare',
    'short note that shows a challenge in an unescaped code sample',
    'coding challenge with a challenge form',
    'login form with hCaptcha',
    'contact form with Turnstile',
    'permission page that explains itself',
    'short page whose description names a captcha frame',
  ];
  for (const name of pages) {
    it(`the classification of a page in a browser matches the corpus on ${name}`, async () => {
      const { expected } = exchanges.find((exchange) => exchange.name === name) ?? assert.fail('no such exchange');
      const { blocked, block, captcha } = classify(await visit(served.urlOf(name)));
      assert.deepEqual(
        { blocked, type: blocked ? block?.type : null, vendor: blocked ? block?.vendor : null, captcha: captcha.vendor },
        { blocked: expected.blocked, type: expected.type, vendor: expected.vendor, captcha: expected.captcha },
      );
    });
  }
});

describe('the probe script', () => {
  it('the block probe distinguishes a challenge on display from a hidden one', async () => {
    const frame = (style: string): string =>
      `<iframe src="https://www.google.com/recaptcha/api2/bframe?k=x" style="width:400px;height:500px;${style}"></iframe>`;
    assert.equal((await show(frame(''))).visibleCaptcha, 'recaptcha');
    for (const style of ['visibility:hidden', 'display:none', 'opacity:0', 'position:absolute;top:-10000px', 'width:0;height:0;border:0']) {
      const { visibleCaptcha, presentCaptcha } = await show(frame(style));
      assert.deepEqual({ visibleCaptcha, presentCaptcha }, { visibleCaptcha: null, presentCaptcha: 'recaptcha' }, style);
    }
    assert.equal((await show(`<div style="visibility:hidden">${frame('')}</div>`)).visibleCaptcha, null);
  });

  it('the block probe counts what a visitor sees, and nothing else', async () => {
    const { visibleTextLength, title } = await show(
      `<title>A title</title><style>p { color: red }</style><p>Twelve chars</p><p style="display:none">hidden</p>` +
        `<script>var hidden;</script><template>hidden</template><noscript>hidden</noscript>`,
    );
    assert.deepEqual({ visibleTextLength, title }, { visibleTextLength: 13, title: 'A title' });
  });

  it('the block probe does bounded work on a page without end', async () => {
    const { visibleTextLength } = await show(`<p>${'word '.repeat(400_000)}</p>${'<i>x</i>'.repeat(20_000)}`);
    assert.equal(visibleTextLength, 5000);
  });

  it('the block probe resists DOM clobbering', async () => {
    const { visibleTextLength, selectors, visibleCaptcha } = await show(
      `<img name="querySelectorAll"><img name="title"><img name="createTreeWalker"><img name="documentElement"><img name="body">
       <form id="px-captcha" style="width:300px;height:100px"><input name="getBoundingClientRect"><input name="checkVisibility">` +
        `<input name="parentElement">text</form>
       <script>Document.prototype.querySelectorAll = () => { throw new Error('mine'); }; Array.from = () => [];` +
        ` Array.prototype.push = () => { throw 1; };</script>`,
    );
    assert.deepEqual(
      { visibleTextLength, selectors, visibleCaptcha },
      { visibleTextLength: 5, selectors: ['human.px_captcha'], visibleCaptcha: 'human' },
    );
  });

  it('the block probe answers on a page that is no HTML, and on an empty one', async (t) => {
    const server = createServer(
      (request, response) =>
        void response
          .writeHead(200, { 'content-type': request.url === '/svg' ? 'image/svg+xml' : 'text/xml' })
          .end('<svg xmlns="http://www.w3.org/2000/svg"><text>boat</text></svg>'),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    t.after(() => server.closeAllConnections());
    for (const path of ['/svg', '/xml']) {
      const { probed } = await visit(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
      assert.deepEqual(probed.selectors, []);
    }
    await page.goto('about:blank');
    assert.deepEqual(await probe(), { selectors: [], visibleCaptcha: null, presentCaptcha: null, visibleTextLength: 0, title: '' });
  });

  it('the block probe changes nothing in the page', async () => {
    await show('<p>Before</p><div class="g-recaptcha"></div>');
    const before = await page.content();
    await probe();
    assert.equal(await page.content(), before);
  });
});
