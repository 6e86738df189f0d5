/** What steps are given of a fetched page: it alone. */
import type { Content } from '../content/content.ts';
import type { Clock } from '../lib/clock.ts';
import { StepFailed, type StepWorld } from '../steps/steps.ts';
import type { Visit } from './machines.ts';

export function privateWorld({ page }: Pick<Visit, 'page'>, { content, clock }: { content: Content; clock: Clock }): StepWorld {
  const shown = page.page;
  return {
    mainTabId: shown.tabId,
    tabs: () => [{ tabId: shown.tabId, openerTabId: null, status: 'complete' }],
    page: () => shown,
    filePath: () => Promise.resolve(null),
    waitForDownload: () => Promise.reject(new StepFailed('not_allowed', 'A fetch keeps no downloads. Ask for `raw`, or use a session.')),
    setCookie: (cookie, { signal }) => page.setCookies([cookie], { signal }),
    content,
    clock,
  };
}
