import { randomBytes } from 'node:crypto';
import { open, rm, stat } from 'node:fs/promises';

const chunkBytes = 1024 ** 2;

/** Gives a file its space at once; false where that is not possible, and the file is written. */
type Allocate = (path: string, bytes: number) => Promise<boolean>;

/**
 * A file of useless bytes beside the database. On a full disk it is deleted, and
 * the database can still write its log, end cleanly and be cleaned up.
 */
export class Reserve {
  readonly bytes: number;
  readonly #path: string;
  readonly #allocate: Allocate;
  #isHeld = false;

  constructor(path: string, bytes: number, allocate: Allocate) {
    this.#path = path;
    this.#allocate = allocate;
    this.bytes = bytes;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Deletes what it wrote if there is no room for all of it. */
  async fill(): Promise<void> {
    const { size } = await stat(this.#path).catch(() => ({ size: 0 }));
    if (size < this.bytes && !(await this.#allocate(this.#path, this.bytes))) await this.#write();
    this.#isHeld = true;
  }

  async release(): Promise<void> {
    await rm(this.#path, { force: true });
    this.#isHeld = false;
  }

  /** Random, as a file system may compress anything else. */
  async #write(): Promise<void> {
    const file = await open(this.#path, 'w', 0o600);
    try {
      const chunk = randomBytes(chunkBytes);
      for (let left = this.bytes; left > 0; left -= chunkBytes) await file.write(chunk, 0, Math.min(left, chunkBytes));
    } catch (error) {
      await rm(this.#path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  }
}
