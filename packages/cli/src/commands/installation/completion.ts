/** The script with which a shell completes command lines. */
import type { Action } from '../../context.ts';
import { usageError } from '../../failures.ts';

const shells = ['bash', 'zsh', 'fish', 'powershell'];

export const completion: Action = async (context) => {
  const shell = context.arg(0);
  if (!shells.includes(shell)) throw usageError(`completion knows ${shells.join(', ')}, not ${JSON.stringify(shell)}.`);
  await context.run(['complete', shell], context.output);
  return undefined;
};
