import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ServiceError, type ErrorCode } from '@berth/contract';
import {
  attachBrowser,
  BrowserClosedError,
  LastTabError,
  NavigationError,
  PageError,
  TabLimitReachedError,
  TabNotFoundError,
  type Browser,
} from '@berth/devtools';
import { ContentError } from '@berth/reading';
import { systemClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { createFakeRuntime, type FakeVm } from '@berth/machines/testing/fake/fake.ts';
import { bootSignal, newVmSpec } from '@berth/machines/testing/runtime-suite.ts';
import { toServiceError } from './errors.ts';

function assertMapped(error: unknown, [code, reason, retryable]: [ErrorCode, string | undefined, boolean]): void {
  const mapped = toServiceError(error);
  assert.ok(mapped instanceof ServiceError, String(error));
  assert.deepEqual([mapped.code, mapped.details['reason'], mapped.retryable], [code, reason, retryable]);
}

describe('an error of the browser becomes an error of the API', () => {
  for (const [error, ...expected] of [
    [new NavigationError('dns_failed', 'net::ERR_NAME_NOT_RESOLVED', 'Failed.'), 'navigation_failed', 'dns_failed', false],
    [
      new NavigationError('connection_reset', 'net::ERR_CONTENT_DECODING_FAILED', 'Failed.'),
      'navigation_failed',
      'connection_reset',
      false,
    ],
    [new NavigationError('dns_failed', 'net::ERR_NAME_RESOLUTION_FAILED', 'Failed.'), 'navigation_failed', 'dns_failed', true],
    [new NavigationError('proxy_error', 'net::ERR_PROXY_AUTH_UNSUPPORTED', 'Failed.'), 'navigation_failed', 'proxy_error', false],
    [new NavigationError('tls_error', 'net::ERR_CERT_INVALID', 'Failed.'), 'navigation_failed', 'tls_error', false],
    [new NavigationError('download', 'net::ERR_ABORTED', 'A file.', { download_id: 'a' }), 'navigation_failed', 'download', false],
    [new PageError('page_crashed', 'Crashed.'), 'page_failed', 'page_crashed', true],
    [new PageError('too_large', 'Too large.'), 'page_failed', 'too_large', false],
    [new ContentError('busy'), 'page_failed', 'busy', true],
    [new TabNotFoundError('no tab'), 'tab_not_found', undefined, false],
    [new LastTabError('last'), 'last_tab', undefined, false],
    [new TabLimitReachedError(3), 'tab_limit_reached', undefined, false],
    [new BrowserClosedError('closed'), 'session_lost', undefined, false],
  ] as [Error, ErrorCode, string | undefined, boolean][])
    it(`an error of the browser becomes an error of the API: ${error.constructor.name} ${expected[1] ?? ''}`, () =>
      assertMapped(error, expected));
});

describe('what the browser itself does not do becomes an error of the API', () => {
  const call = (): { signal: AbortSignal } => ({ signal: new AbortController().signal });
  let vm: FakeVm;
  let browser: Browser;
  before(async () => {
    vm = (await createFakeRuntime().boot(newVmSpec(), { signal: bootSignal() })) as FakeVm;
    browser = await attachBrowser(vm, { log: silentLog, clock: systemClock });
    await browser.tabReady();
    await browser.openTab({ active: true, timeoutMs: 30_000, ...call() });
  });
  after(() => vm.destroy());
  const errorOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => assert.fail('it succeeded'),
      (error: unknown) => error,
    );

  it('a tab that does not open in time becomes an error of the API', async () => {
    const release = vm.browser.delayTabs();
    assertMapped(await errorOf(browser.openTab({ active: true, timeoutMs: 50, ...call() })), ['page_failed', 'timeout', true]);
    release();
  });

  for (const [what, method, act] of [
    ['a tab that the browser rejects', 'Target.createTarget', () => browser.openTab({ active: true, timeoutMs: 30_000, ...call() })],
    ['a tab whose target has closed', 'Target.closeTarget', () => browser.closeTab(browser.activeTab().tabId, call())],
    ['a tab that cannot come to the front', 'Page.bringToFront', () => browser.activateTab(browser.activeTab().tabId, call())],
    ['cookies that cannot be read', 'Storage.getCookies', () => browser.storageState(call())],
  ] as [string, string, () => Promise<unknown>][])
    it(`${what} becomes an error of the API`, async () => {
      vm.browser.failNext(method);
      assertMapped(await errorOf(act()), ['page_failed', 'context_lost', true]);
    });

  for (const [what, act] of [
    ['a command that is never answered', () => browser.storageState(call())],
    ['a tab that never closes', () => browser.closeTab(browser.activeTab().tabId, call())],
  ] as [string, () => Promise<unknown>][])
    it(`${what} becomes an error of the API in time`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      vm.browser.freeze();
      const failed = errorOf(act());
      t.mock.timers.tick(10_001);
      assertMapped(await failed, ['page_failed', 'timeout', true]);
    });
});
