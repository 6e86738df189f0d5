import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSession, createViewToken, listDownloads, navigate, type SessionResponse } from '@berth/contract';
import type { Client } from '../../harness.ts';
import { nightly } from '../../nightly.ts';
import { Service, eventually } from '../service.ts';
import { page as html, startSite, type Site } from '../site.ts';
import { ViewerBrowser, waitForColour, type Viewer } from './viewing.ts';
import type { Spot } from './viewing-input.ts';
import { Reports, blue, reportScript, viewingPages } from './viewing-pages.ts';

/** The centres of the elements on `/asks`, in CSS px. */
const spots = {
  alert: { x: 200, y: 60 },
  confirm: { x: 200, y: 120 },
  prompt: { x: 200, y: 180 },
  list: { x: 200, y: 240 },
  file: { x: 200, y: 300 },
  download: { x: 200, y: 360 },
  tab: { x: 200, y: 420 },
  field: { x: 200, y: 480 },
} as const;

/** Time after which a message would be there: the page waits for the state of the tab first. */
const messageMs = 600;

const asks = html(
  'Asks',
  `${reportScript}<style>
    body { margin: 0; font: 20px sans-serif }
    body > :is(button, select, input, a) { position: absolute; left: 100px; width: 200px; height: 40px; box-sizing: border-box }
  </style>
  <button style="top: 40px" onclick="alert('Saved.\\nTwice.'); say('answered', { value: 'alert' })">Alert</button>
  <button style="top: 100px" onclick="say('answered', { value: confirm('Really?') })">Confirm</button>
  <button style="top: 160px" onclick="say('answered', { value: prompt('Your name?', 'Bert') })">Prompt</button>
  <select style="top: 220px" aria-label="Country" onchange="say('chosen', { value: this.value })" onmousedown="say('pressed')">
    <optgroup label="Europe"><option value="at">Austria</option><option value="be" disabled>Belgium</option></optgroup>
    <optgroup label="America"><option value="br">Brazil</option><option value="cl">Chile</option></optgroup>
  </select>
  <input style="top: 280px" type="file" aria-label="File">
  <a style="top: 340px" href="/report" download="report.csv">Download</a>
  <a style="top: 400px" href="/blue" target="_blank">New tab</a>
  <input style="top: 460px" aria-label="Field">
  <script>
    document.querySelector('[type=file]').addEventListener('change', async ({ target: { files: [file] } }) => say('file', { name: file.name, isWhole: await file.text() === 'Grüße '.repeat(100000) }));
    const isGuarded = location.search === '?guarded';
    if (isGuarded) addEventListener('beforeunload', (event) => event.preventDefault());
    document.querySelector('[aria-label=Field]').addEventListener('input', (event) => say('typed', { value: event.target.value }));
  </script>`,
);

/** The centres of the inputs on `/pickers`, whose browser would show a picker. */
const pickers = {
  date: { y: 60, title: 'Choose a date', before: '2026-03-01', value: '2026-03-09' },
  time: { y: 120, title: 'Choose a time', before: '', value: '09:30' },
  month: { y: 180, title: 'Choose a month', before: '', value: '2026-04' },
  week: { y: 240, title: 'Choose a week', before: '', value: '2026-W07' },
  color: { y: 300, title: 'Choose a colour', before: '#ff0000', value: '#00ff7f' },
} as const;

const pickersPage = html(
  'Pickers',
  `${reportScript}<style>body { margin: 0 } input { position: absolute; left: 100px; width: 200px; height: 40px; box-sizing: border-box }</style>
  ${Object.entries(pickers)
    .map(([type, { y, before }]) => `<input type="${type}" value="${before}" style="top: ${y - 20}px" aria-label="${type}">`)
    .join('')}
  <script>
    for (const input of document.querySelectorAll('input')) {
      let heard = [];
      for (const name of ['input', 'change']) input.addEventListener(name, () => heard.push(name));
      input.addEventListener('change', () => { say('picked', { input: input.type, value: input.value, heard: heard.join() }); heard = []; });
    }
  </script>`,
);

