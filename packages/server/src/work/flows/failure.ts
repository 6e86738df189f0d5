/** What the caller of a flow reads about its failure. */
import { ServiceError, type WorkError } from '@berth/contract';
import { FlowError } from '@berth/flows';
import { toFetchError } from '../fetch/fetch.ts';

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
