import { ServiceError } from '@berth/contract';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** How many sessions an owner may create in a minute on this worker, by the rate of its plan. */
export class CreateRates {
  /** One limiter for each rate that some plan allows: plans are few. */
  readonly #byRate = new Map<number, RateLimiterMemory>();

  /** Throws ServiceError create_rate_limit. `perMinute` null: as many as it likes. */
  async take(owner: string, perMinute: number | null): Promise<void> {
    if (perMinute === null) return;
    const limiter = this.#byRate.get(perMinute) ?? new RateLimiterMemory({ points: perMinute, duration: 60 });
    this.#byRate.set(perMinute, limiter);
    try {
      await limiter.consume(owner);
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      throw new ServiceError('create_rate_limit', `Your plan allows ${perMinute} new sessions a minute.`, {
        details: { limit: perMinute },
        retryAfterSeconds: refusal.msBeforeNext / 1000,
      });
    }
  }
}
