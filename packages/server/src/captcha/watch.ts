/**
 * What is known of the captcha in each tab, and what may become of it.
 *
 *   undetected → detected → solving → validating → solved
 *                              ↓          ↓
 *                       failed_to_solve  validation_failed
 *
 * A page that could not be asked is `failed_to_detect`. A captcha that failed
 * can be tried again; one that was solved, or is gone, makes room for the next.
 */
import type { CaptchaState, CaptchaType } from '@berth/contract';
import type { Page } from '../browser/browser.ts';
import type { Clock } from '../lib/clock.ts';
import type { CaptchaSight } from './look.ts';

const anew = ['undetected', 'failed_to_detect', 'detected'] as const;

export const captchaMoves: Readonly<Record<CaptchaState, readonly CaptchaState[]>> = {
  undetected: ['failed_to_detect', 'detected', 'solved'],
  failed_to_detect: ['undetected', 'detected', 'solved'],
  detected: ['undetected', 'failed_to_detect', 'solving', 'solved', 'failed_to_solve'],
  solving: ['validating', 'solved', 'failed_to_solve'],
  validating: ['solved', 'validation_failed', 'failed_to_solve'],
  validation_failed: [...anew, 'solving', 'solved', 'failed_to_solve'],
  solved: anew,
  failed_to_solve: [...anew, 'solving', 'solved'],
};

export interface CaptchaKnown {
  present: boolean;
  vendor: CaptchaSight['vendor'];
  type: CaptchaType | null;
  state: CaptchaState;
  /** Of the state; null before anything was looked at. */
  since: Date | null;
}

interface Kept extends CaptchaKnown {
  siteKey: string | null;
}

const unknown: Kept = { present: false, vendor: null, type: null, siteKey: null, state: 'undetected', since: null };

/** One for a session. A tab is in it from the first look until it is gone, so it is bounded as the tabs are. */
export class CaptchaWatch {
  readonly #clock: Clock;
  readonly #tabs = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#tabs.size;
  }

  of(tabId: string): CaptchaKnown {
    const { siteKey: _, ...known } = this.#tabs.get(tabId) ?? unknown;
    return known;
  }

  isUnderWay(tabId: string): boolean {
    const { state } = this.of(tabId);
    return state === 'solving' || state === 'validating';
  }

  /** What a look at the page says; null: the page could not be asked. While a captcha is being solved only the solving knows better. */
  saw(page: Page, sight: CaptchaSight | null): void {
    if (this.isUnderWay(page.tabId)) return;
    const before = this.#tabs.get(page.tabId) ?? unknown;
    const { present = false, vendor = null, type = null, siteKey = null } = sight ?? {};
    const isSame = before.present === present && before.type === type && before.siteKey === siteKey;
    const state = stateOf(sight, isSame ? before.state : 'undetected');
    const since = isSame && state === before.state && before.since ? before.since : this.#clock.now();
    this.#keep(page, { present, vendor, type, siteKey, state, since });
  }

  /** Throws where the table has no such move: that is a fault of ours. */
  move(page: Page, state: CaptchaState): void {
    if (page.gone.aborted) return;
    const before = this.#tabs.get(page.tabId) ?? unknown;
    if (!captchaMoves[before.state].includes(state)) throw new Error(`a captcha that is ${before.state} cannot become ${state}`);
    this.#keep(page, { ...before, state, since: this.#clock.now() });
  }

  #keep(page: Page, kept: Kept): void {
    if (page.gone.aborted) return;
    if (!this.#tabs.has(page.tabId)) page.gone.addEventListener('abort', () => this.#tabs.delete(page.tabId), { once: true });
    this.#tabs.set(page.tabId, kept);
  }
}

function stateOf(sight: CaptchaSight | null, before: CaptchaState): CaptchaState {
  if (sight === null) return 'failed_to_detect';
  if (!sight.present) return 'undetected';
  if (sight.answered) return 'solved';
  return before === 'validation_failed' || before === 'failed_to_solve' ? before : 'detected';
}
