/** Stagehand 3, without a language model: its page and locators, and a file that was uploaded before. */
import assert from 'node:assert/strict';
import { Stagehand } from '@browserbasehq/stagehand';
import { upload, withSession } from './berth.mjs';
import { pageUrl } from './page.mjs';

await withSession({ viewport: { width: 1000, height: 700 } }, async ({ id, cdpUrl }) => {
  const stagehand = new Stagehand({ env: 'LOCAL', localBrowserLaunchOptions: { cdpUrl }, verbose: 0 });
  await stagehand.init();
  const [page] = stagehand.context.pages();
  await page.goto(pageUrl);
  assert.deepEqual(await page.evaluate('[innerWidth, innerHeight]'), [1000, 700]);
  await page.locator('#name').fill('Ada');
  await page.locator('#greet').click();
  assert.equal(await page.title(), 'Hello Ada');

  // Stagehand reads the file, and sends its name and not its content.
  await upload(id, 'package.json', 'a,b');
  await page.locator('#file').setInputFiles(new URL('package.json', import.meta.url).pathname);
  assert.equal(await page.title(), 'package.json, 3 bytes');
  await stagehand.close();
});
