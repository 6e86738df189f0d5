/** Failures of commands with their exit codes, which scripts rely on. */

/** Exit codes by what happened. `docs/command-line.md` has the same table. */
export const exitCodes = {
  ok: 0,
  /** The service answered with an error that is none of the following. */
  failed: 1,
  /** Unknown command or option, or an argument that makes no sense. */
  usage: 2,
  /** The key is missing, wrong, or may not do this. */
  unauthorized: 3,
  /** What was named is not there: no session, an ended one, an unknown id. */
  notFound: 4,
  /** The page did not let a step happen: no such element, covered, a stale ref. */
  step: 5,
  /** The service cannot be reached, or does not answer. */
  unreachable: 6,
  /** A limit, a plan or the capacity refused it for now. */
  limited: 7,
  /** Ctrl+C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A failure that the command line finds itself. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;
  readonly code: string;
  /** What to do about it. */
  readonly hint: string | undefined;

  constructor(exitCode: ExitCode, code: string, message: string, hint?: string) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
    this.code = code;
    this.hint = hint;
  }
}

export const usageError = (message: string, hint?: string): CommandError => new CommandError(exitCodes.usage, 'usage', message, hint);

export interface Failure {
  exitCode: ExitCode;
  code: string;
  message: string;
  hint?: string | undefined;
  request_id?: string | undefined;
  details?: unknown;
}

/** The fields of an error of the client, which is loaded only by commands that call the service. */
interface ErrorOfService extends Error {
  code: string;
  status: number | null;
  requestId: string | null;
  details: Record<string, unknown>;
}

const isOfService = (error: unknown): error is ErrorOfService => error instanceof Error && error.name === 'BerthError';

/** What is told of an error, whatever was thrown. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof CommandError) return { exitCode: error.exitCode, code: error.code, message: error.message, hint: error.hint };
  if (isOfService(error)) {
    const { code, message, requestId, details } = error;
    const hasDetails = Object.keys(details).length > 0;
    const hint = hints[code] ?? (isKeyRefused(error) ? 'Run `berth login`, or set BERTH_API_KEY.' : undefined);
    return {
      exitCode: exitCodeOf(error),
      code,
      message,
      ...(hint === undefined ? {} : { hint }),
      ...(requestId === null ? {} : { request_id: requestId }),
      ...(hasDetails ? { details } : {}),
    };
  }
  if (error instanceof Error && error.name === 'AbortError')
    return { exitCode: exitCodes.interrupted, code: 'interrupted', message: 'Interrupted.' };
  // The client refuses arguments and settings with a TypeError before it sends anything.
  if (error instanceof TypeError) return { exitCode: exitCodes.usage, code: 'usage', message: error.message };
  return { exitCode: exitCodes.failed, code: 'failed', message: error instanceof Error ? error.message : String(error) };
}

const hints: Readonly<Record<string, string>> = {
  session_ended: 'Run `berth open URL` to start another session.',
  session_not_found: 'Run `berth open URL` to start a session.',
  connection_failed: 'Run `berth doctor` to see what is wrong, or `berth up` to start a service here.',
  stale_ref: 'Run `berth snapshot` and use the refs that it shows.',
};

/** Whether another key would help: 403 is also for what a valid key may not do. */
const isKeyRefused = ({ code, status }: ErrorOfService): boolean => status === 401 || code.startsWith('invalid_');

/** The failure of a request that was made without the client. `body`: as the service sends it, or of something between. */
export function refusedByService(status: number, body: unknown): CommandError {
  const { code = 'refused', message = `The service refused with ${status}.` } =
    (body as { error?: { code?: string; message?: string } } | null)?.error ?? {};
  return new CommandError(exitCodeOf({ code, status }), code, message, hints[code]);
}

function exitCodeOf({ code, status }: Pick<ErrorOfService, 'code' | 'status'>): ExitCode {
  if (code === 'connection_failed' || code === 'timed_out') return exitCodes.unreachable;
  if (code === 'stale_ref' || code === 'ref_not_found') return exitCodes.step;
  if (status === 401 || status === 403) return exitCodes.unauthorized;
  if (status === 404 || status === 410 || code === 'session_ended' || code.startsWith('unknown_')) return exitCodes.notFound;
  if (status === 402 || status === 429 || status === 503) return exitCodes.limited;
  if (status === 422) return exitCodes.usage;
  return exitCodes.failed;
}
