/**
 * Machines that the work of an owner shares. Each serves one owner and one egress policy,
 * holds a few pages at a time, each in its own browser context, and is retired
 * after a number of uses or minutes. One spare page is opened ahead of the next fetch.
 */
import { ServiceError, CreateSessionRequest } from '@berth/contract';
import { abortAfter, orAfter } from '@berth/lib/deadline.ts';
import { BrowserClosedError, type PrivatePage } from '@berth/devtools';
import type { Clock } from '@berth/lib/clock.ts';
import { LaneFullError, LaneTimeoutError, Lanes } from '@berth/lib/turns/lanes.ts';
import type { Log } from '@berth/lib/log.ts';
import { service, type LiveSession, type Machine, type Sessions } from '../../sessions/sessions/sessions.ts';
import type { MachineSpec } from './machine-spec.ts';

/** A machine is replaced after these: a browser grows with every site, and one site may have left something behind. */
const usesMax = 200;
const lifeMsMax = 8 * 60_000;
/** The session outlives `lifeMsMax`, for a fetch that began just before it. */
const sessionSecondsMax = 15 * 60;
const idleTimeoutSeconds = 60;
const waitingMax = 100;
const waitMsMax = 60_000;
/** A spare page that takes longer is dropped; the next fetch opens its own. */
const spareMsMax = 10_000;
/** A browser that takes longer is held up by what a page has left, such as a flood of console lines: the fetch takes another. */
const pageMsMax = 4000;

class MachineBusyError extends Error {}

export interface SharedMachinesDeps {
  sessions: Sessions;
  clock: Clock;
  log: Log;
  /** Pages of one machine at once, and machines of one owner and egress policy. */
  pagesMax: number;
  machinesMax: number;
}

/** A page for one fetch, and the machine that it is in. */
export interface PageLease {
  sessionId: string;
  page: PrivatePage;
  machine: Machine;
  session: LiveSession;
  signal: AbortSignal;
  /** How long the fetch waited for the page. */
  waitedMs: number;
}

interface SharedMachine {
  key: string;
  owner: string;
  sessionId: string;
  ready: Promise<void>;
  /** Time on the monotonic clock after which no fetch begins on this machine. */
  retiresMs: number;
  uses: number;
  running: number;
  isRetired: boolean;
  /** A page of it has been used. */
  hasServed: boolean;
  spare: Promise<PrivatePage | null> | null;
}

export class SharedMachines {
  readonly #deps: SharedMachinesDeps;
  readonly #lanes: Lanes;
  readonly #machines = new Map<string, SharedMachine>();
  /** Machines that are starting, by key. */
  readonly #starting = new Map<string, { owner: string; started: Promise<SharedMachine> }>();

  constructor(deps: SharedMachinesDeps) {
    this.#deps = deps;
    this.#lanes = new Lanes({ width: deps.pagesMax * deps.machinesMax, waitingMax, waitMsMax });
    deps.sessions.onEnded(({ sessionId }) => this.#forget(sessionId));
  }

  /** Called for each fetch that gets its turn at the owner's machines, with how long it waited. */
  onTurn(listener: (waitedMs: number) => void): void {
    this.#lanes.onTurn = listener;
  }

  get size(): number {
    return this.#machines.size;
  }

  /** Returns the session that will fetch, and creates one when none is free. @throws ServiceError no_capacity, and what creating a session throws */
  async reserve(spec: MachineSpec, signal: AbortSignal): Promise<string> {
    return (await this.#pick(spec, signal, { pagesMax: Infinity })).sessionId;
  }

  /** Runs `work` with a page that is closed afterwards. @throws ServiceError no_capacity, or what `work` throws */
  async withPage<T>(spec: MachineSpec, signal: AbortSignal, work: (withPage: PageLease) => Promise<T>): Promise<T> {
    const startMs = this.#deps.clock.monotonicMs();
    try {
      return await this.#lanes.run(spec.key, signal, async () => {
        for (;;) {
          const machine = await this.#claim(spec, signal);
          try {
            await machine.ready;
            return await this.#withPageIn(machine, spec, signal, { startMs, work });
          } catch (error) {
            if (!(error instanceof MachineBusyError)) throw error;
          } finally {
            machine.running -= 1;
            this.#retireWhenDue(machine);
          }
        }
      });
    } catch (error) {
      if (error instanceof LaneFullError || error instanceof LaneTimeoutError)
        throw new ServiceError('no_capacity', 'Too many of your fetches are waiting for a browser. Retry in a few seconds.', {
          cause: error,
          retryAfterSeconds: 2,
        });
      throw error;
    }
  }

