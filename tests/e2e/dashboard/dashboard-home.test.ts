/** Where a customer begins: the first commands as they are copied, and what they show afterwards. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { cancelJob, fetchPage } from '@berth/contract';
import { DashboardTest, type DashboardViewer } from './dashboard.ts';

const run = promisify(execFile);

let dashboard: DashboardTest;
let opened: DashboardViewer;
before(async () => {
  dashboard = await DashboardTest.withFakes();
  opened = await dashboard.open('');
});
after(async () => {
  await opened?.close();
  await dashboard?.close();
});

const clipboard = (): Promise<string> => opened.page.evaluate(() => navigator.clipboard.readText());
const copied = async (title: string): Promise<string> => {
  const isDone = opened.page.getByRole('button', { name: 'Copied' });
  // That of the copy before stands for a moment.
  await isDone.waitFor({ state: 'detached' });
  await opened.page.getByRole('button', { name: `Copy the command “${title}”` }).click();
  await isDone.waitFor();
  return clipboard();
};

describe('the first page of a customer', () => {
  it('the home page shows the first commands without the key, and copies commands of curl that work', async () => {
    const { page } = opened;
    await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
    await page.getByRole('heading', { name: 'Say who you are' }).waitFor();
    await opened.inspect('home-new');
    assert.ok(!(await page.content()).includes(dashboard.served.key));
    const commands = [await copied('Say who you are'), await copied('Start a browser to watch')];
    const { stdout } = await run('sh', ['-ec', commands.join('\n')], { timeout: 30_000 });
    const { session_id: id } = JSON.parse(stdout) as { session_id: string };
    const tile = page.getByRole('region', { name: 'Running now' }).getByRole('link', { name: id });
    assert.equal(await tile.getAttribute('href'), `/dashboard/sessions/${id}`);
  });

  it('the home page copies the commands of each client with the key and the address of this service', async () => {
    const { page } = opened;
    for (const client of ['TypeScript', 'Python', 'Command line', 'MCP']) {
      await page.getByRole('tab', { name: client, exact: true }).click();
      const command = await copied('Say who you are');
      assert.ok(command.includes(dashboard.served.key) && command.includes(dashboard.served.url), client);
    }
  });

  it('the home page names what failed last with its reason, and leads to it', async () => {
    const app = dashboard.app ?? assert.fail();
    const { body } = await app.call(fetchPage, { body: { url: 'https://shop.example/lamps', async: true } });
    const jobId = 'job_id' in body ? String(body.job_id) : assert.fail();
    await app.call(cancelJob, { params: { job_id: jobId } });
    await opened.go('/usage');
    await opened.page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    await opened.go('/home');
    const failures = opened.page.getByRole('region', { name: 'Failed last' });
    await failures.getByText(/cancel/i).waitFor();
    await opened.inspect('home');
    await failures.getByRole('link', { name: /shop\.example/ }).click();
    await opened.page.waitForURL(new RegExp(`/jobs/${jobId}$`));
    opened.viewer.assertNoIssues({ except: /WebSocket|status of 4\d\d/ });
  });
});
