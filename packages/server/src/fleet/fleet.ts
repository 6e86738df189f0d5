/** The machines of this worker: a warm pool, those in use, and the loops that keep what is like what should be. */
import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError, type PoolKind } from '@berth/contract';
import { newId } from '../lib/ids.ts';
import { Loop } from '../lib/loop.ts';
import { orAbort } from '../lib/or-abort.ts';
import { processorsHere, type BootWay, type Runtime, type VmKind } from '../runtime/runtime.ts';
import { BootQueue } from './boot-queue.ts';
import { bootMachine, endMachine } from './boot.ts';
import { readFacts, type FleetFacts } from './facts.ts';
import { readInventory, type Inventory } from './inventory.ts';
import { lossOf, type Machine, type MachineLoss, type MachineState } from './machine.ts';
import { MachineBytes } from './machine-bytes.ts';
import { MemoryReadings } from './memory.ts';
import { Pressure } from './pressure.ts';
import { reapStrays } from './reap.ts';
import { FleetRecord } from './record.ts';
import { Refill } from './refill.ts';
import { isOutdated, type Berth, type FleetDeps, type Roster } from './roster.ts';
import { beat, forgetWorker, moveMachine, silentWorkers } from './store.ts';
import { Targets, silentSecondsMax } from './targets.ts';

export type { Machine, MachineLoss } from './machine.ts';
export type { FleetDeps } from './roster.ts';
export type { FleetFacts } from './facts.ts';

/** More boots at once than processors only make each other slow; a few overlap, because a boot waits as well. */
const bootsAtOnce = Math.max(4, Math.min(16, Math.floor(processorsHere())));
const bootsWaitingMax = 200;
const bootWaitMsMax = 60_000;
/** Between a browser's last word and its exit lie milliseconds. */
const exitMsMax = 500;
/** Machines that do not tell what they take must not keep the others from being asked whether they live. */
const learnMsMax = 2000;

export class Fleet implements Roster {
  readonly deps: FleetDeps;
  readonly berths = new Map<string, Berth>();
  readonly targets: Targets;
  readonly record: FleetRecord;
  readonly pressure: Pressure;
  readonly refill: Loop;
  readonly reaper: Loop;
  readonly heartbeat: Loop;
  readonly pings: Loop;
  readonly #memory: MemoryReadings;
  readonly #machineBytes: MachineBytes;
  readonly #queue: BootQueue;
  readonly #pool: Refill;
  /** Machines whose browser has been asked whether it lives and has not answered yet. */
  readonly #asked = new Set<string>();
  #lostListeners: ((sessionId: string, loss: MachineLoss) => void)[] = [];
  #startedAt: Date;
  #url = '';
  #stopping = false;

