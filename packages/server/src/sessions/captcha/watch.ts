/**
 * The captcha state of each tab, and its transitions.
 *
 *   undetected → detected → solving → validating → solved
 *                              ↓          ↓
 *                       failed_to_solve  validation_failed
 *
 * A page that does not answer is `failed_to_detect`. A failed captcha can be
 * retried; a solved or absent one makes room for the next.
 */
import type { CaptchaState, CaptchaType } from '@berth/contract';
import type { Page } from '@berth/devtools';
import type { Clock } from '@berth/lib/clock.ts';
import type { CaptchaDetection } from './detect.ts';

const redetectable = ['undetected', 'failed_to_detect', 'detected'] as const;

export const captchaMoves: Readonly<Record<CaptchaState, readonly CaptchaState[]>> = {
  undetected: ['failed_to_detect', 'detected', 'solved'],
  failed_to_detect: ['undetected', 'detected', 'solved'],
  detected: ['undetected', 'failed_to_detect', 'solving', 'solved', 'failed_to_solve'],
  solving: ['validating', 'solved', 'failed_to_solve'],
  validating: ['solved', 'validation_failed', 'failed_to_solve'],
  validation_failed: [...redetectable, 'solving', 'solved', 'failed_to_solve'],
  solved: redetectable,
  failed_to_solve: [...redetectable, 'solving', 'solved'],
};

export interface CaptchaTabState {
  present: boolean;
  vendor: CaptchaDetection['vendor'];
  type: CaptchaType | null;
  state: CaptchaState;
  /** Start of the state; null before the first detection. */
  since: Date | null;
}

interface CaptchaEntry extends CaptchaTabState {
  siteKey: string | null;
}

const unknown: CaptchaEntry = { present: false, vendor: null, type: null, siteKey: null, state: 'undetected', since: null };

/** One per session. It holds a tab from its first detection until the tab closes, so the tab limit bounds it. */
export class CaptchaWatch {
  readonly #clock: Clock;
  readonly #tabs = new Map<string, CaptchaEntry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#tabs.size;
  }

  status(tabId: string): CaptchaTabState {
    const { siteKey: _, ...status } = this.#tabs.get(tabId) ?? unknown;
    return status;
  }

  isInProgress(tabId: string): boolean {
    const { state } = this.status(tabId);
    return state === 'solving' || state === 'validating';
  }

  /** Null: the page did not answer. Ignored while a solve is in progress, which sets the state itself. */
  record(page: Page, detection: CaptchaDetection | null): void {
    if (this.isInProgress(page.tabId)) return;
    const before = this.#tabs.get(page.tabId) ?? unknown;
    const { present = false, vendor = null, type = null, siteKey = null } = detection ?? {};
    const isSame = before.present === present && before.type === type && before.siteKey === siteKey;
    const state = stateOf(detection, isSame ? before.state : 'undetected');
    const since = isSame && state === before.state && before.since ? before.since : this.#clock.now();
    this.#store(page, { present, vendor, type, siteKey, state, since });
  }

  /** @throws Error when the table has no such move, which is a bug */
  move(page: Page, state: CaptchaState): void {
    if (page.closed.aborted) return;
    const before = this.#tabs.get(page.tabId) ?? unknown;
    if (!captchaMoves[before.state].includes(state)) throw new Error(`a captcha that is ${before.state} cannot become ${state}`);
    this.#store(page, { ...before, state, since: this.#clock.now() });
  }

  #store(page: Page, entry: CaptchaEntry): void {
    if (page.closed.aborted) return;
    if (!this.#tabs.has(page.tabId)) page.closed.addEventListener('abort', () => this.#tabs.delete(page.tabId), { once: true });
    this.#tabs.set(page.tabId, entry);
  }
}

function stateOf(detection: CaptchaDetection | null, before: CaptchaState): CaptchaState {
  if (detection === null) return 'failed_to_detect';
  if (!detection.present) return 'undetected';
  if (detection.answered) return 'solved';
  return before === 'validation_failed' || before === 'failed_to_solve' ? before : 'detected';
}
