/** Which browser the service runs where no variable names one. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findBrowserPrograms } from '@berth/machines';
import type { Config } from '../../config.ts';

/** Below the data directory. */
export const installedBrowsers = (dataDir: string): string => join(dataDir, 'browsers');

/** The settings with the programs that this host has. A program that a variable names is never replaced. */
export function withBrowserPrograms(config: Config): Config {
  const isSet = (name: string): boolean => config.sources.has(name);
  if (isSet('BERTH_CHROMIUM') && isSet('BERTH_FETCH_CHROMIUM')) return config;
  const { chromium, shell } = findBrowserPrograms({ installed: installedBrowsers(config.dataDir), home: homedir() });
  return {
    ...config,
    ...(isSet('BERTH_CHROMIUM') || chromium === null ? {} : { chromium }),
    // A shell of another installation than the browser that was named would be of another version.
    ...(isSet('BERTH_FETCH_CHROMIUM') || isSet('BERTH_CHROMIUM') || shell === null ? {} : { fetchChromium: shell }),
  };
}
