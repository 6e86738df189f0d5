/** The account's pages of the dashboard, its palette, and what a customer does there. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createCreditCodes, createPromoCodes, endSession, grantCredits, listOwnKeys, navigate } from '@berth/contract';
import { defaultSecretKey, defaultWebhookSecret, startStripe, type StripeStandIn } from '../../services/stripe-stand-in.ts';
import { nightly } from '../../nightly.ts';
import { DashboardTest, type DashboardViewer } from './dashboard.ts';
import { page as html, startSite, type Site } from '../site.ts';

const plan = { requests_per_minute: null, creates_per_minute: null, max_session_seconds: 900, tab_limit: null, premium_egress: false };
/** `team` is for sale, `pro` can be tried with a code. */
const tiers = {
  default_tier: 'free',
  tiers: {
    free: { ...plan, concurrency_limit: 3, limits: { actions: 1000, egress_bytes: 1_000_000_000, captcha_solves: 0 } },
    team: { ...plan, concurrency_limit: 20, limits: { actions: 50_000 } },
    pro: { ...plan, concurrency_limit: 50 },
  },
  prices: { price_team: 'team' },
};

const folder = mkdtempSync(join(tmpdir(), 'berth-dashboard-'));
let stripe: StripeStandIn;
let dashboard: DashboardTest;
before(async () => {
  stripe = await startStripe({ prices: Object.keys(tiers.prices) });
  writeFileSync(join(folder, 'tiers.json'), JSON.stringify(tiers));
  dashboard = await DashboardTest.withFakes({
    environment: {
      BERTH_CREDITS_ENFORCED: 'true',
      BERTH_TIERS_FILE: join(folder, 'tiers.json'),
      BERTH_STRIPE_SECRET_KEY: defaultSecretKey,
      BERTH_STRIPE_WEBHOOK_SECRET: defaultWebhookSecret,
      BERTH_STRIPE_API_URL: stripe.url,
    },
  });
  stripe.webhook = `${dashboard.served.url}/v1/billing-provider/webhook`;
});
after(async () => {
  await dashboard?.close();
  await stripe?.close();
  rmSync(folder, { recursive: true });
});

