/** Runs the commands of an operator, as `npm run` does. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';

const serve = join(import.meta.dirname, '../../scripts/serve.sh');

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** The service knows no variables of tests, so only those that are given count. */
export function runCommand(args: readonly string[], environment: Record<string, string>): Promise<CommandResult> {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('BERTH_')));
  return new Promise((resolve) =>
    execFile('sh', [serve, ...args], { env: { ...inherited, ...environment }, timeout: 120_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stdout, stderr }),
    ),
  );
}
