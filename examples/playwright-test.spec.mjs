import { chromium, expect, test as base } from 'playwright/test';
import { pageUrl } from './page.mjs';

const test = base.extend({
  browser: [
    // The runner reads from the pattern which fixtures it needs.
    // eslint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const browser = await chromium.connectOverCDP(process.env.BERTH_CDP_URL);
      await use(browser);
      await browser.close();
    },
    { scope: 'worker' },
  ],
});

// Each test has a browser context of its own.
for (const name of ['Ada', 'Grace'])
  test(`greets ${name}`, async ({ page }) => {
    await page.goto(pageUrl);
    await page.getByLabel('Name').fill(name);
    await page.getByText('Greet').click();
    await expect(page).toHaveTitle(`Hello ${name}`);
  });
