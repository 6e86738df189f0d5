/** The dashboard's frame: sign-in in each way, navigation, and where credentials may be. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createKey, createSignInLink, endSession, listKeys, revokeKey } from '@berth/contract';
import { eventually } from '../../harness.ts';
import { DashboardTest, type DashboardViewer } from './dashboard.ts';

let dashboard: DashboardTest;
before(async () => {
  dashboard = await DashboardTest.withFakes();
});
after(() => dashboard?.close());

const heading = (opened: DashboardViewer, name: string) => opened.page.getByRole('heading', { name, level: 1 });
const navigation = (opened: DashboardViewer) => opened.page.getByRole('navigation', { name: 'Dashboard' });

/** Everything that the window has stored. */
const stored = (opened: DashboardViewer): Promise<{ session: string; local: string; cookies: string }> =>
  opened.page.evaluate(() => ({
    session: JSON.stringify({ ...sessionStorage }),
    local: JSON.stringify({ ...localStorage }),
    cookies: document.cookie,
  }));

/** The secret of a link is neither in the address nor in the history of the tab. */
async function assertNoLink({ page, viewer }: DashboardViewer): Promise<void> {
  const devtools = await viewer.context.newCDPSession(page);
  const { entries } = await devtools.send('Page.getNavigationHistory');
  for (const address of [page.url(), ...entries.map(({ url }) => url)]) assert.ok(!address.includes('link='), address);
}

let owners = 0;

/** A window that is signed in by a link as an owner of its own. */
async function signInByLink(): Promise<{ owner: string; opened: DashboardViewer }> {
  const app = dashboard.app ?? assert.fail();
  const owner = `visited-${(owners += 1)}`;
  await app.ownerKey(owner);
  const opened = await dashboard.open('', { as: [] });
  await opened.page.goto('about:blank');
  await opened.page.goto((await app.call(createSignInLink, { body: { owner } })).body.url ?? assert.fail());
  await opened.page.getByRole('region', { name: 'Account' }).getByText(owner, { exact: true }).waitFor();
  return { owner, opened };
}

