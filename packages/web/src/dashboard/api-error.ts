/** A refusal of the service, or a failure to reach it, as pages show it. */
import { BerthError, type ValidationIssue } from '@berth/sdk';

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

/** Any thrown value as something to show. */
export function toShown(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (BerthError.is(error)) return toApiError(error);
  return new ApiError(error instanceof Error ? error.message : String(error), { status: 0, code: 'page_error', requestId: null });
}

function toApiError(error: BerthError): ApiError {
  const { code, status, requestId, details, retryAfterSeconds } = error;
  if (code === 'connection_failed' || code === 'timed_out') return unreachable();
  const issues = error.issues.map(toIssue);
  const options = { status: status ?? 0, code, requestId, details, issues, retryAfterSeconds };
  const [first] = issues;
  if (!first) return new ApiError(forPeople(error.message), options);
  const rest = issues.length > 1 ? ` And ${issues.length - 1} more.` : '';
  return new ApiError(`${first.field ? `${first.field}: ` : ''}${asSentence(first.message)}${rest}`, options);
}

/** The message without the sentences that name a call: pages have links and buttons for these. The first always stays. */
function forPeople(message: string): string {
  const [first = '', ...others] = message.split(/(?<=[.?!]) (?=[A-Z])/);
  return [first, ...others.filter((sentence) => !/\b(?:GET|POST|PUT|PATCH|DELETE) \//.test(sentence))].join(' ');
}

const toIssue = ({ loc, msg, hint }: ValidationIssue): FieldIssue => ({
  field: loc.slice(1).join('.'),
  message: hint === undefined ? msg : `${asSentence(msg)} ${hint}`,
});

const asSentence = (text: string): string => (/[.?!]$/.test(text) ? text : `${text}.`);

/** The client knows an address that may be wrong; here it is that of the page. */
export const unreachable = (): ApiError =>
  new ApiError('The service cannot be reached. Check that it runs and that you are online.', {
    status: 0,
    code: 'unreachable',
    requestId: null,
  });
