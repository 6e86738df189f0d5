/** Files uploaded to a session's machine, for file inputs of its pages. */
import { createHash } from 'node:crypto';
import { ServiceError } from '@berth/contract';
import type { DiskAccount } from '../../disk/disk.ts';
import type { Machine } from '../../fleet/pool/pool.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';

/** Uploads stay on the host's disk until the session ends. */
const filesMax = 50;
const allBytesMax = 100 * 1024 * 1024;

export interface UploadedFile {
  fileId: string;
  name: string;
  bytes: number;
  sha256: string;
  createdAt: Date;
  /** The path inside the machine. */
  path: string;
}

export class UploadedFiles {
  readonly #clock: Clock;
  readonly #disk: DiskAccount;
  readonly #files = new Map<string, UploadedFile>();
  /** Stored and being stored: counted before the wait, so that parallel uploads cannot exceed the limits. */
  #count = 0;
  #bytes = 0;

  constructor(clock: Clock, disk: DiskAccount) {
    this.#clock = clock;
    this.#disk = disk;
  }

  /** @throws ServiceError upload_limit_reached, no_capacity */
  async put({ vm }: Machine, name: string, data: Buffer): Promise<UploadedFile> {
    if (this.#count >= filesMax || this.#bytes + data.length > allBytesMax)
      throw new ServiceError(
        'upload_limit_reached',
        `A session holds at most ${filesMax} files and ${allBytesMax / 1024 ** 2} MB. Create a new session.`,
        {
          details: { files: filesMax, bytes: allBytesMax },
        },
      );
    if (!this.#disk.resize(this.#bytes + data.length)) throw noRoom();
    this.#count += 1;
    this.#bytes += data.length;
    const fileId = newId('file');
    const path = await vm.files.put(fileId, name, data).catch((error: unknown) => {
      this.#count -= 1;
      this.#bytes -= data.length;
      this.#disk.set(this.#bytes);
      throw error;
    });
    const sha256 = createHash('sha256').update(data).digest('hex');
    const file = { fileId, name, bytes: data.length, sha256, createdAt: this.#clock.now(), path };
    this.#files.set(fileId, file);
    return file;
  }

  find(fileId: string): UploadedFile | undefined {
    return this.#files.get(fileId);
  }

  /** Finds a file by its id or its name; of several with that name, the latest. */
  findByName(name: string): UploadedFile | undefined {
    return this.find(name) ?? [...this.#files.values()].findLast((file) => file.name === name);
  }
}

const noRoom = (): ServiceError =>
  new ServiceError('no_capacity', 'There is no space for the file on this worker. End sessions that hold files, or try again later.', {
    details: { reason: 'disk_low' },
    retryAfterSeconds: 30,
  });
