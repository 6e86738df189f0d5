/** Lists of the dashboard that are longer than a page of the API. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, getSession, listSessions } from '@berth/contract';
import { newId } from '@berth/lib/ids.ts';
import { recordedSession } from '../../prepare/recorded-session.ts';
import { eventually, type TestApp } from '../../harness.ts';
import { DashboardTest, type DashboardViewer } from './dashboard.ts';

/** One more than a page. */
const others = 101;

let dashboard: DashboardTest;
let app: TestApp;
before(async () => {
  dashboard = await DashboardTest.withFakes();
  app = dashboard.app ?? assert.fail();
  await recordedSession(app, { name: 'the oldest' });
  for (let count = 0; count < others; count += 1) {
    const { session_id } = await app.create();
    await app.call(endSession, { params: { session_id } });
  }
  // A call returns before the machine is gone.
  await eventually('all have ended', async () => {
    const { body } = await app.call(listSessions, { query: { status: 'starting,ready,ending' } });
    return body.length === 0;
  });
});
after(() => dashboard?.close());

describe('a list that is longer than a page', () => {
  it('a list that is longer than a page has every ended session', async () => {
    const opened = await dashboard.open('/sessions');
    const { page } = opened;
    await page.getByText(`, ${others - 1} rows`).waitFor();
    await page.getByRole('button', { name: 'Load more' }).click();
    await page.getByText(`, ${others + 1} rows`).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Load more' }).count(), 0);
    await page.getByRole('searchbox', { name: 'Filter sessions' }).fill('the oldest');
    await page.getByRole('link', { name: 'the oldest' }).waitFor();
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('a list of recordings has one although no session of the newest page has one', async () => {
    const opened = await dashboard.open('/recordings');
    await opened.page.getByRole('link', { name: 'the oldest' }).waitFor();
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('a list of recordings has those of later pages when they are asked for', async () => {
    await recordedSession(app, { name: 'the newest' });
    const opened = await dashboard.open('/recordings');
    const { page } = opened;
    await page.getByRole('link', { name: 'the newest' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'the oldest' }).count(), 0);
    await page.getByRole('button', { name: 'Load more' }).click();
    await page.getByRole('link', { name: 'the oldest' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'the newest' }).count(), 1);
    opened.viewer.assertNoIssues();
    await opened.close();
  });
});

/** How far what is shown has moved, as browsers report it: 0 where nothing did. */
const shiftOf = (opened: DashboardViewer): Promise<number> =>
  opened.page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const observer = new PerformanceObserver(() => {});
        observer.observe({ type: 'layout-shift', buffered: true });
        requestAnimationFrame(() => {
          const entries = observer.takeRecords() as (PerformanceEntry & { value: number })[];
          resolve(entries.reduce((sum, { value }) => sum + value, 0));
        });
      }),
  );

