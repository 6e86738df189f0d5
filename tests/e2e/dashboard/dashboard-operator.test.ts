/** The operator's pages of the dashboard, and an operator's day: a site blocks, the pool is short, a key leaked, a wallet is empty. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  cordonWorker,
  createKey,
  createSession,
  getOwner,
  getPool,
  grantCredits,
  listAllSessions,
  listAudit,
  listKeys,
  listSessions,
  listWorkers,
  redeemCredits,
  uncordonWorker,
} from '@berth/contract';
import type { Page } from 'playwright-core';
import { attemptOf, blockOf } from '../../../packages/server/testing/selfheal.ts';
import { insertLostWorker } from '../../../packages/server/testing/test-store.ts';
import { eventually, type TestApp } from '../../harness.ts';
import { nightly } from '../../nightly.ts';
import { DashboardTest, type DashboardViewer } from './dashboard.ts';

const metricsToken = 'hush-metrics-token-0123456789abcdef';
const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>';
const host: { memoryAvailableBytes: number | null } = { memoryAvailableBytes: null };

let dashboard: DashboardTest;
let served: TestApp;
let opened: DashboardViewer;
let page: Page;
/** What the browser has sent: addresses and bodies. */
const sent: string[] = [];

before(async () => {
  dashboard = await DashboardTest.withFakes({
    environment: { BERTH_CREDITS_ENFORCED: 'true', BERTH_METRICS_TOKEN: metricsToken },
    hostReader: () => ({ ...host, memoryStallPercent: 0, cpuStallPercent: 0 }),
  });
  served = dashboard.app ?? assert.fail('no service');
  await served.call(grantCredits, { body: { owner: 'acme', amount: 100 } });
  const key = await served.ownerKey('acme', 'startup');
  await served.create({ name: 'checkout <b>bold</b>', metadata: { why: hostile } }, { key });
  const blocked = { outcome: 'blocked' as const, statusCode: 403, owner: 'acme', startedAt: new Date(), domain: 'shop.example' };
  const block = blockOf('challenge');
  for (let n = 0; n < 3; n += 1) served.app.selfHeal.record({ attempts: [attemptOf({ ...blocked, block })] });
  served.app.selfHeal.record({
    attempts: [
      attemptOf({ ...blocked, domain: 'news.example', block: { ...block, vendor: 'datadome' } }),
      attemptOf({ owner: 'acme', domain: 'news.example', startedAt: new Date(), n: 2, strategy: 'wait_retry' }),
    ],
  });
  opened = await dashboard.open('/operator/overview', { as: ['admin'] });
  ({ page } = opened);
  page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
});
after(() => dashboard?.close());

const heading = (name: string | RegExp) => page.getByRole('heading', { name, level: 1 }).waitFor();
const row = (text: string) => page.getByRole('row').filter({ hasText: text });
/** Opens a page, waits for its table or text, and looks for barriers. */
async function visit(path: string, title: string | RegExp, text: string | RegExp): Promise<void> {
  await opened.go(path);
  await heading(title);
  await page.getByRole('main').getByText(text).first().waitFor();
}

