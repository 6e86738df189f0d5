/** Jobs that move between the workers of a fleet: described, offered, claimed, left. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '@berth/lib/clock.ts';
import { openBytes, sealBytes } from '@berth/lib/secrets/sealed-bytes.ts';
import type { Store } from '../../store/store.ts';
import { JobEndedError, type JobDescription, type JobRecord, type LiveJob } from './job.ts';
import type { Offers } from './offers.ts';
import { endedAt, workerLost } from './outcome.ts';
import { claimJob, finishJob, markTouched, offerJobs, releaseJobs, renewOffers } from './store.ts';

export interface MovingDeps {
  store: Store;
  clock: Clock;
  workerId: string;
  offers: Offers;
  /** The same as in `JobRunnerDeps`. */
  weightOf?: (owner: string) => number;
  /** Common to the fleet: seals the requests of jobs while they are stored. */
  secret: Buffer;
}

/** Larger requests, such as an uploaded HAR, are not stored: their jobs stay with their worker. */
const descriptionBytesMax = 256 * 1024;
const purpose = 'job';
/** A job that no worker has is offered again after this: its offer may have been lost. */
const offerMsMax = 60_000;

export class JobTransfer {
  readonly offers: Offers;
  readonly #deps: MovingDeps;
  readonly #withdrawn = new Set<string>();
  /** Jobs whose offer may not have been stored. */
  readonly #unsent = new WeakSet<LiveJob>();

  constructor(deps: MovingDeps) {
    this.#deps = deps;
    this.offers = deps.offers;
  }

  /** Null for a job that only this worker can run. */
  async seal(description: JobDescription | undefined): Promise<Buffer | null> {
    if (!description) return null;
    const bytes = Buffer.from(JSON.stringify(description));
    return bytes.length > descriptionBytesMax ? null : sealBytes(this.#deps.secret, purpose, bytes);
  }

  /** `JobContext.touch` of a job; `onLost` is called when another worker has it, or another run of this one. */
  touchOf(job: LiveJob, onLost: () => void): () => Promise<void> {
    let touching: Promise<void> | null = null;
    const touch = async (): Promise<void> => {
      if (!job.isMovable) return;
      const { store, workerId, clock } = this.#deps;
      if (await markTouched(store, { jobId: job.jobId, workerId, attempt: job.attempt, at: clock.now() })) return;
      onLost();
      throw new JobEndedError(job.jobId);
    };
    return () =>
      (touching ??= touch().catch((error: unknown) => {
        touching = null;
        throw error;
      }));
  }

  /** Lets other workers start the jobs that wait here; withdraws offers of those that wait no more. `live`: in the order they came. */
  async offerWaiting(live: readonly LiveJob[]): Promise<void> {
    const { store, workerId, clock } = this.#deps;
    const isUnoffered = (job: LiveJob): boolean => job.offerId === null || this.#unsent.has(job);
    const waiting = live.filter((job) => !job.started && !job.ending && job.isStored && job.isMovable && isUnoffered(job));
    if (waiting.length > 0) {
      const ranks = ranksOf(live, this.#deps.weightOf);
      // Must precede the write: from then on the store decides who starts it.
      for (const job of waiting) {
        job.offerId = randomUUID();
        this.#unsent.add(job);
      }
      const ids = waiting.map(({ jobId }) => jobId);
      const offered = new Set(await offerJobs(store, ids, { workerId, at: clock.now() }));
      await this.offers.add(
        waiting.flatMap(({ jobId, offerId }) => (offerId && offered.has(jobId) ? { offerId, jobId, rank: ranks.get(jobId) ?? 0 } : [])),
      );
      for (const job of waiting) this.#unsent.delete(job);
    }
    const ids = [...this.#withdrawn];
    await this.offers.withdraw(ids);
    for (const id of ids) this.#withdrawn.delete(id);
  }

  /** Notes that a job waits no more. */
  withdraw({ offerId }: LiveJob): void {
    if (offerId !== null) this.#withdrawn.add(offerId);
  }

  /** Leaves jobs of these workers to any worker, before the jobs that wait. Returns which: not those that have touched something. */
  async release(jobIds: readonly string[], workerIds: readonly string[]): Promise<Set<string>> {
    const { store, clock } = this.#deps;
    if (jobIds.length === 0) return new Set();
    const released = await releaseJobs(store, [...jobIds], { workerIds: [...workerIds], at: clock.now() });
    await this.#offerAnew(released);
    return new Set(released);
  }

  /** Offers again what no worker has taken. */
  async renew(): Promise<void> {
    const { store, clock } = this.#deps;
    const at = clock.now();
    await this.#offerAnew(await renewOffers(store, { before: new Date(at.getTime() - offerMsMax), at }));
  }

  /** Takes an offered job for this worker, which starts it. Null when there is nothing left to run. */
  async claim(jobId: string): Promise<{ record: JobRecord; description: JobDescription; attempt: number } | null> {
    const { store, clock, workerId, secret } = this.#deps;
    const claimed = await claimJob(store, { jobId, workerId, startedAt: clock.now() });
    if (!claimed) return null;
    const bytes = await openBytes(secret, purpose, claimed.request);
    const { record, attempt } = claimed;
    if (bytes) return { record, attempt, description: JSON.parse(bytes.toString('utf8')) as JobDescription };
    // Sealed by a worker with another secret: nobody else will know more.
    await finishJob(store, jobId, { ...workerLost, ...endedAt(clock.now()), workerId });
    return null;
  }

  #offerAnew(jobIds: readonly string[]): Promise<void> {
    return this.offers.add(jobIds.map((jobId) => ({ offerId: randomUUID(), jobId, rank: 0 })));
  }
}

/** Ranks are integers, and weights differ by less than this. */
const rankStep = 100;

/** How many jobs of the same owner came before, for its weight, by job id. */
function ranksOf(live: readonly LiveJob[], weightOf = (_owner: string) => 1): Map<string, number> {
  const counts = new Map<string, number>();
  const ranks = new Map<string, number>();
  for (const { jobId, request, ending } of live) {
    if (ending) continue;
    const rank = counts.get(request.owner) ?? 0;
    ranks.set(jobId, Math.floor((rank * rankStep) / weightOf(request.owner)));
    counts.set(request.owner, rank + 1);
  }
  return ranks;
}