/** A file input in a frame of another site, which has a process of its own. */
const framing = (origin: string): string =>
  html(
    'Framing',
    `${reportScript}<style>body { margin: 0 } iframe { position: absolute; left: 0; top: 0; width: 600px; height: 400px; border: 0 }</style>
    <iframe src="${origin}/asks"></iframe>`,
  );

describe('what a page asks', () => {
  const reports = new Reports();
  let site: Site;
  let service: Service;
  let client: Client;
  let viewers: ViewerBrowser;
  let session: SessionResponse;
  let viewer: Viewer;
  before(async () => {
    const report = (_: unknown, response: ServerResponse): void =>
      void response.writeHead(200, { 'content-disposition': 'attachment; filename=report.csv' }).end('a;b\n1;2\n');
    const frame = (_: unknown, response: ServerResponse): void =>
      void response.setHeader('content-type', 'text/html').end(framing(site.url.replace('127.0.0.1', 'framed.localhost')));
    const own = { '/asks': asks, '/pickers': pickersPage, '/framing': frame, '/report': report };
    site = await startSite({ pages: { ...viewingPages(reports), ...own } });
    [service, viewers] = await Promise.all([Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } }), ViewerBrowser.launch()]);
    client = service.client;
    session = (await client.call(createSession, { body: { name: 'shopping', start_url: `${site.url}/asks`, timeout_seconds: 800 } })).body;
    viewer = await watch('control');
  });
  after(async () => {
    await viewers?.close();
    await service?.close();
    await site?.close();
  });
  beforeEach(() => reports.clear());

  const watch = async (scope: 'view' | 'control', options: object = {}): Promise<Viewer> => {
    const { body } = await client.call(createViewToken, { params: { session_id: session.session_id }, body: { scope } });
    const watcher = await viewers.newViewer({ origin: service.url, acceptDownloads: true, ...options });
    await watcher.open(body.url ?? '');
    await watcher.page.locator('canvas:visible').waitFor();
    return watcher;
  };
  const go = async (path: string): Promise<void> => {
    await client.call(navigate, { params: { session_id: session.session_id }, body: { url: site.url + path } });
    await reports.waitFor('shown', { from: path });
  };
  const at = async ({ x, y }: Spot, who = viewer): Promise<[x: number, y: number]> => {
    const box = await who.page.locator('canvas').boundingBox();
    assert.ok(box);
    return [box.x + (x * box.width) / 1280, box.y + (y * box.height) / 720];
  };
  const clickAt = async (spot: Spot): Promise<void> => viewer.page.mouse.click(...(await at(spot)));
  const card = (name: RegExp | string, who = viewer) => who.page.getByRole('alertdialog', { name });
  const button = (name: string) => viewer.page.getByRole('button', { name, exact: true });
  const list = () => viewer.page.getByRole('listbox', { name: 'Options' });
  const noPrompt = () => eventually('nothing is asked', async () => (await viewer.page.getByRole('alertdialog').count()) === 0);

  it('the live view shows the session’s name and the time that is left', async () => {
    await viewer.page.getByText('shopping', { exact: true }).waitFor();
    await viewer.page.getByText(/^1[0-3] min left$/).waitFor();
  });

  it('alert, confirm and prompt are answered by the person in the live view', async () => {
    await go('/asks');
    const watcher = await watch('view');
    await clickAt(spots.alert);
    await card(`${site.host} says`).getByText('Saved.').waitFor();
    await card(/says/, watcher).getByText('Somebody with control has to answer.').waitFor();
    assert.equal(await card(/says/, watcher).getByRole('button').count(), 0);
    await viewer.inspect('live-view-dialog');
    await watcher.close();
    await button('OK').click();
    await reports.waitFor('answered', { value: 'alert' });
    for (const [name, value] of [
      ['OK', true],
      ['Cancel', false],
    ] as const) {
      await clickAt(spots.confirm);
      await card(/says/).getByText('Really?').waitFor();
      await button(name).click();
      await reports.waitFor('answered', { value });
    }
    await clickAt(spots.prompt);
    const answer = viewer.page.getByRole('textbox', { name: 'Answer' });
    assert.equal(await answer.inputValue(), 'Bert');
    await answer.fill('Bertha');
    await answer.press('Enter');
    await reports.waitFor('answered', { value: 'Bertha' });
    await clickAt(spots.prompt);
    await card(/says/).press('Escape');
    await reports.waitFor('answered', { value: null });
    await noPrompt();
  });

  it('a page that asks before it is left stays, or is left, as the person in the live view decides', async () => {
    await go('/asks?guarded');
    await clickAt(spots.field);
    await viewer.page.keyboard.type('x');
    await reports.waitFor('typed');
    const address = viewer.page.getByRole('textbox', { name: 'Address' });
    for (const [name, shown] of [
      ['Stay', '/asks?guarded'],
      ['Leave', '/blue'],
    ] as const) {
      await address.fill(`${site.url}/blue`);
      await address.press('Enter');
      await card('Leave this page?').waitFor();
      await button(name).click();
      await noPrompt();
      await eventually(`it shows ${shown}`, async () => (await address.inputValue()) === site.url + shown);
    }
  });

  it('a list of the page opens over the picture of the live view, and is used by keyboard and mouse', async () => {
    await go('/asks');
    await clickAt(spots.list);
    await list().waitFor();
    await reports.waitFor('pressed');
    await viewer.inspect('live-view-list');
    await viewer.page.keyboard.press('b');
    await viewer.page.keyboard.press('Enter');
    await reports.waitFor('chosen', { value: 'br' });
    await eventually('it is closed', async () => (await list().count()) === 0);
    await clickAt(spots.list);
    await list().getByRole('option', { name: 'Chile' }).click();
    await reports.waitFor('chosen', { value: 'cl' });
    // The list has the focus of the page now.
    await viewer.page.keyboard.press('Space');
    await list().waitFor();
    await viewer.page.keyboard.press('Home');
    await viewer.page.keyboard.press('Enter');
    await reports.waitFor('chosen', { value: 'at' });
    await clickAt(spots.list);
    await list().waitFor();
    await viewer.page.keyboard.press('Escape');
    await eventually('it is closed', async () => (await list().count()) === 0);
  });

  it('a file chooser takes a file of the computer of the person in the live view', async () => {
    await go('/asks');
    await clickAt(spots.file);
    const chooser = card('Choose a file for the page');
    await chooser.waitFor();
    await viewer.inspect('live-view-files');
    const text = 'Grüße '.repeat(100_000);
    await chooser.getByLabel('File').setInputFiles({ name: 'grüße.txt', mimeType: 'text/plain', buffer: Buffer.from(text) });
    await reports.waitFor('file', { name: 'grüße.txt', isWhole: true });
    await noPrompt();
    await clickAt(spots.file);
    await chooser.getByRole('button', { name: 'Cancel' }).click();
    await noPrompt();
  });

  it('a file chooser of a frame that has a process of its own takes a file of the person in the live view', nightly, async () => {
    await go('/framing');
    await reports.waitFor('shown', { from: '/asks' });
    await clickAt(spots.file);
    const chooser = card('Choose a file for the page');
    await chooser.waitFor();
    await chooser.getByLabel('File').setInputFiles({ name: 'framed.txt', mimeType: 'text/plain', buffer: Buffer.from('text') });
    await reports.waitFor('file', { name: 'framed.txt' });
    await noPrompt();
  });

  it('dates, times and colours are chosen in the live view by the pickers of the person’s own browser', nightly, async () => {
    await go('/pickers');
    for (const [type, { y, title, before, value }] of Object.entries(pickers)) {
      await clickAt({ x: 160, y });
      const field = viewer.page.getByLabel(title, { exact: true }).and(viewer.page.locator('input'));
      await field.waitFor();
      assert.equal(await field.getAttribute('type'), type);
      assert.equal(await field.inputValue(), before);
      if (type === 'color') await viewer.inspect('live-view-picker');
      await field.fill(value);
      await button('OK').click();
      await reports.waitFor('picked', { input: type, value, heard: 'input,change' });
      await noPrompt();
    }
    await clickAt({ x: 160, y: pickers.color.y });
    await card('Choose a colour').press('Escape');
    await noPrompt();
  });

  it('a finished download can be saved in the live view', async () => {
    await go('/asks');
    await clickAt(spots.download);
    await viewer.page.getByText('report.csv was downloaded.').waitFor();
    await button('Downloads').click();
    await viewer.inspect('live-view-downloads');
    const [saved] = await Promise.all([
      viewer.page.waitForEvent('download'),
      viewer.page.getByRole('link', { name: 'Save report.csv' }).click(),
    ]);
    assert.equal(saved.suggestedFilename(), 'report.csv');
    assert.equal(await readFile(await saved.path(), 'utf8'), 'a;b\n1;2\n');
    await viewer.page.keyboard.press('Escape');
  });

  it('an address that is a file is downloaded in the live view, and not reported as a page that failed', nightly, async () => {
    const address = viewer.page.getByRole('textbox', { name: 'Address' });
    await address.fill(`${site.url}/report`);
    await address.press('Enter');
    await eventually('two files are there', async () => {
      const { body } = await client.call(listDownloads, { params: { session_id: session.session_id } });
      return body.filter(({ status }) => status === 'completed').length === 2;
    });
    await sleep(messageMs);
    assert.equal(await viewer.page.getByText('is a download and not a page').count(), 0);
  });

  it('a link that opens a tab is followed in the live view, and a tab without history has no way back', async () => {
    await go('/asks');
    await clickAt(spots.tab);
    await waitForColour(viewer.page.locator('canvas'), blue);
    // The tabs come in a message of their own, which may follow the picture.
    await viewer.page.getByRole('tab', { name: 'Blue', selected: true }).waitFor();
    const tab = viewer.page.getByRole('tab', { name: 'Blue' });
    for (const name of ['Back', 'Forward']) await eventually(`${name} is off`, () => button(name).isDisabled());
    await tab.press('Delete');
    await viewer.page.getByRole('tab', { name: 'Asks', selected: true }).waitFor();
    await eventually('there is a way back', () => button('Back').isEnabled());
  });

  it('a refused address is explained in the live view, and a small screen is offered a page that fits', nightly, async () => {
    await go('/asks');
    await viewer.page.getByRole('textbox', { name: 'Address' }).fill('http://10.0.0.1/');
    await viewer.page.getByRole('textbox', { name: 'Address' }).press('Enter');
    await viewer.page.getByRole('heading', { name: 'This address is not allowed' }).waitFor();
    await viewer.inspect('live-view-refused');
    assert.equal(await viewer.page.getByText('net::').count(), 0, 'it is explained once');
    await button('Go back').click();
    await eventually(
      'it is explained no more',
      async () => (await viewer.page.getByRole('heading', { name: 'not allowed' }).count()) === 0,
    );
    const phone = await watch('control', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
    await phone.inspect('live-view-phone-small');
    await phone.page.getByRole('button', { name: 'Fit the page to my screen' }).tap();
    await reports.waitFor('resized', { width: 390 });
    await eventually('it fits', async () => Math.abs(((await phone.page.locator('canvas').boundingBox())?.width ?? 0) - 390) < 2);
    await phone.inspect('live-view-phone-fits');
    phone.assertNoIssues();
    await phone.close();
    viewer.assertNoIssues({ except: /Failed to load resource/ });
  });
});
