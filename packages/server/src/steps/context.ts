/** What steps need from their caller. Sessions and fetches both provide it. */
import type { StepErrorCode } from '@berth/contract';
import type { CookieParam, DownloadInfo, Page, TabInfo } from '../browser/browser.ts';
import type { Converter } from '../content/content.ts';
import type { Clock } from '../lib/clock.ts';

export interface StepContext {
  /** The tab `main`, where the steps start. */
  readonly mainTabId: string;
  /** Oldest first. */
  tabs(): readonly Pick<TabInfo, 'tabId' | 'openerTabId' | 'status'>[];
  /** @throws TabNotFound */
  page(tabId: string): Page;
  /** The path of a caller's file in the machine; null for an unknown file. */
  filePath(fileId: string, options: { signal: AbortSignal }): Promise<string | null>;
  /** Runs the trigger and resolves when its download has ended; see `status`. */
  waitForDownload(trigger: () => Promise<void>, options: { signal: AbortSignal; timeoutMs: number }): Promise<DownloadInfo>;
  setCookie(cookie: CookieParam, options: { signal: AbortSignal; tabId: string }): Promise<void>;
  readonly content: Converter;
  readonly clock: Clock;
}

/** The failure of a step, with a message for the caller. */
export class StepFailed extends Error {
  readonly code: StepErrorCode;

  constructor(code: StepErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'StepFailed';
    this.code = code;
  }
}
