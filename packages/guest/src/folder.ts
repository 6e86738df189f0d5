import { constants, open } from 'node:fs/promises';

/**
 * Runs with a path that leads to this very folder, whatever becomes of its name
 * and of those above it: for folders that somebody else may change meanwhile.
 * Rejects where the path is a link or no folder.
 */
export async function within<T>(path: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    return await work(`/proc/self/fd/${folder.fd}`);
  } finally {
    await folder.close();
  }
}
