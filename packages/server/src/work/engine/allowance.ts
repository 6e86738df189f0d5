/** The actions that a run may spend. They are admitted as it goes on, because nobody knows at its start how many steps it takes. */
import type { Metering, Ticket } from '../../accounts/metering/metering.ts';

interface AllowanceOptions {
  owner: string;
  /** Lifetime of a ticket, until the charge is written. */
  ttlMs: number;
  /** Operation id of the first admission. */
  opId: string;
}

/** Actions that are admitted at once beyond the first one, so that a long run admits seldom. */
const blockSize = 20;

export class Allowance {
  readonly #metering: Pick<Metering, 'admit'>;
  readonly #options: AllowanceOptions;
  readonly #tickets: { ticket: Ticket; count: number }[] = [];
  #admitted = 0;

  constructor(metering: Pick<Metering, 'admit'>, options: AllowanceOptions) {
    this.#metering = metering;
    this.#options = options;
  }

  /** Admits all actions up to this number. @throws ServiceError plan_limit_exceeded, insufficient_credits */
  async reserve(actions: number): Promise<void> {
    const missing = actions - this.#admitted;
    if (missing <= 0) return;
    const { owner, ttlMs, opId } = this.#options;
    const size = actions > blockSize ? Math.max(missing, blockSize) : missing;
    const ticket = await this.#metering.admit(owner, { axis: 'action', count: size, ttlMs, ...(this.#admitted === 0 ? { opId } : {}) });
    this.#tickets.push({ ticket, count: size });
    this.#admitted += size;
  }

  /** Charges actions; the last ticket takes those beyond the admitted ones. No effect after the first call. */
  async charge(actions: number, charge: (ticket: Ticket, count: number) => Promise<void>): Promise<void> {
    let left = actions;
    const tickets = this.#tickets.splice(0);
    for (const [index, { ticket, count }] of tickets.entries()) {
      const share = index === tickets.length - 1 ? left : Math.min(left, count);
      left -= share;
      await (share > 0 ? charge(ticket, share) : ticket.drop());
    }
  }

  async drop(): Promise<void> {
    for (const { ticket } of this.#tickets.splice(0)) await ticket.drop();
  }
}
