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
  '25006', // read_only_sql_transaction: a standby, or a primary that another one has replaced
  '58', // system errors
];

export const storeUnavailable = (cause: unknown): ServiceError =>
  new ServiceError('store_unavailable', 'The database is unavailable. Try again shortly.', {
    cause,
    retryAfterSeconds,
    internal: `the database failed: ${String(cause)}`,
  });

export const isStoreUnavailable = (error: unknown): boolean => error instanceof ServiceError && error.code === 'store_unavailable';

/**
 * While the database is unavailable, the last known keys and plans apply for this time, so that running sessions can be
 * driven: nobody can revoke a key meanwhile, and what needs the database is refused anyway.
 */
export const lastKnownMsMax = 300_000;

/** Whether the connection must not be used again. */
export const isBroken = (error: unknown): boolean =>
  // 25006: a new one may reach the primary.
  error instanceof DatabaseError
    ? error.severity === 'FATAL' || error.code === '25006' || isStalePlan(error)
    : !(error instanceof TypeError);

/**
 * A migration of a newer version has changed what a prepared statement returns. The server has not executed it, and
 * refuses it as long as the connection lives.
 */
export const isStalePlan = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery';

/** Turns failures of the database into `store_unavailable`. Errors of a statement pass unchanged. */
export function translateQueryError(error: unknown): unknown {
  if (error instanceof DatabaseError) return unavailable.some((code) => error.code?.startsWith(code)) ? storeUnavailable(error) : error;
  // TypeError: a value that cannot be serialized. Any other error that the server did not send is a lost connection.
  return error instanceof TypeError || error instanceof ServiceError ? error : storeUnavailable(error);
}

/** Whether a statement failed because of this unique index or constraint (any, when none is named). */
export const isUniqueViolation = (error: unknown, constraint?: string): boolean =>
  error instanceof DatabaseError && error.code === '23505' && (constraint === undefined || error.constraint === constraint);

/** The message names server and database, never the password. */
export class DatabaseUnusableError extends Error {
  constructor(databaseUrl: string, cause: unknown) {
    const { host, pathname } = new URL(databaseUrl);
    super(
      `the database at ${host}${pathname} (BERTH_DATABASE_URL) is unusable: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
    this.name = 'DatabaseUnusableError';
  }
}