  async #withPageIn<T>(
    machine: SharedMachine,
    { owner }: MachineSpec,
    callerSignal: AbortSignal,
    { startMs, work }: { startMs: number; work: (lease: PageLease) => Promise<T> },
  ): Promise<T> {
    const { sessions, clock } = this.#deps;
    return sessions.withBrowserConcurrently(owner, machine.sessionId, { signal: callerSignal }, async (leased, signal, session) => {
      const page = await this.#page(machine, leased, signal);
      const heldSinceMs = clock.monotonicMs();
      try {
        const waitedMs = Math.round(heldSinceMs - startMs);
        return await work({ sessionId: machine.sessionId, page, machine: leased, session, signal, waitedMs });
      } finally {
        machine.hasServed = true;
        session.meter.addBrowserMs(clock.monotonicMs() - heldSinceMs);
        // Not awaited: the next fetch uses another page.
        void page.close().catch((error: unknown) => this.#deps.log.debug({ err: error }, 'fetch page close failed'));
        // Not earlier: opening a page would slow down the one that loads.
        this.#makeSpare(machine, leased.browser);
      }
    });
  }

  /** @throws MachineBusyError for a machine that has served before */
  async #page(machine: SharedMachine, { browser }: Machine, signal: AbortSignal): Promise<PrivatePage> {
    const opening = this.#openPage(machine, browser, signal);
    const page = await (machine.hasServed ? orAfter(opening, browser.timeoutScale.ms(pageMsMax), null) : opening);
    if (page) return page;
    machine.isRetired = true;
    opening.then((late) => late.close()).catch((error: unknown) => this.#deps.log.debug({ err: error }, 'late fetch page failed'));
    throw new MachineBusyError('The browser opens no page.');
  }

  async #openPage(machine: SharedMachine, browser: Machine['browser'], signal: AbortSignal): Promise<PrivatePage> {
    const spare = machine.spare;
    machine.spare = null;
    const page = spare ? await spare : null;
    if (page?.page.closed.aborted === false) return page;
    try {
      return await browser.openPrivate({ signal });
    } catch (error) {
      // A browser that cannot open a page takes no further fetch.
      if (error instanceof BrowserClosedError) machine.isRetired = true;
      throw error;
    }
  }

  #makeSpare(machine: SharedMachine, browser: Machine['browser']): void {
    if (machine.spare || machine.isRetired || machine.uses >= usesMax) return;
    machine.spare = browser.openPrivate({ signal: abortAfter(browser.timeoutScale.ms(spareMsMax)) }).catch((error: unknown) => {
      this.#deps.log.debug({ err: error }, 'spare page creation failed');
      return null;
    });
  }

  /** Picks a machine and counts the use in the same tick, so that no other fetch takes the last page. */
  async #claim(spec: MachineSpec, signal: AbortSignal): Promise<SharedMachine> {
    for (;;) {
      const machine = await this.#pick(spec, signal, this.#deps);
      // Another fetch may have taken the page while this one awaited the machine.
      if (machine.running >= this.#deps.pagesMax || machine.isRetired) continue;
      machine.running += 1;
      machine.uses += 1;
      return machine;
    }
  }

  /** The machine of this key with the fewest pages, or a new one when all are full. */
  async #pick(spec: MachineSpec, signal: AbortSignal, { pagesMax }: { pagesMax: number }): Promise<SharedMachine> {
    for (;;) {
      for (const machine of this.#machines.values()) this.#retireWhenDue(machine);
      const mine = [...this.#machines.values()].filter(({ key, isRetired }) => key === spec.key && !isRetired);
      const free = mine.filter(({ running }) => running < pagesMax).sort((one, other) => one.running - other.running)[0];
      if (free) return free;
      const starting = this.#starting.get(spec.key);
      if (!starting) break;
      await starting.started.catch(() => undefined);
      signal.throwIfAborted();
    }
    this.#makeRoom(spec);
    const started = this.#start(spec);
    this.#starting.set(spec.key, { owner: spec.owner, started });
    try {
      return await started;
    } finally {
      this.#starting.delete(spec.key);
    }
  }

  /**
   * An owner has at most as many of these machines as its plan allows sessions, beside those. An idle one of another
   * egress gives way. @throws ServiceError no_capacity
   */
  #makeRoom({ owner, tier: { concurrency_limit: machinesMax } }: MachineSpec): void {
    if (machinesMax === null) return;
    const mine = [...this.#machines.values()].filter((machine) => machine.owner === owner && !machine.isRetired);
    const starting = [...this.#starting.values()].filter((each) => each.owner === owner);
    if (mine.length + starting.length < machinesMax) return;
    const idle = mine.find(({ running }) => running === 0);
    if (!idle)
      throw new ServiceError('no_capacity', 'Your other fetches use all browsers that your plan allows. Retry in a few seconds.', {
        retryAfterSeconds: 2,
      });
    idle.isRetired = true;
    this.#retireWhenDue(idle);
  }

  async #start(spec: MachineSpec): Promise<SharedMachine> {
    const { sessions, clock } = this.#deps;
    const { request, region, tier, kind } = spec;
    const timeoutSeconds = Math.min(sessionSecondsMax, tier.max_session_seconds);
    const wanted = CreateSessionRequest.parse({
      kind,
      region: region.code,
      proxy: request.proxy,
      block_ads: request.block_ads,
      timeout_seconds: timeoutSeconds,
      idle_timeout_seconds: Math.min(idleTimeoutSeconds, timeoutSeconds),
    });
    // Not the caller's signal: when the caller disconnects, the machine serves the next fetch.
    const signal = new AbortController().signal;
    const { record } = await sessions.create(spec.principal, wanted, { wait: false, purpose: 'fetch', signal });
    const { sessionId } = record;
    const ready = sessions.started(sessionId);
    ready.catch(() => this.#forget(sessionId));
    const { key, owner } = spec;
    // Scaled down with the session when the plan allows less than `sessionSecondsMax`.
    const retiresMs = clock.monotonicMs() + lifeMsMax * (timeoutSeconds / sessionSecondsMax);
    const machine: SharedMachine = {
      key,
      owner,
      sessionId,
      ready,
      retiresMs,
      uses: 0,
      running: 0,
      isRetired: false,
      hasServed: false,
      spare: null,
    };
    this.#machines.set(sessionId, machine);
    return machine;
  }

  #retireWhenDue(machine: SharedMachine): void {
    const isOld = this.#deps.clock.monotonicMs() > machine.retiresMs;
    if (!isOld && machine.uses < usesMax && !machine.isRetired) return;
    machine.isRetired = true;
    if (machine.running > 0) return;
    this.#forget(machine.sessionId);
    const { sessions, log } = this.#deps;
    sessions
      .end(machine.owner, machine.sessionId, { reason: 'requested', actor: service })
      .catch((error: unknown) => log.warn({ err: error }, 'fetch session end failed'));
  }

  #forget(sessionId: string): void {
    this.#machines.delete(sessionId);
  }
}
