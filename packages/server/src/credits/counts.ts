import { toCredits } from './amounts.ts';
import type { Applied, ChargeAxis } from './ledger.ts';

/** In credits, except `refused`: operations refused for insufficient credits. */
export interface CreditStats {
  granted: number;
  redeemed: number;
  charged: Record<ChargeAxis, number>;
  refused: number;
}

/** Credits moved by this process. Repeated operations do not count. */
export class Counts {
  #granted = 0;
  #redeemed = 0;
  readonly #charged: Record<ChargeAxis, number> = { action: 0, session: 0, captcha: 0, egress: 0 };
  #refused = 0;

  add(applied: readonly Applied[], refused: number): void {
    this.#refused += refused;
    for (const { operation, entry } of applied) {
      if (operation.kind === 'grant') this.#granted += entry.amount;
      else if (operation.kind === 'redeem') this.#redeemed += entry.amount;
      else this.#charged[operation.axis] += entry.amount;
    }
  }

  stats(): CreditStats {
    const { action, session, captcha, egress } = this.#charged;
    return {
      granted: toCredits(this.#granted),
      redeemed: toCredits(this.#redeemed),
      charged: { action: toCredits(action), session: toCredits(session), captcha: toCredits(captcha), egress: toCredits(egress) },
      refused: this.#refused,
    };
  }
}
