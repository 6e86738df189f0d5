import { ServiceError } from '@berth/contract';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** Limits the sessions that an owner creates per minute on this worker, by its plan. */
export class CreateRateLimiter {
  /** One limiter per distinct rate; plans are few. */
  readonly #byRate = new Map<number, RateLimiterMemory>();

  /** Counts a create; `perMinute` null: unlimited. Returns the undo, for one that is not admitted. @throws ServiceError create_rate_limit */
  async consume(owner: string, perMinute: number | null): Promise<() => Promise<void>> {
    if (perMinute === null) return () => Promise.resolve();
    const limiter = this.#byRate.get(perMinute) ?? new RateLimiterMemory({ points: perMinute, duration: 60 });
    this.#byRate.set(perMinute, limiter);
    try {
      await limiter.consume(owner);
      return async () => void (await limiter.reward(owner));
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      throw new ServiceError('create_rate_limit', `Your plan allows ${perMinute} new sessions per minute. Wait and try again.`, {
        details: { limit: perMinute },
        retryAfterSeconds: rejection.msBeforeNext / 1000,
      });
    }
  }
}
