/** Crawlee, with a browser context for each page. SITE_URL is a site that the session may visit. */
import assert from 'node:assert/strict';
import { Configuration, log, PlaywrightCrawler } from '@crawlee/playwright';
import { chromium } from 'playwright';
import { tabs, withSession } from './berth.mjs';

const site = process.env.SITE_URL ?? 'https://example.com/';
const requests = ['1', '2'].map((uniqueKey) => ({ url: site, uniqueKey }));
log.setLevel(log.LEVELS.OFF);

/** Crawlee starts its browsers by a launcher; this one connects. */
const launcherOf = (cdpUrl) => ({ name: () => 'chromium', launch: () => chromium.connectOverCDP(cdpUrl) });

/** Crawlee routes every context through a proxy of its own process, which a browser elsewhere cannot reach. */
const withoutProxy = (_pageId, _controller, options) => void Object.assign(options, { proxy: undefined });

async function crawl(cdpUrl, prePageCreateHooks) {
  const results = { titles: [], errors: [] };
  const crawler = new PlaywrightCrawler(
    {
      launchContext: { launcher: launcherOf(cdpUrl), useIncognitoPages: true },
      browserPoolOptions: { useFingerprints: false, prePageCreateHooks },
      maxRequestRetries: 0,
      requestHandler: async ({ page }) => void results.titles.push(await page.title()),
      failedRequestHandler: (_context, error) => void results.errors.push(error.message),
    },
    new Configuration({ persistStorage: false }),
  );
  await crawler.run(requests);
  return results;
}

await withSession({}, async ({ id, cdpUrl }) => {
  const { titles, errors } = await crawl(cdpUrl, [withoutProxy]);
  assert.deepEqual(errors, []);
  assert.equal(titles.length, 2);
  // With the proxy, Crawlee reports what to do.
  const refused = await crawl(cdpUrl, []);
  for (const error of refused.errors) assert.match(error, /prePageCreateHooks/);
  assert.equal(refused.errors.length, 2);
  assert.equal((await tabs(id)).length, 1);
});
