/** Crawlee's PuppeteerCrawler, with a browser context for each page. SITE_URL is a site that the session may visit. */
import assert from 'node:assert/strict';
import { Configuration, log, PuppeteerCrawler } from '@crawlee/puppeteer';
import puppeteer from 'puppeteer';
import { tabs, withSession } from './berth.mjs';

const site = process.env.SITE_URL ?? 'https://example.com/';
log.setLevel(log.LEVELS.OFF);

await withSession({}, async ({ id, cdpUrl }) => {
  /** Crawlee starts its browsers by a launcher; this one connects. */
  const launcher = { launch: () => puppeteer.connect({ browserWSEndpoint: cdpUrl, defaultViewport: null }) };
  const results = { titles: [], sizes: [], errors: [] };
  const crawler = new PuppeteerCrawler(
    {
      launchContext: { launcher, useIncognitoPages: true },
      browserPoolOptions: { useFingerprints: false },
      maxRequestRetries: 0,
      requestHandler: async ({ page }) => {
        results.titles.push(await page.title());
        results.sizes.push(await page.evaluate(() => innerWidth));
      },
      failedRequestHandler: (_context, error) => void results.errors.push(error.message),
    },
    new Configuration({ persistStorage: false }),
  );
  await crawler.run(['1', '2'].map((uniqueKey) => ({ url: site, uniqueKey })));
  assert.deepEqual(results.errors, []);
  assert.equal(results.titles.length, 2);
  assert.deepEqual(results.sizes, [1280, 1280]);
  // The session goes on, and what the crawler has opened is closed.
  assert.equal((await tabs(id)).length, 1);
});
