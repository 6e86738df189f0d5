import { writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { ServiceError } from '@berth/contract';
import { pino } from 'pino';
import { secretFields } from './secrets/names.ts';
import { currentCaller } from './turns/sections.ts';

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Log;
}

/** Redacted at every level that a line has. */
const redactedPaths = secretFields
  .flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  .map((path) => path.split('.').map((part) => (part.includes('-') ? `["${part}"]` : part)))
  .map((parts) => parts.join('.').replaceAll('.["', '["'));

/**
 * Structured logs, by default on standard error. Standard output is for the lines that
 * people and scripts read.
 */
export function createLog(level: string, options: { destination?: NodeJS.WritableStream } = {}): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: redactedPaths, censor: '[secret]' },
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      mixin: requestFields,
    },
    options.destination ?? pino.destination({ dest: 2, sync: true }),
  );
}

/** Lines that are written while a request is served have its id, and that of its session. A line's own fields count more. */
function requestFields(): object {
  const { requestId, sessionId } = currentCaller() ?? {};
  return { ...(requestId === undefined ? {} : { request_id: requestId }), ...(sessionId === undefined ? {} : { session_id: sessionId }) };
}

/** An error with a code is expected: where it was thrown says nothing about its cause. */
function describeError(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return pino.stdSerializers.err(error as Error);
  const { code, message, cause } = error;
  return { code, message, ...(cause instanceof Error ? { cause: cause.message } : {}) };
}

/** Log lines as a person reads them: the time of day, the level, the message, and the other fields. */
export async function readableLines(write: (text: string) => void, { colorize = false } = {}): Promise<Writable> {
  // A worker whose log a program reads does not need it.
  const { prettyFactory } = await import('pino-pretty');
  const toText = prettyFactory({ colorize, colorizeObjects: false, singleLine: true, translateTime: 'SYS:HH:MM:ss', levelFirst: false });
  return new Writable({
    decodeStrings: false,
    write: (line: string, _encoding, done) => {
      write(toText(line));
      done();
    },
  });
}

/** Standard error as a terminal. Written at once, so that nothing is lost when the process exits. */
export const openTerminal = (): Promise<Writable> => readableLines((text) => void writeSync(2, text), { colorize: true });

/** A log without output, for tests and for tools that print their own. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silentLog };
