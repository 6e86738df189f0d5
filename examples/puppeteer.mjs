/** Puppeteer: a form, a file that was uploaded before, a browser context of its own. */
import assert from 'node:assert/strict';
import puppeteer from 'puppeteer-core';
import { tabs, upload, withSession } from './berth.mjs';
import { pageUrl } from './page.mjs';

await withSession({ viewport: { width: 1000, height: 700 } }, async ({ id, cdpUrl }) => {
  // Without `defaultViewport: null`, Puppeteer makes every page 800×600.
  const browser = await puppeteer.connect({ browserWSEndpoint: cdpUrl, defaultViewport: null });
  const [page] = await browser.pages();
  await page.goto(pageUrl);
  assert.deepEqual(await page.evaluate(() => [innerWidth, innerHeight]), [1000, 700]);
  await page.type('#name', 'Ada');
  await page.click('#greet');
  assert.equal(await page.title(), 'Hello Ada');

  // Puppeteer sends the name of the file and not its content.
  await upload(id, 'report.csv', 'a,b');
  const input = await page.$('#file');
  await input.uploadFile('report.csv');
  assert.equal(await input.evaluate((field) => field.files[0].text()), 'a,b');
  await assert.rejects(input.uploadFile('other.csv'), /Upload the file with POST/);

  const context = await browser.createBrowserContext();
  const other = await context.newPage();
  await other.goto(pageUrl);
  assert.ok((await other.screenshot()).length > 1000);
  // The session goes on, and what this client has opened is closed.
  await browser.close();
  assert.equal((await tabs(id)).length, 1);
});
