/** Maps what an attempt throws to the error of the response. Unknown errors are rethrown, so nothing internal leaks. */
import { ServiceError, isRetryableFailure, type WorkError } from '@berth/contract';
import { BrowserClosedError, NavigationError, PageError, TabNotFoundError } from '@berth/devtools';
import { HttpError } from '@berth/egress';
import { LaneFullError, LaneTimeoutError } from '@berth/lib/turns/lanes.ts';

/** Why an attempt failed. `reason` is for the choice of the next strategy and not in the response. */
export type FetchError = WorkError & { reason: string | null };

const lostCodes: readonly string[] = ['session_lost', 'session_ended', 'session_not_ready'];

/** What an error says of the request: the caller's limit, and whether the session is the caller's own. */
type FailedRequest = Readonly<{ timeout_ms: number; session_id: string | null }>;

/**
 * Parts of a fetch have shorter limits of their own than the request's `timeout_ms`, which no message names.
 * @throws the error itself when it is not a failed attempt: a bad request or a bug
 */
export function toFetchError(error: unknown, request: FailedRequest): FetchError {
  if (isOutOfTime(error)) return createTimeoutError(request.timeout_ms);
  if (error instanceof NavigationError || error instanceof HttpError) {
    const { reason, netError, message, details } = error;
    const code = reason === 'timeout' ? 'timeout' : 'navigation_failed';
    return { code, message, retryable: isRetryableFailure(reason, netError), details: { reason, net_error: netError, ...details }, reason };
  }
  if (error instanceof BrowserClosedError || (error instanceof ServiceError && lostCodes.includes(error.code)))
    return request.session_id === null ? lostMachine : lostSession;
  if (error instanceof TabNotFoundError) return createFetchError('tab_not_found', 'The tab was closed during the fetch.');
  if (error instanceof PageError)
    return { ...createFetchError('page_failed', error.message, error.reason), details: { reason: error.reason } };
  if (error instanceof LaneFullError || error instanceof LaneTimeoutError)
    return createFetchError('no_capacity', 'Too many fetches of this site are queued. Retry later.');
  throw error;
}

/** A limit of our own has passed; a site that does not answer a connection has a network error. */
function isOutOfTime(error: unknown): boolean {
  if (error instanceof NavigationError || error instanceof HttpError)
    return error.reason === 'timeout' && error.netError === 'net::ERR_TIMED_OUT';
  return error instanceof PageError && error.reason === 'timeout';
}

export const createTimeoutError = (totalMs: number): FetchError => ({
  ...createFetchError('timeout', `The page could not be fetched within the timeout_ms of ${totalMs}. Allow more time.`, 'timeout'),
  details: { reason: 'timeout', net_error: 'net::ERR_TIMED_OUT' },
});

const createFetchError = (code: string, message: string, reason: string | null = null): FetchError => ({
  code,
  message,
  retryable: true,
  reason,
});

const lostMachine = createFetchError('session_lost', 'The browser was lost during the fetch. Retry the request.', 'session_lost');

/** Nothing brings a session back, so the same request fails again. */
const lostSession: FetchError = {
  ...createFetchError('session_lost', 'The session ended during the fetch. Create a new session.', 'session_lost'),
  retryable: false,
};
