/** Completion of command lines by the shell, which runs the program for it. */
import addCompletion from '@bomb.sh/tab/commander';
import type { Command } from 'commander';

/** Answers the shell, or prints its script: `complete -- WORDS`, `complete SHELL`. */
export async function complete(program: Command, words: readonly string[]): Promise<void> {
  addCompletion(program);
  await program.parseAsync([...words], { from: 'user' });
}
