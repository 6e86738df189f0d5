/** Starts a service on this machine from a source tree. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Action } from '../../context.ts';
import { CommandError, exitCodes } from '../../failures.ts';

/** The folder of the sources, at or above one. */
function findSources(folder: string): string | undefined {
  const file = join(folder, 'package.json');
  const isSources =
    existsSync(join(folder, 'scripts/start.sh')) &&
    existsSync(file) &&
    (JSON.parse(readFileSync(file, 'utf8')) as { name?: string }).name === 'berth';
  if (isSources) return folder;
  const parent = dirname(folder);
  return parent === folder ? undefined : findSources(parent);
}

export const up: Action = async (context) => {
  const folder = context.options.text('source');
  const root = findSources(resolve(folder ?? process.cwd()));
  if (root === undefined)
    throw new CommandError(
      exitCodes.notFound,
      'no_sources',
      'There are no sources of the service here.',
      'Run it in a clone, or name one: berth up --source FOLDER',
    );
  const child = spawn('sh', [join(root, 'scripts/start.sh'), ...context.args], { stdio: 'inherit', cwd: root });
  // Ctrl+C reaches the service itself, which ends its sessions before it exits.
  context.signal.addEventListener('abort', () => child.kill('SIGINT'));
  const code = await new Promise<number | null>((done, fail) => child.once('exit', done).once('error', fail));
  if (code !== 0 && !context.signal.aborted)
    throw new CommandError(exitCodes.failed, 'service_ended', `The service ended with ${code ?? 'a signal'}.`);
  return undefined;
};
