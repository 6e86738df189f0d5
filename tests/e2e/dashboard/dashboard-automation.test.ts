/** The dashboard's pages of work, with real browsers: fetches, inspections, flows, templates, jobs and skills. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, describe, it } from 'node:test';
import { fetchPage, runAgent } from '@berth/contract';
import { jobIdOf } from '../../harness.ts';
import { nightly } from '../../nightly.ts';
import { DashboardTest, type DashboardViewer } from './dashboard.ts';
import { startSite, type Site } from '../site.ts';

/** Title, texts and links that would do harm if they were anything but text. */
const hostileTitle = '<img src=x onerror="document.title=1">"\u202E';
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const lamps = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(hostileTitle)}</title></head><body><main>
  <h1>Lamps</h1><p>Our lamps are made by hand on the quay, and each of them lasts a life long.</p>
  <table><caption>Prices</caption><tr><th>Lamp</th><th>Price</th></tr><tr><td>Small</td><td>12</td></tr><tr><td>&lt;b>Large</td><td>30</td></tr></table>
  <a href="/second">Second</a> <a href="javascript:document.title=1">Bad</a><div id="more"></div></main>
  <script>fetch('/api/lamps').then((reply) => reply.json()).then((all) => { document.getElementById('more').textContent = all.length + ' lamps in stock'; });</script></body></html>`;

/** The smallest HAR that has a page. */
const request = {
  method: 'GET',
  url: 'https://shop.example/',
  httpVersion: 'h2',
  headers: [],
  queryString: [],
  cookies: [],
  headersSize: -1,
  bodySize: -1,
};
const response = {
  ...{ status: 200, statusText: 'OK', httpVersion: 'h2', headers: [], cookies: [], redirectURL: '', headersSize: -1, bodySize: -1 },
  content: { size: 19, mimeType: 'text/html', text: '<title>Shop</title>' },
};
const entry = {
  startedDateTime: '2026-01-01T00:00:00.000Z',
  time: 5,
  cache: {},
  timings: { send: 1, wait: 2, receive: 2 },
  request,
  response,
};
const har = { log: { version: '1.2', creator: { name: 'test', version: '1' }, pages: [], entries: [entry] } };

let site: Site;
let dashboard: DashboardTest;
/** One window for all tests, as one person works. */
let opened: DashboardViewer;
let page: DashboardViewer['page'];
before(async () => {
  const json = (_: unknown, response: ServerResponse) =>
    void response.setHeader('content-type', 'application/json').end('[{"id":1},{"id":2}]');
  site = await startSite({ pages: { '/lamps': lamps, '/api/lamps': json } });
  dashboard = await DashboardTest.withBrowsers({ environment: { BERTH_EGRESS_ALLOW: site.host } });
  opened = await dashboard.open('/jobs');
  ({ page } = opened);
});
after(async () => {
  await dashboard.close();
  await site.close();
});
/** A text of a page that ran as a script would have changed the title. The browser logs each status of 400 and above. */
afterEach(async () => {
  assert.match(await page.title(), / · Berth$/);
  opened.viewer.assertNoIssues({ except: /status of 4(04|22)/ });
});

const client = () => dashboard.service?.client ?? assert.fail('no service');
const addressField = () => page.getByRole('textbox', { name: 'Address' });
const run = (name: string) => page.getByRole('button', { name, exact: true }).click();
/** What a button copies. */
async function copied(name: string): Promise<string> {
  const nothing = 'nothing has been copied';
  await page.evaluate((text) => navigator.clipboard.writeText(text), nothing);
  await run(name);
  // The button writes after the click has returned.
  await page.waitForFunction(async (text) => (await navigator.clipboard.readText()) !== text, nothing);
  const command = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(!command.includes(dashboard.served.key), 'the command has the key in it');
  return command;
}

describe('jobs', () => {
  it('the jobs page shows the progress of a job that a program started, and cancels it', async () => {
    await page.getByText('No jobs yet').waitFor();
    // It runs until the page, which never answers, has used up its time.
    const { body } = await client().call(runAgent, { body: { task: 'screenshot', inputs: { url: `${site.url}/hang` }, async: true } });
    await page
      .getByRole('row', { name: /Flow pending/ })
      .getByRole('link', { name: 'screenshot' })
      .click();
    await page.getByRole('progressbar', { name: 'Progress of the job' }).waitFor();
    assert.ok(page.url().endsWith(`/dashboard/jobs/${jobIdOf(body)}`));
    await run('Cancel the job');
    await page.getByText('cancelled', { exact: true }).waitFor();
  });

  it('the jobs page says that a job does not exist, and why a page could not be loaded', async () => {
    await opened.go('/jobs/ses_unknown.1');
    await page.getByRole('alert').getByText('No such job.').waitFor();
    const { body } = await client().call(fetchPage, { body: { url: `${site.url}/reset`, retry: { max_attempts: 1 }, async: true } });
    await opened.go(`/jobs/${jobIdOf(body)}`);
    await page.getByRole('alert').getByText('closed the connection').waitFor();
    await opened.inspect('job');
  });
});

describe('the fetch playground', () => {
  it('the fetch playground shows a page in all formats side by side, as text, and copies the request as curl', async () => {
    await opened.go('/fetch');
    await page.getByText('Nothing fetched yet').waitFor();
    await addressField().fill(`${site.url}/lamps`);
    for (const name of ['Tables', 'PDF', 'HAR', 'Raw bytes']) await page.getByRole('checkbox', { name, exact: true }).check();
    assert.match(await copied('Copy as curl'), /^curl -sS 'http:.*\/v1\/fetch'.*\$BERTH_API_KEY.*"url":"http.*\/lamps","mode":"browser"/s);
    await run('Fetch');
    const panel = (name: string) => page.locator('.automation-panel', { has: page.getByRole('heading', { name, exact: true }) });
    await panel('Markdown').getByText('| Small | 12 |').waitFor();
    await page.getByRole('heading', { name: hostileTitle }).waitFor();
    await panel('Text').getByText('2 lamps in stock').waitFor();
    await panel('Links')
      .getByRole('link', { name: `${site.url}/second` })
      .waitFor();
    await panel('Tables').getByRole('cell', { name: '<b>Large' }).waitFor();
    assert.equal(
      await panel('Screenshot')
        .getByRole('img')
        .evaluate(async (image: HTMLImageElement) => {
          // It has no size before it is read.
          await image.decode();
          return image.naturalWidth;
        }),
      1280,
    );
    assert.equal(await page.locator('a[href^="javascript"], main iframe, main script').count(), 0);
    const saving = page.waitForEvent('download');
    await panel('HTML').getByRole('button', { name: 'Save HTML' }).first().click();
    assert.match(await readFile(await (await saving).path(), 'utf8'), /2 lamps in stock/);
    await opened.inspect('fetch');
    await page.getByRole('tab', { name: 'Attempts and headers' }).click();
    await page.getByRole('cell', { name: 'content-type' }).waitFor();
  });

  it('the fetch playground compares plain HTTP with a browser line by line', nightly, async () => {
    await page.getByLabel('Fetch with').selectOption('compare');
    await run('Fetch');
    await page.getByRole('row', { name: /added.*2 lamps in stock/ }).waitFor();
    await opened.inspect('fetch-compare');
    await page.getByRole('tab', { name: 'Screenshot' }).click();
    await page.getByText('Plain HTTP does not have this format.').waitFor();
  });

  it('the fetch playground says at the field what the service does not accept', async () => {
    await addressField().fill('ftp://files.example');
    await run('Fetch');
    await page.getByRole('alert').waitFor();
    assert.equal(await addressField().getAttribute('aria-invalid'), 'true');
  });
});

describe('inspections', () => {
  it('the inspections page reports on a site: its progress, then the report in a frame without scripts, and as a page of its own', async () => {
    await opened.go('/inspections');
    await page.getByText('No inspections yet').waitFor();
    await addressField().fill(`${site.url}/lamps`);
    await run('Inspect');
    await page.getByRole('button', { name: 'Cancel the job' }).waitFor();
    const shown = page.frameLocator('iframe[sandbox=""]');
    await shown.getByText('1 endpoint of the site itself; 1 call.').waitFor();
    await shown.locator('summary', { hasText: `${site.host}/api/lamps` }).waitFor();
    await opened.inspect('inspection');
    const opening = page.waitForEvent('popup');
    await page.getByRole('link', { name: 'Open the full report' }).click();
    const report = await opening;
    await report.getByRole('heading', { name: 'Third parties' }).first().waitFor();
    assert.ok(!report.url().includes(dashboard.served.key));
    await report.close();
  });

  it('the inspections page reports on a HAR, and says what is wrong with a file that is none', async () => {
    await opened.go('/inspections');
    await page.getByRole('tab', { name: 'A HAR file' }).click();
    const choose = (text: string) =>
      page.locator('input[type=file]').setInputFiles({ name: 'a.har', mimeType: 'application/json', buffer: Buffer.from(text) });
    await choose('<html>');
    await page.getByText('This is not a HAR file.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Inspect', exact: true }).isDisabled(), true);
    await choose(JSON.stringify(har));
    await page.getByText('1 request, the first to shop.example.').waitFor();
    await run('Inspect');
    await page.frameLocator('iframe[sandbox=""]').getByText('The pages called no API.').waitFor();
  });
});

describe('flows and templates', () => {
  it('the flows page runs a flow from a form made of its schema, and lists the run', async () => {
    await opened.go('/flows');
    await page.getByRole('link', { name: 'Extract tables' }).waitFor();
    await opened.inspect('flows');
    await page.getByLabel('Filter').fill('tables');
    await page.getByRole('link', { name: 'Extract tables' }).click();
    await page.getByRole('heading', { name: 'Extract tables', level: 1 }).waitFor();
    await run('Use the example');
    const url = page.getByRole('textbox', { name: 'Url (required)' });
    assert.equal(await url.inputValue(), 'https://example.com/');
    await url.fill(`${site.url}/lamps`);
    await run('Run');
    await page.getByRole('tabpanel').getByText('<b>Large').first().waitFor();
    await opened.inspect('flow');
    await page.getByRole('tab', { name: /Steps/ }).click();
    await page.getByRole('cell', { name: 'Navigate' }).waitFor();
    await opened.go('/jobs');
    await page.getByRole('row', { name: /extract_tables.*Flow.*ok/ }).waitFor();
    await opened.inspect('jobs');
  });

  it('the jobs page keeps its filters in the address, opens with them, and copies the id of a job', async () => {
    await opened.go('/jobs');
    const field = (label: string) => page.getByRole('combobox', { name: label });
    await field('Status').selectOption({ label: 'Failed or blocked' });
    await field('Kind').selectOption({ label: 'Flow' });
    await page.getByRole('row', { name: /^screenshot Flow error Cancelled/ }).waitFor();
    assert.match(page.url(), /\/jobs\?status=blocked%2Cerror&kind=agent$/);
    assert.equal(await page.getByRole('link', { name: 'extract_tables' }).count(), 0);
    assert.match(await copied('Copy the job id'), /^ses_[^.]+\..{36}$/);
    await opened.go('/jobs?kind=template');
    await page.getByText('No job matches').waitFor();
    await page.getByRole('link', { name: 'Show all jobs' }).click();
    await page.getByRole('link', { name: 'extract_tables' }).waitFor();
  });

  it('the flows page never copies a secret, takes inputs as JSON, and says what is wrong with them', async () => {
    await opened.go('/flows/login');
    await run('Use the example');
    assert.equal(await page.getByLabel('Password (required)').getAttribute('type'), 'password');
    assert.match(await copied('Copy as curl'), /"task":"login".*"password":"YOUR_PASSWORD"/);
    await run('Edit as JSON');
    await page.getByLabel('Inputs as JSON').fill('{"url": "no address"}');
    await run('Run');
    await page.getByRole('alert').getByText('inputs.').waitFor();
  });

  it('the flows page types secrets of any name as passwords, and sends them', nightly, async () => {
    await opened.go('/flows/custom');
    await run('Use the example');
    for (const [n, name] of ['user', 'pin'].entries()) {
      await run('Add to secrets');
      await page.getByLabel(`Name ${n + 1}`).fill(name);
      const secret = page.getByLabel(`Value ${n + 1}`);
      assert.equal(await secret.getAttribute('type'), 'password');
      await secret.fill(`hush ${name}`);
    }
    await opened.inspect('flow-secrets');
    await run('Remove user');
    assert.match(await copied('Copy as curl'), /"secrets":\{"pin":"YOUR_SECRETS"\}/);
    const [request] = await Promise.all([page.waitForRequest(/\/v1\/agent$/), run('Run')]);
    assert.deepEqual((request.postDataJSON() as { inputs: { secrets: unknown } }).inputs.secrets, { pin: 'hush pin' });
    await page.waitForURL(/\/flows\/custom/);
    await page.getByRole('alert').first().waitFor();
  });

  it('the templates page runs a template, and saves its steps as a recording', nightly, async () => {
    await opened.go('/flows?list=templates');
    await page.locator('main a[href$="/templates/page_snapshot"]').click();
    await page.getByRole('textbox', { name: 'Url (required)' }).fill(`${site.url}/lamps`);
    await run('Run');
    await page.getByRole('tabpanel').getByText('| Small | 12 |').waitFor();
    await page.locator('summary', { hasText: /^Steps \(\d+\)$/ }).click();
    const saving = page.waitForEvent('download');
    await run('Chrome recording');
    assert.match(await readFile(await (await saving).path(), 'utf8'), /"type": "navigate"/);
  });
});

describe('skills', () => {
  it('the skills page lists what flows have learned, and deletes it', async () => {
    const inputs = { url: `${site.url}/lamps`, steps: [{ click: ['text/Second'] }] };
    const { body } = await client().call(runAgent, { body: { task: 'click_path', inputs } });
    assert.equal(body.status, 'ok', JSON.stringify(body.error));
    await opened.go('/skills');
    await page.getByRole('row', { name: /click text\/Second.*click_path.*active.*100 % of 1/ }).waitFor();
    await opened.inspect('skills');
    await run('Delete the skill for click text/Second on 127.0.0.1');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the skill', exact: true }).click();
    await page.getByText('No skills yet').waitFor();
  });
});

describe('signing out', () => {
  it('signing out of the dashboard leaves nothing stored, and the jobs are there again after the next sign-in and a reload', async () => {
    await run('Sign out');
    assert.deepEqual(await page.evaluate(() => ({ ...sessionStorage, ...localStorage })), {});
    await page.getByRole('checkbox', { name: /^Keep me signed in/ }).check();
    await opened.signIn('key', dashboard.served.key);
    await page.goto(`${opened.url}/dashboard/jobs`);
    await page.getByRole('row', { name: /^screenshot Flow error Cancelled/ }).waitFor();
    assert.deepEqual(await page.evaluate(() => Object.keys({ ...sessionStorage, ...localStorage })), ['berth-credentials']);
    await run('Sign out');
    assert.deepEqual(await page.evaluate(() => ({ ...sessionStorage, ...localStorage })), {});
  });
});
