/**
 * Reads and writes the folder of a recording.
 *
 * The encoder's user can write anything to `video`, so files are never opened
 * by a path that it could change: the folder is opened first and its files
 * relative to it, without following links, and regular files only.
 */
import { mkdirSync } from 'node:fs';
import { constants, lstat, open, readdir, rename, rm, unlink, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { withFolder } from '@berth/guest';
import { NoSuchFileError } from '@berth/machines';

/** The encoder's output, apart from the worker's files. */
export const videoFolder = 'video';

export const folderOf = (root: string, recId: string): string => join(root, recId);

/** Synchronous, so that events can be written at once. @throws EEXIST when the folder exists */
export function createFolder(path: string): void {
  mkdirSync(path, { mode: 0o700 });
  mkdirSync(join(path, videoFolder), { mode: 0o700 });
}

export const removeFolder = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

export const hasFolder = (path: string): Promise<boolean> =>
  lstat(path).then(
    (stat) => stat.isDirectory(),
    () => false,
  );

export interface PlainFile {
  handle: FileHandle;
  bytes: number;
}

/** Opens a file for reading, without blocking on a pipe. @throws NoSuchFileError also when it is not a regular file */
export async function openPlain(path: string, name: string): Promise<PlainFile> {
  const handle = await withFolder(path, (folder) =>
    open(`${folder}/${name}`, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK),
  ).catch((cause: unknown) => {
    throw new NoSuchFileError('no such file', { cause });
  });
  try {
    const stat = await handle.stat();
    if (!stat.isFile() || stat.nlink !== 1) throw new NoSuchFileError('not a regular file');
    return { handle, bytes: stat.size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Returns the first `bytesMax` bytes of a text file, or null when there is none. */
export async function readText(path: string, name: string, bytesMax: number): Promise<string | null> {
  const file = await openPlain(path, name).catch(() => null);
  if (!file) return null;
  try {
    const data = Buffer.alloc(Math.min(file.bytes, bytesMax));
    const { bytesRead } = await file.handle.read(data, 0, data.length, 0);
    return data.toString('utf8', 0, bytesRead);
  } finally {
    await file.handle.close();
  }
}

/** Replaces a file atomically. */
export async function replaceFile(path: string, name: string, data: string | Buffer): Promise<void> {
  await withFolder(path, async (folder) => {
    const draft = `${folder}/${name}.new`;
    // A planted link of that name would be followed.
    await unlink(draft).catch(() => undefined);
    await writeFile(draft, data, { flag: 'wx', mode: 0o600 });
    await rename(draft, `${folder}/${name}`);
  });
}

/** Whether a regular file of that name exists. */
export const hasFile = (path: string, name: string): Promise<boolean> =>
  lstat(join(path, name)).then(
    (stat) => stat.isFile(),
    () => false,
  );

/** Returns the names of the regular files of a folder; empty when the folder does not exist. */
export async function listNames(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

/** Returns the sizes of the regular files of a folder in bytes, by name. */
export async function listSizes(path: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of await listNames(path)) {
    const stat = await lstat(join(path, name)).catch(() => null);
    if (stat?.isFile()) sizes.set(name, stat.size);
  }
  return sizes;
}

/** Returns the size of a recording on disk, in bytes. */
export async function sizeOf(path: string): Promise<number> {
  const files = [...(await listSizes(path)).values(), ...(await listSizes(join(path, videoFolder))).values()];
  return files.reduce((sum, bytes) => sum + bytes, 0);
}
