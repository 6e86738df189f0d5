import { LRUCache } from 'lru-cache';
import { minus, noCounts, plus, raise, type Counts } from './counts.ts';
import type { Need, Used } from './limits.ts';
import type { LiveMeter } from './meter.ts';

/** An owner's usage in a month, except that of the open meters of this worker. */
export interface RemoteUsage {
  month: string;
  counts: Counts;
  /** Time of the query, on the monotonic clock. */
  readMs: number;
}

/**
 * One owner on this worker. Its usage is the remote usage plus all counts of the
 * local meters, written or not, so it does not change when a meter is written.
 */
export class Account {
  readonly owner: string;
  readonly meters = new Set<LiveMeter>();
  remoteUsage: RemoteUsage | null = null;
  /** Shared by concurrent reads. */
  reading: { month: string; answer: Promise<RemoteUsage> } | null = null;
  /** Available credits after the last charge, in millionths; null: unknown. */
  available: number | null = null;
  /** Number of writes begun: a read that overlaps one is not consistent. */
  writes = 0;
  /** Running charges, and the number of completed ones: a wallet read that overlaps one may or may not include it. */
  readonly charging = new Set<Promise<void>>();
  chargesCompleted = 0;
  /** Admitted calls that are running. */
  readonly #inFlight = { action: 0, session: 0, captcha: 0 };
  #tickets = 0;

  constructor(owner: string) {
    this.owner = owner;
  }

  /** Whether meters or tickets refer to this object. */
  get isBusy(): boolean {
    return this.meters.size > 0 || this.#tickets > 0;
  }

  /** Accrued and not yet charged, in millionths. */
  get uncharged(): number {
    let sum = 0;
    for (const meter of this.meters) sum += meter.accruedCharges.uncharged;
    return sum;
  }

  sample(month: string): void {
    for (const meter of this.meters) meter.sample(month);
  }

  counts(remoteUsage: RemoteUsage): Counts {
    const { month } = remoteUsage;
    // `remoteUsage` may be outdated if the caller has awaited something: closed meters move to the remote usage.
    const latest = this.remoteUsage?.month === month ? this.remoteUsage : remoteUsage;
    const sum = { ...latest.counts };
    for (const meter of this.meters) raise(sum, meter.countsIn(month) ?? nothing);
    return sum;
  }

  /** Usage for admission: running calls count as used. */
  used(remoteUsage: RemoteUsage): Used {
    const used = toUsed(this.counts(remoteUsage));
    used.actions += this.#inFlight.action;
    used.captcha_solves += this.#inFlight.captcha;
    return used;
  }

  /** Usage that is not written, so that the other workers cannot know it yet. */
  unwritten(month: string): Used {
    const sum = noCounts();
    for (const meter of this.meters) {
      const counts = meter.countsIn(month);
      if (counts) raise(sum, minus(counts, meter.writtenIn(month) ?? nothing));
    }
    return toUsed(sum);
  }

  enter({ axis, count }: Need): void {
    this.#inFlight[axis] += count;
    this.#tickets += 1;
  }

  leave({ axis, count }: Need): void {
    this.#inFlight[axis] -= count;
    this.#tickets -= 1;
  }

  /** Moves the rows of a reopened meter from the remote usage back to the local one. */
  add(meter: LiveMeter): void {
    if (this.meters.has(meter)) return;
    this.meters.add(meter);
    this.#moveRows(meter, minus);
  }

  /** Removes a meter. Must not be called before all of it is written. */
  remove(meter: LiveMeter): void {
    if (this.meters.delete(meter)) this.#moveRows(meter, plus);
  }

  #moveRows(meter: LiveMeter, move: typeof plus): void {
    this.writes += 1;
    if (this.remoteUsage) this.remoteUsage.counts = move(this.remoteUsage.counts, meter.writtenIn(this.remoteUsage.month) ?? nothing);
  }
}

const toUsed = (counts: Counts): Used => ({
  actions: counts.actions,
  egress_bytes: counts.egressBytes,
  browser_seconds: Math.floor(counts.browserMs / 1000),
  captcha_solves: counts.captchaSolves,
});

const nothing: Readonly<Counts> = noCounts();

/** Idle owners in the cache; the least recently used are evicted and read again. */
const idleMax = 10_000;

export class Accounts {
  readonly #busy = new Map<string, Account>();
  readonly #idle = new LRUCache<string, Account>({ max: idleMax });

  of(owner: string): Account {
    const existing = this.#busy.get(owner) ?? this.#idle.get(owner);
    if (existing) return existing;
    const account = new Account(owner);
    this.#idle.set(owner, account);
    return account;
  }

  /** Owners whom open meters or running operations refer to. */
  busyOwners(): string[] {
    return [...this.#busy.keys()];
  }

  /** Call it when an account may have become busy or idle. */
  reindex(account: Account): void {
    if (account.isBusy) {
      this.#busy.set(account.owner, account);
      this.#idle.delete(account.owner);
    } else if (this.#busy.delete(account.owner)) this.#idle.set(account.owner, account);
  }
}
