import { type PrivatePage, StepError, type StepContext } from '@berth/devtools';

/** A private page runs steps alone: no other tabs, no files, no downloads. */
export function createPageStepContext(privatePage: PrivatePage, { content, clock }: Pick<StepContext, 'content' | 'clock'>): StepContext {
  const { page } = privatePage;
  return {
    mainTabId: page.tabId,
    tabs: () => [{ tabId: page.tabId, openerTabId: null, status: 'complete' }],
    page: () => page,
    filePath: () => Promise.resolve(null),
    waitForDownload: () =>
      Promise.reject(new StepError('not_allowed', 'A private page keeps no downloads. Use a session; a fetch also has the format `raw`.')),
    setCookie: (cookie, { signal }) => privatePage.setCookies([cookie], { signal }),
    cookies: ({ signal }) => privatePage.cookies({ signal }),
    content,
    clock,
  };
}
