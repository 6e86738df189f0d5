import { ServiceError } from '@berth/contract';
import { RateLimiterRes, type Rates } from '../../../rates/rates.ts';

/** Limits the sessions that an owner creates per minute, by its plan. */
export class CreateRateLimiter {
  readonly #rates: Rates;

  constructor(rates: Rates) {
    this.#rates = rates;
  }

  /** Counts a create; `perMinute` null: unlimited. Returns the undo, for one that is not admitted. @throws ServiceError create_rate_limit */
  async consume(owner: string, perMinute: number | null): Promise<() => Promise<void>> {
    if (perMinute === null) return () => Promise.resolve();
    const limiter = this.#rates.limiter('creates', perMinute);
    try {
      await limiter.consume(owner);
      return () => limiter.reward(owner);
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      throw new ServiceError('create_rate_limit', `Your plan’s limit of new sessions per minute is ${perMinute}. Wait and try again.`, {
        details: { limit: perMinute },
        retryAfterSeconds: rejection.msBeforeNext / 1000,
      });
    }
  }
}
