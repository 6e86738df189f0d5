import type { EgressType } from '@berth/contract';
import { toCredits } from '../credits/credits.ts';
import type { Tier } from '../owners/owners.ts';
import { AccruedCharges, type CommitRequest } from './accrued-charges.ts';
import { egressMicro, isEqual, microOf, noCounts, prices, raise, toTotals, type Counts, type Totals } from './counts.ts';
import type { Need } from './limits.ts';

/** Usage of one session, or of the HTTP fetches of one owner and egress. */
export interface Meter {
  readonly meterId: string;
  readonly owner: string;
  /** Usage since the meter was opened, sampled now. */
  totals(): Totals;
  /** Cost of the totals, in credits. */
  credits(): number;
  /** Adds time of browsers that the meter does not sample. */
  addBrowserMs(ms: number): void;
  /** Takes the last sample. Resolves when it is written, or queued while the store is unavailable. Idempotent. */
  close(): Promise<void>;
}

export type Exhaustion = 'plan_limit' | 'credits_exhausted';

export interface MeterOptions {
  /** Must be new: counts of an id only increase. */
  meterId: string;
  owner: string;
  /** The tier at the start. */
  tier: Tier;
  /** Egress type of all its traffic. */
  egressType: EgressType;
  /** Totals since the start, time by a monotonic clock. Lower values than before are ignored. Must not throw. */
  sample: () => { egressBytes: number; browserMs: number };
  /** The plan or the wallet is exhausted. Called again in every flush until the meter is closed. */
  onExhausted?: ((reason: Exhaustion) => void) | undefined;
}

interface MeterDeps {
  /** The current month. */
  month: () => string;
  /** Totals of the process. */
  counted: Counts;
  close: (meter: LiveMeter) => Promise<void>;
  /** Called when something is counted after the close. */
  reopen: (meter: LiveMeter) => void;
}

interface PendingWrite {
  month: string;
  counts: Counts;
}

interface Bucket {
  /** Counts since the start of the month or of the meter. They only increase. */
  counts: Counts;
  /** Counts known to be in the database. */
  written: Counts;
}

const fields = { action: 'actions', session: 'sessions', captcha: 'captchaSolves' } as const satisfies Record<Need['axis'], keyof Counts>;

/**
 * Counts by month. Usage since the last sample belongs to the month of that
 * sample, and the first event of a new month takes one. So nothing is counted
 * twice or lost at the boundary, even if the clock goes back over it.
 */
export class LiveMeter implements Meter {
  readonly meterId: string;
  readonly owner: string;
  readonly tier: Tier;
  readonly egressType: EgressType;
  readonly accruedCharges: AccruedCharges;
  readonly #options: MeterOptions;
  readonly #deps: MeterDeps;
  readonly #buckets = new Map<string, Bucket>();
  readonly #total = noCounts();
  /** Maximum of all samples. */
  readonly #sampled = { egressBytes: 0, browserMs: 0 };
  #reportedMs = 0;
  #month: string;
  #closing: Promise<void> | null = null;

  constructor(options: MeterOptions, deps: MeterDeps) {
    this.meterId = options.meterId;
    this.owner = options.owner;
    this.tier = options.tier;
    this.egressType = options.egressType;
    this.accruedCharges = new AccruedCharges(options.meterId, options.owner);
    this.#options = options;
    this.#deps = deps;
    this.#month = deps.month();
  }

  get isClosed(): boolean {
    return this.#closing !== null;
  }

  /** Whether everything is written and charged. */
  get isDone(): boolean {
    return (
      this.isClosed && !this.accruedCharges.isDue(1) && [...this.#buckets.values()].every(({ counts, written }) => isEqual(counts, written))
    );
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
    this.#reportedMs += maxFinite(0, ms);
    this.#countTraffic();
  }

  close(): Promise<void> {
    if (!this.#closing) {
      this.sample();
      this.#closing = this.#deps.close(this);
    }
    return this.#closing;
  }

  /** Counts usage that is charged by the piece. */
  count(axis: Need['axis'], count: number): void {
    if (!Number.isSafeInteger(count) || count < 0) throw new RangeError(`${count} is not a valid count`);
    this.sample();
    this.#count({ [fields[axis]]: count });
  }

  /** Accrues usage that was not held in the wallet: it is charged together with the traffic. */
  accrue(axis: Need['axis'], count: number): void {
    this.accruedCharges.accrue(axis, count * prices[axis]);
    if (this.isClosed) this.#deps.reopen(this);
  }

  /** Repeats a charge whose outcome is unknown, together with the traffic. */
  defer(request: CommitRequest): void {
    this.accruedCharges.defer(request);
    if (this.isClosed) this.#deps.reopen(this);
  }

  /** Counts usage since the last sample, then switches to `month`. */
  sample(month = this.#deps.month()): void {
    if (!this.isClosed) {
      const { egressBytes, browserMs } = this.#options.sample();
      this.#sampled.egressBytes = maxFinite(this.#sampled.egressBytes, egressBytes);
      this.#sampled.browserMs = maxFinite(this.#sampled.browserMs, browserMs);
      this.#countTraffic();
    }
    this.#month = month;
  }

  notifyExhausted(reason: Exhaustion): void {
    if (!this.isClosed) this.#options.onExhausted?.(reason);
  }

  countsIn(month: string): Counts | undefined {
    return this.#buckets.get(month)?.counts;
  }

  writtenIn(month: string): Counts | undefined {
    return this.#buckets.get(month)?.written;
  }

  pendingWrites(): PendingWrite[] {
    const changed = [...this.#buckets].filter(([, { counts, written }]) => !isEqual(counts, written));
    return changed.map(([month, { counts }]) => ({ month, counts: { ...counts } }));
  }

  markWritten({ month, counts }: PendingWrite): void {
    const bucket = this.#buckets.get(month);
    if (bucket) bucket.written = counts;
  }

  #countTraffic(): void {
    const egressBytes = Math.floor(this.#sampled.egressBytes) - this.#total.egressBytes;
    const browserMs = Math.floor(this.#sampled.browserMs + this.#reportedMs) - this.#total.browserMs;
    if (egressBytes === 0 && browserMs === 0) return;
    this.#count({ egressBytes, browserMs });
    this.accruedCharges.accrueTotal('egress', egressMicro(this.#total.egressBytes));
  }

  #count(more: Partial<Counts>): void {
    const bucket = this.#buckets.get(this.#month) ?? { counts: noCounts(), written: noCounts() };
    this.#buckets.set(this.#month, bucket);
    for (const sum of [bucket.counts, this.#total, this.#deps.counted]) raise(sum, more);
    if (this.isClosed) this.#deps.reopen(this);
  }
}

/** Ignores NaN and Infinity, which would make the write of all meters fail. */
const maxFinite = (before: number, now: number): number => (Number.isFinite(now) && now > before ? now : before);
