/** Walks over every page of the dashboard: hostile texts, credentials, keys of the keyboard, barriers. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createKey, createOwnKey, navigate, type CreateSessionRequest } from '@berth/contract';
import type { Log } from '@berth/lib/log.ts';
import { attemptOf } from '../../../packages/server/testing/selfheal.ts';
import { adminKey, eventually } from '../../harness.ts';
import { sampleOf } from '../../nightly.ts';
import { DashboardTest, type DashboardViewer } from './dashboard.ts';

/** What a log line would hold, as text. */
const logged: string[] = [];
const write = (...values: unknown[]): void => void logged.push(JSON.stringify(values));
const log: Log = { debug: write, info: write, warn: write, error: write, fatal: write, child: (fields) => (write(fields), log) } as Log;

/** Each would leave a mark if it ran. */
const mark = 'globalThis.ranHostileText=1';
const hostileTexts = [
  `<img src=x onerror="${mark}">`,
  `"><svg/onload=${mark}>`,
  `</title><script>${mark}</script>`,
  `javascript:${mark}`,
  '\u202Egnp.exe\u202C',
  'דוח (42) عالم.pdf',
  'W'.repeat(400),
  `{{constructor.constructor('${mark}')()}}`,
] as const;

let dashboard: DashboardTest;
let sessionId = '';
before(async () => {
  dashboard = await DashboardTest.withFakes({ log });
  sessionId = await furnish();
});
after(() => dashboard?.close());

const app = () => {
  assert.ok(dashboard.app);
  return dashboard.app;
};

/** Everything that other people name, named by hostile ones. Returns the id of a running session. */
async function furnish(): Promise<string> {
  const login = await app().login();
  const ids: string[] = [];
  for (const [n, text] of hostileTexts.entries()) {
    await app().call(createOwnKey, { key: login, body: { name: text.slice(0, 64) } });
    await app().call(createKey, { body: { owner: `owner-${n}`, name: text.slice(0, 64) } });
    const body: Partial<CreateSessionRequest> = {
      name: text.slice(0, 64),
      record: true,
      metadata: { [`m${n}`]: text, long: 'W'.repeat(400) },
    };
    const { session_id } = await app().create(body);
    ids.push(session_id);
    const url = `http://title.test/?${encodeURIComponent(JSON.stringify(text).slice(1, -1))}`;
    await app().call(navigate, { params: { session_id }, body: { url } });
  }
  for (const machine of app().runtime.machines.values())
    for (const [n, text] of hostileTexts.entries()) {
      machine.browser.write(text, 'error');
      const file = { guid: `file-${n}`, url: `http://files.test/${encodeURIComponent(text)}`, suggestedFilename: text };
      machine.browser.download({ ...file, bytes: 1, state: 'completed' });
    }
  const sites = hostileTexts.map((domain) => attemptOf({ domain, outcome: 'blocked', startedAt: new Date() }));
  app().app.selfHeal.record({ attempts: sites });
  return ids[0] ?? '';
}

const lists = join(import.meta.dirname, '../../../packages/web/src/dashboard/pages/*/*.ts');
/** Paths of all pages, read from the files that list them: the rest of those files is for browsers. */
const paths = globSync(lists).flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/\bpath: '(\/[^']*)', title:|\bpath: '(\/[^']*)',\n/g)].map(
    ([, one, other]) => one ?? other ?? '',
  ),
);

/** Addresses of all pages; a parameter is a hostile text, and a session’s is first one whose page has hostile texts. */
function addresses(): string[] {
  assert.ok(paths.length > 20, paths.join());
  const hostile = encodeURIComponent(hostileTexts[0]);
  // Of a session that runs, this one leads to its live view, which is no page of the dashboard.
  const stays = paths.filter((path) => path !== '/sessions/:session_id/live');
  const own = stays.map((path) => path.replace(':session_id', sessionId)).filter((path) => !path.includes(':'));
  return [...own, ...paths.filter((path) => path.includes(':')).map((path) => path.replaceAll(/:\w+/g, hostile))];
}

/** Goes to a page and waits until it shows what it reads. */
async function show(opened: DashboardViewer, path: string): Promise<void> {
  const { page } = opened;
  // Each page sets its own.
  await page.evaluate(() => (document.title = ''));
  await opened.go(path);
  await page.waitForFunction(() => {
    const main = document.querySelector('main');
    return document.title !== '' && main?.getAttribute('aria-busy') !== 'true' && !main?.querySelector('.state .spinner');
  });
}

/** What is wider than the window and does not scroll by itself. */
const overflowing = ({ page }: DashboardViewer): Promise<string[]> =>
  page.evaluate(() => {
    const main = document.querySelector('main');
    if (!main || main.scrollWidth <= main.clientWidth + 1) return [];
    return [...main.querySelectorAll('*')]
      .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !element.closest('.table-scroll, pre, .tab-row'))
      .map((element) => `${element.tagName} ${element.className} ${element.textContent.slice(0, 40)}`)
      .slice(0, 5);
  });

/** Texts that turn the direction of others in their line. */
const turning = ({ page }: DashboardViewer): Promise<string[]> =>
  page.evaluate(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const issues: string[] = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!/[\u202E\u05D0-\u06FF]/.test(node.nodeValue ?? '')) continue;
      let holder = node.parentElement;
      const isIsolated = (element: Element): boolean => {
        const { display, unicodeBidi } = getComputedStyle(element);
        return display !== 'inline' || /isolate|plaintext/.test(unicodeBidi);
      };
      while (holder && !isIsolated(holder)) holder = holder.parentElement;
      if (holder && holder.textContent.trim() !== node.nodeValue?.trim()) issues.push(holder.outerHTML.slice(0, 200));
    }
    return issues;
  });

