/** Lists of the dashboard that are longer than a page of the API. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, listSessions } from '@berth/contract';
import { recordedSession } from '../../prepare/recorded-session.ts';
import { eventually, type TestApp } from '../../harness.ts';
import { DashboardTest } from './dashboard.ts';

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
    await page.getByRole('searchbox', { name: 'Filter Ended sessions' }).fill('the oldest');
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
