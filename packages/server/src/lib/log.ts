import { pino } from 'pino';

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Log;
}

/** Names of fields that hold secrets, redacted at every level. */
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
  .map((path) => path.split('.').map((part) => (part.includes('-') ? `["${part}"]` : part)))
  .map((parts) => parts.join('.').replaceAll('.["', '["'));

/**
 * Structured logs on standard error. Standard output is for the lines that
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
      serializers: { err: pino.stdSerializers.err },
    },
    options.destination ?? pino.destination({ dest: 2, sync: true }),
  );
}

/** Keys and tokens of this service, whose prefix is `brt_`. */
const ownSecrets = /brt(?:_|%5f)[\w%]*/gi;

/** Redacts the credentials and the token of a URL. */
export const withoutSecrets = (address: string): string =>
  address
    .replace(/([?&](?:token|api_key|key)=)[^&\s#]*/gi, '$1[secret]')
    .replace(/\b(\w+:\/\/)[^/\s@]*@/g, '$1[secret]@')
    .replace(ownSecrets, '[secret]');

/** Redacts the token in the path `/c/TOKEN`, whatever it is, and keys and tokens of this service anywhere. */
export const withoutPathSecrets = (path: string): string =>
  path.replace(/^(\/+(?:c|%63)\/+)[^/]+/i, '$1[secret]').replace(ownSecrets, '[secret]');

/** For tests, and for tools that print their own output. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silentLog };
