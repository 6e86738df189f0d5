/** The solving of one captcha, from its detection to its result, by any provider. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CaptchaProviderName } from '@berth/contract';
import { abortAfter } from '@berth/lib/deadline.ts';
import { PageError, type Page } from '@berth/devtools';
import { detectCaptcha, detectOrNull, type CaptchaDetection } from './detect.ts';
import { injectToken, isSameCaptcha } from './inject-token.ts';
import { CaptchaProviderError, type HttpProvider, type ProviderFailureReason } from './http-provider.ts';
import type { CaptchaWatch } from './watch.ts';

export interface CaptchaEvent {
  type: 'captcha.detected' | 'captcha.awaiting_human' | 'captcha.solved' | 'captcha.failed';
  /** Always `tab_id`, `vendor`, `type` and `url`. */
  data: Record<string, unknown>;
}

export interface SolveResult {
  /** `none`: there is no captcha to answer, or no provider. */
  result: 'solved' | 'failed' | 'timeout' | 'none';
  /** Units charged: one for a captcha that a provider or a person solved. */
  units: 0 | 1;
}

/**
 * Why a captcha was not solved. `unsupported`: no provider supports its type.
 * `no_response_field`, `token_rejected`: the page did not accept the token.
 * `busy`: too many solves are running, or one runs in this tab already.
 * `internal`: a bug in this service.
 */
export type CaptchaFailure =
  | 'timeout'
  | 'cancelled'
  | 'unsupported'
  | `provider_${ProviderFailureReason}`
  | 'no_response_field'
  | 'token_rejected'
  | 'page_closed'
  | 'page_failed'
  | 'busy'
  | 'internal';

export interface SolvingPace {
  /** Interval between polls of a provider. */
  pollMs: number;
  /** Interval between checks of a page that a person works in. */
  detectIntervalMs: number;
  verifyIntervalMs: number;
  callbackMs: number;
}

interface CaptchaSolveDeps {
  page: Page;
  watch: CaptchaWatch;
  emit(event: CaptchaEvent): void;
  providers: { names: readonly CaptchaProviderName[]; http: HttpProvider | null };
  pace: SolvingPace;
  deadlineAt: Date;
}

/** Reporting runs after the solve has returned. */
const reportTimeoutMs = 5000;

export class CaptchaSolve {
  readonly #deps: CaptchaSolveDeps;
  readonly #url: string;
  #detection: CaptchaDetection | null = null;
  #provider: CaptchaProviderName | null = null;
  #failure: CaptchaFailure | null = null;

  constructor(deps: CaptchaSolveDeps) {
    this.#deps = deps;
    this.#url = withoutFragment(deps.page.url());
  }

  async run(signal: AbortSignal): Promise<SolveResult> {
    const { page, watch } = this.#deps;
    if (watch.isInProgress(page.tabId)) return this.#fail('busy');
    const detection = await this.#detect(signal);
    if (!detection.asks || detection.answered) return { result: 'none', units: 0 };
    this.#detection = detection;
    this.#emit('captcha.detected', {});
    const provider = this.#choose(detection);
    if (provider === null) return this.#fail('unsupported');
    this.#provider = provider;
    watch.move(page, 'solving');
    if (provider === 'human') return this.#awaitHuman(detection, signal);
    return this.#solveWithProvider(this.#deps.providers.http as HttpProvider, detection, signal);
  }

  /** Ends the solving. Emits nothing when no captcha was detected. */
  abort(failure: CaptchaFailure): void {
    const { page, watch } = this.#deps;
    this.#failure = failure;
    if (!this.#detection) return;
    if (watch.isInProgress(page.tabId)) watch.move(page, 'failed_to_solve');
    this.#emit('captcha.failed', { reason: failure });
  }

  /** The fields for the log, without the address, the site key and the token. */
  logFields(): Record<string, unknown> {
    const { vendor = null, type = null } = this.#detection ?? {};
    return { vendor, captcha_type: type, provider: this.#provider, reason: this.#failure };
  }

  async #detect(signal: AbortSignal): Promise<CaptchaDetection> {
    const { page, watch } = this.#deps;
    try {
      const detection = await detectCaptcha(page, { signal });
      watch.record(page, detection);
      return detection;
    } catch (error) {
      if (error instanceof PageError) watch.record(page, null);
      throw error;
    }
  }

  #choose({ type }: CaptchaDetection): CaptchaProviderName | null {
    const { names, http } = this.#deps.providers;
    return names.find((name) => name === 'human' || (type !== null && http?.supports(type))) ?? null;
  }

