/**
 * Machines that fetches share: each serves one owner and one way out, holds a
 * few pages at a time, each in a browser context of its own, and is retired
 * after so many uses or minutes. A page is made ahead, so that a fetch finds
 * one that is ready.
 */
import { ServiceError, CreateSessionRequest } from '@berth/contract';
import { BrowserGone, type PrivatePage } from '../browser/browser.ts';
import type { Clock } from '../lib/clock.ts';
import { LaneFull, LaneTimeout, Lanes } from '../lib/lanes.ts';
import type { Log } from '../lib/log.ts';
import { service, type LiveSession, type Machine, type Sessions } from '../sessions/sessions.ts';
import type { FetchOrder } from './order.ts';

/** Beyond these a machine is replaced: what a browser gathers over many sites grows, and so does what one site could have left in it. */
const usesMax = 200;
const lifeMsMax = 8 * 60_000;
/** The session's own end, some time after: a fetch may be the last that was begun in time. */
const lifeSeconds = 15 * 60;
const idleSeconds = 60;
const waitingMax = 100;
const waitMsMax = 60_000;
/** A page that cannot be made ahead is made when it is asked for. */
const spareMsMax = 10_000;

export interface MachinesDeps {
  sessions: Sessions;
  clock: Clock;
  log: Log;
  /** Pages of one machine at once, and machines of one owner and way out. */
  pagesMax: number;
  machinesMax: number;
}

/** A page to fetch with, and the machine that it is in. */
export interface Visit {
  sessionId: string;
  page: PrivatePage;
  machine: Machine;
  session: LiveSession;
  signal: AbortSignal;
  /** How long it took to get the page. */
  waitedMs: number;
}

interface FetchMachine {
  key: string;
  owner: string;
  sessionId: string;
  ready: Promise<void>;
  /** On the clock that never jumps: takes no fetch after. */
  retiresMs: number;
  uses: number;
  running: number;
  retired: boolean;
  spare: Promise<PrivatePage | null> | null;
}

export class FetchMachines {
  readonly #deps: MachinesDeps;
  readonly #lanes: Lanes;
  readonly #machines = new Map<string, FetchMachine>();
  readonly #starting = new Map<string, Promise<FetchMachine>>();

  constructor(deps: MachinesDeps) {
    this.#deps = deps;
    this.#lanes = new Lanes({ width: deps.pagesMax * deps.machinesMax, waitingMax, waitMsMax });
    deps.sessions.onEnded(({ sessionId }) => this.#forget(sessionId));
  }

  get size(): number {
    return this.#machines.size;
  }

  /** The session that an order's fetch will be in, begun if need be. Throws what a create throws. */
  async reserve(order: FetchOrder, signal: AbortSignal): Promise<string> {
    return (await this.#pick(order, signal, { pagesMax: Infinity })).sessionId;
  }

  /** Gives `work` a page of its own, which is gone after it. Throws ServiceError, or what `work` throws. */
  async visit<T>(order: FetchOrder, signal: AbortSignal, work: (visit: Visit) => Promise<T>): Promise<T> {
    const startMs = this.#deps.clock.monotonicMs();
    try {
      return await this.#lanes.run(order.key, signal, async () => {
        const machine = await this.#claim(order, signal);
        try {
          await machine.ready;
          return await this.#inMachine(machine, order, signal, { startMs, work });
        } finally {
          machine.running -= 1;
          this.#retireWhenDue(machine);
        }
      });
    } catch (error) {
      if (error instanceof LaneFull || error instanceof LaneTimeout)
        throw new ServiceError('no_capacity', 'Too many of your fetches are waiting for a browser. Try again in a moment.', {
          cause: error,
          retryAfterSeconds: 2,
        });
      throw error;
    }
  }

