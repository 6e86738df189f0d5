import { ServiceError } from '@berth/contract';
import type { RateLimiter, RateLimiterRes, Rates } from '../../rates/rates.ts';

const failuresPerMinuteMax = 20;

/**
 * Limits how often an owner may try unknown codes. Codes have too
 * many bits to be guessed; this limits the load of attempts. Existing codes do
 * not count, redeemed or not.
 */
export class RedeemRateLimiter {
  readonly #limiter: RateLimiter;

  constructor(rates: Rates, kind: 'credit-codes' | 'promo-codes') {
    this.#limiter = rates.limiter(kind, failuresPerMinuteMax);
  }

  /** @throws ServiceError rate_limited */
  async check(owner: string): Promise<void> {
    const state = await this.#limiter.get(owner);
    if (state && state.consumedPoints >= failuresPerMinuteMax) throw tooMany(state);
  }

  /** @throws ServiceError rate_limited, when concurrent attempts exceed the limit */
  async recordFailure(owner: string): Promise<void> {
    const state = await this.#limiter.penalty(owner);
    if (state.consumedPoints > failuresPerMinuteMax) throw tooMany(state);
  }
}

const tooMany = ({ msBeforeNext }: RateLimiterRes): ServiceError =>
  new ServiceError('rate_limited', `Too many unknown codes: at most ${failuresPerMinuteMax} per minute. Wait and try again.`, {
    retryAfterSeconds: msBeforeNext / 1000,
  });
