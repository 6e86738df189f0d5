import { ServiceError } from '@berth/contract';
import { BrowserGone, LastTab, NavigationError, PageError, TabLimitReached, TabNotFound } from '../browser/browser.ts';
import { ContentFailed } from '../content/content.ts';

/** What a second try of the same call may well get over. */
const passing: readonly string[] = ['timeout', 'context_lost', 'page_crashed', 'busy'];
const lasting: readonly string[] = ['blocked_by_policy', 'tls_error', 'too_many_redirects'];

/** What went wrong in the browser, as the caller is told it. */
export function toServiceError(error: unknown): unknown {
  if (error instanceof NavigationError)
    return new ServiceError('navigation_failed', error.message, {
      cause: error,
      details: { reason: error.reason, net_error: error.netError },
      retryable: !lasting.includes(error.reason),
    });
  if (error instanceof PageError || error instanceof ContentFailed) return pageFailed(error.reason, error.message, error);
  if (error instanceof TabNotFound) return new ServiceError('tab_not_found', 'There is no such tab in this session.', { cause: error });
  if (error instanceof LastTab)
    return new ServiceError('last_tab', 'The last tab stays open: a session without a tab cannot be driven. End the session instead.', {
      cause: error,
    });
  if (error instanceof TabLimitReached)
    return new ServiceError('tab_limit_reached', `This session may have ${error.limit} tabs. Close one first.`, {
      cause: error,
      details: { limit: error.limit },
    });
  if (error instanceof BrowserGone)
    return new ServiceError('session_lost', 'The session’s browser was lost during the call.', { cause: error });
  return error;
}

/** What a page could not do, or not in the time that it was given. */
export const pageFailed = (reason: string, message: string, cause?: unknown): ServiceError =>
  new ServiceError('page_failed', message, { cause, details: { reason }, retryable: passing.includes(reason) });
