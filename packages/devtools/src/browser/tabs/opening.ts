/**
 * Opens tabs.
 *
 * A browser that is busy with a heavy page creates a tab late, so one deadline
 * covers the whole opening, and a tab that comes after it is discarded.
 */
import type { Protocol } from 'devtools-protocol';
import { Deadline } from '@berth/lib/deadline.ts';
import { orAbort } from '@berth/lib/or-abort.ts';
import { CommandTimeoutError, type Connection } from '../cdp/connection.ts';
import type { TabLimitReachedError } from '../interface.ts';
import type { Tab } from './tab.ts';

/** A late tab is discarded when it comes; a browser that takes longer is frozen, and was ended by then. */
const lateMsMax = 600_000;

export interface TabOpenerDeps {
  find(targetId: string): Tab | undefined;
  /** Closes the tab of a failed opening. */
  discard(targetId: string): void;
}

interface Waiter {
  resolve(tab: Tab): void;
  reject(error: Error): void;
}

const neverAborted = new AbortController().signal;

export class TabOpener {
  readonly #connection: Connection;
  readonly #deps: TabOpenerDeps;
  readonly #waiters = new Map<string, Waiter>();
  /** Targets that were over the limit before the reply to their creation. */
  readonly #refused = new Map<string, TabLimitReachedError>();
  /** Tabs that do not exist yet but take a place of the session's limit. */
  pending = 0;

  constructor(connection: Connection, deps: TabOpenerDeps) {
    this.#connection = connection;
    this.#deps = deps;
  }

  /** Resolves when the tab has its settings. @throws CommandTimeoutError, TabLimitReachedError, BrowserClosedError, or the signal's reason */
  async open(
    params: Protocol.Target.CreateTargetRequest,
    { timeoutMs, signal = neverAborted }: { timeoutMs: number; signal?: AbortSignal | undefined },
  ): Promise<Tab> {
    signal.throwIfAborted();
    const message = `The browser did not open a tab within ${timeoutMs} ms: its other pages keep it busy. Try again, or close one of them.`;
    const reason = (): Error => new CommandTimeoutError('Target.createTarget', message);
    const created = this.#connection.send('Target.createTarget', params, { timeoutMs: lateMsMax });
    try {
      return await Deadline.run({ signal, timeoutMs, reason }, async ({ signal: either }) => {
        const arrival = orAbort(this.#arrive(created), either);
        const tab = await (params.browserContextId === undefined ? this.#count(arrival) : arrival);
        await orAbort(tab.ready, either);
        return tab;
      });
    } catch (error) {
      created.then(
        ({ targetId }) => this.#discard(targetId),
        () => undefined,
      );
      throw error;
    }
  }

  onAttached(tab: Tab): void {
    this.#waiters.get(tab.id)?.resolve(tab);
  }

  onRefused(targetId: string, error: TabLimitReachedError): void {
    const waiter = this.#waiters.get(targetId);
    if (waiter) waiter.reject(error);
    else if (this.pending > 0) this.#refused.set(targetId, error);
  }

  async #count<T>(arrival: Promise<T>): Promise<T> {
    this.pending += 1;
    try {
      return await arrival;
    } finally {
      this.pending -= 1;
      if (this.pending === 0) this.#refused.clear();
    }
  }

  async #arrive(created: Promise<Protocol.Target.CreateTargetResponse>): Promise<Tab> {
    const { targetId } = await created;
    const refusal = this.#refused.get(targetId);
    if (refusal) throw refusal;
    const tab = this.#deps.find(targetId);
    if (tab) return tab;
    const { promise, resolve, reject } = Promise.withResolvers<Tab>();
    this.#waiters.set(targetId, { resolve, reject });
    return promise.finally(() => this.#waiters.delete(targetId));
  }

  #discard(targetId: string): void {
    this.#waiters.delete(targetId);
    this.#deps.discard(targetId);
  }
}
