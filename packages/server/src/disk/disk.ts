/**
 * The disk of this worker, which all owners share with the database.
 *
 * One accountant counts what each owner's downloads, uploads, recordings and
 * stored replies take, and how much is free. Below a floor of free space nothing
 * but the database grows, and new sessions are refused; before the last bytes are
 * gone, a file that holds space for the database is released.
 */
import { statfs } from 'node:fs/promises';
import { ServiceError } from '@berth/contract';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import { DiskAccount } from './account.ts';
import type { Reserve } from './reserve.ts';

export type { DiskAccount } from './account.ts';
export { Reserve } from './reserve.ts';
export { RetentionBudget, type RetentionBudgetOptions } from './retention-budget.ts';

/** `low`: only the database grows. `full`: what was reserved for it is in use. */
export type DiskLevel = 'ok' | 'low' | 'full';

export interface DiskState {
  level: DiskLevel;
  /** Free bytes of the fullest of the file systems; null before the first reading. */
  freeBytes: number | null;
  freeBytesMin: number;
}

export interface DiskOptions {
  /** Folders on the file systems that must not fill up. */
  folders: readonly string[];
  /** Free space that is left to the database. */
  freeBytesMin: number;
  /** Maximum bytes of one owner. Never more than half of what all may take. */
  ownerBytesMax: number;
  /** Maximum bytes of the downloads of one session together. */
  downloadBytesMax: number;
  /** null where the database is not on these file systems. */
  reserve: Reserve | null;
  log: Log;
  /** Free bytes at a folder. Default: `statfs`. */
  readFree?: (folder: string) => Promise<number>;
}

/** Free bytes below which the database may fail to write its log at any moment. */
const fullBytes = 64 * 1024 ** 2;
const readMs = 1000;
const ownerShareMax = 1 / 2;
const retryAfterSeconds = 30;

const readStatfs = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

export class Disk {
  readonly watch: Loop;
  readonly #options: DiskOptions;
  readonly #accounts = new Set<DiskAccount>();
  #freeBytes: number | null = null;
  #level: DiskLevel = 'ok';
  /** Growth since the last reading, which may not show it yet. */
  #grownBytes = 0;

  constructor(options: DiskOptions) {
    this.#options = options;
    this.watch = new Loop('disk-watch', readMs, () => this.refresh());
  }

  get state(): DiskState {
    return { level: this.#level, freeBytes: this.#freeBytes, freeBytesMin: this.#options.freeBytesMin };
  }

  get downloadBytesMax(): number {
    return this.#options.downloadBytesMax;
  }

  /** Whether nothing but the database may grow. */
  get isLow(): boolean {
    return this.#level !== 'ok';
  }

  /** Reads the free space, and releases or renews the database's reserve. */
  async refresh(): Promise<void> {
    const { folders, freeBytesMin, reserve, readFree = readStatfs } = this.#options;
    const growing = this.#grownBytes;
    this.#freeBytes = Math.min(...(await Promise.all(folders.map(readFree))));
    this.#grownBytes -= growing;
    const isFull = this.#freeBytes < Math.min(fullBytes, freeBytesMin);
    if (isFull && reserve) await reserve.release();
    // What a release has freed must not make the disk look well again.
    this.#setLevel(isFull || (this.#level === 'full' && this.#isBelowFloor) ? 'full' : this.#isBelowFloor ? 'low' : 'ok');
    const isReleased = reserve !== null && !reserve.isHeld;
    if (isReleased && this.#freeBytes > freeBytesMin + reserve.bytes) await reserve.fill();
  }

  /** @throws ServiceError no_capacity */
  assertRoom(): void {
    if (!this.isLow) return;
    throw new ServiceError('no_capacity', 'The disk of this worker is almost full. Try again later.', {
      retryAfterSeconds,
      details: { reason: 'disk_low' },
      internal: `disk ${this.#level}: ${this.#freeBytes} bytes free`,
    });
  }

  /** Something of an owner that grows. The caller closes it when its files are deleted. */
  open(owner: string): DiskAccount {
    const account = new DiskAccount(owner, {
      canGrow: (bytes) => this.#canGrow(owner, bytes),
      onGrown: (bytes) => (this.#grownBytes += Math.max(0, bytes)),
      onClosed: () => this.#accounts.delete(account),
    });
    this.#accounts.add(account);
    return account;
  }

  /** Bytes of an owner's files. */
  bytesOf(owner: string): number {
    let bytes = 0;
    for (const account of this.#accounts) if (account.owner === owner) bytes += account.bytes;
    return bytes;
  }

  get #isBelowFloor(): boolean {
    return this.#freeBytes !== null && this.#freeBytes < this.#options.freeBytesMin;
  }

  #canGrow(owner: string, bytes: number): boolean {
    const { freeBytesMin, ownerBytesMax } = this.#options;
    if (this.isLow) return false;
    const left = (this.#freeBytes ?? Infinity) - this.#grownBytes - freeBytesMin;
    if (bytes > left) return false;
    let all = 0;
    for (const account of this.#accounts) all += account.bytes;
    return this.bytesOf(owner) + bytes <= Math.min(ownerBytesMax, ownerShareMax * (all + left));
  }

  #setLevel(level: DiskLevel): void {
    if (level === this.#level) return;
    this.#level = level;
    const { freeBytesMin, log } = this.#options;
    log.warn({ disk: level, freeBytes: this.#freeBytes, freeBytesMin }, 'disk level changed');
  }
}
