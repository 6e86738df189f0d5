import { ServiceError, isRetryableFailure } from '@berth/contract';
import {
  BrowserClosedError,
  LastTabError,
  NavigationError,
  PageError,
  RefError,
  TabLimitReachedError,
  TabNotFoundError,
  type RefCandidate,
} from '@berth/devtools';
import { ContentError } from '@berth/reading';

/** Page failures that a retry may fix. */
const transientReasons: readonly string[] = ['timeout', 'context_lost', 'page_crashed', 'busy'];

/** Converts an error of the browser to the ServiceError that the caller gets; returns any other error as it is. */
export function toServiceError(error: unknown): unknown {
  if (error instanceof NavigationError)
    return new ServiceError('navigation_failed', error.message, {
      cause: error,
      details: { reason: error.reason, net_error: error.netError, ...error.details },
      retryable: isRetryableFailure(error.reason, error.netError),
    });
  if (error instanceof RefError)
    return refFailed(error.reason === 'stale' ? 'stale_ref' : 'ref_not_found', error.message, error.candidates);
  if (error instanceof PageError || error instanceof ContentError) return pageFailed(error.reason, error.message, error);
  if (error instanceof TabNotFoundError)
    return new ServiceError('tab_not_found', 'No such tab in this session. List the open tabs.', { cause: error });
  if (error instanceof LastTabError)
    return new ServiceError('last_tab', 'The last tab of a session cannot be closed. End the session instead.', {
      cause: error,
    });
  if (error instanceof TabLimitReachedError)
    return new ServiceError(
      'tab_limit_reached',
      `This session may have at most ${error.limit} ${error.limit === 1 ? 'tab' : 'tabs'}. Close one first.`,
      {
        cause: error,
        details: { limit: error.limit },
      },
    );
  if (error instanceof BrowserClosedError)
    return new ServiceError('session_lost', 'The session’s browser was lost during the call. Create a new session.', { cause: error });
  return error;
}

export const pageFailed = (reason: string, message: string, cause?: unknown): ServiceError =>
  new ServiceError('page_failed', message, { cause, details: { reason }, retryable: transientReasons.includes(reason) });

/** A reference has no element; a stale one has what is like it. */
export const refFailed = (code: 'stale_ref' | 'ref_not_found', message: string, candidates: readonly RefCandidate[] = []): ServiceError =>
  new ServiceError(code, message, code === 'stale_ref' ? { details: { candidates: [...candidates] } } : {});

export async function withServiceErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toServiceError(error);
  }
}
