import { ServiceError, ValidationError, type ErrorBody, type ErrorCode } from '@berth/contract';
import type { Log } from '@berth/lib/log.ts';
import { escapeHtml } from '@berth/lib/text/html.ts';
import { errorPageHeaders, type ErrorPage } from './error-page.ts';
import { ClientDisconnectedError } from './server/exchange.ts';

/** Status, body, and headers in addition to those of every response. */
export interface HttpResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The only place where an error becomes a response. Details of an unexpected error never reach the caller. */
export function toErrorResponse(thrown: unknown, requestId: string): HttpResponse {
  if (thrown instanceof ValidationError)
    return { status: 422, headers: retryHeaders({ retryable: false }), body: JSON.stringify(thrown.toBody(requestId)) };
  const error = toServiceError(thrown);
  return { status: error.status, headers: errorHeaders(error), body: JSON.stringify(errorBody(error, requestId)) };
}

/** Converts an error to an HTML page. */
export function toErrorPage(thrown: unknown, errorPage: ErrorPage): HttpResponse {
  if (thrown instanceof ValidationError)
    return { status: 422, headers: { ...retryHeaders({ retryable: false }), ...errorPageHeaders }, body: errorPage(422, malformedLink) };
  const error = toServiceError(thrown);
  const body = errorPage(error.status, escapeHtml(error.publicMessage));
  return { status: error.status, headers: { ...errorHeaders(error), ...errorPageHeaders }, body };
}

const malformedLink = 'This link is not complete, or was changed. Open it exactly as it was sent.';

/** Logs what the response does not say. */
export function logFailure(log: Log, thrown: unknown, fields: object): void {
  if (thrown instanceof ValidationError || thrown instanceof ClientDisconnectedError) return;
  const error = toServiceError(thrown);
  if (error.code === 'internal_error') log.error({ ...fields, err: error.cause ?? error }, 'request failed unexpectedly');
  else if (error.status >= 500) log.warn({ ...fields, err: error }, 'request failed');
}

/** Status for logs, as in nginx: the client closed the connection before the response. */
export const clientClosedRequestStatus = 499;

/** Status and error code for logs and metrics. Validation errors have no code. */
export function outcomeOf(thrown: unknown): { status: number; code: ErrorCode | null } {
  if (thrown instanceof ValidationError) return { status: 422, code: null };
  if (thrown instanceof ClientDisconnectedError) return { status: clientClosedRequestStatus, code: null };
  const { status, code } = toServiceError(thrown);
  return { status, code };
}

function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (thrown instanceof ClientDisconnectedError) return new ServiceError('request_timeout', 'The client closed the connection.');
  return new ServiceError('internal_error', 'Internal error. Give the request id to the operator.', { cause: thrown });
}

function errorBody(error: ServiceError, requestId: string): ErrorBody {
  return {
    error: { code: error.code, message: error.publicMessage, retryable: error.retryable, request_id: requestId, details: error.details },
    code: error.code,
    detail: error.publicMessage,
  };
}

const challenges: Partial<Record<ErrorCode, string>> = {
  missing_api_key: 'Bearer realm="berth"',
  missing_admin_key: 'ApiKey realm="berth", header="x-admin-key"',
  missing_login_token: 'Bearer realm="berth login"',
  invalid_login_token: 'Bearer realm="berth login", error="invalid_token"',
  missing_metrics_token: 'Bearer realm="berth metrics"',
  missing_view_token: 'ViewToken realm="berth", query="token"',
};

/** Headers that say what `error.retryable` of the body says, for clients that read headers. */
function retryHeaders({
  retryable,
  retryAfterSeconds,
}: Pick<Partial<ServiceError>, 'retryable' | 'retryAfterSeconds'>): Record<string, string> {
  const after = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return { 'x-should-retry': String(retryable === true), ...after };
}

function errorHeaders(error: ServiceError): Record<string, string> {
  const { status, code, details } = error;
  const headers = retryHeaders(error);
  if (status === 401) headers['www-authenticate'] = challenges[code] ?? 'Bearer realm="berth"';
  if (code === 'range_not_satisfiable') headers['content-range'] = `bytes */${String(details['size_bytes'])}`;
  if (Array.isArray(details['allow'])) headers['allow'] = details['allow'].join(', ');
  return headers;
}
