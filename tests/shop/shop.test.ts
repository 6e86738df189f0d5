import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, beforeEach, describe, it } from 'node:test';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { ada, grace } from './pages/account.ts';
import { exportBytes, csvName } from './pages/files.ts';
import { startShop, type Shop } from './shop.ts';
import { totp } from './totp.ts';

const args = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-pings'];
const timeoutMs = 10_000;

describe('the shop in a browser', () => {
  let shop: Shop;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  const issues: string[] = [];

  before(async () => {
    shop = await startShop();
    browser = await chromium.launch({ executablePath: '/usr/lib/chromium/chromium-headless-shell', args });
  });
  beforeEach(async () => {
    await context?.close();
    issues.length = 0;
    context = await browser.newContext({ baseURL: shop.url });
    context.setDefaultTimeout(timeoutMs);
    await context.addCookies([{ name: 'consent', value: 'none', url: shop.url }]);
    page = await context.newPage();
    page.on('pageerror', (error) => issues.push(error.message));
    page.on('request', (request) => {
      const { host } = new URL(request.url());
      if (host !== shop.host && host !== shop.otherHost) issues.push(`asked ${host}`);
    });
  });
  after(async () => {
    await browser?.close();
    await shop?.close();
  });

  const logIn = async (path = '/login'): Promise<void> => {
    await page.goto(path);
    await page.getByLabel('E-mail address', { exact: true }).fill(ada.email);
    await page.getByLabel('Password').fill(ada.password);
    await page.getByRole('button', { name: 'Log in' }).click();
  };

  it('the shop shows the consent dialog until it is answered once', async () => {
    await context.clearCookies();
    await page.goto('/');
    const dialog = page.getByRole('dialog', { name: 'Cookies at the quay' });
    await assert.rejects(page.getByRole('link', { name: 'See all products' }).click({ timeout: 300 }), /Timeout/);
    await dialog.getByRole('button', { name: 'Settings' }).click();
    await dialog.getByLabel('Statistics').check();
    await dialog.getByRole('button', { name: 'Save choices' }).click();
    await page.reload();
    assert.equal(await dialog.count(), 0);
    const chosen = (await context.cookies()).find(({ name }) => name === 'consent');
    assert.equal(chosen?.value, 'necessary+statistics');
  });

  it('the shop offers its newsletter once, after scrolling', async () => {
    await page.goto('/');
    await page.mouse.wheel(0, 1500);
    await page.getByRole('button', { name: 'Close newsletter' }).click();
    await page.reload();
    await page.mouse.wheel(0, 1500);
    await page.waitForFunction('scrollY > 1000');
    assert.equal(await page.getByRole('dialog', { name: 'News from the quay' }).isVisible(), false);
  });

  it('the shop finds products by search, with keyboard suggestions', async () => {
    await page.goto('/');
    await page.keyboard.press('/');
    await page.keyboard.type('copper l');
    await page.getByRole('option', { name: 'Copper Lantern' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/products/copper-lantern');
    await page
      .getByRole('searchbox')
      .or(page.getByRole('combobox', { name: 'Search the shop' }))
      .fill('lamp');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('20 products, page 1 of 2').waitFor();
    assert.deepEqual(issues, []);
  });

  it('the shop pages, sorts and filters its lists', async () => {
    await page.goto('/c/seating');
    await page.getByRole('link', { name: 'Next' }).click();
    await page.getByRole('link', { name: 'Page 5' }).click();
    await page.getByText('page 5 of 5').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Next' }).count(), 0);
    await page.goto('/products');
    await page.getByLabel('Sort by').selectOption('price');
    await page.waitForURL('**sort=price**');
    const prices = await page.locator('.card .price').allTextContents();
    const cents = prices.map((text) => Number(text.replace(/[€,]/g, '')));
    assert.deepEqual(
      cents,
      cents.toSorted((a, b) => a - b),
    );
    await page.getByLabel('Highest price').fill('20');
    await page.getByLabel('Oak').check();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.waitForURL('**material=Oak**');
    assert.notEqual(await page.locator('.card').count(), 0);
  });

  it('the shop loads more products on scroll until all are shown', async () => {
    await page.goto('/discover');
    const end = page.getByText('You have seen everything.');
    while (!(await end.isVisible())) {
      const shown = await page.locator('#feed li').count();
      await page.mouse.wheel(0, 20_000);
      await page.locator('#feed li').nth(shown).waitFor();
      await page.locator('#feed[aria-busy="false"]').waitFor();
    }
    assert.equal(await page.locator('#feed li').count(), 300);
  });

  it('the shop completes an order with cart, login and both frames', async () => {
    await page.goto('/products/amber-desk-lamp');
    await page.getByLabel('Quantity').fill('2');
    await page.getByTestId('add-to-cart').click();
    await page.getByText('Added to your cart').waitFor();
    assert.equal(await page.getByTestId('cart-count').textContent(), '2');
    await page.getByTestId('cart-link').click();
    await page.getByRole('link', { name: 'Check out' }).click();
    await page.waitForURL('**/login?next=%2Fcheckout');
    await logIn(page.url());
    await page.waitForURL('**/checkout');
    const address = page.frameLocator('iframe[name="address"]');
    for (const [label, value] of Object.entries({ Name: 'Ada Vermeer', Street: 'Wharf 9', Postcode: '3011 AA', City: 'Rotterdam' }))
      await address.getByLabel(label).fill(value);
    await address.getByRole('button').click();
    const payment = page.frameLocator('iframe[title="Payment"]');
    for (const [label, value] of Object.entries({ 'Card number': '4000 0000 0000 0002', Expires: '12/30', 'Security code': '123' }))
      await payment.getByLabel(label).fill(value);
    await payment.getByRole('button').click();
    await page.getByRole('button', { name: 'Place order' }).click();
    await page.getByRole('heading', { name: 'Thank you' }).waitFor();
    assert.deepEqual(shop.orders.at(-1)?.items, [{ product_id: 1, quantity: 2 }]);
    assert.equal(shop.hits.filter((path) => path === '/payment').length, 1);
    assert.ok(page.url().endsWith('/orders/A-1001'));
    assert.deepEqual(issues, []);
  });

  it('the shop signs in by password, in two steps and with a one-time code, and refuses wrong credentials', async () => {
    await page.goto('/account');
    await page.getByLabel('E-mail address', { exact: true }).fill(ada.email);
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Log in' }).click();
    assert.match((await page.getByRole('alert').textContent()) ?? '', /is wrong/);
    await logIn();
    await page.getByRole('heading', { name: 'Hello, Ada Vermeer' }).waitFor();
    assert.equal((await context.cookies()).find(({ name }) => name === 'sid')?.httpOnly, true);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.goto('/login/steps');
    await page.getByLabel('E-mail address').fill(grace.email);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Password').fill(grace.password);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByLabel('Code').fill(totp(grace.otpSecret ?? '', Date.now()));
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByRole('heading', { name: 'Hello, Grace Olsen' }).waitFor();
  });

  it('the shop accepts uploads and reports what it received', async () => {
    const buffer = Buffer.from('a broken kettle');
    await page.goto('/support');
    await page.getByLabel('Subject').selectOption({ label: 'A repair' });
    await page.getByLabel('Message').fill('It leaks.');
    await page.getByLabel('Pictures or papers').setInputFiles([{ name: 'kettle é.txt', mimeType: 'text/plain', buffer }]);
    await page.getByRole('button', { name: 'Send' }).click();
    const cells = await page.locator('#received td').allTextContents();
    assert.deepEqual(cells, ['kettle é.txt', String(buffer.length), createHash('sha256').update(buffer).digest('hex')]);
  });

  it('the shop serves its files as downloads with their names', async () => {
    await page.goto('/downloads');
    const take = async (name: RegExp) => {
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name }).click()]);
      return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
    };
    assert.equal((await take(/Price list/)).name, csvName);
    assert.deepEqual((await take(/Catalogue export/)).bytes, exportBytes);
    const invoice = await take(/Sample invoice/);
    assert.equal(invoice.name, 'invoice-1.pdf');
    assert.match(invoice.bytes.toString('latin1'), /^%PDF-1\.4[^]*%%EOF\n$/);
  });

  it('the shop has a rating in a shadow root in a shadow root, tabs, a modal and a preview window', async () => {
    await page.goto('/products/amber-desk-lamp');
    await page.getByRole('button', { name: 'Rate 2 of 5' }).click();
    await page.getByText('You rated 2').waitFor();
    await page.getByRole('tab', { name: 'Specification' }).click();
    await page.getByRole('cell', { name: 'QS-0001' }).waitFor();
    await page.getByRole('button', { name: 'Delivery times' }).click();
    await page.getByRole('dialog', { name: 'Delivery times' }).getByRole('button').click();
    const [preview] = await Promise.all([page.waitForEvent('popup'), page.getByRole('button', { name: 'Open preview' }).click()]);
    // The window may be gone before the browser answers the click that closed it: the client then rejects the click.
    const pressed = preview
      .getByRole('button', { name: 'Close preview' })
      .click()
      .catch((error: Error) => assert.match(error.message, /has been closed/));
    await Promise.all([preview.waitForEvent('close'), pressed]);
    await page.locator('.thumbs img[src]').nth(2).waitFor();
    assert.deepEqual(issues, []);
  });

  it('the shop sorts the wishlist by drag and drop and by pointer', async () => {
    await page.goto('/wishlist');
    await page
      .locator('#dnd li')
      .first()
      .dragTo(page.locator('#dnd li').nth(2), { targetPosition: { x: 20, y: 40 } });
    assert.equal(await page.locator('#order').textContent(), '57, 112, 3, 164');
    await page
      .locator('#by-pointer li')
      .nth(3)
      .dragTo(page.locator('#by-pointer li').first(), { targetPosition: { x: 20, y: 5 } });
    assert.equal(await page.locator('#order').textContent(), '164, 3, 57, 112');
  });
});

