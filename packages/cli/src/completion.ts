/** Completion of command lines by the shell, which runs the program for it. */
import addCompletion from '@bomb.sh/tab/commander';
import type { Action } from './context.ts';
import { exitCodes, usageError } from './failures.ts';
import { createProgram } from './program.ts';

const shells = ['bash', 'zsh', 'fish', 'powershell'];

/** Answers the shell, or prints its script: `complete -- WORDS`, `complete SHELL`. */
export async function complete(words: readonly string[]): Promise<number> {
  const program = createProgram(() => Promise.resolve());
  addCompletion(program);
  await program.parseAsync([...words], { from: 'user' });
  return exitCodes.ok;
}

export const completion: Action = async (context) => {
  const shell = context.arg(0);
  if (!shells.includes(shell)) throw usageError(`completion knows ${shells.join(', ')}, not ${JSON.stringify(shell)}.`);
  await complete(['complete', shell]);
  return undefined;
};
