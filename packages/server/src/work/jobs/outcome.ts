import { ServiceError, type JobStatus, type WorkError, type WorkUsage } from '@berth/contract';
import { JsonTooLongError, toJsonText } from '@berth/lib/json/text.ts';

/** The result of a job's work. */
export interface JobOutcome {
  status: Exclude<JobStatus, 'pending'>;
  result: Record<string, unknown> | null;
  error: WorkError | null;
  usage: WorkUsage;
}

/** A JobOutcome as it is stored, with documents as JSON bytes. */
export interface StoredOutcome {
  status: Exclude<JobStatus, 'pending'>;
  result: Buffer | null;
  /** Size of a result that is in object storage, not here. */
  largeResultBytes?: number;
  error: Buffer | null;
  usage: WorkUsage | null;
  outline: JobOutline;
}

/** What a list shows of an outcome. */
export interface JobOutline {
  /** Which session the result says did the work, null for none. Absent: the result does not say. */
  session_id?: string | null;
  error: Omit<WorkError, 'details'> | null;
}

export const outlineOf = ({ result, error }: Pick<JobOutcome, 'result' | 'error'>): JobOutline => {
  const { session_id: session } = result ?? {};
  return {
    ...(session === undefined ? {} : { session_id: typeof session === 'string' ? session : null }),
    error: error && { code: error.code, message: error.message.slice(0, messageCharsMax), retryable: error.retryable },
  };
};

/** A page with its screenshot as base64 is a few MiB. The bytes are copied several times, here and in the database. */
export const resultBytesMax = 32 * 1024 * 1024;
export const resultRetentionMs = 24 * 3_600_000;
/** Larger errors are stored without their details. */
const errorCharsMax = 64 * 1024;
const messageCharsMax = 1000;

/** When a job ended, and when its result is dropped. */
export const endedAt = (finishedAt: Date): { finishedAt: Date; expiresAt: Date } => ({
  finishedAt,
  expiresAt: new Date(finishedAt.getTime() + resultRetentionMs),
});

/** @throws TypeError when the result cannot be serialized as JSON */
export async function toStoredOutcome({ status, result, error, usage }: JobOutcome): Promise<StoredOutcome> {
  const bytes = result && (await bytesOf(result));
  if (bytes === 'too large') return { ...errorOutcome(resultTooLarge), usage };
  return { status, result: bytes, error: error && errorBytes(error), usage, outline: outlineOf({ result, error }) };
}

/** The outcome of work that threw. Details of unexpected errors do not reach the caller. */
export function outcomeOfError(thrown: unknown): StoredOutcome {
  if (!(thrown instanceof ServiceError)) return errorOutcome(internalError);
  const { code, publicMessage: message, retryable, details } = thrown;
  return errorOutcome({ code, message, retryable, ...(Object.keys(details).length > 0 ? { details } : {}) });
}

const errorOutcome = (error: WorkError): StoredOutcome => ({
  ...{ status: 'error', result: null, error: errorBytes(error), usage: null },
  outline: outlineOf({ result: null, error }),
});

async function bytesOf(result: Record<string, unknown>): Promise<Buffer | 'too large'> {
  try {
    // A character is at least a byte.
    const bytes = Buffer.from((await toJsonText(result, resultBytesMax)).slice(0, -1));
    return bytes.length > resultBytesMax ? 'too large' : bytes;
  } catch (error) {
    // Longer than a string can be, or nested deeper than the stack.
    if (error instanceof RangeError || error instanceof JsonTooLongError) return 'too large';
    throw error;
  }
}

/** Never throws: drops the details when they cannot be stored. */
function errorBytes(error: WorkError): Buffer {
  const json = jsonOf(error);
  if (json !== null && json.length <= errorCharsMax) return Buffer.from(json);
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
  message: 'An internal error occurred. Retry, or give the job id to the operator.',
  retryable: true,
};
const resultTooLarge: WorkError = {
  code: 'result_too_large',
  message: `The result exceeds ${resultBytesMax} bytes of JSON. Request fewer formats or a part of the page.`,
  retryable: false,
};

export const cancelled = errorOutcome({ code: 'cancelled', message: 'The job was cancelled.', retryable: false });
export const workerLost = errorOutcome({
  code: 'worker_lost',
  message: 'The worker that ran the job was lost. Start the job again.',
  retryable: true,
});
export const drained = errorOutcome({
  code: 'draining',
  message: 'The worker that ran the job was shut down. Start the job again.',
  retryable: true,
});
export const queueTimedOut = errorOutcome({
  code: 'no_capacity',
  message: 'The job waited too long in the queue. Start it again in a moment.',
  retryable: true,
});
export const runTimedOut = errorOutcome({
  code: 'deadline_exceeded',
  message: 'The job exceeded its time limit. Start it again.',
  retryable: true,
});