  async #awaitHuman(detection: CaptchaDetection, signal: AbortSignal): Promise<SolveResult> {
    const { pace, deadlineAt } = this.#deps;
    this.#emit('captcha.awaiting_human', { deadline_at: deadlineAt.toISOString() });
    for (;;) {
      await sleep(pace.detectIntervalMs, undefined, { signal });
      if (await this.#isAnswered(detection, signal)) return this.#succeed(1);
    }
  }

  /** Whether the page has a token, from anyone, or no longer shows the captcha. */
  async #isAnswered(detection: CaptchaDetection, signal: AbortSignal): Promise<boolean> {
    const { page, pace } = this.#deps;
    const current = await detectOrNull(page, { signal });
    if (current === null) return false;
    if (isSameCaptcha(detection, current)) return current.answered;
    // A new document shows nothing at first: one absence proves nothing, two do.
    await sleep(page.timeoutScale.ms(pace.verifyIntervalMs), undefined, { signal });
    const confirmed = await detectOrNull(page, { signal });
    return confirmed !== null && (!isSameCaptcha(detection, confirmed) || confirmed.answered);
  }

  async #solveWithProvider(provider: HttpProvider, detection: CaptchaDetection, signal: AbortSignal): Promise<SolveResult> {
    const { page, watch, pace } = this.#deps;
    const { type, siteKey, frameUrl, action, data } = detection;
    const { id } = await provider.submit({ type: type ?? 'other', siteKey, pageUrl: withoutFragment(frameUrl), action, data }, signal);
    const token = await this.#awaitToken(provider, { id, detection, signal });
    // Someone else answered the captcha: no charge.
    if (token === null) return this.#succeed(0);
    watch.move(page, 'validating');
    const injection = await injectToken(page, detection, token, { ...pace, signal });
    void this.#report(provider, id, injection === 'accepted');
    return injection === 'accepted' ? this.#succeed(1) : this.#fail(injection);
  }

  /** Resolves with the token; null when the page no longer needs one. */
  async #awaitToken(
    provider: HttpProvider,
    { id, detection, signal }: { id: string; detection: CaptchaDetection; signal: AbortSignal },
  ): Promise<string | null> {
    for (;;) {
      await sleep(this.#deps.pace.pollMs, undefined, { signal });
      const progress = await provider.poll(id, signal);
      if (progress.state === 'failed') throw new CaptchaProviderError('failed');
      if (await this.#isAnswered(detection, signal)) return null;
      if (progress.state === 'solved') return progress.token;
    }
  }

  /** Best effort: nothing waits for it or depends on it. */
  async #report(provider: HttpProvider, id: string, good: boolean): Promise<void> {
    try {
      await provider.report(id, good, abortAfter(reportTimeoutMs));
    } catch {
      // Best effort.
    }
  }

  #succeed(units: 0 | 1): SolveResult {
    const { page, watch } = this.#deps;
    watch.move(page, 'solved');
    this.#emit('captcha.solved', { provider: units === 1 ? this.#provider : null });
    return { result: 'solved', units };
  }

  #fail(failure: CaptchaFailure): SolveResult {
    const { page, watch } = this.#deps;
    this.#failure = failure;
    if (failure === 'unsupported' && watch.status(page.tabId).state !== 'failed_to_solve') watch.move(page, 'failed_to_solve');
    if (failure === 'no_response_field' || failure === 'token_rejected') watch.move(page, 'validation_failed');
    if (this.#detection) this.#emit('captcha.failed', { reason: failure });
    return { result: 'failed', units: 0 };
  }

  #emit(type: CaptchaEvent['type'], data: Record<string, unknown>): void {
    const { vendor = null, type: captchaType = null } = this.#detection ?? {};
    this.#deps.emit({ type, data: { tab_id: this.#deps.page.tabId, vendor, type: captchaType, url: this.#url, ...data } });
  }
}

const withoutFragment = (url: string): string => url.split('#', 1)[0] ?? '';
