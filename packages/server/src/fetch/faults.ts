/** What went wrong in an attempt, in the words that the caller is told. Nothing of an error that we did not foresee is told. */
import { ServiceError } from '@berth/contract';
import { BrowserGone, NavigationError, PageError, TabNotFound } from '../browser/browser.ts';
import { HttpFailure } from '../egress/egress.ts';
import { LaneFull, LaneTimeout } from '../lib/lanes.ts';
import type { FetchFault } from './found.ts';

/** Reasons that the same request would meet again. */
const lasting: readonly string[] = ['blocked_by_policy', 'tls_error', 'too_many_redirects'];

/** Throws what is no fault of an attempt: the caller's own, and ours. */
export function faultOf(error: unknown): FetchFault {
  if (error instanceof NavigationError || error instanceof HttpFailure) {
    const { reason, netError, message } = error;
    const code = reason === 'timeout' ? 'timeout' : 'navigation_failed';
    return { code, message, retryable: !lasting.includes(reason), details: { reason, net_error: netError }, reason };
  }
  if (error instanceof BrowserGone || (error instanceof ServiceError && lost.includes(error.code)))
    return { code: 'session_lost', message: 'The browser was lost during the fetch.', retryable: true, reason: 'session_lost' };
  if (error instanceof TabNotFound)
    return { code: 'tab_not_found', message: 'The tab was closed during the fetch.', retryable: true, reason: null };
  if (error instanceof PageError)
    return { code: 'page_failed', message: error.message, retryable: true, details: { reason: error.reason }, reason: error.reason };
  if (error instanceof LaneFull || error instanceof LaneTimeout)
    return { code: 'no_capacity', message: 'Too many fetches of this site are waiting for their turn.', retryable: true, reason: null };
  throw error;
}

const lost: readonly string[] = ['session_lost', 'session_ended', 'session_not_ready'];

export const outOfTime = (totalMs: number): FetchFault => ({
  code: 'timeout',
  message: `The fetch did not end within ${totalMs} ms.`,
  retryable: true,
  reason: 'timeout',
});
