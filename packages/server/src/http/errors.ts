import { ServiceError, ValidationError } from '@berth/contract';
import type { ErrorBody, ErrorCode } from '@berth/contract';
import type { Log } from '../lib/log.ts';
import { errorPageHeaders, escapeHtml, type ErrorPage } from './error-page.ts';
import { CallerGone } from './exchange.ts';

/** What goes out: a status, headers beside those of every reply, and the text of the body. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The one place where a throw becomes an answer. Nothing of an error that we did not foresee reaches the caller. */
export function answerOf(thrown: unknown, requestId: string): Answer {
  if (thrown instanceof ValidationError)
    return { status: 422, headers: { 'x-should-retry': 'false' }, body: JSON.stringify({ detail: thrown.detail }) };
  const error = toServiceError(thrown);
  return { status: error.status, headers: errorHeaders(error), body: JSON.stringify(errorBody(error, requestId)) };
}

/** The same as a page; null for faults of a schema, of which only programs are told. */
export function pageOf(thrown: unknown, errorPage: ErrorPage): Answer | null {
  if (thrown instanceof ValidationError) return null;
  const error = toServiceError(thrown);
  const body = errorPage(error.status, escapeHtml(error.publicMessage));
  return { status: error.status, headers: { ...errorHeaders(error), ...errorPageHeaders }, body };
}

/** Keeps for the log what the caller is not told. */
export function logFailure(log: Log, thrown: unknown, facts: object): void {
  if (thrown instanceof ValidationError || thrown instanceof CallerGone) return;
  const error = toServiceError(thrown);
  if (error.code === 'internal_error') log.error({ ...facts, err: error.cause ?? error }, 'request failed unexpectedly');
  else if (error.status >= 500) log.warn({ ...facts, err: error }, 'request failed');
}

/** As web servers log a caller that did not wait for its answer. */
export const callerGoneStatus = 499;

/** What a failed request counts as. Faults of a schema have no code. */
export function outcomeOf(thrown: unknown): { status: number; code: ErrorCode | null } {
  if (thrown instanceof ValidationError) return { status: 422, code: null };
  if (thrown instanceof CallerGone) return { status: callerGoneStatus, code: null };
  const { status, code } = toServiceError(thrown);
  return { status, code };
}

function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (thrown instanceof CallerGone) return new ServiceError('request_timeout', 'The caller closed the connection.');
  return (
    frameworkError(thrown) ??
    new ServiceError('internal_error', 'Something went wrong on our side. The request id tells the operator where to look.', {
      cause: thrown,
    })
  );
}

/** What the HTTP framework itself refuses, which is always the request's form. */
function frameworkError(thrown: unknown): ServiceError | null {
  if (!(thrown instanceof Error) || !('code' in thrown) || typeof thrown.code !== 'string' || !thrown.code.startsWith('FST_ERR_'))
    return null;
  const status = 'statusCode' in thrown ? thrown.statusCode : undefined;
  if (status === 415) return new ServiceError('unsupported_media_type', 'The Content-Type header is malformed.', { cause: thrown });
  if (status === 413) return new ServiceError('body_too_large', 'The body is too large.', { cause: thrown });
  if (status === 404) return new ServiceError('route_not_found', 'There is nothing at this address.', { cause: thrown });
  if (status === 400 || status === 414)
    return new ServiceError('bad_request', 'The address of the request is malformed.', { cause: thrown });
  return null;
}

export function errorBody(error: ServiceError, requestId: string): ErrorBody {
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

function errorHeaders(error: ServiceError): Record<string, string> {
  const { status, code, details, retryAfterSeconds } = error;
  const headers: Record<string, string> = {};
  const retryHelps = status === 429 || status === 503;
  if (retryHelps) headers['x-should-retry'] = 'true';
  if (status === 402 || status === 409) headers['x-should-retry'] = 'false';
  if (retryAfterSeconds !== undefined || retryHelps) headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfterSeconds ?? 1)));
  if (status === 401) headers['www-authenticate'] = challenges[code] ?? 'Bearer realm="berth"';
  if (code === 'range_not_satisfiable') headers['content-range'] = `bytes */${String(details['size_bytes'])}`;
  return headers;
}
