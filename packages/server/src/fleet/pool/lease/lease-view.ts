/** Which workers have fallen silent, as one observer sees it: by its own monotonic clock and its own continuous view. */

/** The lease of another worker as it was read. */
export interface SeenLease {
  workerId: string;
  epoch: number;
  /** The heartbeat, compared for equality only. */
  beat: string;
  /** How long the same heartbeat must be seen before the lease may be taken. */
  leaseMs: number;
}

/** When the observer sent a reading, and when it had the answer; monotonic. */
export interface ReadingTimes {
  askedMs: number;
  answeredMs: number;
}

/**
 * A heartbeat counts as unchanged from the answer in which it was first seen to
 * the question of the last reading, so that no clock of another host matters.
 * After a gap between two readings all is seen anew: a database that was away
 * for all makes nobody silent, and a frozen observer takes nothing.
 */
export class LeaseView {
  readonly #gapMsMax: number;
  #seen = new Map<string, { epoch: number; beat: string; sinceMs: number }>();
  #lastMs: number | null = null;
  /** When the first reading since the last gap was answered. */
  #sinceMs = 0;

  constructor(gapMsMax: number) {
    this.#gapMsMax = gapMsMax;
  }

  /** Returns the leases that may be taken now. */
  observe(leases: readonly SeenLease[], { askedMs, answeredMs }: ReadingTimes): SeenLease[] {
    const hasGap = this.#lastMs === null || answeredMs - this.#lastMs > this.#gapMsMax;
    const before = hasGap ? new Map<string, never>() : this.#seen;
    this.#lastMs = answeredMs;
    if (hasGap) this.#sinceMs = answeredMs;
    this.#seen = new Map();
    return leases.filter(({ workerId, epoch, beat, leaseMs }) => {
      const known = before.get(workerId);
      const isSame = known?.epoch === epoch && known.beat === beat;
      const sinceMs = isSame ? known.sinceMs : answeredMs;
      this.#seen.set(workerId, { epoch, beat, sinceMs });
      return isSame && askedMs - sinceMs >= leaseMs;
    });
  }

  /** How long the view has had no gap; 0 where the next reading begins a new one. No lease is taken that was not seen for its whole length. */
  ageMs(nowMs: number): number {
    return this.#lastMs === null || nowMs - this.#lastMs > this.#gapMsMax ? 0 : nowMs - this.#sinceMs;
  }

  /** What was seen before counts no more. */
  forget(): void {
    this.#lastMs = null;
  }
}
