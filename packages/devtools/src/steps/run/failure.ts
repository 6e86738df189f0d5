/** Converts errors to the failure of a step. */
import type { StepErrorCode, StepResult } from '@berth/contract';
import { NavigationError, PageError, RefError, TabNotFoundError } from '../../browser/browser.ts';
import { ContentError } from '@berth/reading';
import { AttemptTimeoutError, type StepAttempt } from './attempt.ts';
import { StepError } from '../context.ts';

const byPage: Record<PageError['reason'], StepErrorCode> = {
  timeout: 'timeout',
  too_large: 'too_large',
  script_failed: 'script_failed',
  context_lost: 'page_lost',
  element_detached: 'page_lost',
  frame_detached: 'page_lost',
  unknown_key: 'invalid_value',
  page_crashed: 'page_lost',
  not_possible: 'not_actionable',
};

const byNavigation: Partial<Record<NavigationError['reason'], StepErrorCode>> = {
  timeout: 'timeout',
  page_crashed: 'page_lost',
  download: 'not_a_page',
};
const notAPage =
  'The URL is a file, such as a PDF, that the browser downloads, and not a page. Use a `download` step, or fetch the URL for its content.';

const byContent: Record<ContentError['reason'], StepErrorCode> = {
  too_large: 'too_large',
  timeout: 'timeout',
  busy: 'timeout',
  failed: 'script_failed',
};

/** Null for errors that are not the step's: the browser exited, the request was aborted, or a bug. */
export function toStepFailed(error: unknown, attempt: StepAttempt | null): StepError | null {
  if (error instanceof StepError) return error;
  if (error instanceof RefError)
    return new StepError(error.reason === 'stale' ? 'stale_ref' : 'ref_not_found', error.message, { cause: error });
  if (error instanceof PageError) return new StepError(byPage[error.reason], sentence(error.message), { cause: error });
  if (error instanceof NavigationError)
    return new StepError(
      byNavigation[error.reason] ?? 'navigation_failed',
      error.reason === 'download' ? notAPage : sentence(error.message),
      { cause: error },
    );
  if (error instanceof TabNotFoundError || attempt?.page.closed.aborted)
    return new StepError('tab_not_found', 'The tab is closed.', { cause: error });
  if (error instanceof ContentError) return new StepError(byContent[error.reason], sentence(error.message), { cause: error });
  if (error instanceof AttemptTimeoutError)
    return new StepError('timeout', `The step did not finish within ${attempt?.timeoutMs ?? 0} ms.`, { cause: error });
  return null;
}

/** What callers read of it. A page that could not be loaded has its reason, which says whether to try again, and a stale reference what is like it. */
export function toStepError({ code, message, cause }: StepError): NonNullable<StepResult['error']> {
  if (cause instanceof RefError) return { code, message, details: { candidates: [...cause.candidates] } };
  if (!(cause instanceof NavigationError)) return { code, message };
  return { code, message, details: { reason: cause.reason, net_error: cause.netError } };
}

/** Whether the step only ran out of time: its message names a part of the run's time. */
export const isOutOfTime = ({ cause }: StepError): boolean =>
  cause instanceof AttemptTimeoutError || (cause instanceof PageError && cause.reason === 'timeout');

const sentence = (text: string): string => `${text.slice(0, 1)?.toUpperCase()}${text.slice(1, 1000)}${/[.!?]$/.test(text) ? '' : '.'}`;

/** A retry would fail in the same way. */
const final: ReadonlySet<StepErrorCode> = new Set([
  'not_allowed',
  'limit_reached',
  'invalid_selector',
  'invalid_value',
  'ref_not_found',
  'stale_ref',
  'file_not_found',
  'too_large',
  'not_a_page',
]);
export const isFinal = ({ code }: StepError): boolean => final.has(code);
