/** The service in the package `@berth/berth`: where it is, and what it starts with. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommandError, exitCodes } from '../../failures.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The folder of the package; undefined where this program was installed without the service. */
export function findInstalledService(): string | undefined {
  const folder = fileURLToPath(new URL('../', import.meta.url));
  return existsSync(join(folder, 'packages/server/dist/server.main.js')) ? folder : undefined;
}

export const defaultDataFolder = (env: Environment): string => join(env['XDG_DATA_HOME'] || join(homedir(), '.local/share'), 'berth');

/** The Node that the service is built for and tested with, which npm installs beside it. @throws CommandError where it is missing */
export function findNode(folder: string): string {
  const name = `node-${process.platform}-${process.arch}`;
  try {
    return createRequire(join(folder, 'package.json')).resolve(`${name}/bin/node`);
  } catch {
    throw new CommandError(
      exitCodes.failed,
      'no_node',
      `The npm package ${name}, with the Node that the service runs on, is not installed.`,
      'Install it again with optional packages: npm install --include=optional @berth/berth',
    );
  }
}
