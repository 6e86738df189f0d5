/**
 * Chooses the strategy of the next attempt: the gentlest that may help, that
 * the caller allows, that this work has not used, and that fits into its time.
 */
import type { Block, BlockType, StrategyName } from '@berth/contract';
import type { Outcome } from './attempt.ts';

export interface Failure {
  strategy: StrategyName;
  outcome: Outcome;
  block: Block | null;
  statusCode: number | null;
  /** The contract's reason of a failed navigation. */
  reason?: string | undefined;
}

export interface PlannedAttempt {
  strategy: StrategyName;
  /** Wait before the attempt. */
  waitMs: number;
}

const later = ['wait_retry', 'throttle'] as const;
const elsewhere = ['rotate_egress', 'fresh_context'] as const;
/** Sites that block by what a browser looks like may accept one with windows on a display. */
const otherwise = [...elsewhere, 'full_browser'] as const;
const allStrategies = [...later, ...otherwise, 'captcha_provider', 'human'] as const;

/** `direct` is in none of them: it comes first or not at all. */
const afterBlock: Record<BlockType, readonly StrategyName[]> = {
  rate_limited: [...later, ...elsewhere],
  challenge: allStrategies,
  captcha: allStrategies,
  // Mostly by the reputation of the IP address, so that waiting does not help.
  access_denied: [...otherwise, ...later, 'human'],
  bot_wall: [...otherwise, ...later, 'human'],
  geo_blocked: ['rotate_egress'],
  login_wall: ['human'],
  consent_wall: ['fresh_context', 'human'],
  empty_shell: [...later, ...otherwise],
  // Rules of the site or the service are not circumvented.
  robots_disallowed: [],
  cooldown: [],
  unknown: allStrategies,
};

const afterError = [...later, ...elsewhere];
const afterReason: Partial<Record<string, readonly StrategyName[]>> = {
  proxy_error: [...elsewhere, ...later],
  // Stale cookies may cause redirect loops.
  too_many_redirects: ['fresh_context'],
  blocked_by_policy: [],
};
const proxyAuthenticationRequired = 407;

function strategiesAfter({ outcome, block, statusCode, reason }: Failure): readonly StrategyName[] {
  if (outcome === 'ok') return [];
  if (outcome === 'blocked') return afterBlock[block?.type ?? 'unknown'];
  const cause = statusCode === proxyAuthenticationRequired ? 'proxy_error' : (reason ?? '');
  return afterReason[cause] ?? afterError;
}

const firstWaitMs = 500;
/** Minimum time between two throttled attempts of one owner on one site. */
export const paceMs = 1000;

/** Minimum time of an attempt; with less time left it is not started. */
const attemptMsMin: Record<StrategyName, number> = {
  direct: 250,
  wait_retry: 250,
  throttle: 250,
  rotate_egress: 250,
  fresh_context: 500,
  full_browser: 3000,
  captcha_provider: 3000,
  human: 10_000,
};

/** The strategies of one work, from gentle to expensive. */
export class Ladder {
  readonly #enabled: readonly StrategyName[];
  readonly #random: () => number;
  readonly #attempted = new Set<StrategyName>();
  #waits = 0;

  constructor(enabled: readonly StrategyName[], random: () => number) {
    this.#enabled = enabled;
    this.#random = random;
  }

  /** The first attempt with a strategy. */
  first(strategy: StrategyName): PlannedAttempt {
    return this.#take(strategy, this.#waitMs(strategy, null));
  }

  /** null when no strategy is left. */
  next(failed: Failure, leftMs: number): PlannedAttempt | null {
    this.#attempted.add(failed.strategy);
    for (const strategy of strategiesAfter(failed)) {
      if (!this.#enabled.includes(strategy) || (strategy !== 'wait_retry' && this.#attempted.has(strategy))) continue;
      const waitMs = this.#waitMs(strategy, failed.block);
      if (waitMs + attemptMsMin[strategy] <= leftMs) return this.#take(strategy, waitMs);
    }
    return null;
  }

  #take(strategy: StrategyName, waitMs: number): PlannedAttempt {
    this.#attempted.add(strategy);
    if (strategy === 'wait_retry') this.#waits += 1;
    return { strategy, waitMs };
  }

  /** The site's Retry-After, and at least our own backoff, which doubles with each wait and has 50 % jitter. */
  #waitMs(strategy: StrategyName, block: Block | null): number {
    if (strategy !== 'wait_retry' && strategy !== 'throttle') return 0;
    const own = strategy === 'throttle' ? paceMs : firstWaitMs * 2 ** this.#waits * (0.5 + this.#random());
    return Math.ceil(Math.max(own, (block?.retry_after_seconds ?? 0) * 1000));
  }
}
