/** A customer's story on the dashboard with real browsers: create a session by the form, watch and drive it, end it, play its recording. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, navigate, runActions } from '@berth/contract';
import { nightly } from '../../nightly.ts';
import { DashboardTest, type DashboardViewer } from './dashboard.ts';
import { startSite, page as htmlPage, type Site } from '../site.ts';
import { waitForColour } from '../watch/viewing.ts';

const red = [220, 20, 20] as const;
const blue = [20, 20, 220] as const;
const coloured = (title: string, colour: readonly number[], body = ''): string =>
  htmlPage(title, `<style>body { background: rgb(${colour.join(' ')}); height: 100vh; margin: 0; }</style>${body}`);
const hostileName = '<img src=x onerror=alert(1)> & "quotes"';

describe('a customer’s sessions', () => {
  let site: Site;
  let dashboard: DashboardTest;
  let opened: DashboardViewer;
  before(async () => {
    site = await startSite({
      pages: {
        '/red': coloured(
          'Red page',
          red,
          `<script>console.log('logged <b>by</b> the page'); localStorage.setItem('colour', 'red');</script>`,
        ),
        '/keys': coloured(
          'Keys page',
          red,
          `<script>addEventListener('keydown', ({ key }) => { if (key === 'b') document.body.style.background = 'rgb(${blue.join(' ')})'; });</script>`,
        ),
        '/blue': coloured('Blue page', blue),
      },
    });
    dashboard = await DashboardTest.withBrowsers({ environment: { BERTH_EGRESS_ALLOW: site.host } });
    opened = await dashboard.open('/sessions');
  });
  after(async () => {
    await opened?.close();
    await dashboard?.close();
    await site?.close();
  });
  const panel = (name: string) => opened.page.getByRole('tab', { name, exact: true }).click();
  let sessionId = '';

  it('sessions are created in the dashboard by a form, which shows what the service refuses beside its field', async () => {
    const { page } = opened;
    await page.getByRole('link', { name: 'Create a session' }).first().click();
    await page.getByRole('heading', { name: 'Create a session' }).waitFor();
    // The one of the profile is in a group that is closed.
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(hostileName);
    await page.getByLabel('Start URL', { exact: true }).fill(`${site.url}/red`);
    await page.getByText('Page and device').click();
    await page.getByLabel('Locale', { exact: true }).fill('not a locale');
    await page.getByRole('button', { name: 'Create the session' }).click();
    await page.locator('.form-field[data-invalid=true]', { hasText: 'Locale' }).locator('.field-error').waitFor();
    await opened.inspect('create-refused');
    await page.getByLabel('Locale', { exact: true }).fill('de-DE');
    await page.getByRole('button', { name: 'Create the session' }).click();
    await page.waitForURL(/\/dashboard\/sessions\/ses_\w+$/);
    sessionId = page.url().split('/').at(-1) ?? '';
    await page.getByRole('heading', { level: 1, name: hostileName }).waitFor();
  });

  it('sessions are seen live and driven from their page in the dashboard', async () => {
    const { page } = opened;
    await waitForColour(page.locator('.session-view canvas'), red);
    await page.getByLabel('Address', { exact: false }).first().fill(`${site.url}/blue`);
    await page.keyboard.press('Enter');
    await waitForColour(page.locator('.session-view canvas'), blue);
    await page.getByRole('region', { name: 'Timeline' }).getByText(`${site.url}/blue`).first().waitFor();
    await opened.inspect('session');
  });

  it('the page of a session has the live view and what happens side by side, with a boundary that keys move', async () => {
    const { page } = opened;
    const view = page.getByRole('region', { name: 'Live view' });
    const boundary = page.getByRole('separator', { name: 'Width of “What happens”' });
    const widthOf = async () => (await view.boundingBox())?.width ?? 0;
    const before = await widthOf();
    const picture = await view.boundingBox();
    const timeline = await page.getByRole('region', { name: 'Timeline' }).boundingBox();
    assert.ok(picture && timeline && timeline.x > picture.x + picture.width && timeline.y < picture.y + picture.height);
    await page.keyboard.press('F6');
    await opened.reach('Skip the live view');
    await page.keyboard.press('Enter');
    await opened.reach('Timeline');
    await opened.reach('Width of “What happens”', 'Shift+Tab');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    assert.equal(await boundary.getAttribute('aria-valuenow'), '44');
    assert.ok((await widthOf()) < before);
    await page.keyboard.press('Enter');
    assert.equal(await widthOf(), before);
    assert.equal(await page.getByText(hostileName, { exact: true }).count(), 1, 'the name stands once');
    assert.equal(await page.getByRole('region', { name: 'Timeline' }).getByText('Viewer joined').count(), 0);
    await page.getByRole('button', { name: /^Show viewers/ }).click();
    await page.getByRole('region', { name: 'Timeline' }).getByText('Viewer joined').first().waitFor();
    await page.getByRole('button', { name: 'Hide viewers' }).click();
  });

  it('the page of a session has a sheet on a phone, which a part or its handle opens and Escape closes', async () => {
    const { page } = opened;
    await page.setViewportSize({ width: 390, height: 844 });
    const lines = page.getByRole('region', { name: 'Timeline' });
    await lines.waitFor({ state: 'hidden' });
    const handle = page.getByRole('button', { name: 'What happens' });
    assert.equal(await handle.getAttribute('aria-expanded'), 'false');
    await opened.inspect('session-phone');
    await page.setViewportSize({ width: 390, height: 844 });
    await panel('Timeline');
    await lines.waitFor();
    await opened.inspect('session-sheet');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.keyboard.press('Escape');
    await lines.waitFor({ state: 'hidden' });
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it('the page of a session shows its network traffic, console, files and storage', async () => {
    const { page } = opened;
    const { client } = dashboard.service ?? assert.fail();
    await panel('Network');
    const visit = (path: string) => client.call(navigate, { params: { session_id: sessionId }, body: { url: `${site.url}${path}` } });
    assert.equal((await visit('/form')).status, 200);
    const { body: clicked } = await client.call(runActions, {
      params: { session_id: sessionId },
      body: { actions: [{ type: 'click', selectors: ['#file'] }] },
    });
    assert.deepEqual(
      clicked.results.map(({ status }) => status),
      ['ok'],
    );
    await page.getByRole('cell', { name: `${site.url}/form` }).waitFor();
    await opened.inspect('session-network');
    await panel('Files');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save data.bin' }).click();
    assert.equal((await saved).suggestedFilename(), 'data.bin');
    await visit('/red');
    await panel('Storage');
    await page.getByRole('cell', { name: 'colour' }).waitFor();
    await panel('Console');
    await page.getByText('logged <b>by</b> the page').first().waitFor();
    await panel('Connect');
    await page.getByText('chromium.connectOverCDP').waitFor();
    await panel('MCP');
    await page.getByText(`--cdp-endpoint ${dashboard.served.url.replace('http', 'ws')}/v1/session/${sessionId}/cdp `).waitFor();
    assert.ok(!(await page.content()).includes(dashboard.served.key));
    await opened.inspect('session-connect');
    await panel('Details');
    await page.getByText('de-DE').waitFor();
  });

  it('the page of a session without a recording shows its console from the first look on', nightly, async () => {
    const { page } = opened;
    const { client } = dashboard.service ?? assert.fail();
    const { session_id: unrecorded } = (await client.call(createSession, { body: {} })).body;
    const params = { session_id: unrecorded };
    await opened.go(`/sessions/${unrecorded}`);
    await panel('Console');
    await page.getByText('Lines are collected from now on.').waitFor();
    await client.call(navigate, { params, body: { url: `${site.url}/red` } });
    await page.getByText('logged <b>by</b> the page').waitFor();
    await opened.inspect('session-console');
    await client.call(endSession, { params });
    await opened.go(`/sessions/${sessionId}`);
    await page.getByRole('heading', { level: 1, name: hostileName }).waitFor();
  });

  it('sessions are shared by a link that a person without a key opens', async () => {
    const { page } = opened;
    await page.getByRole('button', { name: 'Share a link' }).click();
    await page.getByRole('button', { name: 'Create the link' }).click();
    const link = await page.getByRole('dialog').locator('code').textContent();
    await opened.inspect('session-share');
    const guest = await dashboard.open('', { as: [] });
    await guest.page.goto(link ?? '');
    await waitForColour(guest.page.locator('canvas'), red);
    const before = await page.locator('.session-view canvas').elementHandle();
    await page.getByRole('button', { name: 'Revoke all links' }).click();
    await guest.page.getByRole('heading', { name: /revoked|no longer/i }).waitFor();
    await guest.close();
    await page.keyboard.press('Escape');
    // The view of this page was opened by a link, too.
    await page.waitForFunction((canvas) => !canvas?.isConnected, before);
    await waitForColour(page.locator('.session-view canvas'), red);
    assert.equal(await page.locator('.session-view').getByRole('alert').count(), 0);
  });

  it('sessions are on the wall of the dashboard with a live picture', async () => {
    await opened.go('/sessions');
    await waitForColour(opened.page.locator('.tile canvas'), red);
    await opened.inspect('wall');
    await opened.page.getByRole('link', { name: hostileName }).click();
    await opened.page.getByRole('heading', { level: 1, name: hostileName }).waitFor();
  });

  it('sessions are ended from their page in the dashboard, and leave a recording that plays', async () => {
    const { page } = opened;
    await page.getByRole('button', { name: 'End the session' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End the session' }).click();
    await page.getByText('Ended on request', { exact: true }).waitFor();
    await page.getByText('Complete', { exact: true }).waitFor();
    await page.getByText('You or a program with your key ended it.').waitFor();
    const player = page.frameLocator('iframe[title="Recording of the session"]');
    await player.getByRole('region', { name: 'Timeline' }).getByText(`${site.url}/blue`).first().waitFor();
    await player.getByRole('button', { name: 'Play', exact: true }).first().click();
    assert.deepEqual(await page.getByRole('tab').allTextContents(), ['Recording', 'Console', 'Details']);
    await opened.inspect('session-ended');
    await page.getByRole('link', { name: 'Run again' }).click();
    await page.getByText('With the options of').filter({ hasText: 'Not carried over' }).waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue(), hostileName);
    assert.equal(await page.getByLabel('Start URL', { exact: true }).inputValue(), `${site.url}/red`);
    await opened.go('/recordings');
    await page.getByRole('heading', { name: 'Recordings', level: 1 }).waitFor();
    await page.getByRole('button', { name: /^Play the recording/ }).click();
    await page.waitForURL(new RegExp(`play=${sessionId}`));
    const played = page.getByRole('region', { name: /^Recording of/ });
    await played.frameLocator('iframe').getByRole('region', { name: 'Timeline' }).getByText(`${site.url}/blue`).first().waitFor();
    const [opener] = await Promise.all([page.waitForEvent('popup'), played.getByRole('button', { name: 'Open in a tab' }).click()]);
    await opener.getByRole('heading', { name: 'Recording', exact: true }).waitFor();
    await opened.inspect('recordings');
  });

  it('sessions are created, driven and ended in the dashboard with the keyboard alone', async () => {
    const { page } = opened;
    const { keyboard } = page;
    await opened.go('/sessions');
    await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
    await opened.reach('Create a session');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Create a session' }).waitFor();
    await opened.reach('Start URL');
    await keyboard.type(`${site.url}/keys`);
    await keyboard.press('Enter');
    await page.waitForURL(/\/dashboard\/sessions\/ses_\w+$/);
    await waitForColour(page.locator('.session-view canvas'), red);
    await opened.reach('Keyboard of the page');
    await keyboard.type('b');
    await waitForColour(page.locator('.session-view canvas'), blue);
    await keyboard.press('F6');
    await opened.reach('End the session', 'Shift+Tab');
    await keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await opened.reach('End the session');
    await keyboard.press('Enter');
    await page.getByText('Ended on request', { exact: true }).waitFor();
  });

  it('a session whose browser ends elsewhere is shown as ended in the dashboard', async () => {
    const { client } = dashboard.service ?? assert.fail();
    await opened.go('/sessions/new');
    await opened.page.getByRole('button', { name: 'Create the session' }).click();
    await opened.page.waitForURL(/\/sessions\/ses_\w+$/);
    await opened.page.locator('.session-view canvas').waitFor();
    const id = opened.page.url().split('/').at(-1) ?? '';
    assert.equal((await client.call(endSession, { params: { session_id: id } })).status, 204);
    await opened.page.getByText('Ended on request', { exact: true }).waitFor();
    opened.viewer.assertNoIssues({ except: /WebSocket|status of 4\d\d/ });
  });
});
