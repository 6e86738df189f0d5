/** Where the service is, and who calls: from arguments, the environment, or the profile of the command line. */
import type * as Files from 'node:fs/promises';
import type * as System from 'node:os';
import type * as Paths from 'node:path';
import { parse } from './errors.ts';

export interface Settings {
  /** Without a slash at its end. */
  baseUrl: string;
  apiKey: string | undefined;
  adminKey: string | undefined;
  /** Whether a call without a key is refused here. A page of the service itself may have a cookie. */
  needsKey: boolean;
}

export interface SettingsOptions {
  apiKey?: string | null | undefined;
  adminKey?: string | null | undefined;
  baseUrl?: string | undefined;
}

const addressDefault = 'http://127.0.0.1:8080';

interface Runtime {
  process?: { env?: Record<string, string | undefined>; versions?: { node?: string } };
  location?: { origin?: string };
}
const runtime = globalThis as Runtime;

/** Reads the settings. Arguments come first, then the environment, then the profile, whose key is for its own address alone. */
export async function readSettings(options: SettingsOptions): Promise<Settings> {
  const env = runtime.process?.env ?? {};
  const address = options.baseUrl ?? (env['BERTH_URL'] || undefined);
  const apiKey = options.apiKey === undefined ? env['BERTH_API_KEY'] || undefined : options.apiKey;
  const profile = address === undefined || apiKey === undefined ? await readProfile(env) : null;
  const baseUrl = withoutSlash(address ?? profile?.url ?? originOfPage() ?? addressDefault);
  const isOfProfile = profile?.url !== undefined && withoutSlash(profile.url) === baseUrl;
  return {
    baseUrl,
    apiKey: (apiKey === undefined && isOfProfile ? profile.api_key : apiKey) ?? undefined,
    adminKey: (options.adminKey === undefined ? env['BERTH_ADMIN_KEY'] || undefined : options.adminKey) ?? undefined,
    needsKey: !(baseUrl === originOfPage()),
  };
}

function withoutSlash(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}

/** Pages of files and frames without an origin have the text `null`. */
function originOfPage(): string | undefined {
  const origin = runtime.location?.origin;
  return origin?.startsWith('http') ? origin : undefined;
}

/** A function with the name, because bundlers for pages would resolve a literal. */
const load = async <T>(name: string): Promise<T> => (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as T;

interface Profile {
  url?: string;
  api_key?: string;
}

/** The current profile of the command line; null where there is none. Only runtimes with Node's modules have files. */
async function readProfile(env: Record<string, string | undefined>): Promise<Profile | null> {
  if (runtime.process?.versions?.node === undefined) return null;
  const { readFile } = await load<typeof Files>('node:fs/promises');
  const { homedir } = await load<typeof System>('node:os');
  const { join } = await load<typeof Paths>('node:path');
  const file = join(env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'berth', 'config.json');
  const wanted = env['BERTH_PROFILE'] || undefined;
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new TypeError(`${file} cannot be read: ${error.code}.`, { cause: error });
  });
  const { current, profiles } = text === null ? {} : (parseFile(text, file) as { current?: string; profiles?: Record<string, Profile> });
  const profile = profiles?.[wanted ?? current ?? 'default'];
  if (wanted !== undefined && !profile) throw new TypeError(`${file} has no profile ${wanted}, which BERTH_PROFILE names.`);
  return profile ?? null;
}

function parseFile(text: string, file: string): object {
  const value = parse(text);
  // The error of the parser would show a part of the file, which has keys.
  if (typeof value !== 'object' || value === null) throw new TypeError(`${file} is not JSON.`);
  return value;
}