describe('every page of the dashboard', () => {
  it('every page of the dashboard shows names of files, console lines and addresses of a session as texts', async () => {
    const opened = await dashboard.open(`/sessions/${sessionId}`);
    const { page, viewer } = opened;
    for (const part of ['Timeline', 'Network', 'Console', 'Files', 'Storage', 'Connect', 'Details']) {
      await page.getByRole('tab', { name: part, exact: true }).click();
      const panel = page.getByRole('tabpanel', { name: part });
      await panel.waitFor();
      if (part === 'Console') for (const text of hostileTexts) await panel.getByText(text.slice(0, 60)).first().waitFor();
      // The service replaces what no file name may have.
      if (part === 'Files')
        await panel
          .locator('tbody tr')
          .nth(hostileTexts.length - 1)
          .waitFor();
      if (part === 'Files') await panel.getByRole('button', { name: /^Save <img src=x onerror=/ }).waitFor();
      await page.waitForFunction(() => !document.querySelector('main .state .spinner'));
      assert.deepEqual([...(await turning(opened)), ...(await overflowing(opened))], [], part);
    }
    assert.equal(await page.evaluate(() => 'ranHostileText' in globalThis), false);
    viewer.assertNoIssues({ except: /status of 4\d\d|WebSocket/ });
    await opened.close();
  });

  it('every page of the dashboard shows hostile texts as texts, on a desktop and on a phone, without barriers and without a credential', async () => {
    const opened = await dashboard.open('/usage', { as: ['key', 'login', 'admin'] });
    const { page, viewer } = opened;
    const requested: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    const secrets = [dashboard.served.key, adminKey, await app().login()].map((secret) => secret.slice(-24));
    const faults: string[] = [];
    // Tests of each page look for barriers, too, with other texts.
    const looked = sampleOf(addresses(), 4);
    for (const path of addresses()) {
      const fault = (what: string, examples: readonly string[]): void =>
        void (examples.length > 0 && faults.push(`${path} ${what}: ${examples.join(' | ')}`));
      await show(opened, path);
      fault('turns the direction of other texts', await turning(opened));
      fault('overflows', await overflowing(opened));
      await page.setViewportSize({ width: 390, height: 844 });
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      fault('overflows a phone', await overflowing(opened));
      await page.setViewportSize({ width: 1360, height: 860 });
      if (looked.includes(path))
        await viewer
          .inspect(`walk${path.replaceAll(/\W+/g, '-').slice(0, 40)}`, { schemes: ['light'] })
          .catch((error: Error) => fault('has barriers', [error.message]));
      const html = await page.content();
      fault(
        'has a credential',
        secrets.filter((secret) => html.includes(secret) || page.url().includes(secret)),
      );
    }
    assert.deepEqual(faults, []);
    assert.equal(await page.evaluate(() => 'ranHostileText' in globalThis), false);
    assert.equal(await page.evaluate(() => sessionStorage.length + localStorage.length), 0);
    const seen = [...requested, ...logged].join('\n');
    for (const secret of secrets) assert.ok(!seen.includes(secret), 'a credential is in an address or a log');
    viewer.assertNoIssues({ except: /status of 4\d\d/ });
    await opened.close();
  });
});

describe('a credential', () => {
  it('a credential is in the session storage of the tab only where one asks for it, and nowhere after the sign-out', async () => {
    const opened = await dashboard.open('/usage', { as: [] });
    const { page } = opened;
    const field = page.getByRole('textbox', { name: 'API key' });
    await field.fill(dashboard.served.key);
    await page.getByLabel('Keep me signed in while this tab is open').check();
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    const stored = await page.evaluate(() => [localStorage.length, document.cookie, Object.values(sessionStorage).join()] as const);
    assert.deepEqual([stored[0], stored[1], stored[2].includes(dashboard.served.key)], [0, '', true]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await field.waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    await page.reload();
    await field.waitFor();
    await opened.close();
  });
});

describe('a keyboard', () => {
  it('a keyboard signs in to the dashboard, opens a page, fills a form and closes it, and the focus is always visible', async () => {
    const opened = await dashboard.open('', { as: [] });
    const { page } = opened;
    const reach = (name: string): Promise<void> => opened.reach(name);
    await page.getByRole('heading', { name: 'Berth' }).waitFor();
    await reach('API key, login token or admin key');
    await page.keyboard.type(await app().login());
    await page.keyboard.press('Enter');
    await page.getByText('Signed in with login token.').waitFor();
    await reach('API keys');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
    await reach('Create a key');
    await page.keyboard.press('Enter');
    // A key before it opens would move the focus below it.
    await page.getByRole('dialog').waitFor();
    await reach('Name');
    await page.keyboard.type('by keys alone');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.waitForFunction(() => document.activeElement?.textContent === 'Create a key');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await reach('Name');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'I have copied it' }).waitFor();
    await opened.close();
  });
});

describe('a dashboard whose service does not start', () => {
  it('a dashboard whose service does not start leaves no browser', async () => {
    const children = (): number => process.getActiveResourcesInfo().filter((each) => each === 'ProcessWrap').length;
    const before = children();
    await assert.rejects(DashboardTest.withFakes({ environment: { BERTH_CREDITS_ENFORCED: 'perhaps' } }));
    // Node lets go of a process a moment after it has exited.
    await eventually('no process is left', () => children() <= before);
  });
});
