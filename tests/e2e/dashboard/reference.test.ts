/** The API reference as people read it: in a browser, with and without scripts, with the keyboard, and copied into a shell. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Service, stopAll } from '../service.ts';
import { ViewerBrowser, type Viewer } from '../watch/viewing.ts';

let service: Service;
let browser: ViewerBrowser;
before(async () => {
  [service, browser] = await Promise.all([Service.start(), ViewerBrowser.launch()]);
});
after(async () => {
  await browser.close();
  await stopAll();
});

const withViewer = async (options: Parameters<ViewerBrowser['newViewer']>[0], use: (viewer: Viewer) => Promise<void>): Promise<void> => {
  const viewer = await browser.newViewer(options);
  try {
    await use(viewer);
    viewer.assertNoIssues();
  } finally {
    await viewer.context.close();
  }
};
const originOf = (): string => new URL(service.url).origin;

describe('the API reference in a browser', () => {
  for (const width of [1440, 390])
    for (const path of ['/docs', '/docs/reference/runActions', '/docs/search?q=proxy'])
      it(`${path} is accessible in light and dark, requests nothing from elsewhere, and fits into ${width} pixels`, async () => {
        await withViewer({ origin: originOf(), viewport: { width, height: 900 } }, async (viewer) => {
          const { page } = viewer;
          await viewer.open(service.url + path);
          // What is folded is part of the page.
          await page.evaluate(() => document.querySelectorAll('main details').forEach((details) => details.setAttribute('open', '')));
          assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
          await viewer.inspect(`reference-${path.replaceAll(/\W+/g, '-')}-${width}`);
        });
      });

  it('a reader finds an operation with the search and the keyboard alone', async () => {
    await withViewer({ origin: originOf() }, async (viewer) => {
      const { page } = viewer;
      await viewer.open(`${service.url}/docs`);
      await page.getByRole('searchbox').first().focus();
      await page.keyboard.type('rotate ip');
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/docs\/search\?q=rotate\+ip$/);
      const link = page.getByRole('link', { name: 'Rotate the egress IP address' }).first();
      await link.focus();
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/docs\/reference\/rotateIp$/);
    });
  });

  it('a reader chooses a language with the arrow keys, and the next page and a reload have it still', async () => {
    await withViewer({ origin: originOf() }, async (viewer) => {
      const { page } = viewer;
      await viewer.open(`${service.url}/docs/reference/createSession`);
      const shown = async (): Promise<string[]> => page.locator('.samples pre:visible').allTextContents();
      assert.match((await shown())[0] ?? '', /^curl /);
      await page.getByRole('radio', { name: 'curl' }).focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      assert.match((await shown())[0] ?? '', /^from berth import Berth/);
      await viewer.open(`${service.url}/docs/reference/fetchPage`);
      assert.match((await shown())[0] ?? '', /^from berth import Berth/);
    });
  });

  it('a button copies a sample, whole and without the button', async () => {
    await withViewer({ origin: originOf(), permissions: ['clipboard-read', 'clipboard-write'] }, async (viewer) => {
      const { page } = viewer;
      await viewer.open(`${service.url}/docs/reference/fetchPage`);
      const sample = page.locator('.samples [data-language="curl"]');
      await sample.hover();
      await sample.getByRole('button', { name: 'Copy' }).click();
      await sample.getByRole('button', { name: 'Copied' }).waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      assert.equal(copied, await sample.locator('pre').textContent());
      assert.match(copied, /^curl "http.*\/v1\/fetch"[^]*'$/);
    });
  });

  it('the reference is whole without scripts: fields unfold, languages change, and old links lead to the operation', async () => {
    await withViewer({ origin: originOf(), javaScriptEnabled: false }, async (viewer) => {
      const { page } = viewer;
      await viewer.open(`${service.url}/docs#/Sessions/createSession`);
      const entry = page.locator('[id="/Sessions/createSession"]');
      const top = (await entry.boundingBox())?.y ?? -1;
      assert.ok(top >= 0 && top < 860, String(top));
      await entry.getByRole('link').click();
      await page.waitForURL(/\/docs\/reference\/createSession$/);
      const width = page.locator('[id="body.viewport.width"]');
      assert.equal(await width.isVisible(), false);
      await page.locator('[id="body.viewport"] summary').first().click();
      assert.equal(await width.isVisible(), true);
      await page.getByText('TypeScript', { exact: true }).click();
      assert.match((await page.locator('.samples pre:visible').first().textContent()) ?? '', /^import \{ Berth \}/);
    });
  });
});
