/** `live_view_url` of a session, opened by its owner: with a sign-in in another tab, and without one. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey, createSession, endSession } from '@berth/contract';
import { DashboardTest, type DashboardViewer } from './dashboard.ts';
import { eventually } from '../service.ts';
import { startSite, page as htmlPage, type Site } from '../site.ts';
import { slowMs, waitForColour } from '../watch/viewing.ts';

const red = [220, 20, 20] as const;

describe('the address of a live view', () => {
  let site: Site;
  let dashboard: DashboardTest;
  let session: { session_id: string; live_view_url: string | null };
  before(async () => {
    const style = `<style>body { background: rgb(${red.join(' ')}); height: 100vh; margin: 0; }</style>`;
    site = await startSite({ pages: { '/red': htmlPage('Red page', style) } });
    dashboard = await DashboardTest.withBrowsers({ environment: { BERTH_EGRESS_ALLOW: site.host } });
    session = await create();
  });
  after(async () => {
    await dashboard?.close();
    await site?.close();
  });

  const client = () => (dashboard.service ?? assert.fail()).client;
  const create = async () => {
    const { status, body } = await client().call(createSession, { body: { start_url: `${site.url}/red` } });
    assert.equal(status, 201);
    return body;
  };
  const address = (of = session): string => of.live_view_url ?? assert.fail('the session has no live view');
  /** Opens the address in another tab of the same browser, and notes all addresses that the tab requests. */
  const openTab = async ({ viewer }: DashboardViewer, url = address()) => {
    const page = await viewer.context.newPage();
    const requested: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    await page.goto(url);
    return { page, requested };
  };

  it('the address of a live view shows it at once where another tab is signed in, and no secret is in an address of the tab', async () => {
    const opened = await dashboard.open('/sessions');
    const { page, requested } = await openTab(opened);
    await waitForColour(page.locator('canvas'), red);
    assert.equal(page.url(), address());
    const secret = /brt_|token=/;
    assert.deepEqual(
      requested.filter((url) => secret.test(url) || url.includes('/dashboard')),
      [],
    );
    assert.doesNotMatch(await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }) + history.length), secret);
    // The owner may drive.
    await page.getByRole('textbox', { name: 'Address' }).waitFor();
    await opened.close();
  });

  it('the address of a live view asks whoever is not signed in to do so, and leads back to the live view', async () => {
    const opened = await dashboard.open('', { as: [] });
    const { page } = await openTab(opened);
    await page.waitForURL(/\/dashboard\/sessions\/ses_\w+\/live$/);
    await page.getByText(`Sign in to see the live view of ${session.session_id}, with an API key of its owner.`).waitFor();
    await page.getByText('If the session is not yours, ask its owner for a link.').waitFor();
    await page.getByRole('textbox', { name: 'API key' }).fill(dashboard.served.key);
    await page.keyboard.press('Enter');
    await waitForColour(page.locator('canvas'), red);
    assert.equal(page.url(), address());
    await page.reload();
    await waitForColour(page.locator('canvas'), red);
    await opened.close();
  });

  it('the address of a live view opens as soon as somebody signs in in another tab', async () => {
    const opened = await dashboard.open('', { as: [] });
    const { page } = await openTab(opened);
    await page.getByRole('textbox', { name: 'API key' }).waitFor();
    await opened.signIn('key', dashboard.served.key);
    await page.reload();
    await waitForColour(page.locator('canvas'), red);
    await opened.close();
  });

  it('the address of a live view is not opened by a tab of another owner, who reads why', async () => {
    const created = await client().call(createKey, { body: { owner: 'other', name: 'Other' } });
    const key = created.body.key ?? assert.fail('the key is not shown');
    const opened = await dashboard.open('', { as: [] });
    await opened.signIn('key', key);
    const { page } = await openTab(opened);
    await page.getByText('Sign in to see the live view').waitFor();
    await page.getByRole('textbox', { name: 'API key' }).fill(key);
    await page.keyboard.press('Enter');
    await page
      .getByRole('alert')
      .getByText(/^No such session/)
      .waitFor();
    assert.deepEqual(await opened.viewer.context.cookies(address()), []);
    await opened.close();
  });

  it('the address of a live view of a session that has ended says so after the sign-in', async () => {
    const ended = await create();
    await client().call(endSession, { params: { session_id: ended.session_id } });
    const opened = await dashboard.open('/sessions');
    const { page } = await openTab(opened, address(ended));
    await page.getByRole('textbox', { name: 'API key' }).fill(dashboard.served.key);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText(/ended/i).waitFor();
    await opened.close();
  });

  it('the address of a live view does not redirect a browser without cookies for ever', { timeout: 4 * slowMs }, async () => {
    const opened = await dashboard.open('/sessions');
    await opened.viewer.context.route(/live-view\?token=/, (route) => route.fulfill({ contentType: 'text/html', body: '' }));
    const { page, requested } = await openTab(opened);
    const openings = () => requested.filter((url) => url === address()).length;
    await eventually('the live view is opened again', () => openings() >= 2, 2 * slowMs);
    // Longer than the page asks before it leads to the sign-in.
    await page.waitForTimeout(4000);
    assert.equal(page.url(), address());
    await page.getByRole('heading', { name: 'A link is needed to see this' }).waitFor();
    assert.equal(openings(), 2);
    await opened.close();
  });
});
