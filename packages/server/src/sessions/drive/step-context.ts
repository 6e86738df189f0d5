/** Adapts a session's browser to the steps. */
import { PageError, type Browser, type BrowserEvent, type DownloadInfo, type StepContext } from '@berth/devtools';
import type { Content } from '@berth/reading';
import type { Clock } from '@berth/lib/clock.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { orAbort } from '@berth/lib/or-abort.ts';
import type { LiveSession, Machine } from '../sessions/sessions.ts';

export interface StepContextDeps {
  machine: Machine;
  session: LiveSession;
  content: Pick<Content, 'for'>;
  clock: Clock;
}

/** The given tab or the active one. Does not check that the tab is open. */
export const tabIdOf = (browser: Browser, tabId: string | undefined): string => tabId ?? browser.activeTab().tabId;

export const createStepContext = ({ machine: { browser }, session, content, clock }: StepContextDeps, mainTabId: string): StepContext => ({
  mainTabId,
  tabs: () => browser.tabs(),
  page: (tabId) => browser.page(tabId),
  filePath: async (fileId) => session.uploads.find(fileId)?.path ?? null,
  waitForDownload: (trigger, options) => waitForDownload(browser, trigger, options),
  setCookie: (cookie, options) => browser.setCookies([cookie], options),
  cookies: (options) => browser.cookies(options),
  content: content.for(session.record.owner),
  clock,
});

interface WaitOptions {
  signal: AbortSignal;
  timeoutMs: number;
}

/** Waits for the first download that starts after the trigger. @throws PageError `timeout`, and what the trigger throws */
async function waitForDownload(browser: Browser, trigger: () => Promise<void>, within: WaitOptions): Promise<DownloadInfo> {
  const { promise, resolve, reject } = Promise.withResolvers<DownloadInfo>();
  let id: string | undefined;
  const unsubscribe = browser.onEvent((event: BrowserEvent) => {
    if (event.type === 'download.started') id ??= event.download.id;
    if (event.type === 'download.finished' && event.download.id === id) resolve(event.download);
  });
  const reason = (): PageError =>
    new PageError('timeout', `No download ${id === undefined ? 'began' : 'was complete'} within ${within.timeoutMs} ms.`);
  return Deadline.run({ ...within, reason }, async ({ signal }) => {
    signal.throwIfAborted();
    // A failed trigger ends the wait; a successful one does not.
    trigger().catch(reject);
    return orAbort(promise, signal);
  }).finally(unsubscribe);
}
