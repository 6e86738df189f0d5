/**
 * The keys in the data directory that seal what the service hands out and stores: `token-key` links and tokens,
 * `profile-key` profiles. A lost `token-key` costs some links. A lost `profile-key` costs all profiles, so it is never
 * replaced while there are some.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, type Config } from '../../config.ts';
import { readSharedSecret, shareSecret } from '../../fleet/forwarding/forwarding.ts';
import { readOrCreateSecret } from '@berth/lib/secrets/secret-file.ts';
import { countSavedProfiles } from '../../sessions/profiles/profiles.ts';
import type { Store } from '../../store/store.ts';

type KeyName = 'token-key' | 'profile-key';

const newKey = (): string => randomBytes(32).toString('hex');
/** Node decodes a text up to its first character that is no digit: what is left of a damaged key would seal with less. */
const keyForm = /^[\da-f]{64}$/i;

/** `damaged`: it is not 64 hexadecimal digits. An empty file is what a full disk leaves of a copy. */
export type KeyState = 'valid' | 'missing' | 'damaged';

/** The state of a key's file, which is left as it is. @throws Error of the file system, such as EACCES */
export function keyStateOf(dataDir: string, name: KeyName): KeyState {
  try {
    const text = readFileSync(join(dataDir, name), 'utf8').trim();
    return text === '' ? 'missing' : keyForm.test(text) ? 'valid' : 'damaged';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing';
    throw error;
  }
}

/** What is wrong with the key of profiles, as the start, the doctor and the overview say it. */
export const profileKeyFault = (dataDir: string, state: Exclude<KeyState, 'valid'>): string =>
  `${join(dataDir, 'profile-key')} is ${state === 'missing' ? state : 'damaged: it must have 64 hexadecimal digits'}`;

/** What to do about it. */
export const profileKeyAdvice =
  'Copy profile-key from a backup of the data directory (docs/operations.md#data-and-backup). ' +
  'If it is lost, write another there, as `openssl rand -hex 32` prints one: the profiles stay unreadable, and their owners delete them.';

type KeyLocation = Pick<Config, 'dataDir' | 'databaseUrl'>;

/** Keys that the running service has in memory only. A fleet has them in the database. */
export const missingKeys = ({ dataDir, databaseUrl }: KeyLocation): string[] =>
  databaseUrl === null && keyStateOf(dataDir, 'profile-key') !== 'valid' ? ['profile-key'] : [];

/** The same as sentences for who operates the service. */
export function keyFaults({ dataDir, databaseUrl }: KeyLocation): string[] {
  const state = databaseUrl === null ? keyStateOf(dataDir, 'profile-key') : 'valid';
  return state === 'valid'
    ? []
    : [`${profileKeyFault(dataDir, state)}. The next start needs it where profiles are stored. ${profileKeyAdvice}`];
}

type Deps = KeyLocation & { store: Store };

/** The workers of one database have the keys of the first of them. @throws ConfigError for a damaged key */
export async function readTokenKey({ dataDir, databaseUrl, store }: Deps): Promise<Buffer> {
  const { secret: own } = readOrCreateSecret(join(dataDir, 'token-key'), newKey);
  const key = databaseUrl === null ? own : await shareSecret(store, 'token-key', own);
  if (keyForm.test(key)) return Buffer.from(key, 'hex');
  throw new ConfigError(`${join(dataDir, 'token-key')} is damaged: it must have 64 hexadecimal digits. Delete it: all links end.`);
}

/** @throws ConfigError where profiles are stored and their key is missing or damaged */
export async function readProfileKey({ dataDir, databaseUrl, store }: Deps): Promise<Buffer> {
  const shared = databaseUrl === null ? undefined : await readSharedSecret(store, 'profile-key');
  const state = keyStateOf(dataDir, 'profile-key');
  if (shared === undefined && state !== 'valid') {
    const profiles = await countSavedProfiles(store);
    if (profiles > 0 || state === 'damaged')
      throw new ConfigError(`${profileKeyFault(dataDir, state)}, and ${countOf(profiles)} encrypted with it. ${profileKeyAdvice}`);
  }
  const { secret: own } = readOrCreateSecret(join(dataDir, 'profile-key'), newKey);
  return Buffer.from(databaseUrl === null ? own : await shareSecret(store, 'profile-key', own), 'hex');
}

const countOf = (profiles: number): string => (profiles === 1 ? 'one profile is' : `${profiles} profiles are`);
