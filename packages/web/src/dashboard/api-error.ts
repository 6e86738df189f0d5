/** A refusal of the service, or a failure to reach it. */

export interface FieldIssue {
  /** Path in the body, such as `viewport.width`; empty for the body as a whole. */
  field: string;
  message: string;
}

interface ApiErrorOptions {
  status: number;
  code: string;
  requestId: string | null;
  details?: Record<string, unknown>;
  issues?: readonly FieldIssue[];
  retryAfterSeconds?: number | null;
}

/** `message` says what is wrong and what to do, in the service's words. */
export class ApiError extends Error {
  /** 0: the service was not reached. */
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly details: Record<string, unknown>;
  /** What to correct in a form. */
  readonly issues: readonly FieldIssue[];
  readonly retryAfterSeconds: number | null;

  constructor(message: string, { status, code, requestId, details = {}, issues = [], retryAfterSeconds = null }: ApiErrorOptions) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.details = details;
    this.issues = issues;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

interface ErrorBody {
  error?: { code?: string; message?: string; request_id?: string; details?: Record<string, unknown> };
  detail?: { loc: string[]; msg: string; hint?: string }[] | string;
}

/** Parses the body of a failed response; also one that a proxy in front sent. */
export function toApiError(status: number, headers: Pick<Headers, 'get'>, text: string): ApiError {
  const requestId = headers.get('x-request-id');
  const retryAfterSeconds = Number(headers.get('retry-after')) || null;
  const body = parse(text);
  if (Array.isArray(body.detail)) {
    const issues = body.detail.map(toIssue);
    const [first] = issues;
    const rest = issues.length > 1 ? ` And ${issues.length - 1} more.` : '';
    const message = first ? `${first.field ? `${first.field}: ` : ''}${asSentence(first.message)}${rest}` : 'The request is not valid.';
    return new ApiError(message, { status, code: 'validation_failed', requestId, issues });
  }
  const { code = 'unknown', message = `The service answered with status ${status}.`, details = {} } = body.error ?? {};
  return new ApiError(message, { status, code, requestId: body.error?.request_id ?? requestId, details, retryAfterSeconds });
}

const toIssue = ({ loc, msg, hint }: { loc: string[]; msg: string; hint?: string }): FieldIssue => ({
  field: loc.slice(1).join('.'),
  message: hint === undefined ? msg : `${asSentence(msg)} ${hint}`,
});

const asSentence = (text: string): string => (/[.?!]$/.test(text) ? text : `${text}.`);

function parse(text: string): ErrorBody {
  try {
    return (JSON.parse(text) as ErrorBody | null) ?? {};
  } catch {
    return {};
  }
}

export const unreachable = (): ApiError =>
  new ApiError('The service cannot be reached. Check that it runs and that you are online.', {
    status: 0,
    code: 'unreachable',
    requestId: null,
  });

/** Any thrown value as something to show. */
export const toShown = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : new ApiError(error instanceof Error ? error.message : String(error), { status: 0, code: 'page_error', requestId: null });
