import { openSync } from 'node:fs';
import { CommandFailed, run } from './command.ts';

/**
 * Holds a file for this process, and for every program that is handed the
 * descriptor: a build that was killed still writes until its last program ends,
 * and the next one waits for that. The kernel lets go of it when all are gone.
 */
export async function holdLock(path: string, { signal, onWait }: { signal: AbortSignal; onWait: () => void }): Promise<number> {
  const descriptor = openSync(path, 'w', 0o644);
  try {
    await run('flock', ['--nonblock', '3'], { held: descriptor, signal });
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    onWait();
    await run('flock', ['3'], { held: descriptor, signal });
  }
  return descriptor;
}
