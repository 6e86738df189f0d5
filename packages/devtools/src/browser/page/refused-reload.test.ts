/** A reload that the browser refuses, by a simulated browser: the real one does so for an instant only. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { systemClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { createFakeRuntime, type FakeVm } from '@berth/machines/testing/fake/fake.ts';
import { bootSignal, newVmSpec } from '@berth/machines/testing/runtime-suite.ts';
import { attachBrowser, NavigationError, type Browser, type Page } from '../browser.ts';
import { call } from '../../../testing/on-page.ts';

const options = { waitUntil: 'load', timeoutMs: 20_000 } as const;
let vm: FakeVm;
let browser: Browser;
let page: Page;
beforeEach(async () => {
  vm = (await createFakeRuntime().boot(newVmSpec(), { signal: bootSignal() })) as FakeVm;
  browser = await attachBrowser(vm, { log: silentLog, clock: systemClock });
  await browser.tabReady();
  page = browser.page(browser.activeTab().tabId);
  await page.navigate({ url: 'http://site.test/', ...options }, call());
});
afterEach(() => vm.destroy());

describe('a reload', () => {
  it('a reload is asked for again while a document takes the place of the one before', async () => {
    vm.browser.failNext('Page.reload', 'Not attached to an active page');
    assert.equal((await page.reload(options, call())).finalUrl, 'http://site.test/');
  });

  it('a reload that the browser refuses for another reason is aborted', async () => {
    vm.browser.failNext('Page.reload');
    await assert.rejects(page.reload(options, call()), (error) => error instanceof NavigationError && error.reason === 'aborted');
  });
});
