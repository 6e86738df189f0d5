/** Maps what an attempt throws to the error of the response. Unknown errors are rethrown, so nothing internal leaks. */
import { ServiceError } from '@berth/contract';
import { BrowserClosed, NavigationError, PageError, TabNotFound } from '../browser/browser.ts';
import { HttpFailure } from '../egress/egress.ts';
import { LaneFull, LaneTimeout } from '../lib/lanes.ts';
import type { FetchError } from './result.ts';

/** Reasons that a retry would not change. */
const permanentReasons: readonly string[] = ['blocked_by_policy', 'tls_error', 'too_many_redirects'];

/** @throws the error itself when it is not a failed attempt: a bad request or a bug */
export function toFetchError(error: unknown): FetchError {
  if (error instanceof NavigationError || error instanceof HttpFailure) {
    const { reason, netError, message } = error;
    const code = reason === 'timeout' ? 'timeout' : 'navigation_failed';
    return { code, message, retryable: !permanentReasons.includes(reason), details: { reason, net_error: netError }, reason };
  }
  if (error instanceof BrowserClosed || (error instanceof ServiceError && lostCodes.includes(error.code)))
    return {
      code: 'session_lost',
      message: 'The browser was lost during the fetch. Retry the request.',
      retryable: true,
      reason: 'session_lost',
    };
  if (error instanceof TabNotFound)
    return { code: 'tab_not_found', message: 'The tab was closed during the fetch.', retryable: true, reason: null };
  if (error instanceof PageError)
    return { code: 'page_failed', message: error.message, retryable: true, details: { reason: error.reason }, reason: error.reason };
  if (error instanceof LaneFull || error instanceof LaneTimeout)
    return { code: 'no_capacity', message: 'Too many fetches of this site are queued. Retry later.', retryable: true, reason: null };
  throw error;
}

const lostCodes: readonly string[] = ['session_lost', 'session_ended', 'session_not_ready'];

export const createTimeoutError = (totalMs: number): FetchError => ({
  code: 'timeout',
  message: `The fetch did not finish within ${totalMs} ms.`,
  retryable: true,
  reason: 'timeout',
});
