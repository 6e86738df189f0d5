/** One captcha from its detection to its end, whoever is asked. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CaptchaProviderName, CaptchaState } from '@berth/contract';
import { PageError, type Page } from '../browser/browser.ts';
import type { Clock } from '../lib/clock.ts';
import { giveAnswer, isStill, lookUnlessBusy } from './answer.ts';
import { look, type CaptchaSight } from './look.ts';
import type { CaptchaEvent, CaptchaFailure, SolveOutcome } from './model.ts';
import { ProviderFailure, type CaptchaProvider } from './provider.ts';
import type { CaptchaWatch } from './watch.ts';

export type SolvingOutcome = Omit<SolveOutcome, 'durationMs'>;

export interface SolvingPace {
  /** Between questions to a provider. */
  pollMs: number;
  /** Between looks at a page that a person sits at. */
  lookMs: number;
  settleMs: number;
  callbackMs: number;
}

export interface SolvingParts {
  page: Page;
  watch: CaptchaWatch;
  tell(event: CaptchaEvent): void;
  clock: Clock;
  providers: { names: readonly CaptchaProviderName[]; http: CaptchaProvider | null };
  pace: SolvingPace;
  deadlineAt: Date;
}

/** What a report is given after the page has already gone on. */
const reportLimitMs = 5000;

export class Solving {
  readonly #parts: SolvingParts;
  readonly #url: string;
  #sight: CaptchaSight | null = null;
  #provider: CaptchaProviderName | null = null;
  #failure: CaptchaFailure | null = null;

  constructor(parts: SolvingParts) {
    this.#parts = parts;
    this.#url = withoutFragment(parts.page.url());
  }

  async run(signal: AbortSignal): Promise<SolvingOutcome> {
    const { page, watch } = this.#parts;
    if (watch.isUnderWay(page.tabId)) return this.#refuse('busy');
    const sight = await this.#detect(signal);
    if (!sight.asks || sight.answered) return this.outcome('none');
    this.#sight = sight;
    this.#tell('captcha.detected', {});
    const provider = this.#choose(sight);
    if (provider === null) return this.#refuse('unsupported');
    this.#provider = provider;
    watch.move(page, 'solving');
    if (provider === 'human') return this.#awaitHuman(sight, signal);
    return this.#askProvider(this.#parts.providers.http as CaptchaProvider, sight, signal);
  }

  /** Ends what is under way. Without a captcha there is nothing to tell. */
  giveUp(failure: CaptchaFailure): void {
    const { page, watch } = this.#parts;
    this.#failure = failure;
    if (!this.#sight) return;
    if (watch.isUnderWay(page.tabId)) watch.move(page, 'failed_to_solve');
    this.#tell('captcha.failed', { reason: failure });
  }

  outcome(result: SolveOutcome['result'], units: 0 | 1 = 0): SolvingOutcome {
    const { page, watch } = this.#parts;
    // What the watch knew of a tab goes with the tab.
    const state: CaptchaState = page.gone.aborted && this.#sight ? 'failed_to_solve' : watch.of(page.tabId).state;
    return { result, waited: this.#provider !== null, vendor: this.#sight?.vendor ?? null, url: this.#url, units, state };
  }

  /** For the log: nothing of the page's address, the site's key or the answer. */
  facts(): Record<string, unknown> {
    const { vendor = null, type = null } = this.#sight ?? {};
    return { vendor, captcha_type: type, provider: this.#provider, reason: this.#failure };
  }

  async #detect(signal: AbortSignal): Promise<CaptchaSight> {
    const { page, watch } = this.#parts;
    try {
      const sight = await look(page, { signal });
      watch.saw(page, sight);
      return sight;
    } catch (error) {
      if (error instanceof PageError) watch.saw(page, null);
      throw error;
    }
  }

  #choose({ type }: CaptchaSight): CaptchaProviderName | null {
    const { names, http } = this.#parts.providers;
    return names.find((name) => name === 'human' || (type !== null && http?.supports(type))) ?? null;
  }

  async #awaitHuman(sight: CaptchaSight, signal: AbortSignal): Promise<SolvingOutcome> {
    const { pace, deadlineAt } = this.#parts;
    this.#tell('captcha.awaiting_human', { deadline_at: deadlineAt.toISOString() });
    for (;;) {
      await sleep(pace.lookMs, undefined, { signal });
      if (await this.#isOver(sight, signal)) return this.#solved(1);
    }
  }

  /** Whether the page has its answer, from whomever, or has gone on without. */
  async #isOver(sight: CaptchaSight, signal: AbortSignal): Promise<boolean> {
    const { page, pace } = this.#parts;
    const now = await lookUnlessBusy(page, { signal });
    if (now === null) return false;
    if (isStill(sight, now)) return now.answered;
    // A document that has just begun shows nothing yet: only what stays away is gone.
    await sleep(page.patience.ms(pace.settleMs), undefined, { signal });
    const later = await lookUnlessBusy(page, { signal });
    return later !== null && (!isStill(sight, later) || later.answered);
  }

