import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, poolKinds, type PoolKind } from '@berth/contract';
import { Loop } from '@berth/lib/loop.ts';
import { idleAgeMsMax } from './machine.ts';
import { isOutdated, type VmSlot, type FleetContext } from './slots.ts';
import { markOutdated } from './store.ts';

const everyMs = 1000;
/** Share of idle processor time below which the pool leaves the processors to sessions. */
const idleShareMin = 0.5;
const sampleMs = 150;
/** The pool grows by one after this long even on a busy host, so that a steady load cannot empty it for good. */
const deferMsMax = 10_000;
/** An empty pool grows by one after this long: the next session would start its machine itself, and wait for it. */
const emptyDeferMsMax = 2000;
const retirementPriority = { outdated: 0, old: 1, surplus: 2 };

/**
 * Maintains this worker's share of the warm pool.
 *
 * An old or outdated machine counts as missing but can still be claimed; once
 * its replacement is ready it is the first to be ended. So the pool is renewed
 * one machine at a time, is never empty meanwhile, and stays as it is when
 * boots fail.
 */
export class PoolRefill {
  readonly loop: Loop;
  readonly #fleet: FleetContext;
  /** The boot in progress; the pool boots one machine at a time. */
  #booting: { kind: PoolKind; abort: AbortController } | null = null;

  constructor(fleet: FleetContext) {
    this.#fleet = fleet;
    this.loop = new Loop('pool-refill', everyMs, (signal) => this.#turn(signal), { isEssential: true });
  }

  /**
   * Ends surplus machines, and aborts a boot that the target no longer needs.
   * They leave the pool synchronously, so that none can be claimed while it
   * ends. Resolves when they are released.
   */
  async shrink(): Promise<void> {
    if (this.#booting && !this.#isBelowTarget(this.#booting.kind)) this.#booting.abort.abort();
    const surplus = poolKinds.flatMap((kind) => this.#surplus(kind));
    for (const { reason } of surplus) this.#fleet.history.retired[reason] += 1;
    await Promise.all(surplus.map(({ slot }) => this.#fleet.release(slot.id)));
  }

  async #turn(signal: AbortSignal): Promise<void> {
    if (this.#fleet.stopping) return;
    await this.#fleet.targets.refresh();
    await this.#writeOutdated();
    await this.shrink();
    if (!this.#canGrow() || !(await this.#hostIsCalm(signal))) return;
    // The state may have changed during the wait.
    const kind = this.#next();
    if (!kind || !this.#canGrow() || signal.aborted) return;
    await this.#boot(kind, signal);
    await this.shrink();
    if (this.#next()) this.loop.nudge();
  }

  /** Boot failures are recorded by the fleet. */
  async #boot(kind: PoolKind, signal: AbortSignal): Promise<void> {
    const abort = new AbortController();
    this.#booting = { kind, abort };
    const reservation = this.#fleet.pressure.reserve();
    try {
      await this.#fleet.boot(kind, null, AbortSignal.any([signal, abort.signal]));
      reservation.started();
    } catch (error) {
      reservation.failed();
      if (error instanceof ServiceError && !abort.signal.aborted) throw error;
    } finally {
      this.#booting = null;
    }
  }

  /** The kind that is furthest below its target. */
  #next(): PoolKind | undefined {
    const { deps, history, targets } = this.#fleet;
    const fullness = (kind: PoolKind): number => this.#fresh(kind) / targets.share(kind);
    return poolKinds
      .filter((kind) => deps.runtime.kinds.includes(kind) && this.#isBelowTarget(kind) && !history.isBackingOff(kind))
      .toSorted((one, other) => fullness(one) - fullness(other))[0];
  }

  /** Waits until sessions leave the processors idle: true at once when none runs, starts or ends, false when no machine is missing. */
  async #hostIsCalm(signal: AbortSignal): Promise<boolean> {
    const { deps, pressure, slots } = this.#fleet;
    const since = deps.clock.monotonicMs();
    for (let kind = this.#next(); kind; kind = this.#next()) {
      if (![...slots.values()].some(({ sessionId, state }) => sessionId !== null || state === 'draining')) return true;
      const msMax = this.#ready(kind).length === 0 ? emptyDeferMsMax : deferMsMax;
      if (deps.clock.monotonicMs() - since > msMax) return true;
      if ((await idleShare(signal)) >= idleShareMin && !pressure.read().processorsBusy) return true;
      if (signal.aborted) return false;
    }
    return false;
  }

  #isBelowTarget(kind: PoolKind): boolean {
    return this.#fresh(kind) < this.#fleet.targets.share(kind);
  }

  #canGrow(): boolean {
    const { stopping, waiting, pressure } = this.#fleet;
    return !stopping && waiting === 0 && pressure.read().admitting;
  }

  #fresh(kind: PoolKind): number {
    return this.#ready(kind).filter((slot) => this.#staleness(slot) === null).length;
  }

  #ready(kind: PoolKind): VmSlot[] {
    return [...this.#fleet.slots.values()].filter((slot) => slot.kind === kind && slot.state === 'ready');
  }

  #staleness(slot: VmSlot): 'outdated' | 'old' | null {
    if (isOutdated(this.#fleet.deps, slot)) return 'outdated';
    const idleMs = slot.machine ? this.#fleet.deps.clock.monotonicMs() - slot.machine.readyMs : 0;
    return idleMs > idleAgeMsMax ? 'old' : null;
  }

  /** Stale machines first, then the longest idle. */
  #surplus(kind: PoolKind): { slot: VmSlot; reason: keyof typeof retirementPriority }[] {
    const ready = this.#ready(kind).map((slot) => ({ slot, reason: this.#staleness(slot) ?? ('surplus' as const) }));
    const tooMany = ready.length - this.#fleet.targets.share(kind);
    if (tooMany <= 0) return [];
    const sinceMs = ({ machine }: VmSlot): number => machine?.readyMs ?? 0;
    return ready
      .toSorted(
        (one, other) => retirementPriority[one.reason] - retirementPriority[other.reason] || sinceMs(one.slot) - sinceMs(other.slot),
      )
      .slice(0, tooMany);
  }

  /** Stores the flag for the inventories of other workers. */
  async #writeOutdated(): Promise<void> {
    const changed = [...this.#fleet.slots.values()].filter((slot) => slot.machine && isOutdated(this.#fleet.deps, slot) !== slot.outdated);
    for (const outdated of [true, false]) {
      const toWrite = changed.filter((slot) => slot.outdated !== outdated);
      await markOutdated(
        this.#fleet.deps.store,
        toWrite.map(({ id }) => id),
        outdated,
      );
      for (const slot of toWrite) slot.outdated = outdated;
    }
  }
}

async function idleShare(signal: AbortSignal): Promise<number> {
  const before = processorTimes();
  await sleep(sampleMs, undefined, { signal, ref: false }).catch(() => undefined);
  const after = processorTimes();
  const total = after.total - before.total;
  return total > 0 ? (after.idle - before.idle) / total : 1;
}

function processorTimes(): { idle: number; total: number } {
  let idle = 0;
  let total = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    total += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  return { idle, total };
}
