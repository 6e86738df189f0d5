/** The page of an inspection report, in a real browser. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { reportHeaders, reportWithText, sampleReport, toReportHtml } from '@berth/site-report/testing/sections.ts';
import { ViewerBrowser, type Viewer } from '../watch/viewing.ts';

const hostileTexts = [
  '<script>document.title="owned"</script>',
  '"><img src=x onerror="document.title=\'owned\'">',
  "'/><svg onload=document.title='owned'>",
  '</style><script>document.title="owned"</script>',
  '</code></pre></details><iframe srcdoc="<script>parent.document.title=1</script>">',
  'javascript:document.title="owned"',
  '&lt;script&gt; &#x3c;script>',
  '<!-- --><style>*{display:none!important}</style><base href="https://evil.example/">',
  '\u202Egnp.exe\u2066 \u0000 \uD800 ${7*7} {{token_1}}',
  `a"onmouseover="document.title='owned'"b=" style="color:red`,
];

describe('the page of a report', () => {
  let browser: ViewerBrowser;
  let server: Server;
  let origin = '';
  let page = '';
  let viewer: Viewer;

  before(async () => {
    server = createServer((request, response) => {
      if (request.url === '/report.html') response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...reportHeaders });
      else response.writeHead(404);
      response.end(request.url === '/report.html' ? page : '');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await ViewerBrowser.launch();
    viewer = await browser.newViewer({ origin });
  });
  after(async () => {
    await browser.close();
    server.close();
  });

  it('the page of a report is accessible in light and dark on a desktop and a phone, and loads nothing', async () => {
    page = await toReportHtml(sampleReport());
    assert.doesNotMatch(page, /<script|\sstyle=|\son\w+=|javascript:|src="http|href="http/);
    await viewer.open(`${origin}/report.html`);
    await viewer.page.evaluate(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
    await viewer.inspect('inspect-report');
    await viewer.page.setViewportSize({ width: 390, height: 844 });
    await viewer.inspect('inspect-report-phone');
    const overflow = await viewer.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(overflow, 0, 'the page scrolls sideways on a phone');
    // A browser asks for an icon, which the policy refuses.
    viewer.assertNoIssues({ except: /favicon/ });
  });

  it('the page of a report has a contents entry for each section, and says what is in them', async () => {
    page = await toReportHtml(sampleReport());
    await viewer.open(`${origin}/report.html`);
    const targets = await viewer.page.locator('.contents a').evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''));
    assert.equal(targets.length, 10);
    for (const target of targets) assert.equal(await viewer.page.locator(target).count(), 1, target);
    assert.equal(await viewer.page.locator('.waterfall tbody tr').count(), 12);
    assert.equal(await viewer.page.locator('.endpoint').count(), 2);
    await viewer.page.locator('.endpoint summary').first().click();
    await viewer.page.getByText("curl 'https://api.shop.test/loaves?page=1'").waitFor();
    assert.match(await viewer.page.locator('#auth').innerText(), /bearer jwt/);
  });

  it('the page of a report shows hostile texts as text, wherever they stand', async () => {
    for (const text of hostileTexts) {
      page = await toReportHtml(reportWithText(text));
      await viewer.open(`${origin}/report.html`);
      const counts = await viewer.page.evaluate(() => ({
        active: document.querySelectorAll(
          'script, iframe, base, img, object, [onerror], [onload], [onmouseover], [style], a[href^="javascript"]',
        ).length,
        styles: document.querySelectorAll('style').length,
        title: document.title,
        isShown: getComputedStyle(document.body).display !== 'none',
      }));
      assert.deepEqual(
        { ...counts, title: counts.title.includes('owned') && !text.includes('owned') },
        { active: 0, styles: 1, title: false, isShown: true },
      );
    }
    viewer.assertNoIssues({ except: /favicon/ });
  });
});
