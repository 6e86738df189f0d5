/** The machines of this worker: a warm pool, those in use, and the loops that keep what is like what should be. */
import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';
import { newId } from '../lib/ids.ts';
import { LaneFull, LaneTimeout, Lanes } from '../lib/lanes.ts';
import { Loop } from '../lib/loop.ts';
import type { VmKind } from '../runtime/runtime.ts';
import { bootMachine, endMachine } from './boot.ts';
import { lossOf, type Machine, type MachineLoss, type MachineState } from './machine.ts';
import { reapStrays } from './reap.ts';
import { refillPool } from './refill.ts';
import type { Berth, FleetDeps, Roster } from './roster.ts';
import { beat, forgetWorker, moveMachine, silentWorkers } from './store.ts';

export type { Machine, MachineLoss } from './machine.ts';
export type { FleetDeps } from './roster.ts';

/** More boots at once than this only make each other slow. */
const bootsAtOnce = 4;
const bootsWaitingMax = 200;
const bootWaitMsMax = 60_000;
const bootMsMax = 30_000;
/** Between a browser's last word and its exit lie milliseconds. */
const exitMsMax = 500;
/** A worker that was silent for this long is taken for dead: six heartbeats. */
const silentSecondsMax = 30;

export class Fleet implements Roster {
  readonly deps: FleetDeps;
  readonly berths = new Map<string, Berth>();
  readonly refill: Loop;
  readonly reaper: Loop;
  readonly heartbeat: Loop;
  readonly pings: Loop;
  #boots = new Lanes({ width: bootsAtOnce, waitingMax: bootsWaitingMax, waitMsMax: bootWaitMsMax });
  #lostListeners: ((sessionId: string, loss: MachineLoss) => void)[] = [];
  #startedAt: Date;
  #url = '';
  #stopping = false;

  constructor(deps: FleetDeps) {
    this.deps = deps;
    this.#startedAt = deps.clock.now();
    this.refill = new Loop('pool-refill', 1000, (signal) => refillPool(this, signal));
    this.reaper = new Loop('reaper', 10_000, () => reapStrays(this));
    this.pings = new Loop('browser-pings', 10_000, (signal) => this.#ping(signal));
    this.heartbeat = new Loop('heartbeat', 5000, () => this.#beat());
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Machines that are kept warm. */
  get poolTarget(): number {
    return this.deps.poolTarget;
  }

  /** Where other workers find this one. */
  announce(url: string): void {
    this.#url = url;
    this.heartbeat.nudge();
  }

  /**
   * A machine for a session: the one of the pool that has been quiet longest,
   * else one that is started now. Throws ServiceError no_capacity.
   */
  async lease(sessionId: string, kind: VmKind, { signal }: { signal: AbortSignal }): Promise<{ machine: Machine; warm: boolean }> {
    for (let berth = this.#quietest(kind); berth; berth = this.#quietest(kind)) {
      const machine = await this.#claim(berth, sessionId);
      this.refill.nudge();
      if (machine) return { machine, warm: true };
    }
    try {
      return { machine: await this.#boots.run(kind, signal, () => this.boot(kind, sessionId, signal)), warm: false };
    } catch (error) {
      if (error instanceof LaneFull || error instanceof LaneTimeout)
        throw new ServiceError('no_capacity', 'Too many browsers are starting. Try again in a moment.', { retryAfterSeconds: 5, cause: error });
      throw error;
    }
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

  /** Starts one machine: of the pool when `sessionId` is null. */
  async boot(kind: VmKind, sessionId: string | null, signal: AbortSignal): Promise<Machine> {
    const berth: Berth = { id: newId('vm'), kind, state: 'warming', machine: null, sessionId, releasing: null };
    this.berths.set(berth.id, berth);
    try {
      const machine = await bootMachine(this.deps, berth, AbortSignal.any([signal, AbortSignal.timeout(bootMsMax)]));
      berth.machine = machine;
      this.#watch(machine);
      const to = sessionId === null ? 'ready' : 'assigned';
      berth.state = to;
      await moveMachine(this.deps.store, berth.id, { from: ['warming'], to, readyAt: this.deps.clock.now() });
      return machine;
    } catch (error) {
      if (berth.machine) await this.release(berth.id);
      this.berths.delete(berth.id);
      throw error;
    }
  }

  count(state: MachineState): number {
    let count = 0;
    for (const berth of this.berths.values()) if (berth.state === state) count += 1;
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

  #quietest(kind: VmKind): Berth | undefined {
    let best: Berth | undefined;
    for (const berth of this.berths.values())
      if (berth.state === 'ready' && berth.kind === kind && berth.machine && (!best?.machine || berth.machine.readyMs < best.machine.readyMs)) best = berth;
    return best;
  }

  async #claim(berth: Berth, sessionId: string): Promise<Machine | null> {
    berth.state = 'assigned';
    berth.sessionId = sessionId;
    const moved = await moveMachine(this.deps.store, berth.id, { from: ['ready'], to: 'assigned', sessionId });
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
      if (sessionId === null) return void this.release(machine.id);
      for (const listener of this.#lostListeners) listener(sessionId, loss);
    };
    const { vm, browser } = machine;
    void vm.exited.then((exit) => lost(lossOf(exit, vm.isolation)));
    void browser.gone.then(async (how) => {
      // A pipe that closes is the first sign of an exit, which knows more: want of memory, for one.
      if (how === 'closed') await Promise.race([vm.exited, wait(exitMsMax, undefined, { ref: false })]);
      lost({ how: how === 'unresponsive' ? 'unresponsive' : 'browser_gone', detail: `DevTools: ${how}` });
    });
  }

  /** A browser that is frozen says nothing: it has to be asked. The answer, or its absence, settles `browser.gone`. */
  async #ping(signal: AbortSignal): Promise<void> {
    const machines = [...this.berths.values()].flatMap(({ machine, state }) => (machine && state !== 'draining' ? [machine] : []));
    await Promise.all(machines.map(({ browser }) => browser.ping({ signal }).catch(() => undefined)));
  }

  async #beat(): Promise<void> {
    const { store, workerId, region } = this.deps;
    await beat(store, { workerId, region, url: this.#url, startedAt: this.#startedAt });
  }
}
