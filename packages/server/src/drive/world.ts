/** A session's browser as steps see it. */
import { PageError, type Browser, type BrowserEvent, type DownloadInfo } from '../browser/browser.ts';
import type { Content } from '../content/content.ts';
import type { Clock } from '../lib/clock.ts';
import type { LiveSession, Machine } from '../sessions/sessions.ts';
import type { StepWorld } from '../steps/steps.ts';

export interface WorldParts {
  machine: Machine;
  session: LiveSession;
  content: Pick<Content, 'convert'>;
  clock: Clock;
}

/** The tab that is named, or the active one. Whether it is open, its first use tells. */
export const tabIdOf = (browser: Browser, tabId: string | undefined): string => tabId ?? browser.activeTab().tabId;

export const worldOf = ({ machine: { browser }, session, content, clock }: WorldParts, mainTabId: string): StepWorld => ({
  mainTabId,
  tabs: () => browser.tabs(),
  page: (tabId) => browser.page(tabId),
  filePath: async (fileId) => session.uploads.find(fileId)?.path ?? null,
  waitForDownload: (trigger, options) => waitForDownload(browser, trigger, options),
  setCookie: (cookie, options) => browser.setCookies([cookie], options),
  content,
  clock,
});

interface WaitOptions {
  signal: AbortSignal;
  timeoutMs: number;
}

/** The first download that begins once the trigger is pulled is its. @throws PageError `timeout`, and what the trigger throws */
async function waitForDownload(browser: Browser, trigger: () => Promise<void>, { signal, timeoutMs }: WaitOptions): Promise<DownloadInfo> {
  const { promise, resolve, reject } = Promise.withResolvers<DownloadInfo>();
  let id: string | undefined;
  const undo = browser.onEvent((event: BrowserEvent) => {
    if (event.type === 'download.started') id ??= event.download.id;
    if (event.type === 'download.finished' && event.download.id === id) resolve(event.download);
  });
  const late = (): PageError =>
    new PageError('timeout', `No download ${id === undefined ? 'began' : 'was complete'} within ${timeoutMs} ms.`);
  const timer = setTimeout(() => reject(late()), timeoutMs);
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    // A trigger that fails ends the wait; one that is done has only just begun it.
    trigger().catch(reject);
    return await promise;
  } finally {
    undo();
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
