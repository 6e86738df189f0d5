import { ServiceError } from '@berth/contract';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';

const perMinute = 20;

/**
 * How often an owner may name a code that there is not, on this worker. Codes
 * have far too many bits to be guessed; this keeps those who try from being a
 * load. A code that there is does not count, whoever was first.
 */
export class Misses {
  readonly #limiter = new RateLimiterMemory({ points: perMinute, duration: 60 });

  /** Throws ServiceError rate_limited. */
  async check(owner: string): Promise<void> {
    const state = await this.#limiter.get(owner);
    if (state && state.consumedPoints >= perMinute) throw tooMany(state);
  }

  /** Throws like `check` when there were too many at the same moment. */
  async count(owner: string): Promise<void> {
    const state = await this.#limiter.penalty(owner);
    if (state.consumedPoints > perMinute) throw tooMany(state);
  }
}

const tooMany = ({ msBeforeNext }: RateLimiterRes): ServiceError =>
  new ServiceError('rate_limited', `At most ${perMinute} codes a minute may be wrong. Wait and try again.`, {
    retryAfterSeconds: msBeforeNext / 1000,
  });
