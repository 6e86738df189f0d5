/** The programs that people install: packed as they are released, and installed in an empty folder without a registry. */
import { execFile } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { buildCommandLine } from '../../scripts/pack/cli.ts';
import { packMcp } from '../../scripts/pack/pack-mcp.ts';

const root = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

/** Builds the folder that `npm publish` would publish. */
const releases = {
  cli: async (folder: string): Promise<void> => {
    const source = join(root, 'packages/cli');
    await buildCommandLine(join(folder, 'dist'));
    for (const file of ['package.json', 'README.md']) copyFileSync(join(source, file), join(folder, file));
    cpSync(join(source, 'skills'), join(folder, 'skills'), { recursive: true });
  },
  mcp: packMcp,
  sdk: async (folder: string): Promise<void> => {
    await run(process.execPath, [join(root, 'scripts/pack/pack-sdk.ts'), folder]);
  },
};

export type Release = keyof typeof releases;

/** Installs a release in `FOLDER/node_modules`, and returns the folder of its package. `folder` is made where it does not exist. */
export async function installRelease(name: Release, folder: string): Promise<string> {
  const built = join(folder, `.built-${name}`);
  mkdirSync(folder, { recursive: true });
  await releases[name](built);
  const npm = (...words: string[]) => run('npm', [...words, '--no-audit', '--no-fund'], { cwd: folder });
  const { stdout } = await npm('pack', '--silent', built);
  await npm('install', '--offline', '--prefix', folder, join(folder, stdout.trim()));
  return join(folder, 'node_modules/@berth', name);
}
