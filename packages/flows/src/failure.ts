/** How a flow fails. */
import { isRetryableFailure, type StepResult, type WorkError } from '@berth/contract';

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
