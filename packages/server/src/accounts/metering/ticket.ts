import { setTimeout as sleep } from 'node:timers/promises';
import type { Credits } from '../credits/credits.ts';
import { beginEffect } from '../../http/effects.ts';
import type { Log } from '@berth/lib/log.ts';
import { currentCaller } from '@berth/lib/turns/sections.ts';
import { isStoreUnavailable } from '../../store/store.ts';
import type { CommitRequest } from './accrued-charges.ts';
import { prices } from './counts.ts';
import type { Need } from './limits.ts';
import { LiveMeter, type Meter } from './meter.ts';

/** One admitted operation: charged when it was done, else dropped. Only the first of both calls counts. */
export interface Ticket {
  /**
   * Counts and charges the operation; `count` defaults to the admitted number,
   * and 0 drops the ticket. A session, and anything where the wallet is enforced, is
   * charged when this resolves, with what is available if more was done than admitted.
   */
  charge(meter: Meter, count?: number): Promise<void>;
  /** Cancels the operation. Never throws. */
  drop(): Promise<void>;
}

interface TicketDeps {
  owner: string;
  need: Need;
  /** Journal id of the charge, which makes retries idempotent. */
  opId: string;
  /** Whether the price is held in the wallet. */
  isHeld: boolean;
  credits: Pick<Credits, 'commit' | 'release'>;
  log: Log;
  /** Whether the wallet is currently enforced. */
  isEnforced: () => boolean | Promise<boolean>;
  /** Whether a wallet that is not enforced goes below zero. */
  allowsOverdraft: boolean;
  /** Called with the credits left in the wallet, in millionths. */
  onCharged: (available: number) => void;
  /** Called once when the operation has ended. */
  leave: () => void;
}

/** Less than a second in total, because a caller waits for the response. */
const retryDelaysMs = [50, 150, 400];

export class LiveTicket implements Ticket {
  readonly #deps: TicketDeps;
  #isOver = false;

  constructor(deps: TicketDeps) {
    this.#deps = deps;
  }

  async charge(meter: Meter, count = this.#deps.need.count): Promise<void> {
    if (count === 0) return this.drop();
    if (this.#isOver) return;
    if (!(meter instanceof LiveMeter)) throw new Error(`${meter.meterId} is not a meter of this process`);
    const begun = beginEffect({ session_id: currentCaller()?.sessionId });
    if (begun && !(await begun)) return this.drop();
    if (this.#isOver) return;
    const { need, isHeld, opId, owner } = this.#deps;
    // Synchronously, so that the operation is always either in flight or counted.
    this.#end();
    meter.count(need.axis, count);
    const isEnforced = await this.#isEnforced();
    // A session is a hundred actions: what a crash loses of one must be less.
    if (!isHeld && !isEnforced && need.axis !== 'session') return meter.accrue(need.axis, count);
    const allowOverdraft = !isEnforced && this.#deps.allowsOverdraft;
    const details = { meter_id: meter.meterId, count };
    await this.#commit({ opId, owner, amount: count * prices[need.axis], axis: need.axis, allowOverdraft, details }, meter);
  }

  async drop(): Promise<void> {
    if (this.#isOver) return;
    this.#end();
    const { isHeld, opId, owner, credits, log } = this.#deps;
    if (isHeld) await credits.release(opId, owner).catch((err: unknown) => log.warn({ err, owner, opId }, 'hold release failed'));
  }

  #end(): void {
    this.#isOver = true;
    this.#deps.leave();
  }

  async #isEnforced(): Promise<boolean> {
    try {
      return await this.#deps.isEnforced();
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error;
      return this.#deps.isHeld;
    }
  }

  /**
   * The operation cannot be undone. While the store is unavailable, the charge is
   * retried for a moment. Then one that was not held is left to the meter, which repeats it,
   * and one that was held is free for the owner: the hold expires, and nothing is charged later without notice.
   */
  async #commit(request: CommitRequest, meter: LiveMeter): Promise<void> {
    const { credits, log, isHeld } = this.#deps;
    for (const delayMs of [...retryDelaysMs, null]) {
      try {
        return this.#deps.onCharged((await credits.commit(request)).available);
      } catch (error) {
        if (!isStoreUnavailable(error)) throw error;
        if (delayMs !== null) await sleep(delayMs);
        else if (isHeld) log.error({ err: error, ...request }, 'charge failed');
        else meter.defer(request);
      }
    }
  }
}
