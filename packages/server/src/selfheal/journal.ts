import { ServiceError } from '@berth/contract';
import { Loop } from '../lib/loop.ts';
import type { Log } from '../lib/log.ts';
import type { Noted } from './attempt.ts';

/** How long a note may wait for others, so that busy moments cost few transactions. */
const gatherMs = 200;
/** How often a database that was away is tried again. */
const retryMs = 2000;
/** Attempts in one transaction: small enough to hold its locks for milliseconds. */
const batchMax = 500;
/** Attempts kept while the database is away: some megabytes. */
const keptMax = 10_000;

/**
 * Writes behind: what work came to is noted at once and written a little later,
 * many notes in one transaction. What does not fit while the database is away is
 * dropped and counted, because no fetch may wait or fail for the sake of what is
 * learned from it.
 *
 * A connection lost in the middle of a commit may write a batch twice: events
 * are not doubled by that, counts are.
 */
export class Journal {
  readonly #write: (batch: Noted[]) => Promise<void>;
  readonly #log: Log;
  #notes: Noted[] = [];
  /** Attempts noted and not written. */
  #kept = 0;
  #dropped = 0;
  /** The same by site, for whoever must read what it has noted. */
  readonly #unwritten = new Map<string, number>();
  #gathering: NodeJS.Timeout | undefined;
  #last: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  readonly loop = new Loop('selfheal-writing', retryMs, () => this.flush());

  constructor(write: (batch: Noted[]) => Promise<void>, log: Log) {
    this.#write = write;
    this.#log = log;
  }

  /** Attempts that were dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  add(note: Noted): void {
    if (this.#kept + note.attempts.length > keptMax) return this.#drop(note.attempts.length);
    this.#notes.push(note);
    this.#count(note, 1);
    // While the database is away the loop's own pace is enough.
    if (this.loop.status.failures === 0) this.#gathering ??= setTimeout(() => this.#gathered(), gatherMs).unref();
  }

  /** Writes all that was noted before the call. Throws where the database is away: the notes stay, and are tried again. */
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

  /** Waits until all that was noted of a site is written, and no longer than the caller's signal. */
  async settle(site: string, signal: AbortSignal | undefined): Promise<void> {
    if (!this.#unwritten.has(site)) return;
    const left = Promise.withResolvers<never>();
    const leave = (): void => left.reject(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener('abort', leave, { once: true });
    try {
      await Promise.race([this.flush(), left.promise]);
    } finally {
      signal?.removeEventListener('abort', leave);
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
    // What is noted meanwhile is the next flush's: this one must end.
    for (let left = this.#notes.length; left > 0;) {
      const batch = this.#takeBatch(left);
      left -= batch.length;
      await this.#writeBatch(batch);
    }
  }

  #takeBatch(most: number): Noted[] {
    let attempts = 0;
    let length = 0;
    while (length < most && attempts < batchMax) attempts += this.#notes[length++]?.attempts.length ?? 0;
    return this.#notes.slice(0, length);
  }

  async #writeBatch(batch: Noted[]): Promise<void> {
    try {
      await this.#write(batch);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'store_unavailable') throw error;
      // It would fail again for ever, and hold up all that comes after it: what is at fault is forgotten, and that alone.
      if (batch.length > 1) {
        for (const note of batch) await this.#writeBatch([note]);
        return;
      }
      this.#log.error({ error }, 'what a work came to could not be written');
      this.#drop(batch[0]?.attempts.length ?? 0);
    }
    this.#forget(batch);
  }

  #forget(batch: Noted[]): void {
    this.#notes.splice(0, batch.length);
    for (const note of batch) this.#count(note, -1);
  }

  #count({ attempts }: Noted, sign: 1 | -1): void {
    this.#kept += sign * attempts.length;
    for (const attempt of attempts) {
      const site = keyOf(attempt.owner, attempt.domain);
      const count = (this.#unwritten.get(site) ?? 0) + sign;
      if (count > 0) this.#unwritten.set(site, count);
      else this.#unwritten.delete(site);
    }
  }

  /** Told at the first and at every thousandth, not each time. */
  #drop(attempts: number): void {
    const told = Math.ceil(this.#dropped / 1000);
    this.#dropped += attempts;
    if (Math.ceil(this.#dropped / 1000) > told)
      this.#log.warn({ dropped: this.#dropped }, 'attempts on sites were forgotten before they were written');
  }
}

/** One owner's site as one text: no owner has a line feed in its name. */
export const keyOf = (owner: string, domain: string): string => `${owner}\n${domain}`;
