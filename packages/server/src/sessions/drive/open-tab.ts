import type { OpenTabRequest } from '@berth/contract';
import { Deadline, abortAfter } from '@berth/lib/deadline.ts';
import { NavigationError, type Browser, type TabInfo } from '@berth/devtools';
import type { Clock } from '@berth/lib/clock.ts';

/** Closing a tab whose navigation failed delays the response by at most this. */
const closeMsMax = 2000;

interface OpenTabDeps {
  browser: Browser;
  clock: Clock;
}

/** `timeout_ms` covers both the tab and its page. @throws PageError `timeout`, NavigationError, TabLimitReachedError, BrowserClosedError */
export async function openTab({ browser, clock }: OpenTabDeps, request: OpenTabRequest, signal: AbortSignal): Promise<TabInfo> {
  const { url, active, wait_until: waitUntil, timeout_ms: timeoutMs } = request;
  const deadline = new Deadline({ signal, timeoutMs, clock });
  const tab = await browser.openTab({ active, timeoutMs, signal });
  if (url === undefined) return tab;
  try {
    await browser.navigate(tab.tabId, { url, waitUntil, timeoutMs: deadline.rest().timeoutMs }, { signal });
  } catch (error) {
    // The tab may have closed already.
    const closeMs = browser.timeoutScale.ms(closeMsMax, deadline.leftMs);
    await browser.closeTab(tab.tabId, { signal: abortAfter(closeMs) }).catch(() => undefined);
    if (error instanceof NavigationError && error.reason === 'timeout')
      throw new NavigationError('timeout', error.netError, `The tab did not open and load within ${timeoutMs} ms.`);
    throw error;
  }
  return browser.tabs().find((candidate) => candidate.tabId === tab.tabId) ?? tab;
}
