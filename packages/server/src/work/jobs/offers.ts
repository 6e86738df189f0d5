/** Offers of jobs that wait to all workers of the fleet, on pg-boss. An offer is a request to run: the job's row decides who does. */
import { randomUUID } from 'node:crypto';
import type { PgBoss } from 'pg-boss';
import type { Log } from '@berth/lib/log.ts';

export interface Offer {
  /** A UUID. */
  offerId: string;
  jobId: string;
  /** Number of its owner's jobs that come first, divided by the owner's weight. Equal ranks are taken in the order they came. */
  rank: number;
}

/** The queue of offers, shared by all workers. */
export interface Offers {
  /** `take` claims the job and starts it, or returns false when there is no room for it. @throws when the database cannot be reached */
  start(take: (jobId: string) => Promise<boolean>): Promise<void>;
  readonly isStarted: boolean;
  add(offers: readonly Offer[]): Promise<void>;
  /** Removes offers of jobs that wait no more. */
  withdraw(offerIds: readonly string[]): Promise<void>;
  /** Whether this worker has room for another job. */
  setOpen(isOpen: boolean): void;
  stop(): Promise<void>;
}

const queue = 'jobs';
/** Schema of the queue, which pg-boss migrates under a lock of its own. */
const schema = 'berth_jobs';
/** Maximum connections for statements, beside the one that listens. */
const connectionsMax = 2;
/** Poll interval where no connection can listen. */
const pollSeconds = 2;
/** Poll interval where one listens: a notification may be lost, and PgBouncer in transaction mode loses them all. */
const notifiedPollSeconds = 5;
/** Time limit of a statement. It also ends the wait for a frozen server. */
const statementMsMax = 12_000;
/** An offer that its taker did not complete, because it died, is offered again after this. */
const takeSecondsMax = 15;
/** Nobody reads completed offers. */
const completedSeconds = 60;
const stopMsMax = 2000;
/** pg-boss orders by a smaller integer than there may be jobs of an owner. */
const rankMax = 1_000_000;

export class JobOffers implements Offers {
  readonly #databaseUrl: string;
  readonly #log: Log;
  #boss: PgBoss | null = null;
  #take: (jobId: string) => Promise<boolean> = () => Promise.resolve(false);
  #isOpen = false;
  /** Id of the running subscription; null without one. */
  #workId: string | null = null;
  #isReconciling = false;

  constructor({ databaseUrl, log }: { databaseUrl: string; log: Log }) {
    this.#databaseUrl = databaseUrl;
    this.#log = log;
  }

  get isStarted(): boolean {
    return this.#boss !== null;
  }

  async start(take: (jobId: string) => Promise<boolean>): Promise<void> {
    this.#take = take;
    // One machine has no use for its packages.
    const { PgBoss } = await import('pg-boss');
    const connections = { connectionString: this.#databaseUrl, application_name: 'berth jobs', max: connectionsMax };
    // pg-boss passes them to its pool; its types name only some.
    const limits = { query_timeout: statementMsMax, connectionTimeoutMillis: 5000, keepAlive: true };
    // Offers depend on no others, which is looked at every five seconds by default.
    const upkeep = { schedule: false, monitorVacuum: false, flowIntervalSeconds: 3600 };
    const boss = new PgBoss({ ...connections, ...limits, ...upkeep, schema, useListenNotify: true });
    // It polls again; what is wrong with the database is reported by the store.
    boss.on('error', (err: unknown) => this.#log.debug({ err }, 'job offers failed'));
    boss.on('warning', (warning: unknown) => this.#log.debug({ warning }, 'job offers warned'));
    try {
      await boss.start();
      await boss.createQueue(queue, {
        notify: true,
        retryLimit: 10,
        retryDelay: 1,
        expireInSeconds: takeSecondsMax,
        deleteAfterSeconds: completedSeconds,
      });
    } catch (error) {
      await boss.stop({ graceful: false, timeout: stopMsMax }).catch(() => undefined);
      throw error;
    }
    this.#boss = boss;
    void this.#reconcile();
  }

  async add(offers: readonly Offer[]): Promise<void> {
    if (offers.length === 0) return;
    if (!this.#boss) throw new Error('the offers of jobs are not started');
    await this.#boss.insert(
      queue,
      offers.map(({ offerId, jobId, rank }) => ({ id: offerId, data: { jobId, rank }, priority: -Math.min(rank, rankMax) })),
    );
  }

  async withdraw(offerIds: readonly string[]): Promise<void> {
    if (offerIds.length > 0) await this.#boss?.deleteJob(queue, [...offerIds]);
  }

  setOpen(isOpen: boolean): void {
    this.#isOpen = isOpen;
    void this.#reconcile();
  }

  async stop(): Promise<void> {
    const boss = this.#boss;
    this.#boss = null;
    this.#isOpen = false;
    await boss?.stop({ graceful: true, close: true, timeout: stopMsMax });
  }

  /** Subscribes or unsubscribes, one after the other, until it is as wanted. */
  async #reconcile(): Promise<void> {
    if (this.#isReconciling) return;
    this.#isReconciling = true;
    try {
      while (this.#boss && this.#isOpen !== (this.#workId !== null))
        await (this.#isOpen ? this.#subscribe(this.#boss) : this.#unsubscribe(this.#boss));
    } catch (err) {
      this.#log.warn({ err }, 'job offers not taken');
    } finally {
      this.#isReconciling = false;
    }
  }

  async #subscribe(boss: PgBoss): Promise<void> {
    const options = { batchSize: 1, pollingIntervalSeconds: pollSeconds, notifyPollingIntervalSeconds: notifiedPollSeconds };
    this.#workId = await boss.work<Omit<Offer, 'offerId'>>(queue, options, async ([offer]) => {
      // The last slot may have been taken since this offer was asked for.
      if (offer && !(await this.#take(offer.data.jobId))) await this.add([{ ...offer.data, offerId: randomUUID() }]);
      // There may be another one: no wait for the next poll.
      if (this.#workId !== null) boss.notifyWorker(this.#workId);
    });
  }

  async #unsubscribe(boss: PgBoss): Promise<void> {
    const id = this.#workId;
    this.#workId = null;
    if (id !== null) await boss.offWork(queue, { id, wait: false });
  }
}