const app = () => {
  assert.ok(dashboard.app);
  return dashboard.app;
};
const blank = { url: 'about:blank' };
const heading = ({ page }: DashboardViewer, name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();

/** Uses what costs, so that there is something to show. */
async function use(key: string): Promise<void> {
  const { session_id } = await app().create({ name: `used-${key.slice(-4)}` }, { key });
  await app().call(navigate, { key, params: { session_id }, body: blank });
  await app().call(endSession, { key, params: { session_id } });
  const { flushing } = app().app.metering;
  flushing.nudge();
  await flushing.idle();
}

describe('the account', () => {
  it('the account pages show usage against limits, and each day in a chart with its numbers', async () => {
    const key = await app().ownerKey('metered', 'free');
    await app().call(grantCredits, { body: { owner: 'metered', amount: 10 } });
    await use(key);
    const opened = await dashboard.open('/usage', { as: [] });
    await opened.signIn('key', key);
    await opened.go('/usage');
    await heading(opened, 'Usage');
    const { page } = opened;
    await page.locator('main').getByText('Plan free').waitFor();
    await page.getByRole('listitem').filter({ hasText: 'Actions' }).getByText('999 left of 1,000').waitFor();
    await page.getByText('Not part of this plan').waitFor();
    await page.locator('.uplot canvas').waitFor();
    for (const width of [1600, 1360, 1100, 900, 700]) {
      await page.setViewportSize({ width, height: 860 });
      const tops = await page.locator('.usage-card').evaluateAll((cards) => cards.map((card) => card.getBoundingClientRect().top));
      for (const top of tops) assert.ok(tops.filter((other) => other === top).length > 1, `a card is alone at ${width}: ${tops.join()}`);
    }
    await page.setViewportSize({ width: 1360, height: 860 });
    await page.getByText('Numbers').click();
    const today = page
      .getByRole('region', { name: /Actions on each of the last 31 days/ })
      .getByRole('row')
      .last();
    assert.match(await today.innerText(), /\t1$/);
    await page.getByLabel('Show').selectOption('Sessions');
    await page.getByLabel('Days', { exact: true }).selectOption('Last 7 days');
    await page.getByRole('img', { name: /Sessions on each of the last 7 days/ }).waitFor();
    await page.getByText('Numbers').click();
    const sessions = page.getByRole('region', { name: /Sessions on each of the last 7 days/ });
    assert.equal(await sessions.getByRole('row').count(), 8);
    await opened.inspect('usage');
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('the account pages redeem a code, and list charges page by page with the balance after each', async () => {
    const key = await app().ownerKey('rich');
    for (let n = 0; n < 104; n += 1) await app().call(grantCredits, { body: { owner: 'rich', amount: 1 } });
    await use(key);
    const [code = ''] = (await app().call(createCreditCodes, { body: { amount: 2.5 } })).body.codes ?? [];
    const opened = await dashboard.open('/credits', { as: [] });
    await opened.signIn('key', key);
    await opened.go('/credits');
    const { page } = opened;
    await page.locator('.figure', { hasText: '102.99' }).waitFor();
    await page.getByLabel('Credit code').fill('CREDIT-NONE');
    await page.getByRole('button', { name: 'Redeem' }).click();
    await page.getByRole('alert').filter({ hasText: /code/i }).waitFor();
    await page.getByLabel('Credit code').fill(` ${code.toLowerCase()} `);
    await page.getByRole('button', { name: 'Redeem' }).click();
    await page.getByText('2.5 credits added. The balance is 105.49.').waitFor();
    await page.getByRole('row', { name: /Code redeemed.*\+2.5.*105.49/ }).waitFor();
    await page.getByRole('row', { name: /Session .*ses_.*-1\.00\s/ }).waitFor();
    await page.getByText('100 rows').waitFor();
    await page.getByRole('button', { name: 'Load more' }).click();
    await page.getByText('107 rows').waitFor();
    await opened.inspect('credits');
    await page.getByLabel('Show', { exact: true }).selectOption('By session');
    await page.getByRole('row', { name: /^ses_/ }).first().waitFor();
    await opened.inspect('credits-by-session');
    assert.match(page.url(), /by=session/);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const file = readFileSync(await (await saving).path(), 'utf8');
    assert.equal(file.trimEnd().split('\r\n').length, 1 + 107);
    opened.viewer.assertNoIssues({ except: /404/ });
    await opened.close();
  });

  it('the account pages create, rotate and revoke keys; a new one is shown once, and copied', async () => {
    const opened = await dashboard.open('/keys', { as: ['login'] });
    const { page } = opened;
    await heading(opened, 'API keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('laptop');
    await page.getByLabel('Expires').selectOption('In 90 days');
    await page.getByRole('button', { name: 'Create the key' }).click();
    const secret = page.locator('[data-secret]');
    const key = await secret.innerText();
    assert.match(key, /^brt_live_\w{49}$/);
    await page.getByRole('button', { name: 'Copy the key' }).click();
    await page.waitForFunction(async (text) => (await navigator.clipboard.readText()) === text, key);
    await opened.inspect('keys');
    await page.getByRole('button', { name: 'Use it in this tab' }).click();
    await page.getByText('Signed in with API key, login token.').waitFor();
    assert.equal(await secret.count(), 0);
    await page.getByRole('button', { name: 'Rotate laptop' }).click();
    await page.getByLabel('The old key stops working').selectOption('At once');
    await page.getByRole('button', { name: 'Create the new key' }).click();
    await page.getByRole('row', { name: /laptop.*Revoked/ }).waitFor();
    assert.notEqual(await secret.innerText(), key);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: 'Revoke laptop' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByText('The key is revoked.').waitFor();
    const { body } = await app().call(listOwnKeys, { key: await app().login() });
    assert.deepEqual(
      body.filter(({ name }) => name === 'laptop').map(({ status }) => status),
      ['revoked', 'revoked'],
    );
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('the account pages start a trial with a code, and buy a plan on the page of the payment provider', async () => {
    const [code = ''] = (await app().call(createPromoCodes, { body: { tier: 'pro', trial_days: 14 } })).body.codes ?? [];
    const opened = await dashboard.open('/billing', { as: ['login', 'key'] });
    const { page } = opened;
    await page.getByText('Plan free').waitFor();
    await page.getByLabel('Promo code').fill(code);
    await page.getByRole('button', { name: 'Start the trial' }).click();
    await page.getByText('Plan pro').waitFor();
    await page.getByRole('button', { name: 'Manage plan and invoices' }).click();
    await page.getByRole('alert').waitFor();
    await opened.inspect('billing');
    opened.viewer.assertNoIssues({ except: /409/ });
    await page.getByRole('button', { name: 'Buy team' }).click();
    await page.waitForURL(`${stripe.url}/**`);
    await page.getByText('price_team').waitFor();
    const { form } = stripe.requests.at(-1) ?? {};
    assert.equal(Object.fromEntries(form ?? [])['success_url'], `${dashboard.served.url}/dashboard/billing`);
    await opened.close();
  });
});

describe('the palette', () => {
  it('the command palette leads to pages, actions and sessions by keys alone, and copies snippets without a key', async () => {
    const key = await app().ownerKey('searched');
    await app().call(grantCredits, { body: { owner: 'searched', amount: 10 } });
    const { session_id } = await app().create({ name: 'nightly-prices' }, { key });
    const opened = await dashboard.open('', { as: [] });
    await opened.signIn('key', key);
    const { page } = opened;
    // The first page, to which the sign-in leads.
    await heading(opened, 'Home');
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: /Search pages/ });
    await page.getByRole('option', { name: /nightly-prices/ }).waitFor();
    await opened.inspect('palette');
    await field.fill('usa');
    await page.keyboard.press('Enter');
    await heading(opened, 'Usage');
    await page.keyboard.press('Meta+k');
    await field.fill('nightly');
    // The sessions are read anew each time.
    await page.getByRole('option', { name: /nightly-prices/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/dashboard/sessions/${session_id}`);
    await page.keyboard.press('Control+k');
    await field.fill('playwright snippet');
    await page.keyboard.press('Enter');
    await page.getByText('Copied a Playwright snippet.').waitFor();
    const text = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(text.includes(`${dashboard.served.url.replace('http', 'ws')}/v1/connect`) && !text.includes(key), text);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor({ state: 'hidden' });
    await page.keyboard.press('Control+k');
    await field.fill('sign out of everything');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Berth' }).waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.length + localStorage.length), 0);
    opened.viewer.assertNoIssues();
    await opened.close();
  });
});

describe('with real browsers', () => {
  let site: Site;
  let real: DashboardTest;
  before(async () => {
    site = await startSite({ pages: { '/': html('Lamps', '<h1>Lamps from the quay</h1>') } });
    real = await DashboardTest.withBrowsers({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_DEV_IDP: 'true' } });
  });
  after(async () => {
    await real?.close();
    await site?.close();
  });

  it('a newcomer comes from the link that the first start prints to a recorded session in the dashboard', async () => {
    const { output = '' } = real.service ?? {};
    const [, link = ''] = /^Sign in \(once, 10 min\): +(\S+)$/m.exec(output) ?? [];
    const [key = ''] = /brt_live_\w+/.exec(output) ?? [];
    const opened = await real.open('', { as: [] });
    const { page } = opened;
    await page.goto(link);
    await page.getByText('Signed in as local.').waitFor();
    assert.equal(page.url(), `${opened.url}/dashboard/home`);
    await page.getByRole('link', { name: 'Create a session' }).first().click();
    await page.getByLabel('Start url').fill(`${site.url}/`);
    await page.getByRole('button', { name: 'Create the session' }).click();
    await page.getByRole('region', { name: 'Live view' }).locator('canvas').waitFor();
    await page.getByText('Lamps').first().waitFor();
    await page.getByRole('tab', { name: 'Recording' }).click();
    await page.locator('.poster img').waitFor();
    await page.getByRole('button', { name: 'End the session' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End the session' }).click();
    await page.locator('.recording-card').getByText('Complete').waitFor();
    const [player] = await Promise.all([page.waitForEvent('popup'), page.getByRole('button', { name: 'Open the player' }).click()]);
    await player
      .getByRole('button', { name: /Play|Pause/ })
      .first()
      .waitFor();
    assert.ok(!player.url().includes(key));
    assert.ok(!(real.service?.output ?? '').split('\n').some((line) => line.startsWith('{') && line.includes('brt_link_')));
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('a customer signs in, creates a key, fetches a page, sees it in the usage, and redeems a code in the dashboard', nightly, async () => {
    const client = real.service?.client ?? assert.fail('no service');
    const [code = ''] = (await client.call(createCreditCodes, { body: { amount: 25 } })).body.codes ?? [];
    const opened = await real.open('/keys', { as: [] });
    const { page } = opened;
    await page.getByRole('button', { name: 'Use the development sign-in' }).click();
    await page.getByLabel('E-mail').fill('grace@example.com');
    await page.getByLabel('Organisation').fill('lamps');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await heading(opened, 'API keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('button', { name: 'Create the key' }).click();
    await page.getByRole('button', { name: 'Use it in this tab' }).click();
    await page.getByRole('link', { name: 'Fetch' }).click();
    await page.getByRole('textbox', { name: 'Address' }).fill(`${site.url}/`);
    await page.getByRole('button', { name: 'Fetch', exact: true }).click();
    await page.getByRole('region', { name: 'Result' }).getByText('Lamps from the quay').first().waitFor();
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('listitem').filter({ hasText: 'Actions' }).locator('.figure', { hasText: /^1$/ }).waitFor();
    await page.getByRole('link', { name: 'Credits' }).click();
    await page.getByLabel('Credit code').fill(code);
    await page.getByRole('button', { name: 'Redeem' }).click();
    await page.getByText(/25 credits added\. The balance is 24\.\d+\./).waitFor();
    await page.getByRole('row', { name: /Code redeemed/ }).waitFor();
    assert.ok(!/[?&](code|state)=/.test(page.url()));
    opened.viewer.assertNoIssues();
    await opened.close();
  });
});
