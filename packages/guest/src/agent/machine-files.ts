/**
 * Uploads and downloads of a machine.
 *
 * The browser's user may place links and pipes in its folder at any time. So the
 * folder is opened first, files are opened relative to it without following
 * links, and only regular files are accepted.
 */
import { constants } from 'node:fs';
import { mkdir, open, rmdir, unlink, writeFile, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { withFolder } from '../folder.ts';

/** Names of downloads (given by the browser) and ids of uploads (given by us). */
const plainName = /^[A-Za-z0-9_-]{1,64}$/;
const anyName = /^[^/\0]+$/;
/** Linux allows no longer name. */
const nameBytesMax = 255;

/** There is no such file, or it is not a regular one. */
export class NoSuchFileError extends Error {}

export interface OpenFile {
  bytes: number;
  /** Reads from the start. Call it once. */
  stream(): Readable;
  close(): Promise<void>;
}

export interface FileFolders {
  /** Path of the downloads folder on the host. */
  downloads: string;
  uploads: string;
  /** Path of `uploads` inside the machine. */
  uploadsInside: string;
}

export class MachineFiles {
  readonly #folders: FileFolders;

  constructor(folders: FileFolders) {
    this.#folders = folders;
  }

  /** Stores an upload and returns its path inside the machine. @throws NoSuchFileError for an invalid name, EEXIST for one in use */
  async put(id: string, name: string, data: Buffer | AsyncIterable<Buffer>): Promise<string> {
    if (!plainName.test(id) || !isFileName(name)) throw new NoSuchFileError('no such name');
    // Pages see the file's own name, so each upload has its own folder.
    await withFolder(this.#folders.uploads, async (uploads) => {
      await mkdir(`${uploads}/${id}`, { mode: 0o755 });
      try {
        await withFolder(`${uploads}/${id}`, (folder) => writeNew(`${folder}/${name}`, data));
      } catch (error) {
        // Empty: the file is removed again.
        await rmdir(`${uploads}/${id}`);
        throw error;
      }
    });
    return `${this.#folders.uploadsInside}/${id}/${name}`;
  }

  /** @throws NoSuchFileError */
  openDownload(name: string): Promise<OpenFile> {
    if (!plainName.test(name)) throw new NoSuchFileError('no such name');
    return withFolder(this.#folders.downloads, async (folder) => {
      const handle = await open(`${folder}/${name}`, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
        (cause: unknown) => {
          throw new NoSuchFileError('no such download', { cause });
        },
      );
      return plainFile(handle);
    });
  }
}

const isFileName = (name: string): boolean =>
  anyName.test(name) && name !== '.' && name !== '..' && Buffer.byteLength(name) <= nameBytesMax;

/** Removes the file again if it could not be written completely. */
async function writeNew(path: string, data: Buffer | AsyncIterable<Buffer>): Promise<void> {
  const handle = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o644);
  try {
    await writeFile(handle, data);
    await handle.chmod(0o644);
  } catch (error) {
    await unlink(path);
    throw error;
  } finally {
    await handle.close();
  }
}

async function plainFile(handle: FileHandle): Promise<OpenFile> {
  const stat = await handle.stat();
  if (!stat.isFile() || stat.nlink !== 1) {
    await handle.close();
    throw new NoSuchFileError('not a regular file');
  }
  // Bytes appended while it is read are not sent, as its length has been reported.
  const stream = (): Readable => (stat.size === 0 ? handle.createReadStream() : handle.createReadStream({ end: stat.size - 1 }));
  return { bytes: stat.size, stream, close: () => handle.close().catch(() => undefined) };
}
