import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { BootWay, VmKind } from '../runtime/runtime.ts';

/** Why a machine of the pool was ended that nobody had used. */
export type Retirement = 'surplus' | 'old' | 'outdated' | 'lost';

const backoffMsMin = 1000;
const backoffMsMax = 60_000;
/** Fewer in a row than this are a blip. */
const failuresBeforeFailing = 3;
/** What has failed and was not tried since says little about now. */
const failingMsMax = 10 * 60_000;

interface Boots {
  byWay: Record<BootWay, number>;
  failed: number;
  /** Since one last went well. */
  failures: number;
  failedMs: number;
  failedAt: Date | null;
}

/** What has become of the machines of this worker: for the pace of the pool, and for those who watch it. */
export class FleetRecord {
  readonly retired: Record<Retirement, number> = { surplus: 0, old: 0, outdated: 0, lost: 0 };
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #boots: Record<VmKind, Boots> = { headless: noBoots(), full_browser: noBoots(), shell: noBoots() };

  constructor({ clock, log }: { clock: Clock; log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  booted(kind: VmKind, way: BootWay): void {
    const boots = this.#boots[kind];
    boots.byWay[way] += 1;
    if (boots.failures > 0) this.#log.info({ kind, failures: boots.failures }, 'machines start again');
    boots.failures = 0;
  }

  /** Said once, and not again until one went well. */
  failed(kind: VmKind, error: unknown): void {
    const boots = this.#boots[kind];
    boots.failed += 1;
    boots.failures += 1;
    boots.failedMs = this.#clock.monotonicMs();
    boots.failedAt = this.#clock.now();
    if (boots.failures === 1) this.#log.warn({ error, kind }, 'a machine did not start');
    else this.#log.debug({ error, kind, failures: boots.failures }, 'a machine did not start again');
  }

  failures(kind: VmKind): number {
    return this.#boots[kind].failures;
  }

  /** null where the last one went well. */
  failedAt(kind: VmKind): Date | null {
    const { failures, failedAt } = this.#boots[kind];
    return failures === 0 ? null : failedAt;
  }

  /** Whether it is too early to try again what nobody waits for: after each failure twice as long, up to a minute. */
  isBackingOff(kind: VmKind): boolean {
    const { failures, failedMs } = this.#boots[kind];
    if (failures === 0) return false;
    const pauseMs = Math.min(backoffMsMin * 2 ** (failures - 1), backoffMsMax);
    return this.#clock.monotonicMs() - failedMs < pauseMs;
  }

  /** Kinds whose machines fail to start, one after another and lately. */
  failing(): VmKind[] {
    const sinceMs = this.#clock.monotonicMs() - failingMsMax;
    return this.#each().flatMap(([kind, { failures, failedMs }]) =>
      failures >= failuresBeforeFailing && failedMs >= sinceMs ? [kind] : [],
    );
  }

  boots(): { kind: VmKind; byWay: Readonly<Record<BootWay, number>>; failed: number }[] {
    return this.#each().map(([kind, { byWay, failed }]) => ({ kind, byWay, failed }));
  }

  #each(): [VmKind, Boots][] {
    return Object.entries(this.#boots) as [VmKind, Boots][];
  }
}

const noBoots = (): Boots => ({ byWay: { process: 0, clone: 0, cold: 0 }, failed: 0, failures: 0, failedMs: 0, failedAt: null });
