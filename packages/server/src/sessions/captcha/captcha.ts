/**
 * Captchas in pages: detection, and solving by the customer's own endpoint or by
 * a person. This service itself solves, hides and bypasses nothing: without a
 * configured provider, a solve does nothing.
 */
import type { CaptchaProviderName } from '@berth/contract';
import { BrowserClosedError, PageError, TabNotFoundError, type Page } from '@berth/devtools';
import type { Clock } from '@berth/lib/clock.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { LaneFullError, LaneTimeoutError, Lanes } from '@berth/lib/turns/lanes.ts';
import type { Log } from '@berth/lib/log.ts';
import { HttpProvider, CaptchaProviderError } from './http-provider.ts';
import { detectCaptcha, detectOrNull, type CaptchaDetection } from './detect.ts';
import { type CaptchaEvent, type CaptchaFailure, type SolveResult, CaptchaSolve, type SolvingPace } from './captcha-solve.ts';
import { CaptchaWatch, type CaptchaTabState } from './watch.ts';

export type { CaptchaEvent, SolveResult } from './captcha-solve.ts';
export { CaptchaWatch, type CaptchaTabState } from './watch.ts';

export interface CaptchaConfig {
  http: { url: string; secret: string } | null;
  human: boolean;
  timeoutMs: number;
}

export interface CaptchasDeps {
  config: CaptchaConfig;
  clock: Clock;
  log: Log;
  pace?: Partial<SolvingPace>;
}

export interface SolveOptions {
  /** Default: the first of `configured` that supports this type of captcha. */
  provider?: CaptchaProviderName | undefined;
  signal: AbortSignal;
  /** How long the solve may take; the operator's limit applies as well. */
  deadlineMs: number;
  emit(event: CaptchaEvent): void;
  /** Keeps the state beyond this call. */
  watch?: CaptchaWatch;
}

/** Each checks its page or polls an endpoint about once a second, and a person takes minutes. */
const solvesMax = 32;
const waitingMax = 64;
const defaultPace: SolvingPace = { pollMs: 2000, detectIntervalMs: 1000, verifyIntervalMs: 500, callbackMs: 2000 };

export class Captchas {
  readonly configured: readonly CaptchaProviderName[];
  readonly #deps: CaptchasDeps;
  readonly #http: HttpProvider | null;
  readonly #lanes: Lanes;

  constructor(deps: CaptchasDeps) {
    const { http, human, timeoutMs } = deps.config;
    this.#deps = deps;
    this.#http = http && new HttpProvider({ ...http, clock: deps.clock, log: deps.log });
    this.configured = [...(http ? (['http'] as const) : []), ...(human ? (['human'] as const) : [])];
    this.#lanes = new Lanes({ width: solvesMax, waitingMax, waitMsMax: timeoutMs });
  }

  /** Detects the captcha of the page. @throws PageError, TabNotFoundError, BrowserClosedError */
  detect(page: Page, { signal }: { signal: AbortSignal }): Promise<CaptchaDetection> {
    return detectCaptcha(page, { signal });
  }

  /** The captcha of the page and its state; `failed_to_detect` when the page does not answer. @throws TabNotFoundError, BrowserClosedError */
  async status(page: Page, { signal, watch }: { signal: AbortSignal; watch: CaptchaWatch }): Promise<CaptchaTabState> {
    if (!watch.isInProgress(page.tabId)) watch.record(page, await detectOrNull(page, { signal }));
    return watch.status(page.tabId);
  }

  /**
   * Solves the captcha of the page and injects the token. Submitting the form is
   * up to the caller.
   * @throws the signal's reason; every other failure is a result
   */
  async solve(page: Page, options: SolveOptions): Promise<SolveResult> {
    const { clock, log, config, pace } = this.#deps;
    const { signal, provider, emit, watch = new CaptchaWatch(clock) } = options;
    signal.throwIfAborted();
    const startedMs = clock.monotonicMs();
    const allowed = this.configured.filter((name) => provider === undefined || name === provider);
    const limitMs = Math.min(options.deadlineMs, config.timeoutMs);
    const providers = { names: allowed, http: this.#http };
    const solving = new CaptchaSolve({
      page,
      watch,
      emit,
      providers,
      pace: { ...defaultPace, ...pace },
      deadlineAt: new Date(clock.now().getTime() + limitMs),
    });
    const result =
      allowed.length === 0 ? { result: 'none' as const, units: 0 as const } : await this.#runInLane(solving, { page, signal, limitMs });
    const durationMs = Math.round(clock.monotonicMs() - startedMs);
    if (result.result !== 'none')
      log.info({ tab_id: page.tabId, ...solving.logFields(), result: result.result, duration_ms: durationMs }, 'captcha solve ended');
    return result;
  }

  async #runInLane(solving: CaptchaSolve, bounds: { page: Page; signal: AbortSignal; limitMs: number }): Promise<SolveResult> {
    const { page, signal, limitMs } = bounds;
    const reason = (): Error => new Error('the captcha was not solved in time');
    const deadline = new Deadline({ signal: AbortSignal.any([signal, page.closed]), timeoutMs: limitMs, reason });
    const { signal: whole } = deadline;
    try {
      return await this.#lanes.run('captcha', whole, () => solving.run(whole));
    } catch (error) {
      const failure = signal.aborted ? 'cancelled' : toFailure(error, { page, deadline });
      solving.abort(failure);
      signal.throwIfAborted();
      if (failure === 'internal') throw error;
      return { result: failure === 'timeout' ? 'timeout' : 'failed', units: 0 };
    } finally {
      deadline.end();
    }
  }
}

function toFailure(error: unknown, { page, deadline }: { page: Page; deadline: Deadline }): CaptchaFailure {
  // The browser may answer before the tab reports its end.
  if (page.closed.aborted || error instanceof TabNotFoundError || error instanceof BrowserClosedError) return 'page_closed';
  if (deadline.isOver) return 'timeout';
  if (error instanceof LaneFullError || error instanceof LaneTimeoutError) return 'busy';
  if (error instanceof CaptchaProviderError) return `provider_${error.reason}`;
  if (error instanceof PageError) return 'page_failed';
  return 'internal';
}
