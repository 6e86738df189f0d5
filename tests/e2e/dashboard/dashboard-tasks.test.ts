/** The ten commonest tasks, as the guide of the dashboard has them: three clicks or fewer from the home page, by the keyboard alone. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { cancelJob, fetchPage } from '@berth/contract';
import type { Locator, Page } from 'playwright-core';
import { recordedSession } from '../../prepare/recorded-session.ts';
import { DashboardTest, type DashboardViewer } from './dashboard.ts';

const clicksMax = 3;

interface Task {
  title: string;
  /** Names of what is chosen, one after the other; `*…*` in the guide stands for one of the caller's things. */
  steps: readonly { name: string; isOwn: boolean }[];
}

/** The rows of the table in the guide. */
function tasksOfGuide(): Task[] {
  const guide = readFileSync(new URL('../../../docs/dashboard.md', import.meta.url), 'utf8');
  const [, section = ''] = guide.split('\n## Ten tasks\n');
  return [...(section.split('\n## ')[0] ?? '').matchAll(/^\| (?!To |-)(.+?) \| (.+) \|$/gm)].map(([, title = '', choices = '']) => ({
    title,
    steps: [...choices.matchAll(/\*\*(.+?)\*\*|\*(.+?)\*/g)].map(([, name, own]) => ({
      name: name ?? own ?? '',
      isOwn: name === undefined,
    })),
  }));
}

const names: Readonly<Record<string, string>> = {
  'the running session': 'lamp',
  'the ended session': 'chair',
  'the play button of the recording': 'Play the recording of chair',
  'the job': 'shop.example/lamps',
};

/** What is typed before the step of this number, into the field of this name. */
const typed: Readonly<Record<string, { before: number; field: string; text: string }>> = {
  'Read a page': { before: 1, field: 'Address', text: 'https://shop.example/' },
  'Keep a sign-in': { before: 2, field: 'Name of the profile', text: 'shop' },
};

/** What is on the page once the task is done. */
const ends: Readonly<Record<string, (page: Page) => Locator>> = {
  'Start a browser and use it': (page) => page.getByRole('region', { name: 'Live view' }),
  'Watch a session that runs': (page) => page.getByRole('region', { name: 'Live view' }),
  'Connect a program to it': (page) => page.getByText('chromium.connectOverCDP'),
  'Read a page': (page) => page.getByRole('region', { name: 'Result' }),
  'Keep a sign-in': (page) => page.getByText('Sign in, then end the session'),
  'See why a session ended': (page) => page.getByText('You or a program with your key ended it.'),
  'Play a recording': (page) => page.getByRole('region', { name: 'Recording of chair' }),
  'See why a job failed': (page) => page.getByRole('alert').filter({ hasText: /cancel/i }),
  'Give a client an address': (page) => page.getByRole('heading', { name: 'Copy your new token now' }),
  'End a session': (page) => page.getByText('Ended on request', { exact: true }),
};

let dashboard: DashboardTest;
let opened: DashboardViewer;
before(async () => {
  dashboard = await DashboardTest.withFakes();
  const app = dashboard.app ?? assert.fail();
  await recordedSession(app, { name: 'chair' });
  await app.create({ name: 'lamp' });
  const { body } = await app.call(fetchPage, { body: { url: 'https://shop.example/lamps', async: true } });
  await app.call(cancelJob, { params: { job_id: 'job_id' in body ? String(body.job_id) : assert.fail() } });
  opened = await dashboard.open('/home');
});
after(async () => {
  await opened?.close();
  await dashboard?.close();
});

/** Past the live view, which takes all keys but F6, to a tab of the panel beside it; arrows move among tabs. */
async function reachTab(name: string): Promise<void> {
  const { page } = opened;
  await opened.reach('Skip the live view');
  await page.keyboard.press('Enter');
  const tab = page.getByRole('tab', { name, exact: true });
  for (let presses = 0; presses < 10 && (await tab.getAttribute('aria-selected')) !== 'true'; presses += 1)
    await page.keyboard.press('ArrowRight');
}

describe('the ten tasks of the guide', () => {
  const tasks = tasksOfGuide();

  it('the guide of the dashboard has ten tasks, each of three clicks or fewer', () => {
    assert.deepEqual(tasks.map(({ title }) => title).toSorted(), Object.keys(ends).toSorted());
    for (const { title, steps } of tasks) assert.ok(steps.length > 0 && steps.length <= clicksMax, `${title}: ${steps.length}`);
  });

  for (const { title, steps } of tasks)
    it(`“${title}” is done by the keyboard alone, as the guide has it`, async () => {
      const { page } = opened;
      await opened.go('/usage');
      await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
      await opened.go('/home');
      await page.getByRole('region', { name: 'Running now' }).getByRole('link', { name: 'lamp' }).waitFor();
      for (const [index, { name, isOwn }] of steps.entries()) {
        const entry = typed[title];
        if (entry?.before === index) {
          await opened.reach(entry.field);
          await page.keyboard.type(entry.text);
        }
        const shown = isOwn ? (names[name] ?? assert.fail(name)) : name;
        const isNavigation =
          index === 0 && (await page.getByRole('navigation').getByRole('link', { name: shown, exact: true }).count()) > 0;
        // What the step before leads to is loaded first.
        await page
          .locator('main')
          .getByText(shown)
          .or(page.getByLabel(shown))
          .or(page.getByRole('link', { name: shown, exact: true }))
          .first()
          .waitFor();
        // What asks again has the name of what was pressed, which keeps the focus until the dialog is open.
        if (name === steps[index - 1]?.name && entry === undefined) await page.locator('dialog[open]').waitFor();
        if ((await page.getByRole('tab', { name: shown, exact: true }).count()) > 0) await reachTab(shown);
        else await opened.reach(shown, isNavigation ? 'Shift+Tab' : 'Tab');
        await page.keyboard.press('Enter');
      }
      await (ends[title] ?? assert.fail(title))(page).first().waitFor();
    });
});