  async #askProvider(provider: CaptchaProvider, sight: CaptchaSight, signal: AbortSignal): Promise<SolvingOutcome> {
    const { page, watch, pace } = this.#parts;
    const { type, siteKey, frameUrl, action, data } = sight;
    const { id } = await provider.submit({ type: type ?? 'other', siteKey, pageUrl: withoutFragment(frameUrl), action, data }, signal);
    const token = await this.#awaitToken(provider, { id, sight, signal });
    // The page was answered by somebody else: nobody is charged for that.
    if (token === null) return this.#solved(0);
    watch.move(page, 'validating');
    const reception = await giveAnswer(page, sight, token, { ...pace, signal });
    void this.#report(provider, id, reception === 'taken');
    return reception === 'taken' ? this.#solved(1) : this.#refuse(reception);
  }

  /** Null where the page has no more need of it. */
  async #awaitToken(
    provider: CaptchaProvider,
    { id, sight, signal }: { id: string; sight: CaptchaSight; signal: AbortSignal },
  ): Promise<string | null> {
    for (;;) {
      await sleep(this.#parts.pace.pollMs, undefined, { signal });
      const progress = await provider.poll(id, signal);
      if (progress.state === 'failed') throw new ProviderFailure('failed');
      if (await this.#isOver(sight, signal)) return null;
      if (progress.state === 'solved' && progress.token !== undefined) return progress.token;
    }
  }

  /** The caller does not wait for it, and a report that does not arrive changes nothing. */
  async #report(provider: CaptchaProvider, id: string, good: boolean): Promise<void> {
    try {
      await provider.report?.(id, good, AbortSignal.timeout(reportLimitMs));
    } catch {
      // The endpoint has been told as well as it lets itself be told.
    }
  }

  #solved(units: 0 | 1): SolvingOutcome {
    const { page, watch } = this.#parts;
    watch.move(page, 'solved');
    this.#tell('captcha.solved', { provider: units === 1 ? this.#provider : null });
    return this.outcome('solved', units);
  }

  #refuse(failure: CaptchaFailure): SolvingOutcome {
    const { page, watch } = this.#parts;
    this.#failure = failure;
    if (failure === 'unsupported' && watch.of(page.tabId).state !== 'failed_to_solve') watch.move(page, 'failed_to_solve');
    if (failure === 'no_place' || failure === 'not_taken') watch.move(page, 'validation_failed');
    if (this.#sight) this.#tell('captcha.failed', { reason: failure });
    return this.outcome('failed');
  }

  #tell(type: CaptchaEvent['type'], data: Record<string, unknown>): void {
    const { vendor = null, type: captchaType = null } = this.#sight ?? {};
    this.#parts.tell({ type, data: { tab_id: this.#parts.page.tabId, vendor, type: captchaType, url: this.#url, ...data } });
  }
}

const withoutFragment = (url: string): string => url.split('#', 1)[0] ?? '';
