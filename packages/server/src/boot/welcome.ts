/** The lines printed when the service starts, and which keys they show. */
import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';

export interface Welcome {
  address: string;
  /** Keys that were never shown. */
  keys: readonly NamedKey[];
  /** File of the API key; null: it is in BERTH_BOOTSTRAP_API_KEY. */
  keyFile: string | null;
  /** Link that signs in to the dashboard once; null: none was made. */
  signInLink: SignInLinkLine | null;
  /** Whether the development sign-in is on. */
  signIn: boolean;
  warnings: readonly string[];
}

interface SignInLinkLine {
  url: string;
  minutes: number;
}

interface NamedKey {
  name: string;
  secret: string;
}

export function welcome({ address, keys, keyFile, signIn, signInLink, warnings }: Welcome): string[] {
  // A key on the command line would be stored in the shell's history, so the shell reads it from the file.
  const key = keyFile === null ? '$BERTH_BOOTSTRAP_API_KEY' : `$(cat '${keyFile.replaceAll("'", "'\\''")}')`;
  return [
    ...warnings.map((warning) => `Warning: ${warning}`),
    ...keys.map(({ name, secret }) => line(name, secret)),
    ...(keys.length > 0 ? ['Shown only once. Stored in the data directory as `api-key` and `admin-key`.'] : []),
    ...(signIn ? [line('Sign in (no password)', `${address}/dev-idp`)] : []),
    ...(signInLink ? [line(`Sign in (once, ${signInLink.minutes} min)`, signInLink.url)] : []),
    line('Dashboard', `${address}/dashboard`),
    line('Documentation', `${address}/docs/guides`),
    'Try it:',
    `  curl -X POST ${address}/v1/session -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '{}'`,
  ];
}

const line = (name: string, value: string): string => `${`${name}:`.padEnd(24)}${value}`;

/**
 * The keys that were printed, by their digests. A start that fails after it has
 * created a key prints nothing, so the next one that succeeds does.
 */
export class ShownKeys {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  has(secret: string): boolean {
    return this.#read().includes(digestOf(secret));
  }

  add(secrets: readonly string[]): void {
    if (secrets.length > 0) appendFileSync(this.#file, secrets.map((secret) => `${digestOf(secret)}\n`).join(''), { mode: 0o600 });
  }

  #read(): string[] {
    try {
      return readFileSync(this.#file, 'utf8').split('\n');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
      throw error;
    }
  }
}

const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
