import { ServiceError, type JobStatus, type WorkError, type WorkUsage } from '@berth/contract';

/** What work came to. */
export interface JobOutcome {
  status: Exclude<JobStatus, 'pending'>;
  result: Record<string, unknown> | null;
  error: WorkError | null;
  usage: WorkUsage;
}

/** The same as it is kept: documents as the bytes of their JSON. */
export interface Ending {
  status: Exclude<JobStatus, 'pending'>;
  result: Buffer | null;
  error: Buffer | null;
  usage: WorkUsage | null;
}

/** A page with its screenshot as base64 is a few MiB. The bytes go through this process and the database's several times over. */
export const resultBytesMax = 32 * 1024 * 1024;
/** An error is a sentence and a few facts. */
const errorCharsMax = 64 * 1024;
const messageCharsMax = 1000;

/** Throws where the result holds what JSON cannot say. */
export function endingOf({ status, result, error, usage }: JobOutcome): Ending {
  const bytes = result && bytesOf(result);
  if (bytes === 'too large') return { ...failed(resultTooLarge), usage };
  return { status, result: bytes, error: error && errorBytes(error), usage };
}

/** Of work that threw. Nothing of an error that we did not foresee reaches the caller. */
export function endingOfThrown(thrown: unknown): Ending {
  if (!(thrown instanceof ServiceError)) return failed(internalError);
  const { code, publicMessage: message, retryable, details } = thrown;
  return failed({ code, message, retryable, ...(Object.keys(details).length > 0 ? { details } : {}) });
}

const failed = (error: WorkError): Ending => ({ status: 'error', result: null, error: errorBytes(error), usage: null });

function bytesOf(result: Record<string, unknown>): Buffer | 'too large' {
  try {
    const bytes = Buffer.from(JSON.stringify(result));
    return bytes.length > resultBytesMax ? 'too large' : bytes;
  } catch (error) {
    // Longer than a string can be, or deeper than the stack.
    if (error instanceof RangeError) return 'too large';
    throw error;
  }
}

/** Never throws: an error that cannot be kept whole goes without its details. */
function errorBytes(error: WorkError): Buffer {
  const whole = jsonOf(error);
  if (whole !== null && whole.length <= errorCharsMax) return Buffer.from(whole);
  return Buffer.from(JSON.stringify({ code: error.code, message: error.message.slice(0, messageCharsMax), retryable: error.retryable }));
}

function jsonOf(error: WorkError): string | null {
  try {
    return JSON.stringify(error);
  } catch {
    return null;
  }
}

const internalError: WorkError = {
  code: 'internal_error',
  message: 'Something went wrong on our side. The job id tells the operator where to look.',
  retryable: true,
};
const resultTooLarge: WorkError = {
  code: 'result_too_large',
  message: `The result is larger than ${resultBytesMax} bytes of JSON. Ask for fewer formats, or for a part of the page.`,
  retryable: false,
};

export const cancelled = failed({ code: 'cancelled', message: 'The job was cancelled.', retryable: false });
export const workerLost = failed({
  code: 'worker_lost',
  message: 'The worker that ran the job is gone. Start the job again.',
  retryable: true,
});
export const drained = failed({
  code: 'draining',
  message: 'The worker that ran the job was shut down. Start the job again.',
  retryable: true,
});
export const neverStarted = failed({
  code: 'no_capacity',
  message: 'The job’s turn did not come in time. Start it again in a moment.',
  retryable: true,
});
export const outlived = failed({
  code: 'deadline_exceeded',
  message: 'The job did not end within its time and was given up.',
  retryable: true,
});
