/** Results that are large for a database, in object storage, from which every worker reads them. */
import { Readable } from 'node:stream';
import { abortAfter } from '@berth/lib/deadline.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import { ObjectNotFoundError, type Objects } from '../../objects/objects.ts';
import { resultBytesMax, resultRetentionMs, type StoredOutcome } from './outcome.ts';

const prefix = 'job-results/';
const keyOf = (jobId: string): string => `${prefix}${jobId}`;
/** Results of fewer bytes are read faster from the database. */
export const largeResultBytes = 1024 ** 2;
/** Less than a worker that stops waits for ends to be stored. */
const putMsMax = 4_000;
const pruneMs = 3_600_000;
/** Clocks differ, and an object may be written a while after its job has ended. */
const graceMs = 3_600_000;

export interface LargeResultsDeps {
  objects: Objects;
  clock: Clock;
  log: Log;
}

export class LargeResults {
  /** Deletes what has expired. */
  readonly pruning: Loop;
  readonly #deps: LargeResultsDeps;

  constructor(deps: LargeResultsDeps) {
    this.#deps = deps;
    this.pruning = new Loop('job-results', pruneMs, (signal) => this.#prune(signal));
  }

  /** Moves a large result to object storage. Where that fails it stays in the outcome, for the database. */
  async move(jobId: string, outcome: StoredOutcome): Promise<StoredOutcome> {
    const { objects, log } = this.#deps;
    const { result } = outcome;
    if (!result || result.length <= largeResultBytes) return outcome;
    try {
      await objects.put(keyOf(jobId), Readable.from([result], { objectMode: false }), abortAfter(putMsMax));
      return { ...outcome, result: null, largeResultBytes: result.length };
    } catch (error) {
      log.warn({ err: error, job: jobId }, 'job result left in the database');
      return outcome;
    }
  }

  /** null: it has expired. @throws ServiceError store_unavailable */
  async read(jobId: string): Promise<Buffer | null> {
    try {
      return await this.#deps.objects.readAll(keyOf(jobId), resultBytesMax);
    } catch (error) {
      if (error instanceof ObjectNotFoundError) return null;
      throw error;
    }
  }

  /** Deletes a job's result that was dropped early. @throws ServiceError store_unavailable */
  async delete(jobId: string): Promise<void> {
    await this.#deps.objects.delete(keyOf(jobId));
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const { objects, clock } = this.#deps;
    const before = new Date(clock.now().getTime() - resultRetentionMs - graceMs);
    for await (const page of objects.list(prefix, signal))
      for (const { key } of page.filter(({ modifiedAt }) => modifiedAt < before)) {
        if (signal.aborted) return;
        await objects.delete(key);
      }
  }
}
