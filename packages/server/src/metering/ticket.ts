import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';
import type { Credits } from '../credits/credits.ts';
import type { Log } from '../lib/log.ts';
import type { CommitOrder } from './debts.ts';
import { prices } from './costs.ts';
import type { Need } from './limits.ts';
import { LiveMeter, type Meter } from './meter.ts';

/** The right to do something once. Charged when it was done, dropped when it was not; the first of both counts. */
export interface Ticket {
  /**
   * Counts what was done: as many as were asked for, unless told otherwise; 0
   * drops it. Where the wallet is enforced, it is paid when this resolves, with
   * what is available if more was done than asked for.
   */
  charge(meter: Meter, count?: number): Promise<void>;
  /** Nothing was done. Never throws. */
  drop(): Promise<void>;
}

export interface TicketParts {
  owner: string;
  need: Need;
  /** What the charge is known by in the journal: charged once, however often it is tried. */
  opId: string;
  /** Whether the wallet keeps back the price of what was asked for. */
  isHeld: boolean;
  credits: Pick<Credits, 'commit' | 'release'>;
  log: Log;
  /** Whether the wallet is enforced now. */
  isEnforced: () => boolean | Promise<boolean>;
  /** What is left in the wallet. */
  paid: (available: number) => void;
  /** What is under way is so no longer. */
  leave: () => void;
}

/** Within about a second: what was done waits for its charge, and somebody for the answer. */
const pausesMs = [50, 150, 400];

export class LiveTicket implements Ticket {
  readonly #parts: TicketParts;
  #isOver = false;

  constructor(parts: TicketParts) {
    this.#parts = parts;
  }

  async charge(meter: Meter, count = this.#parts.need.count): Promise<void> {
    if (count === 0) return this.drop();
    if (this.#isOver) return;
    if (!(meter instanceof LiveMeter)) throw new Error(`${meter.meterId} is not a meter that was opened here`);
    const { need, isHeld, opId, owner } = this.#parts;
    // In one go, so that whoever asks in between finds it either under way or counted.
    this.#end();
    meter.count(need.axis, count);
    const isEnforced = await this.#isEnforced();
    if (!isHeld && !isEnforced) return meter.owe(need.axis, count);
    const details = { meter_id: meter.meterId, count };
    await this.#commit({ opId, owner, amount: count * prices[need.axis], axis: need.axis, mayOwe: !isEnforced, details });
  }

  async drop(): Promise<void> {
    if (this.#isOver) return;
    this.#end();
    const { isHeld, opId, owner, credits, log } = this.#parts;
    if (isHeld)
      await credits
        .release(opId, owner)
        .catch((error: unknown) => log.warn({ error, owner, opId }, 'a hold on a wallet is left to expire'));
  }

  #end(): void {
    this.#isOver = true;
    this.#parts.leave();
  }

  async #isEnforced(): Promise<boolean> {
    try {
      return await this.#parts.isEnforced();
    } catch (error) {
      if (!isStoreAway(error)) throw error;
      return this.#parts.isHeld;
    }
  }

  /**
   * What was done cannot be undone. Where the wallet cannot be reached, it is
   * tried again for a moment, and then the owner has it for nothing: the hold
   * expires, and nothing is ever charged that was not told.
   */
  async #commit(order: CommitOrder): Promise<void> {
    const { credits, log } = this.#parts;
    for (const pauseMs of [...pausesMs, null]) {
      try {
        return this.#parts.paid((await credits.commit(order)).available);
      } catch (error) {
        if (!isStoreAway(error)) throw error;
        if (pauseMs === null) return log.error({ error, ...order }, 'what was used could not be charged');
        await wait(pauseMs);
      }
    }
  }
}

export const isStoreAway = (error: unknown): boolean => error instanceof ServiceError && error.code === 'store_unavailable';
