import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { chromium, type Browser, type Page } from 'playwright-core';
import { ada } from './pages/account.ts';
import { startShop, type Shop } from './shop.ts';

const args = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-pings'];

describe('the trade desk in a browser', () => {
  let shop: Shop;
  let browser: Browser;
  let page: Page;
  before(async () => {
    shop = await startShop({ consent: false });
    browser = await chromium.launch({ executablePath: '/usr/lib/chromium/chromium-headless-shell', args });
    page = await browser.newPage({ baseURL: shop.url });
    page.setDefaultTimeout(15_000);
  });
  after(async () => {
    await browser?.close();
    await shop?.close();
  });

  it('the trade desk uses its whole API after sign-in, with the refusals that it provokes', async () => {
    const statuses = new Map<string, number>();
    page.on('response', (response) =>
      statuses.set(`${response.request().method()} ${new URL(response.url()).pathname}`, response.status()),
    );
    await page.goto('/trade');
    await page.getByLabel('E-mail address', { exact: true }).fill(ada.email);
    await page.getByLabel('Password').fill(ada.password);
    await page.getByRole('button', { name: 'Open the desk' }).click();
    await page.getByText('All loaded.').waitFor();
    assert.equal(statuses.get('GET /api/v2/me'), 200);
    assert.equal(statuses.get('GET /api/v2/reports/2023'), 503);
    assert.equal(statuses.get('GET /api/v2/legacy/export'), 200);
    assert.equal(statuses.get('DELETE /api/v2/notes/881'), 204);
    assert.equal(statuses.get('GET /api/v2/stock-levels/QS-0003'), 200);
    assert.equal(statuses.get('POST /api/v2/attachments'), 201);
    assert.equal(statuses.get('GET /graphql'), 200);
  });

  it('the trade desk signs in by the code flow with PKCE', async () => {
    await page.goto('/trade');
    await page.getByRole('button', { name: 'Sign in with Harbour ID' }).click();
    await page.getByText(`Harbour: ${ada.email}`).waitFor();
  });
});
