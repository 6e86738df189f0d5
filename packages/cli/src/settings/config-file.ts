/** Profiles of the command line: which service, and with which key. The clients read the same file. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readJson, writePrivateJson } from './files.ts';
import { usageError } from '../failures.ts';

export interface Profile {
  url?: string | undefined;
  api_key?: string | undefined;
  admin_key?: string | undefined;
}

export interface ConfigFile {
  current: string;
  profiles: Record<string, Profile>;
}

type Environment = Readonly<Record<string, string | undefined>>;

export const configPath = (env: Environment): string => join(env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'berth', 'config.json');

export function readConfig(env: Environment): ConfigFile {
  const { current, profiles } = (readJson(configPath(env)) ?? {}) as Partial<ConfigFile>;
  return { current: current ?? 'default', profiles: profiles ?? {} };
}

export const writeConfig = (env: Environment, config: ConfigFile): void => writePrivateJson(configPath(env), config);

/** The name of the profile in use. */
export const currentProfile = (env: Environment, config: ConfigFile): string => env['BERTH_PROFILE'] || config.current;

export interface Access {
  url: string;
  apiKey: string | undefined;
  adminKey: string | undefined;
  profile: string;
}

const urlDefault = 'http://127.0.0.1:8080';
const withoutSlashes = (url: string): string => (url.endsWith('/') ? withoutSlashes(url.slice(0, -1)) : url);

/** The service and the keys: of the environment first, then of the profile, whose keys are for its own address alone. */
export function readAccess(env: Environment): Access {
  const config = readConfig(env);
  const name = currentProfile(env, config);
  const profile = config.profiles[name];
  if (env['BERTH_PROFILE'] && !profile)
    throw usageError(`There is no profile ${JSON.stringify(name)}.`, 'Run `berth config` to see the profiles.');
  const url = withoutSlashes(env['BERTH_URL'] || profile?.url || urlDefault);
  const isOfProfile = profile?.url !== undefined && withoutSlashes(profile.url) === url;
  return {
    url,
    apiKey: env['BERTH_API_KEY'] || (isOfProfile ? profile.api_key : undefined),
    adminKey: env['BERTH_ADMIN_KEY'] || (isOfProfile ? profile.admin_key : undefined),
    profile: name,
  };
}