  constructor(deps: FleetDeps) {
    const { clock, runtime, memoryFreeBytesMin: freeBytesMin } = deps;
    this.deps = deps;
    this.#startedAt = clock.now();
    this.targets = new Targets(deps);
    this.record = new FleetRecord(deps);
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
    this.#pool = new Refill(this);
    this.refill = this.#pool.loop;
    this.reaper = new Loop('reaper', 10_000, () => reapStrays(this));
    this.pings = new Loop('browser-pings', 10_000, (signal) => this.#ping(signal));
    this.heartbeat = new Loop('heartbeat', 5000, () => this.#beat());
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Sessions that wait for a machine to be started. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Where other workers find this one. */
  announce(url: string): void {
    this.#url = url;
    this.heartbeat.nudge();
  }

  /**
   * A machine for a session: the one of the pool that has been quiet longest,
   * else one that is started now, in the owner's turn. Throws ServiceError no_capacity.
   */
  async lease(
    sessionId: string,
    kind: VmKind,
    { owner, signal }: { owner: string; signal: AbortSignal },
  ): Promise<{ machine: Machine; warm: boolean }> {
    const machine = await this.#claimWarm(sessionId, kind);
    if (machine) return { machine, warm: true };
    return this.#queue.run(owner, signal, async () => {
      // One may have become ready meanwhile.
      const ready = await this.#claimWarm(sessionId, kind);
      return ready ? { machine: ready, warm: true } : { machine: await this.boot(kind, sessionId, signal), warm: false };
    });
  }

  /** Changes how many machines the region keeps warm: for good, and at once. */
  async resize(order: { kind: PoolKind; target: number; actor: string }): Promise<void> {
    await this.targets.set(order);
    void this.#pool.shrink();
    this.refill.nudge();
  }

  /** All machines of the region. */
  inventory(): Promise<Inventory> {
    return readInventory(this, this.#memory);
  }

  /** Of this worker, for those who watch it. */
  facts(): FleetFacts {
    return readFacts(this);
  }

  /** Ends a machine for good. Resolves when nothing of it is left. Idempotent: all who ask share one end. */
  release(machineId: string): Promise<void> {
    const berth = this.berths.get(machineId);
    if (!berth?.machine) return Promise.resolve();
    berth.releasing ??= this.#release(berth, berth.machine);
    return berth.releasing;
  }

  async #release(berth: Berth, machine: Machine): Promise<void> {
    berth.state = 'draining';
    try {
      await endMachine(this.deps, machine);
    } catch (error) {
      // The reaper takes it from here: what no berth claims and is still on the host is a stray.
      this.deps.log.error({ error, vm: machine.id }, 'a machine did not end cleanly');
      this.reaper.nudge();
    }
    this.berths.delete(machine.id);
    this.refill.nudge();
  }

  /** Whether a session's machine is still there and well. */
  holds(machineId: string): boolean {
    return this.berths.get(machineId)?.state === 'assigned';
  }

  /** Told when a machine in use is lost, whatever the cause. */
  onLost(listener: (sessionId: string, loss: MachineLoss) => void): void {
    this.#lostListeners.push(listener);
  }

  async boot(kind: VmKind, sessionId: string | null, signal: AbortSignal): Promise<Machine> {
    const { runtime, clock } = this.deps;
    const id = newId('vm');
    const generation = runtime.generation(kind);
    const berth: Berth = {
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
    this.berths.set(id, berth);
    try {
      const machine = await bootMachine(this.deps, berth, AbortSignal.any([signal, AbortSignal.timeout(runtime.bootMsMax)]));
      berth.machine = machine;
      this.#watch(machine);
      await this.#settle(berth);
      this.record.booted(kind, wayOf(runtime, kind));
      return machine;
    } catch (error) {
      // Neither who gave up nor a store that is away says anything of machines.
      if (!signal.aborted && !(error instanceof ServiceError)) this.record.failed(kind, error);
      await this.release(id);
      this.berths.delete(id);
      throw error;
    }
  }

  /** Only what is written down as ready may be claimed: the claim is a move of what is written. */
  async #settle(berth: Berth): Promise<void> {
    const to = berth.sessionId === null ? 'ready' : 'assigned';
    const moved = await moveMachine(this.deps.store, berth.id, { from: ['warming'], to, readyAt: this.deps.clock.now() });
    if (!moved || berth.state !== 'warming') throw new Error(`machine ${berth.id} was lost while it became ready`);
    berth.state = to;
  }

  count(state: MachineState, kind?: VmKind): number {
    let count = 0;
    for (const berth of this.berths.values()) if (berth.state === state && (kind === undefined || berth.kind === kind)) count += 1;
    return count;
  }

  /** Workers whose sessions nobody holds any more. */
  async silentWorkers(): Promise<string[]> {
    const silent = await silentWorkers(this.deps.store, silentSecondsMax);
    return silent.filter((workerId) => workerId !== this.deps.workerId);
  }

  start(): void {
    this.reaper.start();
    this.heartbeat.start();
    this.pings.start();
    this.refill.start();
  }

  /** Ends every machine: those in use too. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([this.refill.stop(), this.reaper.stop(), this.heartbeat.stop(), this.pings.stop()]);
    await Promise.all([...this.berths.keys()].map((id) => this.release(id)));
    await forgetWorker(this.deps.store, this.deps.workerId);
  }

  async #claimWarm(sessionId: string, kind: VmKind): Promise<Machine | null> {
    for (let berth = this.#best(kind); berth; berth = this.#best(kind)) {
      const machine = await this.#claim(berth, sessionId);
      this.refill.nudge();
      if (machine) return machine;
    }
    return null;
  }

  /** What new machines are made of rather than what they were; of those the one that has been quiet longest. */
  #best(kind: VmKind): Berth | undefined {
    let best: Berth | undefined;
    for (const berth of this.berths.values())
      if (berth.state === 'ready' && berth.kind === kind && (!best || this.#isBetter(berth, best))) best = berth;
    return best;
  }

  #isBetter(berth: Berth, than: Berth): boolean {
    const [mine, other] = [isOutdated(this, berth), isOutdated(this, than)];
    return mine === other ? (berth.machine?.readyMs ?? 0) < (than.machine?.readyMs ?? 0) : other;
  }

  async #claim(berth: Berth, sessionId: string): Promise<Machine | null> {
    berth.state = 'assigned';
    berth.sessionId = sessionId;
    const moved = await moveMachine(this.deps.store, berth.id, { from: ['ready'], to: 'assigned', sessionId }).catch(
      async (error: unknown) => {
        // What is written of it is anybody's guess.
        await this.release(berth.id);
        throw error;
      },
    );
    if (moved && berth.machine) {
      berth.machine.vm.prioritize();
      return berth.machine;
    }
    this.deps.log.warn({ vm: berth.id }, 'a pool machine had no anchor and was thrown away');
    await this.release(berth.id);
    return null;
  }

