/** How a flow fails, and what its caller reads about it. */
import { ServiceError, isRetryableFailure, type StepResult, type WorkError } from '@berth/contract';
import { toFetchError } from '../fetch/fetch.ts';

/** The end of a flow, with an error for the caller. */
export class FlowError extends Error {
  readonly error: WorkError;

  constructor(
    code: string,
    message: string,
    { retryable = false, details }: { retryable?: boolean; details?: Record<string, unknown> } = {},
  ) {
    super(message);
    this.name = 'FlowError';
    this.error = { code, message, retryable, ...(details ? { details } : {}) };
  }
}

/** Failures of the page at the time, not of the steps. */
const retryableCodes = new Set(['timeout', 'page_lost', 'navigation_failed', 'download_failed']);

/** `index`: in the whole run. */
export function toStepFailure({ type, error }: StepResult, index: number): FlowError {
  const { code = 'timeout', message = 'The step failed.', details: failed } = error ?? {};
  const retryable = failed?.reason !== undefined ? isRetryableFailure(failed.reason, failed.net_error ?? null) : retryableCodes.has(code);
  const details = { step_index: index, step_type: type, ...failed };
  return new FlowError(code, `Step ${index} (${type}) failed: ${message}`, { retryable, details });
}

export const createTimeoutFailure = (timeoutMs: number): WorkError => ({
  code: 'timeout',
  message: `The flow did not finish within the timeout_ms of ${timeoutMs}. Allow more time.`,
  retryable: true,
});

/** @throws the error itself when it is a bug */
export function toWorkError(error: unknown, request: Parameters<typeof toFetchError>[1]): WorkError {
  if (error instanceof FlowError) return error.error;
  if (error instanceof ServiceError && !lostCodes.has(error.code)) {
    const { code, publicMessage: message, retryable, details } = error;
    return { code, message, retryable, ...(Object.keys(details).length > 0 ? { details } : {}) };
  }
  const { code, message, retryable, details } = toFetchError(error, request);
  return { code, message: message.replaceAll('the fetch', 'the flow'), retryable, ...(details ? { details } : {}) };
}

const lostCodes = new Set(['session_lost']);
