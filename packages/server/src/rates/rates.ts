/**
 * Calls per minute, counted in memory. In a fleet, workers exchange their
 * counts twice a second, so that a limit holds for all of them together: what
 * one counts, the others know within a second.
 */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Loop } from '@berth/lib/loop.ts';
import type { Store } from '../store/store.ts';
import { exchangeCounts, pruneCounts, type Count } from './store.ts';

export { RateLimiterRes } from 'rate-limiter-flexible';

export interface RatesDeps {
  store: Store;
  workerId: string;
  /** Whether there are other workers. Nothing is written or read otherwise. */
  hasPeers: () => boolean;
}

const windowSeconds = 60;
/** A count is written within this time and read within this time: a second in all. */
export const exchangeMs = 500;
const pruneEvery = 120;

export class Rates {
  readonly exchange = new Loop('rate-exchange', exchangeMs, () => this.#exchange());
  readonly #deps: RatesDeps;
  readonly #limiters = new Map<string, RateLimiter>();
  #turns = 0;

  constructor(deps: RatesDeps) {
    this.#deps = deps;
  }

  /** The limiter of that name and rate: the same one for all callers, and the same counts at all workers. */
  limiter(name: string, perMinute: number): RateLimiter {
    const scope = `${name}/${perMinute}`;
    const limiter = this.#limiters.get(scope) ?? new RateLimiter(perMinute, this.#deps.hasPeers);
    this.#limiters.set(scope, limiter);
    return limiter;
  }

  async #exchange(): Promise<void> {
    const { store, workerId, hasPeers } = this.#deps;
    if (!hasPeers()) return;
    const counts = [...this.#limiters].flatMap(([prefix, limiter]) =>
      limiter.take().map(({ key, ...count }) => ({ ...count, key, limiter, scope: `${prefix}/${key}` })),
    );
    if (counts.length > 0) {
      const own = counts.filter(({ changed }) => changed);
      const scopes = counts.map(({ scope }) => scope);
      const others = new Map((await exchangeCounts(store, workerId, { own, scopes })).map((each) => [each.scope, each]));
      for (const { limiter, key, scope } of counts) {
        const other = others.get(scope);
        if (other) await limiter.add(key, other);
      }
    }
    this.#turns += 1;
    if (this.#turns % pruneEvery === 0) await pruneCounts(store);
  }
}

interface OwnCount {
  calls: number;
  /** When the window ends, in Unix ms of this host: it is compared with nothing else. */
  endsMs: number;
  /** Since it was last taken. */
  changed: boolean;
}

/** One rate per minute, for any number of keys. */
export class RateLimiter {
  readonly #limiter: RateLimiterMemory;
  readonly #hasPeers: () => boolean;
  /** What this worker has counted in the current window: of all that the limiter counts, without the others' part. */
  readonly #own = new Map<string, OwnCount>();

  constructor(perMinute: number, hasPeers: () => boolean) {
    this.#limiter = new RateLimiterMemory({ points: perMinute, duration: windowSeconds });
    this.#hasPeers = hasPeers;
  }

  /** Counts a call. @throws RateLimiterRes where it is one too many */
  async consume(key: string): Promise<RateLimiterRes> {
    try {
      const state = await this.#limiter.consume(key);
      this.#count(key, 1, state);
      return state;
    } catch (state) {
      if (state instanceof RateLimiterRes) this.#count(key, 1, state);
      throw state;
    }
  }

  /** What is counted, without counting a call; null: nothing in this minute. */
  get(key: string): Promise<RateLimiterRes | null> {
    return this.#limiter.get(key);
  }

  /** Counts a call, whether or not it is one too many. */
  async penalty(key: string): Promise<RateLimiterRes> {
    const state = await this.#limiter.penalty(key);
    this.#count(key, 1, state);
    return state;
  }

  /** Takes a call back. */
  async reward(key: string): Promise<void> {
    const state = await this.#limiter.reward(key);
    this.#count(key, -1, state);
  }

  #count(key: string, calls: number, state: RateLimiterRes): void {
    if (!this.#hasPeers()) return;
    const before = state.isFirstInDuration ? 0 : (this.#own.get(key)?.calls ?? 0);
    this.#own.set(key, { calls: Math.max(0, before + calls), endsMs: Date.now() + state.msBeforeNext, changed: true });
  }

  /** This worker's counts in windows that have not ended. */
  take(): (Omit<Count, 'scope'> & { key: string; changed: boolean })[] {
    const nowMs = Date.now();
    return [...this.#own].flatMap(([key, own]) => {
      const { calls, endsMs, changed } = own;
      if (endsMs <= nowMs) this.#own.delete(key);
      else own.changed = false;
      return endsMs > nowMs ? [{ key, calls, changed, secondsLeft: (endsMs - nowMs) / 1000 }] : [];
    });
  }

  /** Sets what all workers have counted. Their windows end with the first of them. */
  async add(key: string, others: Omit<Count, 'scope'>): Promise<void> {
    const own = this.#own.get(key);
    const nowMs = Date.now();
    if (!own || own.endsMs <= nowMs || others.secondsLeft <= 0) return;
    own.endsMs = Math.min(own.endsMs, nowMs + others.secondsLeft * 1000);
    await this.#limiter.set(key, own.calls + others.calls, (own.endsMs - nowMs) / 1000);
  }
}
