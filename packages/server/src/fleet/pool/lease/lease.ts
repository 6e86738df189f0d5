/** This worker's lease: its heartbeat, the watch on other workers, and the fence that ends what it runs before another may take it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';
import { abortAfter } from '@berth/lib/deadline.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import type { Tables } from '../../../store/store.ts';
import {
  dropLease,
  holdLease,
  readLease,
  takeLease,
  writeBeat,
  type HeartbeatReply,
  type LeaseHolder,
  type StoredLease,
  type WorkerReport,
} from '../store.ts';
import { LeaseView, type ReadingTimes, type SeenLease } from './lease-view.ts';

/** The times of a lease that follow from its length. */
export interface LeaseTiming {
  leaseMs: number;
  heartbeatMs: number;
  /** Wait after a failed heartbeat, and between two looks at the own clock. */
  retryMs: number;
  /** A worker that knows of others and has no heartbeat confirmed for this long ends its browsers. */
  fenceMs: number;
  /** A longer gap between two readings of the others starts the view anew. */
  gapMsMax: number;
}

/**
 * A lease of 8 s: five seconds of silence of the database between two
 * heartbeats of one second end no browser, the browsers have 1.5 s to end, and
 * a killed worker is noticed within ten seconds.
 */
export const leaseTiming = (leaseMs: number): LeaseTiming => ({
  leaseMs,
  heartbeatMs: leaseMs / 8,
  retryMs: leaseMs / 32,
  fenceMs: (leaseMs * 13) / 16,
  gapMsMax: (leaseMs * 3) / 8,
});

/** Another process serves under this worker's id. */
export class DuplicateWorkerError extends Error {
  constructor({ workerId, url }: StoredLease) {
    super(
      `another process serves as worker ${workerId}${url ? ` at ${url}` : ''}: its data directory was copied. ` +
        'Delete the file worker-id in the data directory of the copy, so that it gets an id of its own, and start it again.',
    );
    this.name = 'DuplicateWorkerError';
  }
}

export type FenceReason = 'lease_taken' | 'no_heartbeat';

export interface LeaseDeps {
  store: Tables;
  clock: Clock;
  log: Log;
  workerId: string;
  /** Identifies the claimed data folder; null where the database is in it, so that no other process can be. */
  dataFolder: string | null;
  timing: LeaseTiming;
  /** What the row says of this worker. */
  describe: () => WorkerReport;
  /** Called after each confirmed heartbeat. */
  onReply: (reply: HeartbeatReply) => void;
  /** Called with the database's clock after each heartbeat. */
  onDatabaseTime?: ((now: Date, times: ReadingTimes) => void) | undefined;
}

/**
 * How long the other workers have had the fleet in view without a gap, each in ms; null unless all of them answered. They
 * are asked without the database.
 */
export type AskOthers = (signal: AbortSignal) => Promise<number[] | null>;

const rejoinRetryAfterSeconds = 2;

export class Lease {
  readonly heartbeat: Loop;
  readonly #deps: LeaseDeps;
  readonly #holder = randomUUID();
  readonly #view: LeaseView;
  /** null while the lease is not held. */
  #epoch: number | null = null;
  #hasBeenFenced = false;
  /** When the last confirmed heartbeat was sent; monotonic. */
  #confirmedMs = 0;
  /** How many other live workers the last confirmed heartbeat saw, of those that this one watches. */
  #others = 0;
  /** Monotonic time until which no other worker can have seen enough to take the lease, by what they said last. */
  #safeUntilMs = 0;
  #askOthers: AskOthers = () => Promise.resolve(null);
  #askedMs = 0;
  /** Resolves when what was run under the lost lease has ended. */
  #fencing: Promise<unknown> = Promise.resolve();
  #watch: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  readonly #skew: RegistrySkew;
  readonly #takenListeners: ((workerIds: readonly string[]) => void)[] = [];
  readonly #fencedListeners: ((reason: FenceReason) => Promise<void> | void)[] = [];

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
    this.#view = new LeaseView(deps.timing.gapMsMax);
    this.#skew = new RegistrySkew(deps.log);
    this.heartbeat = new Loop('heartbeat', deps.timing.heartbeatMs, (signal) => this.#turn(signal), { isEssential: true });
  }

