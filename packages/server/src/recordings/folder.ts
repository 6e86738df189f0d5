/**
 * The folder of one recording, and reading from it.
 *
 * The encoder's user may do what it likes in `video`, so nothing there is
 * reached through a path that it could change: the folder is opened first and
 * its files through that, none through a link, and only plain ones.
 */
import { mkdirSync } from 'node:fs';
import { constants, lstat, open, readdir, rename, rm, unlink, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { within } from '@berth/guest';
import { NoSuchFile } from '../runtime/runtime.ts';

/** What the encoder writes lies apart from what the worker does. */
export const videoFolder = 'video';

export const folderOf = (root: string, recId: string): string => join(root, recId);

/** At once, so that what is told from now on has where to go. @throws EEXIST: no recording goes into the folder of another */
export function makeFolder(path: string): void {
  mkdirSync(path, { mode: 0o700 });
  mkdirSync(join(path, videoFolder), { mode: 0o700 });
}

export const removeFolder = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

export interface PlainFile {
  handle: FileHandle;
  bytes: number;
}

/** A file of a folder, to be read. A pipe does not make it wait. @throws NoSuchFile also for what is no plain file */
export async function openPlain(path: string, name: string): Promise<PlainFile> {
  const handle = await within(path, (folder) =>
    open(`${folder}/${name}`, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK),
  ).catch((cause: unknown) => {
    throw new NoSuchFile('no such file', { cause });
  });
  try {
    const stat = await handle.stat();
    if (!stat.isFile() || stat.nlink !== 1) throw new NoSuchFile('no plain file');
    return { handle, bytes: stat.size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The start of a text file, up to `bytesMax`; null where there is none. */
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

/** Puts a file in place of what has its name, whole or not at all for whoever reads. */
export async function replaceFile(path: string, name: string, data: string | Buffer): Promise<void> {
  await within(path, async (folder) => {
    const draft = `${folder}/${name}.new`;
    // A link of that name would be written through.
    await unlink(draft).catch(() => undefined);
    await writeFile(draft, data, { flag: 'wx', mode: 0o600 });
    await rename(draft, `${folder}/${name}`);
  });
}

/** Whether there is a plain file of that name. */
export const hasFile = (path: string, name: string): Promise<boolean> =>
  lstat(join(path, name)).then(
    (stat) => stat.isFile(),
    () => false,
  );

/** Names of the plain files of a folder; none where there is no folder. */
export async function listNames(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

/** Sizes of the plain files of a folder, by name. */
export async function listSizes(path: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of await listNames(path)) {
    const stat = await lstat(join(path, name)).catch(() => null);
    if (stat?.isFile()) sizes.set(name, stat.size);
  }
  return sizes;
}

/** What a recording takes of the disk. */
export async function sizeOf(path: string): Promise<number> {
  const files = [...(await listSizes(path)).values(), ...(await listSizes(join(path, videoFolder))).values()];
  return files.reduce((sum, bytes) => sum + bytes, 0);
}
