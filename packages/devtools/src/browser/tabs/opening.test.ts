import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { assertPrompt } from '../../../../../tests/yardstick.ts';
import { systemClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { createFakeRuntime, type FakeVm } from '@berth/machines/testing/fake/fake.ts';
import { bootSignal, newVmSpec } from '@berth/machines/testing/runtime-suite.ts';
import { attachBrowser, TabLimitReachedError, type Browser } from '../browser.ts';
import { defaultSettings } from './settings.ts';
import { fails, until } from '../../../testing/on-page.ts';

const open = (timeoutMs: number): Parameters<Browser['openTab']>[0] => ({ active: true, timeoutMs, signal: AbortSignal.timeout(20_000) });

let vm: FakeVm;
let browser: Browser;
beforeEach(async () => {
  vm = (await createFakeRuntime().boot(newVmSpec(), { signal: bootSignal() })) as FakeVm;
  browser = await attachBrowser(vm, { log: silentLog, clock: systemClock });
  await browser.tabReady();
  await browser.prepare({ ...defaultSettings, tabLimit: 2 });
});
afterEach(() => vm.destroy());

const idsOf = (): string[] => browser.tabs().map(({ tabId }) => tabId);

describe('a tab that the browser creates late', () => {
  it('a tab that the browser creates too late is refused in time, closed when it comes, and does not count for the limit', async () => {
    const before = idsOf();
    const release = vm.browser.delayTabs();
    const startMs = performance.now();
    await assert.rejects(browser.openTab(open(200)), fails('timeout'));
    assertPrompt(startMs, 10_000);
    release();
    await until(() => vm.browser.pageUrls.length === 1);
    assert.deepEqual(idsOf(), before);
    const { tabId } = await browser.openTab(open(15_000));
    assert.deepEqual(idsOf(), [...before, tabId]);
  });

  it('a tab that the browser creates late is opened when it comes within the caller’s time', async () => {
    const release = vm.browser.delayTabs();
    const opening = browser.openTab(open(15_000));
    setTimeout(release, 300);
    const { tabId, active } = await opening;
    assert.deepEqual([idsOf().includes(tabId), active], [true, true]);
  });

  it('a tab that the browser creates late is closed when its caller has gone', async () => {
    const before = idsOf();
    const release = vm.browser.delayTabs();
    const caller = new AbortController();
    const opening = browser.openTab({ ...open(15_000), signal: caller.signal });
    caller.abort(new Error('the caller has gone'));
    await assert.rejects(opening, /the caller has gone/);
    release();
    await until(() => vm.browser.pageUrls.length === 1);
    assert.deepEqual(idsOf(), before);
  });
});

describe('an opening tab', () => {
  it('opening a tab is refused at once when another took the last place meanwhile', async () => {
    const release = vm.browser.delayTabs();
    const opening = browser.openTab(open(15_000));
    await browser.prepare({ ...defaultSettings, tabLimit: 1 });
    const startMs = performance.now();
    release();
    await assert.rejects(opening, TabLimitReachedError);
    assertPrompt(startMs, 10_000);
  });
});