describe('each page of the operator', () => {
  const pages: readonly (readonly [path: string, title: string, text: string])[] = [
    ['/operator/overview', 'Overview', 'Needs attention'],
    ['/operator/pool', 'Warm pool', 'Host of this worker'],
    ['/operator/sessions', 'All sessions', 'acme'],
    ['/operator/workers', 'Workers and loops', 'metering'],
    ['/operator/blocks', 'Blocks', 'Blocks over time'],
    ['/operator/sites', 'Site health', 'shop.example'],
    ['/operator/sites/acme/shop.example', 'shop.example', 'captcha_provider'],
    ['/operator/economics', 'Economics', 'There is no price file'],
    ['/operator/owners', 'Owners', 'not enforced'],
    ['/operator/owners/acme', 'acme', 'Usage in'],
    ['/operator/keys', 'All keys', 'bootstrap'],
    ['/operator/codes', 'Codes', 'No codes have been created yet.'],
    ['/operator/audit', 'Audit log', 'session.created'],
    ['/operator/settings', 'Settings', 'BERTH_PUBLIC_URL'],
  ];
  for (const [path, title, text] of pages)
    it(`the operator's page ${path} shows what the service has, without barriers, in light and dark`, async () => {
      await visit(path, title, text);
      await opened.inspect(path.slice(1).replaceAll('/', '-'));
      opened.viewer.assertNoIssues();
    });

  it("the operator's pages show foreign text as text", async () => {
    await visit('/operator/sessions', 'All sessions', 'checkout <b>bold</b>');
    await visit(`/operator/audit?subject=${encodeURIComponent(hostile)}`, 'Audit log', 'No entry matches');
    assert.equal(await page.locator('main img, main b, main script').count(), 0);
    opened.viewer.assertNoIssues();
  });

  it("the operator's pages keep filters in the address, and open with them", async () => {
    await visit('/operator/audit?owner=acme&action=tier.changed', 'Audit log', 'tier.changed');
    await row('acme').first().waitFor();
    assert.equal(await row('acme').count(), 1);
    await page.getByRole('combobox', { name: 'Action' }).selectOption('session.created');
    await page.waitForURL(/action=session\.created/);
    await row('session.created').first().waitFor();
    await page.getByRole('button', { name: 'action: session.created, remove the filter' }).click();
    await row('key.created').first().waitFor();
    assert.ok(page.url().endsWith('?owner=acme'), page.url());
    await page.getByRole('searchbox', { name: 'Subject' }).fill('acme');
    await page.waitForURL(/owner=acme&subject=acme$/);
    await row('tier.changed').waitFor();
  });

  it('the audit log of a phone has all its columns in sight, and times of two lines', async () => {
    await visit('/operator/audit', 'Audit log', 'session.created');
    await page.setViewportSize({ width: 390, height: 844 });
    const table = page.getByRole('region', { name: 'Audit entries' });
    const { overflow, lines } = await table.evaluate((element) => {
      const time = element.querySelector('time') ?? element;
      return {
        overflow: element.scrollWidth - element.clientWidth,
        lines: time.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(time).lineHeight),
      };
    });
    await page.setViewportSize({ width: 1440, height: 900 });
    assert.ok(overflow <= 0, `${overflow} pixels are out of sight`);
    assert.ok(lines < 2.5, `${lines} lines`);
  });

  it("the operator's pages say what is missing: an unknown owner, and a list without entries", async () => {
    await visit('/operator/owners/nobody', 'Owner', 'There is no such owner');
    assert.equal(await page.getByRole('button', { name: 'Open as this customer' }).count(), 0);
    assert.doesNotMatch((await page.getByRole('main').textContent()) ?? '', /GET \//);
    await page.getByRole('link', { name: 'All owners' }).click();
    await heading('Owners');
    await visit('/operator/owners?search=zzz', 'Owners', 'No owner matches');
    // The unknown owner was answered with 404, which the console reports.
    opened.viewer.assertNoIssues({ except: /404/ });
  });
});

describe('the settings', () => {
  it('a filter field keeps what is typed while the list changes to what was typed before', async () => {
    await visit('/operator/owners', 'Owners', 'acme');
    const { page } = opened;
    const field = page.getByRole('searchbox', { name: 'Id contains' });
    // The next letters come with the change of the address, before the page is rendered with it. Frames follow until the next change.
    const shown = await field.evaluate(async (element) => {
      const input = element as HTMLInputElement;
      const type = (text: string): void => {
        input.value = text;
        input.dispatchEvent(new InputEvent('input', { bubbles: true }));
      };
      const replace = history.replaceState.bind(history);
      const nextChange = () =>
        new Promise<void>((resolve) => {
          history.replaceState = (...change) => {
            history.replaceState = replace;
            replace(...change);
            resolve();
          };
        });
      const first = nextChange();
      type('ac');
      await first;
      type('acme');
      const over = nextChange();
      const values = new Set<string>();
      const note = (): void => {
        values.add(input.value);
        requestAnimationFrame(note);
      };
      note();
      await over;
      return [...values];
    });
    assert.deepEqual(shown, ['acme']);
  });

  it('the settings page says of secrets only that they are set', async () => {
    await visit('/operator/settings', 'Settings', 'BERTH_METRICS_TOKEN');
    const cells = await row('BERTH_METRICS_TOKEN').getByRole('cell').allTextContents();
    assert.deepEqual(cells.slice(0, 3), ['BERTH_METRICS_TOKEN', 'set', 'Environment']);
    assert.ok(!(await page.content()).includes(metricsToken));
    await page.getByRole('checkbox', { name: /not the default/ }).check();
    await row('BERTH_MAX_SESSIONS').waitFor();
    assert.equal(await row('BERTH_PUBLIC_URL').count(), 0);
  });
});

