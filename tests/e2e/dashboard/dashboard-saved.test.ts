/** What the dashboard keeps for later sessions: profiles and connect tokens. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, listConnectTokens, listProfiles, listSessions } from '@berth/contract';
import type { TestApp } from '../../harness.ts';
import { DashboardTest, type DashboardViewer } from './dashboard.ts';

let dashboard: DashboardTest;
let app: TestApp;
let opened: DashboardViewer;
let page: DashboardViewer['page'];
before(async () => {
  dashboard = await DashboardTest.withFakes();
  app = dashboard.app ?? assert.fail('no service');
  opened = await dashboard.open('/profiles');
  ({ page } = opened);
});
after(() => dashboard?.close());

const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

describe('profiles', () => {
  it('the profiles page opens a browser to sign in by hand, whose session saves the profile', async () => {
    await page.getByText('No profiles yet').waitFor();
    await press('Sign in by hand and save');
    await page.getByRole('textbox', { name: 'Name of the profile' }).fill('shop');
    await opened.inspect('profile-sign-in');
    await press('Open the browser');
    await page.waitForURL(/\/sessions\/ses_/);
    const { body } = await app.call(listSessions);
    const { profile, session_id: id } = body[0] ?? assert.fail('no session');
    assert.deepEqual([profile?.name, profile?.save_changes], ['shop', true]);
    assert.ok(page.url().endsWith(id));
    await opened.go('/profiles');
    await page.getByRole('row', { name: /shop.*Running session/ }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Sign in again with shop' }).isDisabled(), true);
    await opened.inspect('profiles');
  });

  it('the profiles page says that a profile in use cannot be deleted, and deletes it when it is free', async () => {
    await press('Delete shop');
    const dialog = page.getByRole('dialog', { name: 'Delete the profile' });
    await dialog.getByRole('button', { name: 'Delete the profile' }).click();
    await dialog.getByRole('alert').waitFor();
    await page.keyboard.press('Escape');
    for (const { session_id } of (await app.call(listSessions)).body) await app.call(endSession, { params: { session_id } });
    await page.getByRole('row', { name: /shop.*no session/ }).waitFor();
    await press('Delete shop');
    await dialog.getByRole('button', { name: 'Delete the profile' }).click();
    await page.getByText('No profiles yet').waitFor();
    assert.deepEqual((await app.call(listProfiles)).body, []);
    opened.viewer.assertNoIssues({ except: /status of 409/ });
  });
});

describe('connect tokens', () => {
  it('the connect tokens page shows a new token once, as the configuration of each client, and revokes it', async () => {
    await opened.go('/connect-tokens');
    await page.getByText('No connect tokens').waitFor();
    await press('Create a token');
    await page.getByRole('textbox', { name: 'Name' }).fill('agent');
    await press('Create the token');
    await page.getByRole('heading', { name: 'Copy your new token now' }).waitFor();
    const code = page.locator('.code-block code');
    const token = /brt_connect_\w+/.exec((await code.textContent()) ?? '')?.[0] ?? assert.fail('no token');
    for (const client of ['Puppeteer', 'MCP', 'Command line', 'Address']) {
      await page.getByRole('tab', { name: client }).click();
      assert.ok((await code.textContent())?.includes(token), client);
    }
    await page.getByRole('tab', { name: 'MCP' }).click();
    assert.deepEqual(JSON.parse((await code.textContent()) ?? ''), {
      mcpServers: { berth: { type: 'http', url: `${opened.url}/mcp/${token}` } },
    });
    await opened.inspect('connect-tokens');
    await press('I have copied it');
    assert.equal(await page.getByText(token).count(), 0);
    await page.getByRole('row', { name: /agent.*Active never/ }).waitFor();
    await press('Revoke agent');
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke the token' }).click();
    await page.getByText('No connect tokens').waitFor();
    assert.deepEqual((await app.call(listConnectTokens)).body, []);
  });
});
