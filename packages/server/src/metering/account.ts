import { LRUCache } from 'lru-cache';
import { minus, noCounts, plus, raise, type Counts } from './counts.ts';
import type { Need, Used } from './limits.ts';
import type { LiveMeter } from './meter.ts';

/** What an owner has used in a month beside what the meters of this worker hold. */
export interface Others {
  month: string;
  counts: Counts;
  /** When it was asked for, on the monotonic clock. */
  readMs: number;
}

/**
 * One owner, as this worker knows it. Used is what the database tells of
 * others, and all that the meters here have counted, written or not: so what
 * is told neither falls nor rises when a meter is written.
 */
export class Account {
  readonly owner: string;
  readonly meters = new Set<LiveMeter>();
  others: Others | null = null;
  /** One question to the database for all who ask at the same time. */
  reading: { month: string; answer: Promise<Others> } | null = null;
  /** What the wallet had left when something was last taken from it; null where that is not known. */
  available: number | null = null;
  /** Writes that were begun: an answer from the time of one is not sure. */
  writes = 0;
  /** Debts that are being settled, and how many were: a wallet that is read meanwhile may have them or not. */
  readonly settling = new Set<Promise<void>>();
  settled = 0;
  /** Calls that were admitted and are under way. */
  readonly #inFlight = { action: 0, session: 0, captcha: 0 };
  #tickets = 0;

  constructor(owner: string) {
    this.owner = owner;
  }

  /** Whether something hangs on this very object. */
  get isBusy(): boolean {
    return this.meters.size > 0 || this.#tickets > 0;
  }

  /** What is owed to the wallet and has not been taken. */
  get unsettled(): number {
    let sum = 0;
    for (const meter of this.meters) sum += meter.debts.unsettled;
    return sum;
  }

  sample(month: string): void {
    for (const meter of this.meters) meter.sample(month);
  }

  counts(others: Others): Counts {
    const { month } = others;
    // Whoever had to wait for something else holds what was known before, and meters may have gone over to the others since.
    const latest = this.others?.month === month ? this.others : others;
    const sum = { ...latest.counts };
    for (const meter of this.meters) raise(sum, meter.countsIn(month) ?? nothing);
    return sum;
  }

  /** For whoever asks for more: calls under way count as used. */
  used(others: Others): Used {
    const counts = this.counts(others);
    return {
      actions: counts.actions + this.#inFlight.action,
      egress_bytes: counts.egressBytes,
      browser_seconds: Math.floor(counts.browserMs / 1000),
      captcha_solves: counts.captchaSolves + this.#inFlight.captcha,
    };
  }

  enter({ axis, count }: Need): void {
    this.#inFlight[axis] += count;
    this.#tickets += 1;
  }

  leave({ axis, count }: Need): void {
    this.#inFlight[axis] -= count;
    this.#tickets -= 1;
  }

  /** A meter that comes back after its rows had become those of others takes them along. */
  add(meter: LiveMeter): void {
    if (this.meters.has(meter)) return;
    this.meters.add(meter);
    this.#moveRows(meter, minus);
  }

  /** Only once all of it is written. */
  remove(meter: LiveMeter): void {
    if (this.meters.delete(meter)) this.#moveRows(meter, plus);
  }

  #moveRows(meter: LiveMeter, move: typeof plus): void {
    this.writes += 1;
    if (this.others) this.others.counts = move(this.others.counts, meter.writtenIn(this.others.month) ?? nothing);
  }
}

const nothing: Readonly<Counts> = noCounts();

/** Owners of whom nothing is under way here: the least lately used are forgotten, and read again. */
const idleMax = 10_000;

export class Accounts {
  readonly #busy = new Map<string, Account>();
  readonly #idle = new LRUCache<string, Account>({ max: idleMax });

  of(owner: string): Account {
    const known = this.#busy.get(owner) ?? this.#idle.get(owner);
    if (known) return known;
    const account = new Account(owner);
    this.#idle.set(owner, account);
    return account;
  }

  /** To be called when one may have become busy, or idle. */
  place(account: Account): void {
    if (account.isBusy) {
      this.#busy.set(account.owner, account);
      this.#idle.delete(account.owner);
    } else if (this.#busy.delete(account.owner)) this.#idle.set(account.owner, account);
  }
}
