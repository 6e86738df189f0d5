/** The machines of this worker: the warm pool, the assigned machines, and the loops that reconcile both with their targets. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, type PoolKind } from '@berth/contract';
import { Deadline, orAfter } from '@berth/lib/deadline.ts';
import { systemClock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import { Loop } from '@berth/lib/loop.ts';
import { orAbort } from '@berth/lib/or-abort.ts';
import { traced } from '@berth/lib/tracing.ts';
import { processorsHere, type BootMethod, type Runtime, type VmKind } from '@berth/machines';
import { BootQueue } from './boot-queue.ts';
import { bootMachine, endMachine, toMachineLoss, type Machine, type MachineLoss, reapOrphans } from './machine.ts';
import { type MachineState, listPeers, lostWorkers, moveMachine, type HeartbeatReply } from './store.ts';
import { readStats, type FleetStats, readInventory, readSummary, type FleetSummary, type Inventory } from './inventory.ts';
import { MachineBytes, MemoryReadings } from './memory.ts';
import { Pressure } from './pressure.ts';
import { FleetHistory } from './history.ts';
import { Heartbeat } from './lease/heartbeat.ts';
import { PoolRefill } from './refill.ts';
import { isOutdated, type VmSlot, type FleetDeps, type FleetContext } from './slots.ts';
import { Lease, leaseTiming } from './lease/lease.ts';
import { Targets } from './targets.ts';

export { DuplicateWorkerError } from './lease/lease.ts';
export type { Machine, MachineLoss } from './machine.ts';
export type { FleetDeps } from './slots.ts';
export type { FleetStats, FleetSummary } from './inventory.ts';
export type { HeartbeatReply } from './store.ts';
export { silentSecondsMax } from './targets.ts';

/** More boots than processors slow each other down; at least a few overlap, because a boot also waits for I/O. */
const bootsAtOnce = Math.max(4, Math.min(16, Math.floor(processorsHere())));
const bootsWaitingMax = 200;
const bootWaitMsMax = 60_000;
/** A browser's exit follows its last message within milliseconds. */
const exitMsMax = 500;
/** Machines with slow memory readings must not delay the next pings. */
const learnMsMax = 2000;

export class Fleet implements FleetContext {
  readonly deps: FleetDeps;
  readonly slots = new Map<string, VmSlot>();
  readonly targets: Targets;
  readonly history: FleetHistory;
  readonly pressure: Pressure;
  readonly refill: Loop;
  readonly reaper: Loop;
  readonly #heartbeat: Heartbeat;
  readonly lease: Lease;
  /** Re-reads the targets and who shares them. */
  readonly sharing: Loop;
  readonly pings: Loop;
  readonly #memory: MemoryReadings;
  readonly #machineBytes: MachineBytes;
  readonly #queue: BootQueue;
  readonly #pool: PoolRefill;
  /** Machines whose browser has not answered its last ping yet. */
  readonly #pinging = new Set<string>();
  #lostListeners: ((sessionId: string, loss: MachineLoss) => void)[] = [];
  #stopping = false;
  /** Aborted when the lease is lost, and then replaced. */
  #fence = new AbortController();

