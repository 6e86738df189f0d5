import type { ChargeAxis, Credits } from '../credits/credits.ts';

export type CommitOrder = Parameters<Credits['commit']>[0];

const axes = ['action', 'session', 'captcha', 'egress'] as const satisfies readonly ChargeAxis[];

/**
 * What a meter owes to its owner's wallet, by axis, in millionths, from its
 * first day on: the difference to what has been settled is asked for.
 *
 * An order whose outcome is not known is repeated as it was. Another one under
 * a new id would take the same debt twice where the first had been taken.
 */
export class Debts {
  readonly #meterId: string;
  readonly #owner: string;
  readonly #owed: Record<ChargeAxis, number> = { action: 0, session: 0, captcha: 0, egress: 0 };
  readonly #settled: Record<ChargeAxis, number> = { action: 0, session: 0, captcha: 0, egress: 0 };
  readonly #orders = new Map<ChargeAxis, CommitOrder>();

  constructor(meterId: string, owner: string) {
    this.#meterId = meterId;
    this.#owner = owner;
  }

  get unsettled(): number {
    return axes.reduce((sum, axis) => sum + this.#unsettled(axis), 0);
  }

  owe(axis: ChargeAxis, micro: number): void {
    this.#owed[axis] += micro;
  }

  /** What the traffic comes to, all of it: never less than before. */
  oweInAll(axis: ChargeAxis, micro: number): void {
    this.#owed[axis] = Math.max(this.#owed[axis], micro);
  }

  /** Whether there is something to ask for, in amounts of `least` and more. */
  isDue(least: number): boolean {
    return axes.some((axis) => this.#orders.has(axis) || this.#unsettled(axis) >= least);
  }

  /** What to ask for now: the orders of unknown outcome, and one for each other debt of `least` and more. */
  orders({ least, mayOwe }: { least: number; mayOwe: boolean }): CommitOrder[] {
    for (const axis of axes)
      if (!this.#orders.has(axis) && this.#unsettled(axis) >= least) this.#orders.set(axis, this.#orderOf(axis, mayOwe));
    return [...this.#orders.values()];
  }

  /** The outcome is known. What could not be taken is not asked for again. */
  settle({ axis, amount }: CommitOrder): void {
    this.#orders.delete(axis);
    this.#settled[axis] += amount;
  }

  #unsettled(axis: ChargeAxis): number {
    return this.#owed[axis] - this.#settled[axis];
  }

  #orderOf(axis: ChargeAxis, mayOwe: boolean): CommitOrder {
    const opId = `meter:${this.#meterId}:${axis}:${this.#owed[axis]}`;
    return { opId, owner: this.#owner, amount: this.#unsettled(axis), axis, mayOwe, details: { meter_id: this.#meterId } };
  }
}
