import { ServiceError } from '@berth/contract';
import { DatabaseError } from 'pg';

/** Seconds that a caller is told to wait: a server that died is back within two. */
const retryAfterSeconds = 2;

/** SQLSTATE classes and codes that tell of the server's state and not of the statement. */
const unavailable = [
  '08', // connection exceptions
  '53', // out of memory, disk or connections
  '57P', // shutting down, crashed, starting up
  '57014', // statement_timeout
  '55P03', // lock_timeout
  '25P03', // idle_in_transaction_session_timeout
  '58', // system errors
];

export const storeUnavailable = (cause: unknown): ServiceError =>
  new ServiceError('store_unavailable', 'The database cannot be reached right now. Try again shortly.', {
    cause,
    retryAfterSeconds,
    internal: `the database failed: ${String(cause)}`,
  });

/** Whether the connection that the error came from must not be used again. */
export const isBroken = (error: unknown): boolean =>
  // A plan that an altered table made stale is kept by name for as long as its connection.
  error instanceof DatabaseError ? error.severity === 'FATAL' || error.code === '0A000' : !(error instanceof TypeError);

/** The one place where a failed database becomes an answer; what is wrong with a statement passes unchanged. */
export function translateQueryError(error: unknown): unknown {
  if (error instanceof DatabaseError) return unavailable.some((code) => error.code?.startsWith(code)) ? storeUnavailable(error) : error;
  // A value that cannot be sent is our own mistake; anything else that is not the server's answer is a lost connection.
  return error instanceof TypeError || error instanceof ServiceError ? error : storeUnavailable(error);
}

/** Whether a statement failed because of this unique index or constraint (any, when none is named). */
export const isUniqueViolation = (error: unknown, constraint?: string): boolean =>
  error instanceof DatabaseError && error.code === '23505' && (constraint === undefined || error.constraint === constraint);
