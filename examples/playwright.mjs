/** Playwright: a form, files in both directions, a browser context of its own. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { chromium } from 'playwright-core';
import { download as contentOf, withSession } from './berth.mjs';
import { pageUrl } from './page.mjs';

const folder = await mkdtemp(join(tmpdir(), 'berth-example-'));

await withSession({ viewport: { width: 1000, height: 700 } }, async ({ id, cdpUrl }) => {
  const browser = await chromium.connectOverCDP(cdpUrl);
  const [page] = browser.contexts()[0].pages();
  await page.goto(pageUrl);
  assert.deepEqual(await page.evaluate(() => [innerWidth, innerHeight]), [1000, 700]);
  await page.getByLabel('Name').fill('Ada');
  await page.getByText('Greet').click();
  assert.equal(await page.title(), 'Hello Ada');

  // Playwright reads the file here and sends its content.
  const report = join(folder, 'report.csv');
  await writeFile(report, 'a,b');
  await page.getByLabel('File').setInputFiles(report);
  assert.equal(await page.title(), 'report.csv, 3 bytes');

  const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('Download').click()]);
  // On the computer of the service.
  await download.saveAs(join(folder, 'saved.csv'));
  assert.equal(await readFile(join(folder, 'saved.csv'), 'utf8'), 'a,b');
  // On any computer: the path that Playwright expects ends in the id of the download.
  assert.equal(String(await contentOf(id, basename(await download.path()))), 'a,b');

  const context = await browser.newContext();
  const other = await context.newPage();
  await other.goto(pageUrl);
  assert.ok((await other.screenshot()).length > 1000);
  await browser.close();
});
await rm(folder, { recursive: true });