describe('a site blocks', () => {
  it('a site that blocks leads the operator from the overview to the site and its strategies', nightly, async () => {
    await visit('/operator/overview', 'Overview', 'Sites blocked 4 attempts in the last 24 hours.');
    await page.getByRole('listitem').filter({ hasText: 'Sites blocked' }).getByRole('link', { name: 'See more' }).click();
    await heading('Blocks');
    await page.getByRole('button', { name: 'Only blocks of the site shop.example' }).click();
    await page.waitForURL(/domain=shop\.example/);
    await page.getByText('Unresolved').first().waitFor();
    await page.getByRole('row').filter({ hasText: 'Unresolved' }).getByRole('link', { name: 'shop.example' }).first().click();
    await heading('shop.example');
    await page.getByText('The site is in a cooldown after 3 blocks in a row.').waitFor();
    assert.equal(await row('rotate_egress').count(), 1);
    await opened.inspect('operator-site-blocked');
  });
});

describe('the pool is short', () => {
  it('a short pool is shown with its cause, and as over once the host has room', async () => {
    host.memoryAvailableBytes = 1;
    await visit('/operator/pool', 'Warm pool', 'Host of this worker');
    await page.getByRole('button', { name: 'Resize headless' }).click();
    await page.getByRole('spinbutton', { name: /Warm headless machines/ }).fill('2');
    await page.getByText('2 more are started, as far as the host has room.').waitFor();
    await opened.inspect('operator-pool-resize');
    await page.getByRole('button', { name: 'Set the target' }).click();
    await page.getByText('The target for headless machines is 2.').waitFor();
    await page.getByText(/The pool is short: 0 of 2 warm machines are ready/).waitFor();
    await page.getByText(/No machine starts: /).waitFor();
    await opened.go('/operator/overview');
    await page.getByText('The host is short of memory or CPU: no machine starts.').waitFor();
    host.memoryAvailableBytes = null;
    // A busy host grows the pool by one machine in ten seconds; that it does is shown elsewhere.
    await eventually('the host has room', async () => (await served.call(getPool)).body.worker.pressure.admitting);
    await visit('/operator/pool', 'Warm pool', /The pool is short|Machines in the region/);
    assert.equal(await page.getByText(/No machine starts/).count(), 0);
    const [entry] = (await served.call(listAudit, { query: { action: 'pool.resized', limit: '1' } })).body;
    assert.equal(entry?.actor, 'operator');
  });
});

