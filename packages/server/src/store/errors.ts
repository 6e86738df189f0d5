import { ServiceError } from '@berth/contract';
import { DatabaseError } from 'pg';

/** A server that crashed is back within two seconds. */
const retryAfterSeconds = 2;

/** SQLSTATE classes and codes about the state of the server, not about the statement. */
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
  new ServiceError('store_unavailable', 'The database is unavailable. Try again shortly.', {
    cause,
    retryAfterSeconds,
    internal: `the database failed: ${String(cause)}`,
  });

/** Whether the connection must not be used again. */
export const isBroken = (error: unknown): boolean =>
  // 0A000: a prepared plan that became invalid by ALTER TABLE lives as long as its connection.
  error instanceof DatabaseError ? error.severity === 'FATAL' || error.code === '0A000' : !(error instanceof TypeError);

/** Turns failures of the database into `store_unavailable`. Errors of a statement pass unchanged. */
export function translateQueryError(error: unknown): unknown {
  if (error instanceof DatabaseError) return unavailable.some((code) => error.code?.startsWith(code)) ? storeUnavailable(error) : error;
  // TypeError: a value that cannot be serialized. Any other error that the server did not send is a lost connection.
  return error instanceof TypeError || error instanceof ServiceError ? error : storeUnavailable(error);
}

/** Whether a statement failed because of this unique index or constraint (any, when none is named). */
export const isUniqueViolation = (error: unknown, constraint?: string): boolean =>
  error instanceof DatabaseError && error.code === '23505' && (constraint === undefined || error.constraint === constraint);
