/**
 * Files of a machine, from the host's side.
 *
 * The browser's user may fill its folder with links and pipes while we look, so
 * nothing is reached through a path that it could change: the folder is opened
 * first and its files through that, none through a link, and only plain ones.
 */
import { constants } from 'node:fs';
import { mkdir, open, unlink, writeFile, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { within } from './folder.ts';

/** Names that a browser gives to downloads, and we to uploads. */
const plainName = /^[A-Za-z0-9_-]{1,64}$/;
const anyName = /^[^/\0]{1,255}$/;

/** No such file, or none that may be read. */
export class NoSuchFile extends Error {}

export interface OpenFile {
  bytes: number;
  /** From the start; once. */
  stream(): Readable;
  close(): Promise<void>;
}

export interface FileFolders {
  /** Where the browser puts downloads, as the host sees it. */
  downloads: string;
  uploads: string;
  /** `uploads` as the browser sees it. */
  uploadsInside: string;
}

export class MachineFiles {
  readonly #folders: FileFolders;

  constructor(folders: FileFolders) {
    this.#folders = folders;
  }

  /** Resolves with the path as the browser sees it. Throws EEXIST for an id and name that were used, and whatever the data throws. */
  async put(id: string, name: string, data: Buffer | AsyncIterable<Buffer>): Promise<string> {
    if (!plainName.test(id) || !anyName.test(name) || name === '.' || name === '..') throw new NoSuchFile('no such name');
    // The page is shown the file's own name, so each has a folder of its own.
    await within(this.#folders.uploads, async (uploads) => {
      await mkdir(`${uploads}/${id}`, { mode: 0o755 });
      await within(`${uploads}/${id}`, (folder) => writeNew(`${folder}/${name}`, data));
    });
    return `${this.#folders.uploadsInside}/${id}/${name}`;
  }

  /** Throws NoSuchFile. */
  openDownload(name: string): Promise<OpenFile> {
    if (!plainName.test(name)) throw new NoSuchFile('no such name');
    return within(this.#folders.downloads, async (folder) => {
      const handle = await open(`${folder}/${name}`, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
        (cause: unknown) => {
          throw new NoSuchFile('no such download', { cause });
        },
      );
      return plainFile(handle);
    });
  }

  async removeDownload(name: string): Promise<void> {
    if (!plainName.test(name)) return;
    await within(this.#folders.downloads, (folder) => unlink(`${folder}/${name}`)).catch(() => undefined);
  }
}

/** All of it or nothing. */
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
    throw new NoSuchFile('no plain file');
  }
  // What is appended while it is read is not sent: its length was told before.
  const stream = (): Readable => (stat.size === 0 ? handle.createReadStream() : handle.createReadStream({ end: stat.size - 1 }));
  return { bytes: stat.size, stream, close: () => handle.close().catch(() => undefined) };
}