  /** This process, which a row of the database may name. */
  get claimant(): { workerId: string; holder: string } {
    return { workerId: this.#deps.workerId, holder: this.#holder };
  }

  /** Called after leases of lost workers were taken here: their sessions, jobs, holds and recordings can be ended or moved. */
  onTaken(listener: (workerIds: readonly string[]) => void): void {
    this.#takenListeners.push(listener);
  }

  /** Sets how the other workers are asked while the database does not answer. Without it their answer is not waited for. */
  askBy(askOthers: AskOthers): void {
    this.#askOthers = askOthers;
  }

  /** How long this worker has had the fleet in view without a gap, in ms. */
  get viewAgeMs(): number {
    return this.#view.ageMs(this.#deps.clock.monotonicMs());
  }

  /** Called when this worker loses its lease, in the order of registration. The worker joins again when all have resolved. */
  onFenced(listener: (reason: FenceReason) => Promise<void> | void): void {
    this.#fencedListeners.push(listener);
  }

  /** False from the loss of the lease until the worker has joined again. */
  get isFenced(): boolean {
    this.check();
    return this.#hasBeenFenced && this.#epoch === null;
  }

  /** @throws ServiceError store_unavailable while this worker is fenced */
  assertHeld(): void {
    if (!this.isFenced) return;
    throw new ServiceError(
      'store_unavailable',
      'This worker has lost its connection to the others and is joining them again. Try again shortly.',
      {
        retryAfterSeconds: rejoinRetryAfterSeconds,
      },
    );
  }

  /**
   * Registers this worker, before it serves.
   * @throws DuplicateWorkerError when another process serves under its id; ServiceError store_unavailable
   */
  async join(signal: AbortSignal = new AbortController().signal): Promise<void> {
    const { store, clock, workerId } = this.#deps;
    while (this.#epoch === null) {
      const stored = await readLease(store, workerId);
      if (stored && !this.#isOver(stored)) await this.#assertDead(stored, signal);
      const askedMs = clock.monotonicMs();
      const epoch = await holdLease(store, this.#self(), stored);
      if (epoch === null) continue;
      this.#epoch = epoch;
      this.#confirmedMs = askedMs;
      this.#safeUntilMs = 0;
      this.#others = 0;
      this.#view.forget();
    }
  }

  start(): void {
    this.heartbeat.start();
    this.#watch = setInterval(() => this.check(), this.#deps.timing.retryMs).unref();
  }

  /** The last thing that a worker does: from here on others may start what it ran. */
  async stop(): Promise<void> {
    clearInterval(this.#watch);
    clearTimeout(this.#retry);
    await this.heartbeat.stop();
    clearTimeout(this.#retry);
    const epoch = this.#epoch;
    if (epoch !== null) await dropLease(this.#deps.store, this.#deps.workerId, epoch);
  }

  /** Fences this worker where its lease may soon be given away. A timer calls it, first of all after a freeze. */
  check(): void {
    const { clock, timing } = this.#deps;
    if (this.#epoch === null || this.#others === 0) return;
    const nowMs = clock.monotonicMs();
    const silentMs = nowMs - this.#confirmedMs;
    if (silentMs >= timing.fenceMs && nowMs >= this.#safeUntilMs) return this.#fence('no_heartbeat');
    if (silentMs > timing.gapMsMax && nowMs - this.#askedMs >= timing.heartbeatMs) void this.#ask(nowMs);
  }

  /**
   * A database that is away for all takes no lease: as long as the others see no more than this worker does, its
   * browsers go on. From the moment that one of them sees the fleet again, this worker has the usual time to do so, too.
   */
  async #ask(nowMs: number): Promise<void> {
    const { leaseMs, fenceMs, gapMsMax } = this.#deps.timing;
    this.#askedMs = nowMs;
    // Answers may come late on a busy host: they count from the question on, which is repeated meanwhile.
    const ages = await this.#askOthers(abortAfter(Math.floor(fenceMs - gapMsMax))).catch(() => null);
    // One without an internal listener was not asked, and may see what this worker does not.
    if (ages === null || ages.length < this.#others) return;
    this.#safeUntilMs = Math.max(this.#safeUntilMs, nowMs + fenceMs - Math.min(leaseMs, Math.max(...ages)));
  }

  async #turn(signal: AbortSignal): Promise<void> {
    clearTimeout(this.#retry);
    try {
      if (this.#epoch === null) await this.#rejoin(signal);
      else await this.#beat(this.#epoch);
    } catch (error) {
      if (!signal.aborted) this.#retry = setTimeout(() => this.heartbeat.nudge(), this.#deps.timing.retryMs).unref();
      throw error;
    }
  }

  async #beat(epoch: number): Promise<void> {
    const { store, clock, onDatabaseTime, onReply } = this.#deps;
    const askedMs = clock.monotonicMs();
    const own = this.#self();
    const { reply, others, registryVersions, databaseNow } = await writeBeat(store, own, epoch);
    // Fenced meanwhile, or frozen: the answer is about the past.
    this.check();
    if (this.#epoch !== epoch) return;
    if (!reply) return this.#fence('lease_taken');
    const times = { askedMs, answeredMs: clock.monotonicMs() };
    this.#confirmedMs = askedMs;
    this.#others = others.length;
    onDatabaseTime?.(databaseNow, times);
    onReply(reply);
    this.#skew.observe(own.registryVersion, registryVersions);
    await this.#take(this.#view.observe(others, times));
  }

  async #take(silent: readonly SeenLease[]): Promise<void> {
    const taken: string[] = [];
    for (const lease of silent) if (await takeLease(this.#deps.store, lease)) taken.push(lease.workerId);
    if (taken.length === 0) return;
    this.#deps.log.warn({ workers: taken }, 'leases of lost workers taken');
    for (const listener of this.#takenListeners) listener(taken);
  }

  #fence(reason: FenceReason): void {
    this.#epoch = null;
    this.#hasBeenFenced = true;
    this.#deps.log.error({ reason }, 'lease lost');
    this.#fencing = Promise.all(this.#fencedListeners.map(async (listener) => listener(reason)));
  }

  async #rejoin(signal: AbortSignal): Promise<void> {
    await this.#fencing;
    await this.join(signal);
    this.#deps.log.info({}, 'joined the fleet');
  }

  /** Whether the row's holder is known to have ended: it was this process, it is lost, or this process has claimed its data folder. */
  #isOver({ holder, dataFolder, isLost }: StoredLease): boolean {
    if (isLost || holder === this.#holder) return true;
    // A process that was fenced may have lost its claim on the folder.
    const own = this.#deps.dataFolder;
    return own === null || (!this.#hasBeenFenced && (dataFolder === null || dataFolder === own));
  }

  /** Watches the heartbeat of another process under the own id. @throws DuplicateWorkerError when it changes */
  async #assertDead(stored: StoredLease, signal: AbortSignal): Promise<void> {
    const { store, clock, timing, workerId } = this.#deps;
    // Waits as long as others would: the process may be cut off, and has not ended its browsers before.
    for (const startMs = clock.monotonicMs(); clock.monotonicMs() - startMs < stored.leaseMs;) {
      await sleep(timing.retryMs, undefined, { signal });
      const now = await readLease(store, workerId);
      if (!now || now.isLost) return;
      if (now.epoch !== stored.epoch || now.beat !== stored.beat) throw new DuplicateWorkerError(now);
    }
  }

  #self(): LeaseHolder {
    const { dataFolder, timing, describe } = this.#deps;
    return { ...describe(), holder: this.#holder, dataFolder, leaseMs: timing.leaseMs };
  }
}

/** Workers of one database have one file of regions: another version at one of them is logged, once for each change. */
class RegistrySkew {
  readonly #log: Log;
  #seen = new Map<string, string | null>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** `others`: the version of each, by worker; null where it does not say. */
  observe(own: string, others: ReadonlyMap<string, string | null>): void {
    for (const [worker, version] of others)
      if (version !== null && version !== own && this.#seen.get(worker) !== version)
        this.#log.warn({ worker, version, own_version: own }, 'region registry skew detected');
    this.#seen = new Map(others);
  }
}
