import { pino } from 'pino';

export interface Log {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
  child(facts: object): Log;
}

/** Names of fields that hold secrets, wherever they stand. */
const secretFields = [
  'authorization',
  'cookie',
  'set-cookie',
  'x-admin-key',
  'password',
  'token',
  'key',
  'proxy-authorization',
  'username',
];
const redactedPaths = secretFields
  .flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  .map((path) => path.replace(/[^.*]*-[^.]*/g, (part) => `["${part}"]`).replaceAll('.["', '["'));

/**
 * Structured logs on standard error: standard output belongs to the lines a
 * person or a script waits for. A token in an address is cut out as well.
 */
export function createLog(level: string, options: { destination?: NodeJS.WritableStream } = {}): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: redactedPaths, censor: '[secret]' },
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.err, error: pino.stdSerializers.err, failure: pino.stdSerializers.err },
    },
    options.destination ?? pino.destination({ dest: 2, sync: true }),
  );
}

/** An address without what must not be logged: credentials and the token in its query. */
export const withoutSecrets = (address: string): string =>
  address.replace(/([?&](?:token|api_key|key)=)[^&\s#]*/gi, '$1[secret]').replace(/\b(\w+:\/\/)[^/\s@]*@/g, '$1[secret]@');

/** Says nothing: for tests and for tools that print for themselves. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silentLog };