  async #inMachine<T>(
    machine: FetchMachine,
    { owner }: FetchOrder,
    asked: AbortSignal,
    { startMs, work }: { startMs: number; work: (visit: Visit) => Promise<T> },
  ): Promise<T> {
    const { sessions, clock } = this.#deps;
    return sessions.besideBrowser(owner, machine.sessionId, { signal: asked }, async (leased, signal, session) => {
      const page = await this.#page(machine, leased, signal);
      const heldSinceMs = clock.monotonicMs();
      try {
        const waitedMs = Math.round(heldSinceMs - startMs);
        return await work({ sessionId: machine.sessionId, page, machine: leased, session, signal, waitedMs });
      } finally {
        session.meter.addBrowserMs(clock.monotonicMs() - heldSinceMs);
        // Nobody waits for a page to be gone: the next one is another.
        void page.close().catch((error: unknown) => this.#deps.log.debug({ error }, 'a fetched page did not close'));
        // Not before: a page in the making would hold up the one that loads.
        this.#makeSpare(machine, leased.browser);
      }
    });
  }

  async #page(machine: FetchMachine, { browser }: Machine, signal: AbortSignal): Promise<PrivatePage> {
    const spare = machine.spare;
    machine.spare = null;
    const page = spare ? await spare : null;
    if (page?.page.gone.aborted === false) return page;
    try {
      return await browser.openPrivate({ signal });
    } catch (error) {
      // A browser that is too busy with one site to open a page for another is not worth waiting for.
      if (error instanceof BrowserGone) machine.retired = true;
      throw error;
    }
  }

  #makeSpare(machine: FetchMachine, browser: Machine['browser']): void {
    if (machine.spare || machine.retired || machine.uses >= usesMax) return;
    machine.spare = browser.openPrivate({ signal: AbortSignal.timeout(browser.patience.ms(spareMsMax)) }).catch((error: unknown) => {
      this.#deps.log.debug({ error }, 'no page could be made ahead');
      return null;
    });
  }

  /** A place in a machine, taken before anybody else can look. */
  async #claim(order: FetchOrder, signal: AbortSignal): Promise<FetchMachine> {
    for (;;) {
      const machine = await this.#pick(order, signal, this.#deps);
      // Others may have been told of the same place at the same time.
      if (machine.running >= this.#deps.pagesMax || machine.retired) continue;
      machine.running += 1;
      machine.uses += 1;
      return machine;
    }
  }

  /** The machine of this key with the fewest pages, or a new one where all are full. */
  async #pick(order: FetchOrder, signal: AbortSignal, { pagesMax }: { pagesMax: number }): Promise<FetchMachine> {
    for (;;) {
      for (const machine of this.#machines.values()) this.#retireWhenDue(machine);
      const mine = [...this.#machines.values()].filter(({ key, retired }) => key === order.key && !retired);
      const free = mine.filter(({ running }) => running < pagesMax).sort((one, other) => one.running - other.running)[0];
      if (free) return free;
      const starting = this.#starting.get(order.key);
      if (!starting) break;
      await starting.catch(() => undefined);
      signal.throwIfAborted();
    }
    const started = this.#start(order);
    this.#starting.set(order.key, started);
    try {
      return await started;
    } finally {
      this.#starting.delete(order.key);
    }
  }

  async #start(order: FetchOrder): Promise<FetchMachine> {
    const { sessions, clock } = this.#deps;
    const { request, region, tier } = order;
    const timeoutSeconds = Math.min(lifeSeconds, tier.max_session_seconds);
    const wanted = CreateSessionRequest.parse({
      region: region.code,
      proxy: request.proxy,
      block_ads: request.block_ads,
      timeout_seconds: timeoutSeconds,
      idle_timeout_seconds: Math.min(idleSeconds, timeoutSeconds),
    });
    // It is nobody's call that starts it: the caller that goes away leaves it to the next.
    const signal = new AbortController().signal;
    const { record } = await sessions.create(order.principal, wanted, { wait: false, purpose: 'fetch', signal });
    const { sessionId } = record;
    const ready = sessions.started(sessionId);
    ready.catch(() => this.#forget(sessionId));
    const { key, owner } = order;
    // The same part of a life that a plan makes shorter.
    const retiresMs = clock.monotonicMs() + lifeMsMax * (timeoutSeconds / lifeSeconds);
    const machine: FetchMachine = { key, owner, sessionId, ready, retiresMs, uses: 0, running: 0, retired: false, spare: null };
    this.#machines.set(sessionId, machine);
    return machine;
  }

  #retireWhenDue(machine: FetchMachine): void {
    const old = this.#deps.clock.monotonicMs() > machine.retiresMs;
    if (!old && machine.uses < usesMax && !machine.retired) return;
    machine.retired = true;
    if (machine.running > 0) return;
    this.#forget(machine.sessionId);
    const { sessions, log } = this.#deps;
    sessions
      .end(machine.owner, machine.sessionId, { reason: 'requested', actor: service })
      .catch((error: unknown) => log.warn({ error }, 'a machine of fetches could not be ended'));
  }

  #forget(sessionId: string): void {
    this.#machines.delete(sessionId);
  }
}