describe('a worker is serviced', () => {
  const lost = 'wrk_lost';
  const drains = async () => (await served.call(listWorkers)).body.find(({ alive }) => alive) ?? assert.fail();
  before(() => insertLostWorker(served.app.fleet.deps, lost));
  after(() => served.call(uncordonWorker, { params: { worker_id: served.app.fleet.deps.workerId } }));

  it('a worker is cordoned, drained with a limit, and put back to work in the dashboard, each shown with what it means', async () => {
    const { workerId: own } = served.app.fleet.deps;
    await visit('/operator/workers', 'Workers and loops', 'A worker is lost.');
    await row(lost).getByText('Lost', { exact: true }).waitFor();
    assert.equal(await row(lost).getByRole('button', { name: 'Drain' }).count(), 0);
    await row(own).getByText('Active').waitFor();
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: `Cordon the worker ${own}` }).click();
    await dialog.getByText(/No other worker of the region local takes new work/).waitFor();
    await dialog.getByRole('button', { name: 'Cordon the worker' }).click();
    await row(own).getByText('Cordoned').waitFor();
    await page.getByRole('button', { name: `Drain the worker ${own}` }).click();
    await dialog.getByRole('spinbutton', { name: 'End its sessions after (minutes)' }).fill('120');
    await opened.inspect('operator-worker-drain');
    await dialog.getByRole('button', { name: 'Drain the worker' }).click();
    await row(own)
      .getByText(/Its sessions are ended in (1|2) h/)
      .waitFor();
    const { state, drain_until: until } = await drains();
    assert.equal(state, 'draining');
    const leftMs = Date.parse(until ?? '') - Date.now();
    assert.ok(leftMs > 3_600_000 && leftMs <= 7_260_000, `${leftMs} ms`);
    await opened.inspect('operator-workers-draining');
    await page.getByRole('button', { name: `Uncordon the worker ${own}` }).click();
    await row(own).getByText('Active').waitFor();
    assert.equal((await drains()).state, 'active');
  });

  it('a worker is the only one for an owner who is pinned to it in the dashboard, until it is unpinned', nightly, async () => {
    const { workerId: own } = served.app.fleet.deps;
    const pin = async () => (await served.call(getOwner, { params: { owner: 'acme' } })).body.pinned_worker_id;
    await visit('/operator/owners/acme', 'acme', 'New work runs on any worker.');
    await page.getByRole('button', { name: 'Pin to a worker' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'Worker' }).selectOption(own);
    await dialog.getByRole('button', { name: 'Pin the owner' }).click();
    await page.getByText(`New work runs on ${own}.`).waitFor();
    assert.equal(await pin(), own);
    await opened.inspect('operator-owner-pinned');
    await page.getByRole('button', { name: 'Unpin' }).click();
    await page.getByText('New work runs on any worker.').waitFor();
    assert.equal(await pin(), null);
  });

  it('the page of a worker shows what another operator decides, without a reload', nightly, async () => {
    const params = { worker_id: served.app.fleet.deps.workerId };
    await visit('/operator/workers', 'Workers and loops', 'Active');
    await served.call(cordonWorker, { params });
    await row(params.worker_id).getByText('Cordoned').waitFor();
    await served.call(uncordonWorker, { params });
    await row(params.worker_id).getByText('Active').waitFor();
    opened.viewer.assertNoIssues({ except: /404/ });
  });
});

