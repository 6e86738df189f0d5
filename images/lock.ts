import { openSync } from 'node:fs';
import { CommandError, run } from './command.ts';

/**
 * Locks a file for this process and every program that inherits the descriptor:
 * programs of a killed build may still write, and the next build waits for them.
 * The kernel releases the lock when all of them have exited.
 */
export async function acquireLock(path: string, { signal, onWait }: { signal: AbortSignal; onWait: () => void }): Promise<number> {
  const descriptor = openSync(path, 'w', 0o644);
  try {
    await run('flock', ['--nonblock', '3'], { inherited: descriptor, signal });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    onWait();
    await run('flock', ['3'], { inherited: descriptor, signal });
  }
  return descriptor;
}