describe('the workshop', () => {
  let shop: Shop;
  let browser: Browser;
  let page: Page;
  const assertText = (text: string): Promise<void> => page.locator('#said', { hasText: text }).waitFor();

  before(async () => {
    shop = await startShop({ consent: false });
    browser = await chromium.launch({ executablePath: '/usr/lib/chromium/chromium-headless-shell', args });
    page = await browser.newPage({ baseURL: shop.url });
    page.setDefaultTimeout(timeoutMs);
  });
  after(async () => {
    await browser?.close();
    await shop?.close();
  });

  it("the shop's workshop has late, disabled, moving and covered buttons that can all be pressed eventually", async () => {
    await page.goto('/widgets/timing');
    for (const [id, word] of Object.entries({ moving: 'caught', late: 'late', 'enabled-later': 'enabled', covered: 'uncovered' })) {
      await page.locator(`#${id}`).click();
      await assertText(word);
    }
  });

  it("the shop's workshop has every kind of field and shows the submitted values", async () => {
    await page.goto('/widgets/forms');
    await page.getByLabel('Full name').fill('Ada');
    await page.getByPlaceholder('Nickname').fill('A.');
    await page.getByLabel('Company').fill('Quay');
    await page.getByLabel('Date of birth').fill('1990-02-03');
    await page.getByLabel('Volume').fill('7');
    await page.getByLabel('Colour').fill('#ff0000');
    await page.getByLabel('Rooms').selectOption(['study', 'hall']);
    await page.getByLabel('I collect it').check();
    await page.getByTestId('send').click();
    const sent = JSON.parse((await page.getByTestId('sent').textContent()) ?? '') as Record<string, unknown>;
    const { full_name, nickname, company, born, volume, colour, rooms, delivery } = sent;
    assert.deepEqual([full_name, nickname, company, born, volume, colour], ['Ada', 'A.', 'Quay', '1990-02-03', '7', '#ff0000']);
    assert.deepEqual([rooms, delivery], [['study', 'hall'], 'pickup']);
  });

  it("the shop's workshop opens prompts, modals, beforeunload dialogs and windows", async () => {
    await page.goto('/widgets/dialogs');
    page.once('dialog', (dialog) => void dialog.accept('5'));
    await page.getByRole('button', { name: 'Prompt' }).click();
    await assertText('prompted: 5');
    await page.getByRole('button', { name: 'Open modal' }).click();
    await page.getByLabel('Reason').fill('tea');
    await page.getByRole('button', { name: 'Confirm reason' }).click();
    await assertText('modal: tea');
    await page.getByRole('button', { name: 'Ask before leaving' }).click();
    const [leaving] = await Promise.all([page.waitForEvent('dialog'), page.evaluate('void setTimeout(() => location.reload())')]);
    assert.equal(leaving.type(), 'beforeunload');
    await leaving.dismiss();
    const [popup] = await Promise.all([page.waitForEvent('popup'), page.getByRole('button', { name: 'Open window' }).click()]);
    await popup.close();
  });

  it("the shop's workshop has editors, pickers and sliders for pointer and keys", async () => {
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto('/widgets/pointer');
    await page.locator('#label').dblclick();
    await page.getByLabel('New label').fill('Changed');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('#label').textContent(), 'Changed');
    await page.locator('#target').click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await assertText('chosen: Remove');
    await page.getByRole('button', { name: 'More' }).hover();
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.keyboard.press('Control+k');
    assert.equal(await page.locator('#key').textContent(), 'ctrl+k');
    await page.getByRole('slider', { name: 'Brightness' }).click({ position: { x: 150, y: 7 } });
    assert.equal(await page.getByRole('slider').getAttribute('aria-valuenow'), '50');
  });

  it("the shop's workshop has an editor, live streams and pages of its service worker", async () => {
    await page.goto('/widgets/editor');
    await page.getByRole('textbox', { name: 'Your review' }).pressSequentially('Fine lamp');
    await page.getByRole('button', { name: 'Publish' }).click();
    assert.equal(await page.locator('#published').textContent(), 'Fine lamp');
    await page.goto('/widgets/live');
    await page.getByText('(3)').waitFor();
    await page.getByText('in stock').waitFor();
    assert.equal(await page.locator('#live-articles li').count(), 6);
    await page.goto('/sw-page');
    await page.getByText('Ready').waitFor();
    await page.getByRole('link', { name: /only the worker/ }).click();
    await page.getByRole('heading', { name: 'From the worker' }).waitFor();
    assert.equal(shop.hits.includes('/offline/hello'), false);
  });

  it("the shop's workshop redirects by status, by meta and by script", async () => {
    for (const [from, to] of Object.entries({
      '/old-product': '/products/amber-desk-lamp',
      '/moved-meta': '/journal',
      '/moved-script': '/journal',
    })) {
      await page.goto(from, { waitUntil: 'commit' });
      await page.waitForURL(`**${to}`);
    }
  });
});