describe('the dashboard', () => {
  it('the dashboard asks for a credential, takes an API key by keyboard, and goes where the link leads', async () => {
    const opened = await dashboard.open('/sessions/new', { as: [] });
    const addresses: string[] = [];
    opened.page.on('request', (request) => addresses.push(request.url()));
    await heading(opened, 'Berth').waitFor();
    await opened.inspect('sign-in');
    const { page } = opened;
    const field = page.getByRole('textbox', { name: 'API key' });
    for (let presses = 0; presses < 10 && !(await field.evaluate((element) => element === document.activeElement)); presses += 1)
      await page.keyboard.press('Tab');
    await page.keyboard.type(dashboard.served.key);
    await page.keyboard.press('Enter');
    await heading(opened, 'Create a session').waitFor();
    await opened.go('/sessions');
    await heading(opened, 'Sessions').waitFor();
    await opened.inspect('sessions-empty');
    assert.deepEqual(await stored(opened), { session: '{}', local: '{}', cookies: '' });
    assert.ok([page.url(), ...addresses].every((address) => !address.includes('brt_')));
    assert.ok(!(await page.content()).includes(dashboard.served.key));
    opened.viewer.assertNoIssues();
    await page.reload();
    await heading(opened, 'Berth').waitFor();
    await opened.close();
  });

  it('the dashboard signs in by a link once, forgets its secret at once, and switches whoever was signed in', async () => {
    const app = dashboard.app ?? assert.fail();
    await app.ownerKey('acme');
    const linkOf = async (owner: string) => (await app.call(createSignInLink, { body: { owner } })).body.url ?? assert.fail();
    const opened = await dashboard.open('', { as: [] });
    const { page } = opened;
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    const link = await linkOf('local');
    await page.goto('about:blank');
    await page.goto(link);
    await heading(opened, 'Home').waitFor();
    const account = page.getByRole('region', { name: 'Account' });
    await account.getByText('local', { exact: true }).waitFor();
    assert.equal(page.url(), `${opened.url}/dashboard/home`);
    await page.reload();
    await account.getByText('local', { exact: true }).waitFor();
    await page.goto(await linkOf('acme'));
    await account.getByText('acme', { exact: true }).waitFor();
    // The tab with the dashboard gets another fragment alone, and loads nothing by itself.
    const other = await linkOf('local');
    await page.evaluate((fragment) => (location.hash = fragment), new URL(other).hash);
    await account.getByText('local', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.goto('about:blank');
    await page.goto(link);
    await page.getByRole('alert').getByText('This link was used, has expired, or is not whole.').waitFor();
    await opened.inspect('sign-in-link-used');
    assert.ok([page.url(), ...addresses].every((address) => !address.includes('brt_link_')));
    const devtools = await opened.viewer.context.newCDPSession(page);
    const { entries } = await devtools.send('Page.getNavigationHistory');
    assert.ok(entries.length > 3 && entries.every(({ url }) => !url.includes('brt_link_')));
    opened.viewer.assertNoIssues({ except: /status of 403/ });
    await opened.close();
  });

  it('the dashboard removes a link with characters too many or too few from the address, and signs in where the secret is whole', async () => {
    const app = dashboard.app ?? assert.fail();
    const linkOf = async (owner: string) => (await app.call(createSignInLink, { body: { owner } })).body.url ?? assert.fail();
    for (const end of ['.', '"', '%20', ')']) {
      const opened = await dashboard.open('', { as: [] });
      await opened.page.goto('about:blank');
      await opened.page.goto(`${await linkOf('local')}${end}`);
      await opened.page.getByRole('region', { name: 'Account' }).getByText('local', { exact: true }).waitFor();
      await assertNoLink(opened);
      await opened.close();
    }
    const opened = await dashboard.open('', { as: [] });
    const { page } = opened;
    const link = await linkOf('local');
    const empty = link.slice(0, link.indexOf('=') + 1);
    for (const broken of [empty, `${empty}.${link.slice(empty.length)}`, `${link}${'x'.repeat(200)}`]) {
      await page.goto('about:blank');
      await page.goto(broken);
      await page.getByRole('alert').getByText('This link is not whole. Copy it again').waitFor();
      await assertNoLink(opened);
    }
    await page.goto('about:blank');
    await page.goto(`${link}x`);
    const refused = page.getByRole('alert').getByText('This link was used, has expired, or is not whole.');
    assert.match(await refused.innerText(), /^[^`]*npm start[^`]*berth login --link[^`]*$/);
    await assertNoLink(opened);
    opened.viewer.assertNoIssues({ except: /status of 403/ });
    await opened.close();
  });

  it('the dashboard revokes the key of a link when the person signs out, or signs in with another, and no key that was pasted', async () => {
    const app = dashboard.app ?? assert.fail();
    const { owner, opened } = await signInByLink();
    const { page } = opened;
    const statuses = async () =>
      (await app.call(listKeys, { query: { owner } })).body.map(({ created_by: by, status }) => `${by} ${status}`);
    assert.deepEqual(await statuses(), ['sign_in_link active', 'test active']);
    await page.goto((await app.call(createSignInLink, { body: { owner } })).body.url ?? assert.fail());
    await eventually('the key before is revoked', async () => (await statuses())[1] === 'sign_in_link revoked');
    assert.equal((await statuses())[0], 'sign_in_link active');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading(opened, 'Berth').waitFor();
    await eventually('both are revoked', async () => (await statuses())[0] === 'sign_in_link revoked');
    await opened.signIn('key', await app.ownerKey(owner));
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading(opened, 'Berth').waitFor();
    assert.deepEqual(await statuses(), ['test active', 'sign_in_link revoked', 'sign_in_link revoked', 'test active']);
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('the dashboard drops the admin key of its tab when a link is opened in it', async () => {
    const app = dashboard.app ?? assert.fail();
    const opened = await dashboard.open('', { as: [] });
    const { page } = opened;
    await page.getByRole('checkbox', { name: 'Keep me signed in while this tab is open' }).check();
    await opened.signIn('admin', dashboard.served.adminKey);
    await page.goto((await app.call(createSignInLink)).body.url ?? assert.fail());
    const account = page.getByRole('region', { name: 'Account' });
    await account.getByText('local', { exact: true }).waitFor();
    assert.equal(await account.getByText(/^Signed in with/).textContent(), 'Signed in with API key.');
    assert.ok(!(await stored(opened)).session.includes(dashboard.served.adminKey));
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('the dashboard signs out although the key of a link cannot be revoked', async () => {
    const { opened } = await signInByLink();
    await opened.page.route('**/dashboard/sign-in-link', (route) => route.abort());
    await opened.page.getByRole('button', { name: 'Sign out' }).click();
    await heading(opened, 'Berth').waitFor();
    assert.equal((await stored(opened)).session, '{}');
    await opened.close();
  });

  it('the dashboard says in the first commands when the key of a link expires, and says nothing of a key that was pasted', async () => {
    const app = dashboard.app ?? assert.fail();
    const opened = await dashboard.open('', { as: [] });
    const { page } = opened;
    await page.goto('about:blank');
    await page.goto((await app.call(createSignInLink)).body.url ?? assert.fail());
    const commands = page.locator('.first-steps');
    await commands.getByText(/^The key of this tab expires on .*, or when you sign out: the commands stop working then\./).waitFor();
    await opened.inspect('home-key-of-a-day');
    await opened.go('/sign-in');
    await opened.signIn('key', dashboard.served.key);
    await opened.go('/home');
    await commands.getByText('On the screen the key is shortened').waitFor();
    assert.equal(await commands.getByText('The key of this tab expires').count(), 0);
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('the dashboard keeps a credential over a reload when asked, in this tab alone, until the person signs out', async () => {
    const opened = await dashboard.open('/sessions', { as: [] });
    const { page } = opened;
    await page.getByRole('checkbox', { name: 'Keep me signed in while this tab is open' }).check();
    await opened.signIn('key', dashboard.served.key);
    await page.reload();
    await heading(opened, 'Sessions').waitFor();
    const { session, local } = await stored(opened);
    assert.ok(session.includes(dashboard.served.key));
    assert.equal(local, '{}');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading(opened, 'Berth').waitFor();
    assert.equal((await stored(opened)).session, '{}');
    await page.reload();
    await heading(opened, 'Berth').waitFor();
    await opened.close();
  });

  it('the dashboard signs in with a login token, which creates a key for the tab, and with the development sign-in', async () => {
    const opened = await dashboard.open('/sessions', { as: ['login'] });
    await opened.page.getByRole('button', { name: 'Create an API key for this tab' }).click();
    await navigation(opened).getByText('Signed in with API key, login token.').waitFor();
    await opened.page.getByText('No session is running').waitFor();
    await opened.page.getByRole('button', { name: 'Sign out' }).click();
    await opened.inspect('sign-in-login');
    await opened.page.getByRole('button', { name: 'Use the development sign-in' }).click();
    await opened.page.getByLabel(/mail/i).fill('ada@example.com');
    await opened.page.getByLabel(/organi[sz]ation/i).fill('local');
    await opened.page.keyboard.press('Enter');
    await navigation(opened).getByText('Signed in with login token.').waitFor();
    assert.doesNotMatch(opened.page.url(), /code=|state=/);
    assert.deepEqual(await stored(opened), { session: '{}', local: '{}', cookies: '' });
    await opened.close();
  });

  it('the dashboard signs in with the admin key, beside an API key', async () => {
    const opened = await dashboard.open('/sessions', { as: ['key', 'admin'] });
    await navigation(opened).getByText('Signed in with API key, admin key.').waitFor();
    await heading(opened, 'Sessions').waitFor();
    await opened.close();
  });

  it('the dashboard knows what is pasted by its beginning, says so before it is sent, and refuses a connect token in words', async () => {
    const opened = await dashboard.open('', { as: [] });
    const { page } = opened;
    const field = page.getByRole('textbox', { name: 'API key, login token or admin key' });
    const sent: string[] = [];
    page.on('request', (request) => sent.push(new URL(request.url()).pathname));
    for (const [secret, hint] of [
      ['brt_live_x', /^API key\./],
      ['brt_admin_x', /^Admin key\./],
      ['eyJhbGci.eyJzdWIi.c2ln', /^Login token\./],
    ] as const) {
      await field.fill(secret);
      await page.getByText(hint).waitFor();
    }
    await field.fill('brt_connect_abc');
    await field.press('Enter');
    await page.getByRole('alert').getByText('This is a connect token').waitFor();
    assert.deepEqual(sent, []);
    await field.fill(dashboard.served.key);
    await field.press('Enter');
    const account = page.getByRole('region', { name: 'Account' });
    await account.getByText('local', { exact: true }).waitFor();
    await account.getByText(/^Plan \w+$/).waitFor();
    await account.getByText(`brt_live_…${dashboard.served.key.slice(-4)}`).waitFor();
    await opened.go('/sign-in');
    await opened.signIn('admin', dashboard.served.adminKey);
    await opened.inspect('account');
    await account.getByRole('button', { name: 'Forget the admin key' }).click();
    await page.getByText('Signed in with API key.').waitFor();
    await opened.close();
  });

  it('the dashboard says why a credential is refused, and leads back to the sign-in when it is revoked', async () => {
    const { app } = dashboard;
    assert.ok(app);
    const opened = await dashboard.open('/sessions', { as: [] });
    const { page } = opened;
    const field = page.getByRole('textbox', { name: 'API key' });
    await field.fill('brt_live_wrong');
    await field.press('Enter');
    await page
      .getByRole('alert')
      .getByText(/API key/)
      .waitFor();
    const { key, key_id: id } = (await app.call(createKey, { body: { owner: 'somebody' } })).body;
    await opened.signIn('key', key ?? '');
    await heading(opened, 'Sessions').waitFor();
    assert.equal((await app.call(revokeKey, { params: { key_id: id } })).status, 204);
    await page
      .getByRole('alert')
      .getByText(/revoked/)
      .waitFor();
    await heading(opened, 'Berth').waitFor();
    await opened.inspect('sign-in-refused');
    opened.viewer.assertNoIssues({ except: /status of 403/ });
    await opened.close();
  });

  it('the dashboard is used on a phone through its menu, and says that an address does not exist', async () => {
    const opened = await dashboard.open('/no-such-page');
    const { page } = opened;
    await page.getByText('This page does not exist').waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await navigation(opened).isVisible(), false);
    await page.getByRole('button', { name: 'Menu' }).click();
    await navigation(opened).getByRole('link', { name: 'Sessions' }).click();
    await heading(opened, 'Sessions').waitFor();
    assert.equal(await navigation(opened).isVisible(), false);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await opened.close();
  });
});

// The last in the file: on the home page, a session closes the first commands.
describe('the frame of the dashboard', () => {
  it('the dashboard at 1440 × 900 has all pages of a customer and all tabs of a session in sight', async () => {
    const app = dashboard.app ?? assert.fail();
    const { session_id: id } = await app.create();
    const opened = await dashboard.open(`/sessions/${id}`);
    const { page } = opened;
    const tabs = page.getByRole('tablist', { name: 'Parts of the session' });
    await tabs.waitFor();
    /** Texts of what a box cuts off. */
    const cut = await tabs.evaluate((row) => {
      const { right } = row.getBoundingClientRect();
      return [...row.children].filter((tab) => tab.getBoundingClientRect().right > right).map(({ textContent }) => textContent);
    });
    assert.deepEqual(cut, []);
    const hidden = await navigation(opened).evaluate((side) => {
      const top = side.querySelector('.side-foot')?.getBoundingClientRect().top ?? 0;
      const links = [...side.querySelectorAll('.side-area a')];
      return links.filter((link) => link.getBoundingClientRect().bottom > top).map(({ textContent }) => textContent);
    });
    assert.deepEqual(hidden, []);
    await opened.close();
    await app.call(endSession, { params: { session_id: id } });
  });
});