  #watch(machine: Machine): void {
    const lost = (loss: MachineLoss) => {
      const berth = this.berths.get(machine.id);
      if (!berth || berth.state === 'draining') return;
      this.deps.log.warn({ vm: machine.id, session: berth.sessionId, loss }, 'a machine was lost');
      const { sessionId } = berth;
      if (sessionId === null) {
        this.record.retired.lost += 1;
        return void this.release(machine.id);
      }
      for (const listener of this.#lostListeners) listener(sessionId, loss);
    };
    const { vm, browser } = machine;
    void vm.exited.then((exit) => lost(lossOf(exit, vm.isolation)));
    void browser.gone.then(async (how) => {
      // A pipe that closes is the first sign of an exit, which knows more: want of memory, for one.
      if (how === 'closed') await Promise.race([vm.exited, wait(exitMsMax * this.deps.runtime.slowness, undefined, { ref: false })]);
      lost({ how: how === 'unresponsive' ? 'unresponsive' : 'browser_gone', detail: `DevTools: ${how}` });
    });
  }

  /** A browser that is frozen says nothing: it has to be asked. The answer, or its absence, settles `browser.gone`. */
  async #ping(signal: AbortSignal): Promise<void> {
    const machines = [...this.berths.values()].flatMap(({ machine, state }) => (machine && state !== 'draining' ? [machine] : []));
    for (const { id, browser } of machines) {
      // One that is frozen must not keep the others from being asked again.
      if (this.#asked.has(id)) continue;
      this.#asked.add(id);
      const answered = browser.ping({ signal }).catch(() => undefined);
      void answered.finally(() => this.#asked.delete(id));
    }
    const learnt = this.#machineBytes.learn(machines.map(({ vm }) => vm));
    await orAbort(learnt, AbortSignal.any([signal, AbortSignal.timeout(learnMsMax)])).catch(() => undefined);
  }

  async #beat(): Promise<void> {
    const { store, workerId, region } = this.deps;
    await beat(store, { workerId, region, url: this.#url, startedAt: this.#startedAt });
    // The refill may be at a long start, which nobody wants any more.
    await this.targets.refresh();
    void this.#pool.shrink();
  }
}

const wayOf = (runtime: Runtime, kind: VmKind): BootWay => runtime.templates().find((template) => template.kind === kind)?.way ?? 'process';
