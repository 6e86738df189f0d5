/**
 * What to try after a failure: the gentlest rung that may help, that the caller
 * allows, that was not tried yet in this work, and that fits into its time.
 */
import type { Block, BlockType, StrategyName } from '@berth/contract';
import type { Outcome } from './attempt.ts';

export interface Failure {
  strategy: StrategyName;
  outcome: Outcome;
  block: Block | null;
  statusCode: number | null;
  /** Why a navigation failed, in the contract's words. */
  reason?: string | undefined;
}

export interface Rest {
  strategy: StrategyName;
  /** To wait before the attempt. */
  waitMs: number;
}

const later = ['wait_retry', 'slower_pacing'] as const;
const elsewhere = ['other_egress', 'fresh_context'] as const;
const allRungs = [...later, ...elsewhere, 'captcha_provider', 'human'] as const;

/** `direct` stands in none: it comes first or not at all. */
const afterBlock: Record<BlockType, readonly StrategyName[]> = {
  rate_limited: [...later, ...elsewhere],
  challenge: allRungs,
  captcha: allRungs,
  // By the address's reputation, most often: the same visitor who only waits is refused again.
  access_denied: [...elsewhere, ...later, 'human'],
  bot_wall: [...elsewhere, ...later, 'human'],
  geo_blocked: ['other_egress'],
  login_wall: ['human'],
  consent_wall: ['fresh_context', 'human'],
  empty_shell: [...later, ...elsewhere],
  // What the site's rules or ours forbid is not tried another way.
  robots_disallowed: [],
  cooldown: [],
  unknown: allRungs,
};

const afterError = [...later, ...elsewhere];
const afterReason: Partial<Record<string, readonly StrategyName[]>> = {
  proxy_error: [...elsewhere, ...later],
  // Stale cookies send a visitor in circles.
  too_many_redirects: ['fresh_context'],
  blocked_by_policy: [],
};
const proxyAuthenticationRequired = 407;

function mayHelp({ outcome, block, statusCode, reason }: Failure): readonly StrategyName[] {
  if (outcome === 'ok') return [];
  if (outcome === 'blocked') return afterBlock[block?.type ?? 'unknown'];
  const why = statusCode === proxyAuthenticationRequired ? 'proxy_error' : (reason ?? '');
  return afterReason[why] ?? afterError;
}

const firstWaitMs = 500;
/** Between two attempts of one owner on one site that are paced. */
export const paceMs = 1000;

/** What an attempt needs at the least: with less time left it is not begun. */
const leastMs: Record<StrategyName, number> = {
  direct: 250,
  wait_retry: 250,
  slower_pacing: 250,
  other_egress: 250,
  fresh_context: 500,
  captcha_provider: 3000,
  human: 10_000,
};

/** The ladder of one work. */
export class Ladder {
  readonly #enabled: readonly StrategyName[];
  readonly #random: () => number;
  readonly #tried = new Set<StrategyName>();
  #waits = 0;

  constructor(enabled: readonly StrategyName[], random: () => number) {
    this.#enabled = enabled;
    this.#random = random;
  }

  /** How the first attempt is made, given its rung. */
  first(strategy: StrategyName): Rest {
    return this.#take(strategy, this.#waitMs(strategy, null));
  }

  /** Null where nothing is left to try. */
  next(failed: Failure, leftMs: number): Rest | null {
    this.#tried.add(failed.strategy);
    for (const strategy of mayHelp(failed)) {
      if (!this.#enabled.includes(strategy) || (strategy !== 'wait_retry' && this.#tried.has(strategy))) continue;
      const waitMs = this.#waitMs(strategy, failed.block);
      if (waitMs + leastMs[strategy] <= leftMs) return this.#take(strategy, waitMs);
    }
    return null;
  }

  #take(strategy: StrategyName, waitMs: number): Rest {
    this.#tried.add(strategy);
    if (strategy === 'wait_retry') this.#waits += 1;
    return { strategy, waitMs };
  }

  /** What the site asked for, and never less than our own: each wait of a work is twice as long as the one before, give or take half. */
  #waitMs(strategy: StrategyName, block: Block | null): number {
    if (strategy !== 'wait_retry' && strategy !== 'slower_pacing') return 0;
    const own = strategy === 'slower_pacing' ? paceMs : firstWaitMs * 2 ** this.#waits * (0.5 + this.#random());
    return Math.ceil(Math.max(own, (block?.retry_after_seconds ?? 0) * 1000));
  }
}