describe('a key leaked', () => {
  it('a leaked key is found by its end alone and revoked, and its acts are listed', async () => {
    const request = { body: { owner: 'leaky', name: 'ci', expires_in_days: 90 } };
    const { key, key_id: keyId, expires_at: expiresAt } = (await served.call(createKey, request)).body;
    const secret = key ?? assert.fail();
    await served.call(grantCredits, { body: { owner: 'leaky', amount: 10 } });
    await served.create({}, { key: secret });
    await visit('/operator/keys', 'All keys', 'bootstrap');
    await page.getByRole('textbox', { name: /The key, or its last four/ }).fill(secret);
    await page.getByRole('button', { name: 'Find the key' }).click();
    await page.waitForURL(new RegExp(`last4=${secret.slice(-4)}`));
    await page.getByRole('columnheader', { name: 'Expires' }).waitFor();
    await row('leaky').locator(`time[datetime="${expiresAt}"]`).waitFor();
    await page.getByRole('button', { name: `Revoke the key ${secret.slice(-4)}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('stops working with the next request').waitFor();
    await opened.inspect('operator-key-revoke');
    await dialog.getByRole('button', { name: 'Revoke the key' }).click();
    await row('leaky').getByText('Revoked').waitFor();
    await served.refuse(listSessions, 'invalid_api_key', { key: secret });
    await page.getByRole('link', { name: `Audit log of the key ${secret.slice(-4)}` }).click();
    await heading('Audit log');
    await row('session.created').getByText(`key:${keyId}`).waitFor();
    const [listed] = (await served.call(listKeys, { query: { owner: 'leaky' } })).body;
    assert.equal(listed?.status, 'revoked');
    for (const text of [...sent, await page.content(), page.url()]) assert.ok(!text.includes(secret.slice(9, -4)), text.slice(0, 200));
  });

  it('a leaked key leaves its sessions to be ended, which asks first', nightly, async () => {
    await visit('/operator/sessions?owner=leaky', 'All sessions', 'leaky');
    await row('leaky').getByRole('button', { name: 'End', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('is closed at once').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await row('leaky').getByRole('button', { name: 'End', exact: true }).click();
    await dialog.getByRole('button', { name: 'End the session' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await eventually(
      'the session has ended',
      async () => (await served.call(listAllSessions, { query: { owner: 'leaky' } })).body[0]?.status === 'ended',
    );
    await page.getByRole('combobox', { name: 'Status' }).selectOption('all');
    await row('leaky').getByText('Ended by the operator', { exact: true }).waitFor();
    await row('leaky').getByRole('button', { name: 'Details' }).click();
    await page.getByRole('link', { name: 'What happened to this session' }).click();
    await row('session.ended').getByText('operator').waitFor();
  });
});

describe('a customer is out of credits', () => {
  const balance = async () => (await served.call(getOwner, { params: { owner: 'broke' } })).body.credits.balance;

  it('a customer who is out of credits is found, gets credits, and works again', async () => {
    const key = await served.ownerKey('broke', 'free');
    await served.refuse(createSession, 'insufficient_credits', { key, body: {} });
    await visit('/operator/overview', 'Overview', '1 call was refused for empty wallets since the worker started.');
    await opened.go('/operator/owners?search=brok');
    await page.getByRole('link', { name: 'broke' }).click();
    await page.getByText('The wallet is empty: calls that cost credits are refused.').waitFor();
    await opened.inspect('operator-owner-broke');
    await page.getByRole('button', { name: 'Grant or correct' }).click();
    await page.getByRole('spinbutton', { name: 'Credits' }).fill('50');
    await page.getByRole('textbox', { name: 'Note' }).fill(hostile);
    await page.getByText('The balance becomes 50').waitFor();
    await page.getByRole('button', { name: 'Add credits' }).click();
    await page.getByText('broke has 50 credits.').waitFor();
    assert.equal(await balance(), 50);
    assert.equal((await served.call(createSession, { key, body: {} })).status, 201);
  });

  it("a customer's credits are corrected, with an error in words when there are too few", async () => {
    await visit('/operator/owners/broke', 'broke', 'Price of an action');
    await page.getByRole('button', { name: 'Grant or correct' }).click();
    await page.getByRole('combobox', { name: 'What to do' }).selectOption('correct');
    await page.getByRole('spinbutton', { name: 'Credits' }).fill('1000');
    await page.getByRole('button', { name: 'Take credits back' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.getByRole('spinbutton', { name: 'Credits' }).fill('20');
    await page.getByRole('button', { name: 'Take credits back' }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    assert.equal(await balance(), 29);
    await visit('/operator/audit?owner=broke&action=credits.granted', 'Audit log', hostile);
    assert.equal(await page.locator('main img').count(), 0);
    opened.viewer.assertNoIssues({ except: /40[24]/ });
  });

  it('a customer is put on another plan in the dashboard', async () => {
    await visit('/operator/owners/broke', 'broke', 'Usage in');
    await page.getByRole('button', { name: 'Change the plan' }).click();
    await page.getByRole('combobox', { name: 'Plan' }).selectOption('scale');
    await page.getByRole('button', { name: 'Set the plan' }).click();
    await page.getByText('broke is on the plan scale.').waitFor();
    const { plan } = (await served.call(getOwner, { params: { owner: 'broke' } })).body;
    assert.equal(plan.tier, 'scale');
  });

  it('a customer gets a key and codes in the dashboard, each shown once', async () => {
    await visit('/operator/owners/broke', 'broke', 'API keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('second');
    await page.getByRole('button', { name: 'Create the key' }).click();
    const key = await page.getByRole('dialog').locator('code').innerText();
    assert.equal((await served.call(listSessions, { key })).status, 200);
    await page.getByRole('button', { name: 'Close' }).click();
    await visit('/operator/codes', 'Codes', 'Credit codes');
    await page.getByRole('spinbutton', { name: 'Credits per code' }).fill('7');
    await page.getByRole('button', { name: 'Create credit codes' }).click();
    const code = await page.getByRole('region', { name: 'the codes' }).locator('code').innerText();
    await row('credit_codes.made').waitFor();
    assert.equal((await served.call(redeemCredits, { key, body: { code } })).body.granted, 7);
    await opened.inspect('operator-codes-created');
    await visit('/operator/overview', 'Overview', 'Needs attention');
    await visit('/operator/codes', 'Codes', 'Credit codes');
    assert.ok(!(await page.content()).includes(code));
  });
});

describe('a customer asks for help', () => {
  it('the operator opens the dashboard as a customer after a question, and the audit log says so', async () => {
    await visit('/operator/owners/acme', 'acme', 'Usage in');
    await openAs(opened);
    const { body: entries } = await served.call(listAudit, { query: { owner: 'acme', action: 'sign_in_link.created' } });
    assert.deepEqual(
      entries.map(({ actor }) => actor),
      ['operator'],
    );
  });

  it("a customer's tab does not get the admin key of an operator who stays signed in over a reload", async () => {
    const operator = await dashboard.open('/operator/owners/acme', { as: [] });
    await operator.page.getByRole('checkbox', { name: 'Keep me signed in while this tab is open' }).check();
    await operator.signIn('admin', dashboard.served.adminKey);
    assert.ok((await storedIn(operator.page)).includes(dashboard.served.adminKey));
    await openAs(operator);
    assert.ok((await storedIn(operator.page)).includes(dashboard.served.adminKey));
    operator.viewer.assertNoIssues();
    await operator.close();
  });
});

const storedIn = (tab: Page): Promise<string> => tab.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));

/** Opens the dashboard as the customer of the page that is shown: the tab has the customer's key, and nothing of the operator's. */
async function openAs(operator: DashboardViewer): Promise<void> {
  await operator.page.getByRole('button', { name: 'Open as this customer' }).click();
  await operator.page.getByText('done and charged as the customer').waitFor();
  await operator.inspect('operator-open-as');
  const open = operator.page.getByRole('button', { name: 'Open the tab' });
  const [tab] = await Promise.all([operator.page.waitForEvent('popup'), open.click()]);
  const account = tab.getByRole('region', { name: 'Account' });
  await account.getByText('acme', { exact: true }).waitFor();
  assert.ok(!tab.url().includes('link='));
  assert.equal(await account.getByText(/^Signed in with/).textContent(), 'Signed in with API key.');
  assert.equal(await tab.getByRole('link', { name: 'Warm pool' }).count(), 0);
  const stored = await storedIn(tab);
  assert.match(stored, /brt_live_/);
  assert.ok(!stored.includes(dashboard.served.adminKey));
  await tab.close();
}

describe('somebody without the admin key', () => {
  it("somebody without the admin key is asked for it, and sees none of the operator's pages in the navigation", async () => {
    const customer = await dashboard.open('/operator/overview', { as: ['key'] });
    await customer.page.getByText('This page needs an admin key.').waitFor();
    assert.equal(await customer.page.getByRole('link', { name: 'Warm pool' }).count(), 0);
    customer.viewer.assertNoIssues();
    await customer.close();
  });

  it('somebody with a wrong admin key gets an empty page list and a written error', async () => {
    const stranger = await dashboard.open('/operator/settings', { as: [] });
    await stranger.page.getByRole('textbox', { name: 'Admin key' }).fill('wrong-key-0123456789abcdef0123456789');
    await stranger.page.getByRole('textbox', { name: 'Admin key' }).press('Enter');
    await stranger.page.getByRole('alert').getByText('This admin key is not valid').waitFor();
    await stranger.close();
  });
});
