import { toCredits } from '../credits/credits.ts';
import type { Tier } from '../owners/owners.ts';
import { egressMicro, microOf, prices } from './costs.ts';
import { isEqual, noCounts, raise, toTotals, type Counts, type Totals } from './counts.ts';
import { Debts } from './debts.ts';
import type { Need } from './limits.ts';

/** What one session, or one way out of plain fetches, uses. */
export interface Meter {
  readonly meterId: string;
  readonly owner: string;
  /** Since it was opened, sampled now. */
  totals(): Totals;
  /** What they cost, in credits. */
  credits(): number;
  /** For browsers that are not the meter's own: their time is told, and not sampled. */
  addBrowserMs(ms: number): void;
  /** Takes the last sample. Resolves when it is written, or left to a later turn where the store is away. Idempotent. */
  close(): Promise<void>;
}

export type Exhaustion = 'plan_limit' | 'credits_exhausted';

export interface MeterOrder {
  /** Never used before: what is written under an id only grows. */
  meterId: string;
  owner: string;
  /** The one that it was started under. */
  tier: Tier;
  /** Sums that begin with zero, the time by a monotonic clock. What is less than before is taken as unchanged. Must not throw. */
  sample: () => { egressBytes: number; browserMs: number };
  /** Its plan or its wallet has nothing left. Called again in every turn until the meter is closed. */
  onExhausted?: ((reason: Exhaustion) => void) | undefined;
}

export interface MeterParts {
  /** The one that is now. */
  month: () => string;
  /** What the whole process counted. */
  counted: Counts;
  close: (meter: LiveMeter) => Promise<void>;
  /** Something was counted after it was closed. */
  reopen: (meter: LiveMeter) => void;
}

export interface Unwritten {
  month: string;
  counts: Counts;
}

interface Bucket {
  /** Since the month began, or the meter was opened within it. Only grows. */
  counts: Counts;
  /** Of them: what is known to be in the database. */
  written: Counts;
}

const fields = { action: 'actions', session: 'sessions', captcha: 'captchaSolves' } as const satisfies Record<Need['axis'], keyof Counts>;

/**
 * Counts by month. What was used since the last sample belongs to the month of
 * that sample, and the first event of a new month takes one: so nothing is
 * counted twice or lost at the edge, also where the clock goes back over it.
 */
export class LiveMeter implements Meter {
  readonly meterId: string;
  readonly owner: string;
  readonly tier: Tier;
  readonly debts: Debts;
  readonly #order: MeterOrder;
  readonly #parts: MeterParts;
  readonly #buckets = new Map<string, Bucket>();
  readonly #total = noCounts();
  /** The largest samples so far. */
  readonly #seen = { egressBytes: 0, browserMs: 0 };
  #toldMs = 0;
  #month: string;
  #closing: Promise<void> | null = null;

  constructor(order: MeterOrder, parts: MeterParts) {
    this.meterId = order.meterId;
    this.owner = order.owner;
    this.tier = order.tier;
    this.debts = new Debts(order.meterId, order.owner);
    this.#order = order;
    this.#parts = parts;
    this.#month = parts.month();
  }

  get isClosed(): boolean {
    return this.#closing !== null;
  }

  /** Whether nothing of it is left to be written or paid. */
  get isDone(): boolean {
    return this.isClosed && !this.debts.isDue(1) && [...this.#buckets.values()].every(({ counts, written }) => isEqual(counts, written));
  }

  totals(): Totals {
    this.sample();
    return toTotals(this.#total);
  }

  credits(): number {
    this.sample();
    return toCredits(microOf(this.#total));
  }

  addBrowserMs(ms: number): void {
    this.sample();
    this.#toldMs += largest(0, ms);
    this.#countTraffic();
  }

  close(): Promise<void> {
    if (!this.#closing) {
      this.sample();
      this.#closing = this.#parts.close(this);
    }
    return this.#closing;
  }

  /** Something was done that is charged by the piece. */
  count(axis: Need['axis'], count: number): void {
    if (!Number.isSafeInteger(count) || count < 0) throw new RangeError(`${count} is no number of pieces`);
    this.sample();
    this.#count({ [fields[axis]]: count });
  }

  /** It was done without the wallet being asked: it is paid with the traffic. */
  owe(axis: Need['axis'], count: number): void {
    this.debts.owe(axis, count * prices[axis]);
    if (this.isClosed) this.#parts.reopen(this);
  }

  /** Counts what was used since the last sample, and begins another month where one has begun. */
  sample(month = this.#parts.month()): void {
    if (!this.isClosed) {
      const { egressBytes, browserMs } = this.#order.sample();
      this.#seen.egressBytes = largest(this.#seen.egressBytes, egressBytes);
      this.#seen.browserMs = largest(this.#seen.browserMs, browserMs);
      this.#countTraffic();
    }
    this.#month = month;
  }

  tell(reason: Exhaustion): void {
    if (!this.isClosed) this.#order.onExhausted?.(reason);
  }

  countsIn(month: string): Counts | undefined {
    return this.#buckets.get(month)?.counts;
  }

  writtenIn(month: string): Counts | undefined {
    return this.#buckets.get(month)?.written;
  }

  unwritten(): Unwritten[] {
    const changed = [...this.#buckets].filter(([, { counts, written }]) => !isEqual(counts, written));
    return changed.map(([month, { counts }]) => ({ month, counts: { ...counts } }));
  }

  written({ month, counts }: Unwritten): void {
    const bucket = this.#buckets.get(month);
    if (bucket) bucket.written = counts;
  }

  #countTraffic(): void {
    const egressBytes = Math.floor(this.#seen.egressBytes) - this.#total.egressBytes;
    const browserMs = Math.floor(this.#seen.browserMs + this.#toldMs) - this.#total.browserMs;
    if (egressBytes === 0 && browserMs === 0) return;
    this.#count({ egressBytes, browserMs });
    this.debts.oweInAll('egress', egressMicro(this.#total.egressBytes));
  }

  #count(more: Partial<Counts>): void {
    const bucket = this.#buckets.get(this.#month) ?? { counts: noCounts(), written: noCounts() };
    this.#buckets.set(this.#month, bucket);
    for (const sum of [bucket.counts, this.#total, this.#parts.counted]) raise(sum, more);
    if (this.isClosed) this.#parts.reopen(this);
  }
}

/** What is no number would be no row of the database, and hold up those of all others. */
const largest = (before: number, now: number): number => (Number.isFinite(now) && now > before ? now : before);
