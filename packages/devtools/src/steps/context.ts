/** What steps need from their caller. Sessions and fetches both provide it. */
import type { Selectors, StepErrorCode } from '@berth/contract';
import type { CookieParam, DownloadInfo, NavigationRequest, NavigationResult, Page, SiteCookie, TabInfo } from '../browser/browser.ts';
import type { Converter } from '@berth/reading';
import type { Clock } from '@berth/lib/clock.ts';
import type { Fingerprint } from '@berth/page-scripts/locate/fingerprint.ts';

export interface StepContext {
  /** The tab `main`, where the steps start. */
  readonly mainTabId: string;
  /** Oldest first. */
  tabs(): readonly Pick<TabInfo, 'tabId' | 'openerTabId' | 'status'>[];
  /** @throws TabNotFoundError */
  page(tabId: string): Page;
  /** The path of a caller's file in the machine; null for an unknown file. */
  filePath(fileId: string, options: { signal: AbortSignal }): Promise<string | null>;
  /** Runs the trigger and resolves when its download has ended; see `status`. */
  waitForDownload(trigger: () => Promise<void>, options: { signal: AbortSignal; timeoutMs: number }): Promise<DownloadInfo>;
  setCookie(cookie: CookieParam, options: { signal: AbortSignal; tabId: string }): Promise<void>;
  /** Cookies of the context of a tab. */
  cookies(options: { signal: AbortSignal; tabId: string }): Promise<SiteCookie[]>;
  /** Runs instead of the page's own navigation in a `navigate` step. @throws StepError, and what navigations throw */
  navigate?(page: Page, request: NavigationRequest, options: { signal: AbortSignal }): Promise<NavigationResult>;
  readonly content: Converter;
  readonly clock: Clock;
  /** Steps of flows learn their elements, and find them again in a page that has changed. */
  readonly memory?: StepMemory;
}

/** Which element of which site: `site` is the page's host, `step` names the step within its flow. */
export interface StepKey {
  site: string;
  step: string;
}

export interface KnownElement {
  /** What else has found the element, best first. */
  selectors: Selectors;
  fingerprint: Fingerprint;
  /** Whether it was seen so lately that its fingerprint need not be taken again. */
  isFresh: boolean;
}

/** How the element of a step was found. */
export type Finding =
  | { result: 'listed'; selectors: Selectors; fingerprint: Fingerprint | null }
  | {
      result: 'healed';
      level: 2 | 3 | 4 | 5 | 6 | 7;
      score: number;
      from: Selectors[number];
      selectors: Selectors;
      fingerprint: Fingerprint | null;
    }
  | { result: 'failed'; reason: 'not_found' | 'not_allowed' };

export interface StepMemory {
  /** null where nothing is known, or what is known is not to be used. */
  recall(key: StepKey): Promise<KnownElement | null>;
  learn(key: StepKey, finding: Finding): void;
}

/** The failure of a step, with a message for the caller. */
export class StepError extends Error {
  readonly code: StepErrorCode;

  constructor(code: StepErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'StepError';
    this.code = code;
  }
}
