import { toCredits } from './amounts.ts';
import type { Applied, ChargeAxis } from './ledger.ts';

/** In credits, but for `refused`: orders that found too little. */
export interface CreditFacts {
  granted: number;
  redeemed: number;
  charged: Record<ChargeAxis, number>;
  refused: number;
}

/** What one process has moved since it began. What was repeated has moved nothing. */
export class Counts {
  #granted = 0;
  #redeemed = 0;
  readonly #charged: Record<ChargeAxis, number> = { action: 0, session: 0, captcha: 0, egress: 0 };
  #refused = 0;

  add(applied: readonly Applied[], refused: number): void {
    this.#refused += refused;
    for (const { order, entry } of applied) {
      if (order.kind === 'grant') this.#granted += entry.amount;
      else if (order.kind === 'redeem') this.#redeemed += entry.amount;
      else this.#charged[order.axis] += entry.amount;
    }
  }

  facts(): CreditFacts {
    const { action, session, captcha, egress } = this.#charged;
    return {
      granted: toCredits(this.#granted),
      redeemed: toCredits(this.#redeemed),
      charged: { action: toCredits(action), session: toCredits(session), captcha: toCredits(captcha), egress: toCredits(egress) },
      refused: this.#refused,
    };
  }
}
