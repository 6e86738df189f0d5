import type { ChargeAxis, Credits } from '../credits/credits.ts';

export type CommitRequest = Parameters<Credits['commit']>[0];

const axes = ['action', 'session', 'captcha', 'egress'] as const satisfies readonly ChargeAxis[];

/**
 * The accrued charges of a meter by axis, in millionths of a credit. The
 * difference between the accrued and the charged total is due.
 *
 * A request with unknown outcome is repeated unchanged: another id would charge
 * the same amount twice.
 */
export class AccruedCharges {
  readonly #meterId: string;
  readonly #owner: string;
  readonly #accrued: Record<ChargeAxis, number> = { action: 0, session: 0, captcha: 0, egress: 0 };
  readonly #charged: Record<ChargeAxis, number> = { action: 0, session: 0, captcha: 0, egress: 0 };
  readonly #pending = new Map<ChargeAxis, CommitRequest>();

  constructor(meterId: string, owner: string) {
    this.#meterId = meterId;
    this.#owner = owner;
  }

  get uncharged(): number {
    return axes.reduce((sum, axis) => sum + this.#uncharged(axis), 0);
  }

  accrue(axis: ChargeAxis, micro: number): void {
    this.#accrued[axis] += micro;
  }

  /** Sets the accrued total, which never decreases. */
  accrueTotal(axis: ChargeAxis, micro: number): void {
    this.#accrued[axis] = Math.max(this.#accrued[axis], micro);
  }

  /** Accrues a request of another with unknown outcome, the only one of its axis, to be repeated unchanged. */
  defer(request: CommitRequest): void {
    this.#accrued[request.axis] += request.amount;
    this.#pending.set(request.axis, request);
  }

  /** Whether amounts of `amountMin` or more are due. */
  isDue(amountMin: number): boolean {
    return axes.some((axis) => this.#pending.has(axis) || this.#uncharged(axis) >= amountMin);
  }

  /** The requests with unknown outcome, and a new one for each other due amount of `amountMin` or more. */
  collectRequests({ amountMin, allowOverdraft }: { amountMin: number; allowOverdraft: boolean }): CommitRequest[] {
    for (const axis of axes)
      if (!this.#pending.has(axis) && this.#uncharged(axis) >= amountMin) this.#pending.set(axis, this.#toRequest(axis, allowOverdraft));
    return [...this.#pending.values()];
  }

  /** The outcome is known. What the wallet could not cover is not requested again. */
  markCharged({ axis, amount }: CommitRequest): void {
    this.#pending.delete(axis);
    this.#charged[axis] += amount;
  }

  #uncharged(axis: ChargeAxis): number {
    return this.#accrued[axis] - this.#charged[axis];
  }

  #toRequest(axis: ChargeAxis, allowOverdraft: boolean): CommitRequest {
    const opId = `meter:${this.#meterId}:${axis}:${this.#accrued[axis]}`;
    return { opId, owner: this.#owner, amount: this.#uncharged(axis), axis, allowOverdraft, details: { meter_id: this.#meterId } };
  }
}
