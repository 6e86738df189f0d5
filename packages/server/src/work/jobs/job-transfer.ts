/** Jobs that move between the workers of a fleet: described, offered, claimed, left. */
import type { Clock } from '@berth/lib/clock.ts';
import { openBytes, sealBytes } from '@berth/lib/secrets/sealed-bytes.ts';
import type { Store } from '../../store/store.ts';
import { JobEndedError, type JobDescription, type JobRecord, type LiveJob } from './job.ts';
import { endedAt, workerLost } from './outcome.ts';
import { claimJob, finishJob, markTouched, notifyOfOffers, offerJobs, releaseJobs } from './store.ts';

export interface MovingDeps {
  store: Store;
  clock: Clock;
  workerId: string;
  /** The same as in `JobRunnerDeps`. */
  weightOf?: (owner: string) => number;
  /** Common to the fleet: seals the requests of jobs while they are stored. */
  secret: Buffer;
}

/** Larger requests, such as an uploaded HAR, are not stored: their jobs stay with their worker. */
const descriptionBytesMax = 256 * 1024;
const purpose = 'job';

export class JobTransfer {
  readonly #deps: MovingDeps;

  constructor(deps: MovingDeps) {
    this.#deps = deps;
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
      if (job.row !== 'movable') return;
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

  /** Lets other workers start the jobs that wait here. `live`: in the order they came. */
  async offerWaiting(live: readonly LiveJob[]): Promise<void> {
    const { store, workerId, clock } = this.#deps;
    const waiting = live.filter((job) => !job.started && !job.ending && job.row === 'movable' && job.offer !== 'stored');
    if (waiting.length === 0) return;
    const ranks = ranksOf(live, this.#deps.weightOf);
    // Must precede the write: from then on the store decides who starts it.
    for (const job of waiting) job.offer = 'unconfirmed';
    const offers = waiting.map(({ jobId }) => ({ jobId, rank: ranks.get(jobId) ?? 0 }));
    await offerJobs(store, offers, { workerId, at: clock.now() });
    for (const job of waiting) job.offer = 'stored';
    await notifyOfOffers(store);
  }

  /** Leaves jobs of these workers to any worker, before the jobs that wait. Returns which: not those that have touched something. */
  async release(jobIds: readonly string[], workerIds: readonly string[]): Promise<Set<string>> {
    const { store, clock } = this.#deps;
    if (jobIds.length === 0) return new Set();
    const released = await releaseJobs(store, [...jobIds], { workerIds: [...workerIds], at: clock.now() });
    if (released.length > 0) await notifyOfOffers(store);
    return new Set(released);
  }

  /** Takes the next offered job for this worker, which starts it. `none`: nothing waits. Null: it could not be read, and has ended. */
  async claim(): Promise<{ record: JobRecord; description: JobDescription; attempt: number } | 'none' | null> {
    const { store, clock, workerId, secret } = this.#deps;
    const claimed = await claimJob(store, { workerId, startedAt: clock.now() });
    if (!claimed) return 'none';
    const bytes = await openBytes(secret, purpose, claimed.request);
    const { record, attempt } = claimed;
    if (bytes) return { record, attempt, description: JSON.parse(bytes.toString('utf8')) as JobDescription };
    // Sealed by a worker with another secret: nobody else will know more.
    await finishJob(store, record.jobId, { ...workerLost, ...endedAt(clock.now()), workerId });
    return null;
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