  constructor(deps: FleetDeps) {
    const { clock, runtime, memoryFreeBytesMin: freeBytesMin } = deps;
    this.deps = deps;
    this.targets = new Targets({ ...deps, takesWork: () => this.lastHeartbeat.state === 'active' });
    this.history = new FleetHistory(deps);
    this.#memory = new MemoryReadings(clock);
    this.#machineBytes = new MachineBytes(runtime.isolation);
    this.pressure = new Pressure({
      freeBytesMin,
      machineBytes: () => this.#machineBytes.expected,
      clock,
      ...(deps.hostReader ? { read: deps.hostReader } : {}),
    });
    this.#queue = new BootQueue({
      width: bootsAtOnce,
      waitingMax: bootsWaitingMax,
      waitMsMax: Math.max(bootWaitMsMax, runtime.bootMsMax),
      pressure: this.pressure,
      clock,
    });
    this.#pool = new PoolRefill(this);
    this.refill = this.#pool.loop;
    this.reaper = new Loop('reaper', 10_000, () => reapOrphans(deps, this.slots), { isEssential: true });
    this.pings = new Loop('browser-pings', 10_000, (signal) => this.#ping(signal));
    this.#heartbeat = new Heartbeat(this);
    this.sharing = new Loop('pool-targets', 5000, () => this.#shareTargets());
    this.lease = new Lease({
      ...deps,
      ...deps.lease,
      // A clock that jumps, or that a test moves, ends no browser.
      clock: systemClock,
      timing: leaseTiming(deps.lease.ms),
      describe: () => this.#heartbeat.report(),
      onReply: (reply) => this.#heartbeat.accept(reply),
    });
    this.lease.onFenced(() => this.#endMachines());
  }

  get heartbeat(): Loop {
    return this.lease.heartbeat;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Sessions waiting in the boot queue. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Sets the URL at which clients reach this worker, and the address of its internal listener, if it has one. */
  announce(url: string, fleetAddress: string | null = null): void {
    this.#heartbeat.announce(url, fleetAddress);
    this.lease.heartbeat.nudge();
  }

  /** Reports to the others that this worker stops: they place nothing on it any more. */
  announceStop(): void {
    this.#heartbeat.announceStop();
    this.lease.heartbeat.nudge();
  }

  /** The operator's decision about this worker, and whether there are others, as of the last heartbeat. */
  get lastHeartbeat(): HeartbeatReply {
    return this.#heartbeat.last;
  }

  /**
   * A machine for a session: the longest idle one of the pool, else a new one
   * that is booted in the owner's turn.
   * @throws ServiceError no_capacity
   */
  acquire(sessionId: string, kind: VmKind, options: { owner: string; signal: AbortSignal }): Promise<{ machine: Machine; warm: boolean }> {
    return traced('acquire', { 'berth.session_id': sessionId, 'berth.machine.kind': kind }, async (span) => {
      const acquired = await this.#acquire(sessionId, kind, options);
      span.set({ 'berth.machine.id': acquired.machine.id, 'berth.machine.source': acquired.warm ? 'pool' : 'boot' });
      return acquired;
    });
  }

  async #acquire(
    sessionId: string,
    kind: VmKind,
    { owner, signal }: { owner: string; signal: AbortSignal },
  ): Promise<{ machine: Machine; warm: boolean }> {
    const startMs = this.deps.clock.monotonicMs();
    const sinceStart = (): number => this.deps.clock.monotonicMs() - startMs;
    let queuedMs: number | null = null;
    let machine = await this.#claimWarm(sessionId, kind);
    let warm = machine !== null;
    machine ??= await this.#queue.run(owner, signal, async () => {
      queuedMs = sinceStart();
      // A pool machine may have become ready meanwhile.
      const ready = await this.#claimWarm(sessionId, kind);
      warm = ready !== null;
      return ready ?? this.boot(kind, sessionId, signal);
    });
    this.history.onAcquired({ kind, warm, ms: sinceStart(), queuedMs });
    return { machine, warm };
  }

  /** Calls the listeners for each machine that starts, and for each that a session gets. */
  observe({ onBooted, onAcquired }: Pick<FleetHistory, 'onBooted' | 'onAcquired'>): void {
    this.history.onBooted = onBooted;
    this.history.onAcquired = onAcquired;
  }

  /** Stores how many machines the region keeps warm, and applies it at once. */
  async resize(change: { kind: PoolKind; target: number; actor: string }): Promise<void> {
    await this.targets.set(change);
    void this.#pool.shrink();
    this.refill.nudge();
  }

  /** Lists all machines of the region. */
  inventory(): Promise<Inventory> {
    return readInventory(this, this.#memory);
  }

  /** Counts workers and machines, and reads no machine. @throws ServiceError store_unavailable */
  summary(): Promise<FleetSummary> {
    return readSummary(this);
  }

  stats(): FleetStats {
    return readStats(this);
  }

  /** Ends a machine. Resolves when it is released completely. Idempotent: all callers share one release. */
  release(machineId: string): Promise<void> {
    const slot = this.slots.get(machineId);
    if (!slot?.machine) return Promise.resolve();
    slot.releasing ??= this.#release(slot, slot.machine);
    return slot.releasing;
  }

  async #release(slot: VmSlot, machine: Machine): Promise<void> {
    slot.state = 'draining';
    try {
      await endMachine(this.deps, machine);
    } catch (error) {
      // The reaper finishes it: a machine on the host without a slot is an orphan.
      this.deps.log.error({ err: error, vm: machine.id }, 'machine release failed');
      this.reaper.nudge();
    }
    this.slots.delete(machine.id);
    this.refill.nudge();
  }

  /** Whether the machine is assigned to a session and not lost. */
  holds(machineId: string): boolean {
    this.lease.check();
    return this.slots.get(machineId)?.state === 'assigned';
  }

  /** Called when an assigned machine is lost. */
  onLost(listener: (sessionId: string, loss: MachineLoss) => void): void {
    this.#lostListeners.push(listener);
  }

  async boot(kind: VmKind, sessionId: string | null, signal: AbortSignal): Promise<Machine> {
    this.lease.assertHeld();
    const fence = this.#fence;
    const { runtime, clock } = this.deps;
    const id = newId('vm');
    const generation = runtime.generation(kind);
    const startMs = clock.monotonicMs();
    const slot: VmSlot = {
      id,
      kind,
      state: 'warming',
      createdAt: clock.now(),
      generation,
      machine: null,
      sessionId,
      outdated: false,
      releasing: null,
    };
    this.slots.set(id, slot);
    try {
      const attributes = { 'berth.machine.id': id, 'berth.machine.kind': kind, 'berth.machine.method': bootMethodOf(runtime, kind) };
      const within = { signal: AbortSignal.any([signal, fence.signal]), timeoutMs: runtime.bootMsMax };
      // What comes first after a freeze may be a message, and not the timer that looks at the clock.
      const options = { ...slot, beforeMessage: () => this.lease.check() };
      const machine = await traced('boot', attributes, () => Deadline.run(within, (by) => bootMachine(this.deps, options, by.signal)));
      slot.machine = machine;
      this.#watch(machine);
      await this.#markReady(slot);
      this.history.recordBoot({ kind, method: bootMethodOf(runtime, kind), ms: clock.monotonicMs() - startMs });
      return machine;
    } catch (error) {
      // An abort or an unavailable store is no boot failure.
      if (!signal.aborted && !fence.signal.aborted && !(error instanceof ServiceError))
        this.history.recordFailure(kind, error, { forPool: sessionId === null });
      await this.release(id);
      this.slots.delete(id);
      throw error;
    }
  }

  /** Stores the machine as ready; only stored machines can be claimed. */
  async #markReady(slot: VmSlot): Promise<void> {
    const to = slot.sessionId === null ? 'ready' : 'assigned';
    const moved = await moveMachine(this.deps.store, slot.id, { from: ['warming'], to, readyAt: this.deps.clock.now() });
    if (!moved || slot.state !== 'warming') throw new Error(`machine ${slot.id} was lost while it became ready`);
    slot.state = to;
  }

  count(state: MachineState, kind?: VmKind): number {
    let count = 0;
    for (const slot of this.slots.values()) if (slot.state === state && (kind === undefined || slot.kind === kind)) count += 1;
    return count;
  }

  /** Other workers whose lease was taken. */
  async silentWorkers(): Promise<string[]> {
    const lost = await lostWorkers(this.deps.store);
    return lost.filter((workerId) => workerId !== this.deps.workerId);
  }

  /** The other workers that have an internal listener. @throws ServiceError store_unavailable */
  peers(): Promise<{ workerId: string; address: string; isSilent: boolean }[]> {
    return listPeers(this.deps.store, this.deps.workerId);
  }

  start(): void {
    this.reaper.start();
    this.lease.start();
    this.sharing.start();
    this.pings.start();
    this.refill.start();
  }

  /** Ends every machine, also assigned ones. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([this.refill.stop(), this.reaper.stop(), this.sharing.stop(), this.pings.stop()]);
    await Promise.all([...this.slots.keys()].map((id) => this.release(id)));
    await this.lease.stop();
  }

  /** The lease is lost: every machine is killed in this turn of the event loop, before any I/O is passed on. */
  async #endMachines(): Promise<void> {
    this.#fence.abort(new Error('this worker lost its lease'));
    this.#fence = new AbortController();
    await Promise.all([...this.slots.keys()].map((id) => this.release(id)));
    this.reaper.nudge();
  }

  async #claimWarm(sessionId: string, kind: VmKind): Promise<Machine | null> {
    for (let slot = this.#best(kind); slot; slot = this.#best(kind)) {
      const machine = await this.#claim(slot, sessionId);
      this.refill.nudge();
      if (machine) return machine;
    }
    return null;
  }

  /** Prefers machines that are not outdated, then the longest idle. */
  #best(kind: VmKind): VmSlot | undefined {
    let best: VmSlot | undefined;
    for (const slot of this.slots.values())
      if (slot.state === 'ready' && slot.kind === kind && (!best || this.#isBetter(slot, best))) best = slot;
    return best;
  }

  #isBetter(slot: VmSlot, than: VmSlot): boolean {
    const [mine, other] = [isOutdated(this.deps, slot), isOutdated(this.deps, than)];
    return mine === other ? (slot.machine?.readyMs ?? 0) < (than.machine?.readyMs ?? 0) : other;
  }

  async #claim(slot: VmSlot, sessionId: string): Promise<Machine | null> {
    slot.state = 'assigned';
    slot.sessionId = sessionId;
    const moved = await moveMachine(this.deps.store, slot.id, { from: ['ready'], to: 'assigned', sessionId }).catch(
      async (error: unknown) => {
        // The stored state is unknown.
        await this.release(slot.id);
        throw error;
      },
    );
    if (moved && slot.machine) {
      slot.machine.vm.prioritize();
      return slot.machine;
    }
    this.deps.log.warn({ vm: slot.id }, 'pool machine without a row released');
    await this.release(slot.id);
    return null;
  }

  #watch(machine: Machine): void {
    const lost = (loss: MachineLoss) => {
      const slot = this.slots.get(machine.id);
      if (!slot || slot.state === 'draining') return;
      this.deps.log.warn({ vm: machine.id, session_id: slot.sessionId, loss }, 'machine lost');
      const { sessionId } = slot;
      if (sessionId === null) {
        this.history.retired.lost += 1;
        return void this.release(machine.id);
      }
      for (const listener of this.#lostListeners) listener(sessionId, loss);
    };
    const { vm, browser } = machine;
    void vm.exited.then((exit) => lost(toMachineLoss(exit, vm.isolation)));
    void browser.closed.then(async (closeReason) => {
      // A closed pipe is the first sign of an exit, whose reason is more specific, such as out of memory.
      if (closeReason === 'closed')
        await Promise.race([vm.exited, sleep(exitMsMax * this.deps.runtime.slowdown, undefined, { ref: false })]);
      lost({ reason: closeReason === 'unresponsive' ? 'unresponsive' : 'browser_exited', detail: `DevTools: ${closeReason}` });
    });
  }

  /** Pings all browsers. A frozen browser does not answer, and is then closed as `unresponsive`. */
  async #ping(signal: AbortSignal): Promise<void> {
    const machines = [...this.slots.values()].flatMap(({ machine, state }) => (machine && state !== 'draining' ? [machine] : []));
    for (const { id, browser } of machines) {
      // A frozen browser must not delay the pings of the others.
      if (this.#pinging.has(id)) continue;
      this.#pinging.add(id);
      const answered = browser.ping({ signal }).catch(() => undefined);
      void answered.finally(() => this.#pinging.delete(id));
    }
    const learned = this.#machineBytes.learn(machines.map(({ vm }) => vm));
    await orAfter(orAbort(learned, signal), learnMsMax).catch(() => undefined);
  }

  async #shareTargets(): Promise<void> {
    // The refill may be in a long boot that the target no longer needs.
    await this.targets.refresh();
    void this.#pool.shrink();
  }
}

const bootMethodOf = (runtime: Runtime, kind: VmKind): BootMethod =>
  runtime.templates().find((template) => template.kind === kind)?.method ?? 'process';
