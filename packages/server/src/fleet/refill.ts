import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError, poolKinds, type PoolKind } from '@berth/contract';
import { Loop } from '../lib/loop.ts';
import { idleAgeMsMax } from './machine.ts';
import { isOutdated, type Berth, type Roster } from './roster.ts';
import { markOutdated } from './store.ts';

const everyMs = 1000;
/** Below this share of idle processor the machines in use need it more than the pool does. */
const idleShareMin = 0.5;
const sampleMs = 150;
/** However busy the host is, the pool grows by one after this long: or a steady load would empty it for good. */
const deferMsMax = 10_000;
const leavingOrder = { outdated: 0, old: 1, surplus: 2 };

/**
 * Keeps this worker's part of the warm pool.
 *
 * A machine that is too old, or made of what new ones are not made of any
 * more, counts as missing and is still handed out: when a new one stands
 * beside it, it is the first that is too much. So the pool is renewed one by
 * one, is never empty meanwhile, and stays as it is where no new one starts.
 */
export class Refill {
  readonly loop: Loop;
  readonly #fleet: Roster;
  /** The one boot under way: a pool that fills all at once is of no use to anyone while it does. */
  #booting: { kind: PoolKind; abort: AbortController } | null = null;

  constructor(fleet: Roster) {
    this.#fleet = fleet;
    this.loop = new Loop('pool-refill', everyMs, (signal) => this.#turn(signal));
  }

  /**
   * Ends what is too much, and gives up a boot that is not wanted any more.
   * All of them leave the pool in this very moment: nobody can be given one
   * that is about to end. Resolves when they are gone.
   */
  async shrink(): Promise<void> {
    if (this.#booting && !this.#lacks(this.#booting.kind)) this.#booting.abort.abort();
    const surplus = poolKinds.flatMap((kind) => this.#surplus(kind));
    for (const { why } of surplus) this.#fleet.record.retired[why] += 1;
    await Promise.all(surplus.map(({ berth }) => this.#fleet.release(berth.id)));
  }

  async #turn(signal: AbortSignal): Promise<void> {
    if (this.#fleet.stopping) return;
    await this.#fleet.targets.refresh();
    await this.#tellOutdated();
    await this.shrink();
    if (!this.#next() || !this.#mayGrow() || !(await hostIsCalm(this.#fleet, signal))) return;
    // Some time has passed.
    const kind = this.#next();
    if (!kind || !this.#mayGrow() || signal.aborted) return;
    await this.#boot(kind, signal);
    await this.shrink();
    if (this.#next()) this.loop.nudge();
  }

  /** How one fails is kept where all boots are: here nobody waits for it. */
  async #boot(kind: PoolKind, signal: AbortSignal): Promise<void> {
    const abort = new AbortController();
    this.#booting = { kind, abort };
    const promised = this.#fleet.pressure.promise();
    try {
      await this.#fleet.boot(kind, null, AbortSignal.any([signal, abort.signal]));
      promised.started();
    } catch (error) {
      promised.failed();
      if (error instanceof ServiceError && !abort.signal.aborted) throw error;
    } finally {
      this.#booting = null;
    }
  }

  /** The kind that lacks the most of what it should have. */
  #next(): PoolKind | undefined {
    const { record, targets } = this.#fleet;
    const fullness = (kind: PoolKind): number => this.#fresh(kind) / targets.share(kind);
    return poolKinds
      .filter((kind) => this.#lacks(kind) && !record.isBackingOff(kind))
      .toSorted((one, other) => fullness(one) - fullness(other))[0];
  }

  #lacks(kind: PoolKind): boolean {
    return this.#fresh(kind) < this.#fleet.targets.share(kind);
  }

  #mayGrow(): boolean {
    const { stopping, waiting, pressure } = this.#fleet;
    return !stopping && waiting === 0 && pressure.look().admitting;
  }

  #fresh(kind: PoolKind): number {
    return this.#ready(kind).filter((berth) => this.#staleness(berth) === null).length;
  }

  #ready(kind: PoolKind): Berth[] {
    return [...this.#fleet.berths.values()].filter((berth) => berth.kind === kind && berth.state === 'ready');
  }

  #staleness(berth: Berth): 'outdated' | 'old' | null {
    if (isOutdated(this.#fleet, berth)) return 'outdated';
    const idleMs = berth.machine ? this.#fleet.deps.clock.monotonicMs() - berth.machine.readyMs : 0;
    return idleMs > idleAgeMsMax ? 'old' : null;
  }

  /** What is stale goes first, and of the rest what would be so soonest. */
  #surplus(kind: PoolKind): { berth: Berth; why: keyof typeof leavingOrder }[] {
    const ready = this.#ready(kind).map((berth) => ({ berth, why: this.#staleness(berth) ?? ('surplus' as const) }));
    const tooMany = ready.length - this.#fleet.targets.share(kind);
    if (tooMany <= 0) return [];
    const sinceMs = ({ machine }: Berth): number => machine?.readyMs ?? 0;
    return ready
      .toSorted((one, other) => leavingOrder[one.why] - leavingOrder[other.why] || sinceMs(one.berth) - sinceMs(other.berth))
      .slice(0, tooMany);
  }

  /** For the other workers: their inventories are of what is written. */
  async #tellOutdated(): Promise<void> {
    const changed = [...this.#fleet.berths.values()].filter((berth) => berth.machine && isOutdated(this.#fleet, berth) !== berth.outdated);
    for (const outdated of [true, false]) {
      const told = changed.filter((berth) => berth.outdated !== outdated);
      await markOutdated(
        this.#fleet.deps.store,
        told.map(({ id }) => id),
        outdated,
      );
      for (const berth of told) berth.outdated = outdated;
    }
  }
}

/** Waits for a moment in which sessions leave the processor alone. True at once where none runs, starts or ends. */
async function hostIsCalm(fleet: Roster, signal: AbortSignal): Promise<boolean> {
  const { deps, pressure } = fleet;
  const { clock } = deps;
  const since = clock.monotonicMs();
  while ([...fleet.berths.values()].some(({ sessionId, state }) => sessionId !== null || state === 'draining')) {
    if (clock.monotonicMs() - since > deferMsMax) return true;
    if ((await idleShare(signal)) >= idleShareMin && !pressure.look().processorsBusy) return true;
    if (signal.aborted) return false;
  }
  return true;
}

async function idleShare(signal: AbortSignal): Promise<number> {
  const before = processorTimes();
  await wait(sampleMs, undefined, { signal, ref: false }).catch(() => undefined);
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
