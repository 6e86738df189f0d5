import { ServiceError } from '@berth/contract';
import { Loop } from '@berth/lib/loop.ts';
import type { Log } from '@berth/lib/log.ts';
import type { JournalEntry } from './attempt.ts';

/** How long an entry waits for others to share its transaction. */
const gatherMs = 200;
/** Retry interval while the database is unavailable. */
const retryMs = 2000;
/** Attempts per transaction, few enough to hold locks for milliseconds only. */
const batchMax = 500;
/** Attempts queued while the database is unavailable: some megabytes. */
const queuedAttemptsMax = 10_000;

/**
 * A write-behind queue: entries are written a little later, many in one
 * transaction. Entries beyond the limit are dropped and counted, because no
 * fetch may wait or fail for what is learned from it.
 *
 * A connection lost during a commit may write a batch twice: that duplicates
 * counts, but no events.
 */
export class Journal {
  readonly #write: (batch: JournalEntry[]) => Promise<void>;
  readonly #log: Log;
  #entries: JournalEntry[] = [];
  /** Attempts queued and not written. */
  #queuedAttempts = 0;
  #dropped = 0;
  /** The same by site, for readers that need their own writes. */
  readonly #unwrittenBySite = new Map<string, number>();
  #gathering: NodeJS.Timeout | undefined;
  #last: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  readonly loop = new Loop('selfheal-writing', retryMs, () => this.flush());

  constructor(write: (batch: JournalEntry[]) => Promise<void>, log: Log) {
    this.#write = write;
    this.#log = log;
  }

  /** Attempts dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  add(entry: JournalEntry): void {
    if (this.#queuedAttempts + entry.attempts.length > queuedAttemptsMax) return this.#drop(entry.attempts.length);
    this.#entries.push(entry);
    this.#count(entry, 1);
    // While the database is unavailable, the loop's interval is enough.
    if (this.loop.status.failures === 0) this.#gathering ??= setTimeout(() => this.#gathered(), gatherMs).unref();
  }

  /** Writes all entries added before the call. @throws ServiceError store_unavailable; the entries stay queued */
  flush(): Promise<void> {
    if (this.#next) return this.#next;
    const next = this.#last.then(() => {
      this.#next = null;
      return this.#writeAll();
    });
    this.#next = next;
    this.#last = next.catch(() => undefined);
    return next;
  }

  /** Waits until all entries of a site are written. @throws the signal's reason, or what `flush` throws */
  async waitUntilWritten(site: string, signal: AbortSignal | undefined): Promise<void> {
    if (!this.#unwrittenBySite.has(site)) return;
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await Promise.race([this.flush(), aborted.promise]);
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async stop(): Promise<void> {
    clearTimeout(this.#gathering);
    await this.loop.stop();
    await this.flush();
  }

  #gathered(): void {
    this.#gathering = undefined;
    this.loop.nudge();
  }

  async #writeAll(): Promise<void> {
    // Entries added meanwhile belong to the next flush, so that this one ends.
    for (let left = this.#entries.length; left > 0;) {
      const batch = this.#takeBatch(left);
      left -= batch.length;
      await this.#writeBatch(batch);
    }
  }

  #takeBatch(lengthMax: number): JournalEntry[] {
    let attempts = 0;
    let length = 0;
    while (length < lengthMax && attempts < batchMax) attempts += this.#entries[length++]?.attempts.length ?? 0;
    return this.#entries.slice(0, length);
  }

  async #writeBatch(batch: JournalEntry[]): Promise<void> {
    try {
      await this.#write(batch);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'store_unavailable') throw error;
      // The batch would fail forever and block the queue: drop only the entry that fails.
      if (batch.length > 1) {
        for (const entry of batch) await this.#writeBatch([entry]);
        return;
      }
      this.#log.error({ err: error }, 'selfheal entry write failed');
      this.#drop(batch[0]?.attempts.length ?? 0);
    }
    this.#forget(batch);
  }

  #forget(batch: JournalEntry[]): void {
    this.#entries.splice(0, batch.length);
    for (const entry of batch) this.#count(entry, -1);
  }

  #count({ attempts }: JournalEntry, sign: 1 | -1): void {
    this.#queuedAttempts += sign * attempts.length;
    for (const attempt of attempts) {
      const site = keyOf(attempt.owner, attempt.domain);
      const count = (this.#unwrittenBySite.get(site) ?? 0) + sign;
      if (count > 0) this.#unwrittenBySite.set(site, count);
      else this.#unwrittenBySite.delete(site);
    }
  }

  /** Logs the first dropped attempt and every thousandth. */
  #drop(attempts: number): void {
    const loggedBefore = Math.ceil(this.#dropped / 1000);
    this.#dropped += attempts;
    if (Math.ceil(this.#dropped / 1000) > loggedBefore) this.#log.warn({ dropped: this.#dropped }, 'selfheal attempts dropped');
  }
}

/** The key of an owner's site. Owner names contain no line feeds. */
export const keyOf = (owner: string, domain: string): string => `${owner}\n${domain}`;
