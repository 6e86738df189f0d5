/** Objects as files of a folder, which workers may share over a network file system. */
import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ObjectNotFoundError, ObjectTooLargeError, type Backend, type ByteRange, type ObjectInfo } from './backend.ts';

/** Uploads in progress; no key begins with a dot. */
const draftsName = '.uploads';

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

export class FolderBackend implements Backend {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(key: string, body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const [draft, path] = [join(this.#root, draftsName, randomUUID()), join(this.#root, key)];
    await mkdir(dirname(draft), { recursive: true, mode: 0o700 });
    try {
      await pipeline(Readable.from(body), createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true }), { signal });
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async read(key: string, { start, end }: ByteRange): Promise<Buffer> {
    const file = await open(join(this.#root, key)).catch((cause: unknown) => {
      throw isMissing(cause) ? new ObjectNotFoundError(key, { cause }) : cause;
    });
    try {
      const bytes = Buffer.alloc(end - start + 1);
      const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
      if (bytesRead < bytes.length) throw new ObjectNotFoundError(`${key} ends before byte ${end}`);
      return bytes;
    } finally {
      await file.close();
    }
  }

  async readAll(key: string, bytesMax: number): Promise<Buffer> {
    const info = await this.head(key);
    if (!info) throw new ObjectNotFoundError(key);
    if (info.bytes > bytesMax) throw new ObjectTooLargeError(key);
    return info.bytes === 0 ? Buffer.alloc(0) : this.read(key, { start: 0, end: info.bytes - 1 });
  }

  async head(key: string): Promise<ObjectInfo | null> {
    try {
      const { size, mtime } = await stat(join(this.#root, key));
      return { key, bytes: size, modifiedAt: mtime };
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    await rm(join(this.#root, key), { force: true });
    // Its folder goes with the last object; a put that needs it meanwhile makes it again, or fails and is repeated.
    await rmdir(dirname(join(this.#root, key))).catch(() => undefined);
  }

  async *list(prefix: string, signal: AbortSignal): AsyncIterable<ObjectInfo[]> {
    const entries = await readdir(join(this.#root, prefix), { withFileTypes: true }).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    const files: ObjectInfo[] = [];
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      signal.throwIfAborted();
      if (entry.isDirectory()) yield* this.list(`${prefix}${entry.name}/`, signal);
      const info = entry.isFile() ? await this.head(prefix + entry.name) : null;
      if (info) files.push(info);
    }
    if (files.length > 0) yield files;
  }

  /** All of them: drafts have no prefix. */
  async abortUploads(_prefix: string, before: Date): Promise<number> {
    const drafts = join(this.#root, draftsName);
    let aborted = 0;
    for (const name of await readdir(drafts).catch(() => [])) {
      const { mtime } = await stat(join(drafts, name)).catch(() => ({ mtime: before }));
      if (mtime >= before) continue;
      await rm(join(drafts, name), { force: true });
      aborted += 1;
    }
    return aborted;
  }

  close(): void {
    // Nothing is held open.
  }
}
