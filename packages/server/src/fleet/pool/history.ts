import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { BootMethod, VmKind } from '@berth/machines';

/** Why a pool machine was ended unused. */
export type Retirement = 'surplus' | 'old' | 'outdated' | 'lost';

/** A machine that has started. */
export interface Boot {
  kind: VmKind;
  method: BootMethod;
  ms: number;
}

/** A machine that a session has got. */
export interface Acquisition {
  kind: VmKind;
  /** Whether it was ready in the pool. */
  warm: boolean;
  /** Time that includes the wait in the boot queue. */
  ms: number;
  /** null: it did not have to wait in the boot queue. */
  queuedMs: number | null;
}

const backoffMsMin = 1000;
const backoffMsMax = 60_000;
/** Fewer consecutive failures are ignored. */
const failuresBeforeFailing = 3;
/** Older failures say little about now. */
const failingMsMax = 10 * 60_000;

interface Boots {
  byMethod: Record<BootMethod, number>;
  failed: number;
  /** Consecutive failures. */
  failures: number;
  /** Whether the last failure was a machine for the pool, not for a session. */
  failedForPool: boolean;
  failedMs: number;
  failedAt: Date | null;
}

/** Boots and retirements on this worker, for the pool's backoff and for metrics. */
export class FleetHistory {
  readonly retired: Record<Retirement, number> = { surplus: 0, old: 0, outdated: 0, lost: 0 };
  /** Reports each boot to the metrics. */
  onBooted: (boot: Boot) => void = () => undefined;
  onAcquired: (acquisition: Acquisition) => void = () => undefined;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #boots: Record<VmKind, Boots> = { headless: noBoots(), full_browser: noBoots(), shell: noBoots() };

  constructor({ clock, log }: { clock: Clock; log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  recordBoot(boot: Boot): void {
    const { kind, method } = boot;
    const boots = this.#boots[kind];
    this.onBooted(boot);
    boots.byMethod[method] += 1;
    if (boots.failures > 0) this.#log.info({ kind, failures: boots.failures }, 'machine boots recovered');
    boots.failures = 0;
  }

  /** Warns at the first failure only, until a boot succeeds. */
  recordFailure(kind: VmKind, error: unknown, { forPool }: { forPool: boolean }): void {
    const boots = this.#boots[kind];
    boots.failedForPool = forPool;
    boots.failed += 1;
    boots.failures += 1;
    boots.failedMs = this.#clock.monotonicMs();
    boots.failedAt = this.#clock.now();
    if (boots.failures === 1) this.#log.warn({ err: error, kind }, 'machine boot failed');
    else this.#log.debug({ err: error, kind, failures: boots.failures }, 'machine boot failed again');
  }

  failures(kind: VmKind): number {
    return this.#boots[kind].failures;
  }

  /** null when the last boot succeeded. */
  failedAt(kind: VmKind): Date | null {
    const { failures, failedAt } = this.#boots[kind];
    return failures === 0 ? null : failedAt;
  }

  /** Whether pool boots pause: the pause doubles with each failure, up to a minute. */
  isBackingOff(kind: VmKind): boolean {
    const { failures, failedMs } = this.#boots[kind];
    if (failures === 0) return false;
    const backoffMs = Math.min(backoffMsMin * 2 ** (failures - 1), backoffMsMax);
    return this.#clock.monotonicMs() - failedMs < backoffMs;
  }

  /** Kinds with consecutive recent boot failures, except of machines for a pool that wants none. */
  failing(wantsPool: (kind: VmKind) => boolean): VmKind[] {
    const sinceMs = this.#clock.monotonicMs() - failingMsMax;
    return this.#each().flatMap(([kind, { failures, failedMs, failedForPool }]) =>
      failures >= failuresBeforeFailing && failedMs >= sinceMs && (!failedForPool || wantsPool(kind)) ? [kind] : [],
    );
  }

  boots(): { kind: VmKind; byMethod: Readonly<Record<BootMethod, number>>; failed: number }[] {
    return this.#each().map(([kind, { byMethod, failed }]) => ({ kind, byMethod, failed }));
  }

  #each(): [VmKind, Boots][] {
    return Object.entries(this.#boots) as [VmKind, Boots][];
  }
}

const noBoots = (): Boots => ({
  byMethod: { process: 0, clone: 0, cold: 0 },
  failed: 0,
  failures: 0,
  failedForPool: false,
  failedMs: 0,
  failedAt: null,
});