describe('a list of the dashboard', () => {
  it('a recording is played in place above its list, by the keyboard and by an address', async () => {
    const opened = await dashboard.open('/recordings');
    const { page } = opened;
    await page.getByRole('row', { name: /the newest/ }).waitFor();
    await opened.reach('Play the recording of the newest');
    await page.keyboard.press('Enter');
    const played = page.getByRole('region', { name: 'Recording of the newest' });
    await played.frameLocator('iframe').getByRole('region', { name: 'Timeline' }).waitFor();
    assert.equal(await played.evaluate((element) => element === document.activeElement), true);
    await opened.inspect('recordings-playing');
    await opened.reach('Close');
    await page.keyboard.press('Enter');
    await played.waitFor({ state: 'detached' });
    await page.goBack();
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('a list of sessions is filtered by its address, says why each ended, and shows the picture of a recording', async () => {
    const opened = await dashboard.open('/sessions?show=ended&q=the%20newest');
    const { page } = opened;
    const row = page.getByRole('row', { name: /the newest/ });
    await row.getByText('Ended on request', { exact: true }).waitFor();
    await row.locator('.poster img').waitFor();
    assert.equal(await page.getByRole('heading', { name: 'Running' }).count(), 0);
    assert.equal(await page.getByRole('link', { name: 'the oldest' }).count(), 0);
    await opened.inspect('sessions-ended');
    await page.getByRole('searchbox', { name: 'Filter sessions' }).fill('the oldest');
    await page.waitForURL(/q=the\+oldest/);
    await page.getByLabel('Kind').selectOption('full_browser');
    await page.waitForURL(/kind=full_browser/);
    await page.getByText('No session that has ended matches.').waitFor();
    await page.getByLabel('Show').selectOption('');
    await page.waitForURL((url) => url.searchParams.get('show') === null && url.searchParams.get('kind') === 'full_browser');
    await page.getByRole('link', { name: 'Show all sessions' }).click();
    await page.getByRole('link', { name: 'the newest' }).waitFor();
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.waitForURL(/ended-page=2/);
    await page.goBack();
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('sessions that run are chosen and ended together, from pictures and from the list, with the keyboard', async () => {
    const names = ['lamp', 'chair', 'table'];
    const created = await Promise.all(names.map((name) => app.create({ name })));
    const opened = await dashboard.open('/sessions');
    const { page } = opened;
    const tile = page.getByRole('listitem').filter({ hasText: 'lamp' });
    await tile.getByText(/^at most \d+ \w+ left, ends when idle for 5 min$/).waitFor();
    await page.getByRole('checkbox', { name: 'Choose lamp' }).check();
    await page.getByText('1 chosen').waitFor();
    await opened.inspect('sessions-chosen');
    await page.getByLabel('Running ones as').selectOption('list');
    const running = page.getByRole('region', { name: 'Running sessions' });
    assert.equal(await running.getByRole('checkbox', { name: 'Choose lamp' }).isChecked(), true);
    await running
      .getByRole('cell', { name: /^in \d/ })
      .first()
      .waitFor();
    await opened.inspect('sessions-list');
    await opened.reach('Choose chair');
    await page.keyboard.press('Space');
    await opened.reach('End 2 sessions', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await opened.reach('End 2 sessions');
    await page.keyboard.press('Enter');
    await page.getByText('2 sessions ended.').waitFor();
    await eventually('both have ended', async () => {
      const states = await Promise.all(
        created.map(async ({ session_id }) => (await app.call(getSession, { params: { session_id } })).body.status),
      );
      return states.join() === 'ended,ended,ready';
    });
    await running.getByRole('checkbox', { name: 'Choose table' }).waitFor();
    assert.equal(await running.getByRole('link', { name: /^(lamp|chair)$/ }).count(), 0);
    const rows = page.getByRole('region', { name: 'Ended sessions' }).getByRole('row', { name: /lamp|chair/ });
    await rows.filter({ hasText: 'Ended on request' }).nth(1).waitFor();
    opened.viewer.assertNoIssues({ except: /WebSocket|status of 4\d\d/ });
    await opened.close();
  });

  it('a list whose address has filters that do not fit is shown without them', async () => {
    const opened = await dashboard.open('/sessions?show=nonsense&kind=zzz&view=x');
    const { page } = opened;
    const chosen = (label: string) => page.getByLabel(label, { exact: true }).locator('option:checked').textContent();
    await page.getByRole('link', { name: 'the newest' }).waitFor();
    assert.deepEqual(await Promise.all(['Show', 'Kind', 'Running ones as'].map(chosen)), ['All', 'All kinds', 'Pictures']);
    await opened.go('/jobs?status=nonsense&kind=zzz&days=soon&page=x');
    await page.getByText('No jobs yet').waitFor();
    assert.deepEqual(await Promise.all(['Kind', 'Status', 'Created'].map(chosen)), ['All kinds', 'All statuses', 'Any time']);
    assert.equal(await page.getByRole('alert').count(), 0);
    // Entered by hand: the service answers it with the page, which asks for a credential.
    await page.goto(`${opened.url}/dashboard/recordings?q=%00`);
    await opened.signIn('key', dashboard.served.key);
    await page.getByRole('link', { name: 'the newest' }).waitFor();
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('a list has its shape before its rows, and nothing below it moves when they come', async () => {
    const opened = await dashboard.open('/usage');
    const { page } = opened;
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/v1/sessions?*', async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    await opened.go('/sessions?show=ended');
    await page.getByRole('status').filter({ hasText: 'Loading Ended sessions' }).waitFor();
    await opened.inspect('sessions-loading');
    const before = await shiftOf(opened);
    release();
    await page.getByRole('link', { name: 'the newest' }).waitFor();
    const shift = (await shiftOf(opened)) - before;
    assert.ok(shift <= 0.02, `${shift}`);
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('the usage of a month has its shape before its figures', async () => {
    const opened = await dashboard.open('/jobs');
    const { page } = opened;
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/v1/usage?*', async (route) => {
      await held;
      await route.continue();
    });
    await opened.go('/usage');
    await page.getByRole('status').filter({ hasText: 'Loading your usage' }).waitFor();
    assert.equal(await page.locator('main .usage-card').count(), 5);
    assert.equal(await page.locator('main .spinner').count(), 0);
    await opened.inspect('usage-loading');
    release();
    await page.getByRole('list', { name: /^Usage in/ }).waitFor();
    await page.locator('main .usage-chart-skeleton').waitFor({ state: 'detached' });
    opened.viewer.assertNoIssues();
    await opened.close();
  });

  it('jobs are filtered by a text in the address, and those that wait are cancelled together', async () => {
    const { promise: never } = Promise.withResolvers<never>();
    const start = (path: string) =>
      app.app.jobs.submit({
        owner: 'local',
        kind: 'fetch',
        sessionId: newId('ses'),
        subject: { url: `https://shop.example/${path}` },
        queuedMsMax: 60_000,
        runMsMax: 60_000,
        run: () => never,
      });
    await Promise.all([start('lamps'), start('chairs')]);
    const opened = await dashboard.open('/jobs?q=shop.example');
    const { page } = opened;
    await page.getByRole('checkbox', { name: 'Choose all of this page: Jobs' }).check();
    await page.getByRole('button', { name: 'Cancel 2 jobs' }).click();
    await opened.inspect('jobs-cancel');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel 2 jobs' }).click();
    await page.getByText('2 jobs cancelled.').waitFor();
    assert.equal(await page.getByRole('cell', { name: /cancelled/i }).count(), 2);
    opened.viewer.assertNoIssues();
    await opened.close();
  });
});
