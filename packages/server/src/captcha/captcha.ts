/**
 * Captchas in pages: whether one is there, and the customer's own endpoint or a
 * person asked for its answer. Nothing is solved, hidden or got around here,
 * and without a provider nobody is asked.
 */
import type { CaptchaProviderName } from '@berth/contract';
import { BrowserGone, PageError, TabNotFound, type Page } from '../browser/browser.ts';
import type { Clock } from '../lib/clock.ts';
import { LaneFull, LaneTimeout, Lanes } from '../lib/lanes.ts';
import type { Log } from '../lib/log.ts';
import { HttpProvider } from './http-provider.ts';
import { look, type CaptchaSight } from './look.ts';
import { ProviderFailure, type CaptchaProvider } from './provider.ts';
import type { CaptchaEvent, CaptchaFailure, SolveOutcome } from './model.ts';
import { Solving, type SolvingOutcome, type SolvingPace } from './solving.ts';
import { CaptchaWatch, type CaptchaKnown } from './watch.ts';

export type { CaptchaSight } from './look.ts';
export type { CaptchaProgress, CaptchaProvider, CaptchaTask } from './provider.ts';
export type { CaptchaEvent, CaptchaFailure, SolveOutcome } from './model.ts';
export { CaptchaWatch, type CaptchaKnown } from './watch.ts';

export interface CaptchaConfig {
  http: { url: string; secret: string } | null;
  human: boolean;
  timeoutMs: number;
}

export interface CaptchasOptions {
  config: CaptchaConfig;
  clock: Clock;
  log: Log;
  pace?: Partial<SolvingPace>;
}

export interface SolveOptions {
  /** Unset: the first of `configured` that takes this type of captcha. */
  provider?: CaptchaProviderName | undefined;
  signal: AbortSignal;
  /** How long it may take; never longer than the operator lets it. */
  deadlineMs: number;
  tell(event: CaptchaEvent): void;
  /** Where the state is kept beyond this call. */
  watch?: CaptchaWatch;
}

/** Each looks at its page or asks an endpoint about once a second, and a person takes minutes. */
const solvesMax = 32;
const waitingMax = 64;
const usualPace: SolvingPace = { pollMs: 2000, lookMs: 1000, settleMs: 500, callbackMs: 2000 };

export class Captchas {
  readonly configured: readonly CaptchaProviderName[];
  readonly #options: CaptchasOptions;
  readonly #http: CaptchaProvider | null;
  readonly #lanes: Lanes;

  constructor(options: CaptchasOptions) {
    const { http, human, timeoutMs } = options.config;
    this.#options = options;
    this.#http = http && new HttpProvider({ ...http, clock: options.clock, log: options.log });
    this.configured = [...(http ? (['http'] as const) : []), ...(human ? (['human'] as const) : [])];
    this.#lanes = new Lanes({ width: solvesMax, waitingMax, waitMsMax: timeoutMs });
  }

  /** What stands on the page now. @throws PageError, TabNotFound, BrowserGone */
  look(page: Page, { signal }: { signal: AbortSignal }): Promise<CaptchaSight> {
    return look(page, { signal });
  }

  /** What stands on the page now, and how far its solving is. A page that cannot be asked is `failed_to_detect`. @throws TabNotFound, BrowserGone */
  async status(page: Page, { signal, watch }: { signal: AbortSignal; watch: CaptchaWatch }): Promise<CaptchaKnown> {
    if (!watch.isUnderWay(page.tabId)) watch.saw(page, await lookOrNull(page, signal));
    return watch.of(page.tabId);
  }

  /**
   * Has the captcha on the page solved and gives the answer to the page. To send
   * the form is the caller's own step. Throws the signal's reason; everything
   * else that goes wrong is an outcome.
   */
  async solve(page: Page, options: SolveOptions): Promise<SolveOutcome> {
    const { clock, log, config, pace } = this.#options;
    const { signal, provider, tell, watch = new CaptchaWatch(clock) } = options;
    signal.throwIfAborted();
    const startedMs = clock.monotonicMs();
    const allowed = this.configured.filter((name) => provider === undefined || name === provider);
    const limitMs = Math.min(options.deadlineMs, config.timeoutMs);
    const providers = { names: allowed, http: this.#http };
    const solving = new Solving({
      page,
      watch,
      tell,
      clock,
      providers,
      pace: { ...usualPace, ...pace },
      deadlineAt: new Date(clock.now().getTime() + limitMs),
    });
    const ended = allowed.length === 0 ? solving.outcome('none') : await this.#run(solving, { page, signal, limitMs });
    const durationMs = Math.round(clock.monotonicMs() - startedMs);
    if (ended.result !== 'none')
      log.info({ tab_id: page.tabId, ...solving.facts(), result: ended.result, duration_ms: durationMs }, 'captcha');
    return { ...ended, durationMs };
  }

  async #run(solving: Solving, bounds: { page: Page; signal: AbortSignal; limitMs: number }): Promise<SolvingOutcome> {
    const { page, signal, limitMs } = bounds;
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), limitMs);
    const whole = AbortSignal.any([signal, page.gone, limit.signal]);
    try {
      return await this.#lanes.run('captcha', whole, () => solving.run(whole));
    } catch (error) {
      const failure = signal.aborted ? 'cancelled' : failureOf(error, { page, limit: limit.signal });
      solving.giveUp(failure);
      signal.throwIfAborted();
      if (failure === 'internal') throw error;
      return solving.outcome(failure === 'timeout' ? 'timeout' : 'failed');
    } finally {
      clearTimeout(timer);
    }
  }
}

function failureOf(error: unknown, { page, limit }: { page: Page; limit: AbortSignal }): CaptchaFailure {
  // The browser's answer may come before the tab is told to be gone.
  if (page.gone.aborted || error instanceof TabNotFound || error instanceof BrowserGone) return 'page_gone';
  if (limit.aborted) return 'timeout';
  if (error instanceof LaneFull || error instanceof LaneTimeout) return 'busy';
  if (error instanceof ProviderFailure) return `provider_${error.reason}`;
  if (error instanceof PageError) return 'page_failed';
  return 'internal';
}

async function lookOrNull(page: Page, signal: AbortSignal): Promise<CaptchaSight | null> {
  try {
    return await look(page, { signal });
  } catch (error) {
    if (error instanceof PageError) return null;
    throw error;
  }
}
