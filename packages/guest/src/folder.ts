import { constants, open } from 'node:fs/promises';

/**
 * Runs `work` with a path that stays bound to this folder, even if it or a parent
 * is renamed meanwhile. For folders that another user can change. Rejects if the
 * path is a link or not a folder.
 */
export async function withFolder<T>(path: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    return await work(`/proc/self/fd/${folder.fd}`);
  } finally {
    await folder.close();
  }
}
