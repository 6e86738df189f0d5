import type { DiskAccount } from './account.ts';

interface Accounts {
  open(owner: string): DiskAccount;
}

export interface RetentionBudgetOptions {
  /** Maximum bytes of the rows of one owner together. */
  bytesMax: number;
  /** Deletes the oldest rows under the key until the others take at most `bytes`. */
  trim(key: string, bytes: number): Promise<void>;
}

/** Share that a trim leaves, so that not each row causes the next one. */
const trimmedShare = 3 / 4;

/**
 * Limits what is stored of each owner in the database: the oldest rows make room
 * for new ones. It counts from the start of the worker on, so that rows of before
 * are found only at the first trim.
 */
export class RetentionBudget {
  readonly #disk: Accounts;
  readonly #options: RetentionBudgetOptions;
  readonly #accounts = new Map<string, DiskAccount>();

  constructor(disk: Accounts, options: RetentionBudgetOptions) {
    this.#disk = disk;
    this.#options = options;
  }

  /** Call it when a row was stored. `key` is what an owner's rows are found by. */
  async add(owner: string, bytes: number, key = owner): Promise<void> {
    const { bytesMax, trim } = this.#options;
    const account = this.#accounts.get(key) ?? this.#disk.open(owner);
    this.#accounts.set(key, account);
    account.set(account.bytes + bytes);
    if (account.bytes <= bytesMax) return;
    const left = bytesMax * trimmedShare;
    // Set at once, so that calls in between do not trim as well.
    account.set(left);
    await trim(key, left);
  }
}
