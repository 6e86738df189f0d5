/** The error of a call. */
import type { ErrorCode, ErrorDetails, ValidationIssue } from './generated/types.ts';

/** Codes of errors that the client finds itself. */
export type ClientErrorCode =
  /** The service could not be reached, or the connection broke. */
  | 'connection_failed'
  /** The service did not answer in time. */
  | 'timed_out'
  /** What answered is not the service, or not one that this client understands. */
  | 'unexpected_response'
  /** The request breaks its schema: see `issues`. */
  | 'validation_error';

export interface BerthErrorFields {
  code: string;
  message: string;
  status?: number | null;
  requestId?: string | null;
  retryable?: boolean;
  retryAfterSeconds?: number | null;
  details?: unknown;
  issues?: readonly ValidationIssue[];
  cause?: unknown;
}

/**
 * A call that failed. `code` says why: compare it, or ask {@link BerthError.is}, which also types `details`.
 *
 * A code of a failed step of `session.act` is not in {@link ErrorCode}; neither is one of a newer service.
 */
export class BerthError extends Error {
  readonly code: ErrorCode | ClientErrorCode | (string & {});
  /** HTTP status; null where no response came. */
  readonly status: number | null;
  /** Id of the request in the logs of the service. */
  readonly requestId: string | null;
  /** Whether the same call may succeed later. The client has repeated it already. */
  readonly retryable: boolean;
  /** How long the service asks to wait; null where it does not say. */
  readonly retryAfterSeconds: number | null;
  readonly details: Record<string, unknown>;
  /** What is wrong with a request that breaks its schema. */
  readonly issues: readonly ValidationIssue[];

  constructor(fields: BerthErrorFields) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = 'BerthError';
    this.code = fields.code;
    this.status = fields.status ?? null;
    this.requestId = fields.requestId ?? null;
    this.retryable = fields.retryable ?? false;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null;
    this.details = (fields.details ?? {}) as Record<string, unknown>;
    this.issues = fields.issues ?? [];
  }

  /** Whether a value is an error of this client, with this code if one is given: then `details` has the fields of the code. */
  static is<C extends keyof ErrorDetails>(error: unknown, code: C): error is BerthError & { code: C; details: ErrorDetails[C] };
  static is(error: unknown, code?: ErrorCode | ClientErrorCode): error is BerthError;
  static is(error: unknown, code?: string): boolean {
    return error instanceof BerthError && (code === undefined || error.code === code);
  }
}

interface ErrorReply {
  error?: { code?: unknown; message?: unknown; retryable?: unknown; request_id?: unknown; details?: unknown };
  detail?: unknown;
}

/** Characters of a foreign reply that a message shows. */
const excerptLength = 200;

/** The error that a response reports, or one that says that it is none of the service. */
export function toBerthError(response: Response, text: string): BerthError {
  const { headers } = response;
  const status = response.status || null;
  const body = parse(text) as ErrorReply | null | undefined;
  const error = body?.error;
  const isOfService = typeof error?.code === 'string';
  const { code, message } = isOfService ? { code: error.code as string, message: String(error.message) } : describeForeign(response, text);
  return new BerthError({
    code,
    message,
    status,
    requestId: typeof error?.request_id === 'string' ? error.request_id : headers.get('x-request-id'),
    retryable: isRetryable(headers.get('x-should-retry') ?? (isOfService ? String(error.retryable) : ''), response.status),
    retryAfterSeconds: readRetryAfter(headers.get('retry-after')),
    details: error?.details,
    issues: Array.isArray(body?.detail) ? (body.detail as ValidationIssue[]) : [],
  });
}

/** What answered in place of the service, such as a proxy. */
function describeForeign({ status, headers, type, url }: Response, text: string): { code: ClientErrorCode; message: string } {
  const code = 'unexpected_response';
  const target = headers.get('location');
  if ((status >= 300 && status < 400) || type === 'opaqueredirect')
    return { code, message: `${url} redirects${target === null ? '' : ` to ${target}`}. Set the base URL to where the service is.` };
  return { code, message: `The response is not one of Berth (status ${status}): ${text.slice(0, excerptLength)}` };
}

const isRetryable = (said: string, status: number): boolean =>
  said === 'true' || (said !== 'false' && (status === 408 || status === 429 || status >= 500));

/** Seconds of a `Retry-After`, which is a number or a date; null for anything else. */
function readRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, (date - Date.now()) / 1000);
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
