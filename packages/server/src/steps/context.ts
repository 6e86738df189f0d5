/** What steps need of whoever has them run: a session's tab and a fetch's private page can both give it. */
import type { StepErrorCode } from '@berth/contract';
import type { CookieOrder, DownloadInfo, Page, TabInfo } from '../browser/browser.ts';
import type { Content } from '../content/content.ts';
import type { Clock } from '../lib/clock.ts';

export interface StepWorld {
  /** Where the steps begin: the tab `main`. */
  readonly mainTabId: string;
  /** Oldest first. */
  tabs(): readonly Pick<TabInfo, 'tabId' | 'openerTabId' | 'status'>[];
  /** Throws TabNotFound. */
  page(tabId: string): Page;
  /** Where the machine sees a file of the caller's; null for an unknown one. */
  filePath(fileId: string, options: { signal: AbortSignal }): Promise<string | null>;
  /** Does what starts a download, and resolves when its file is there. Its `status` tells whether it came. */
  waitForDownload(trigger: () => Promise<void>, options: { signal: AbortSignal; timeoutMs: number }): Promise<DownloadInfo>;
  setCookie(cookie: CookieOrder, options: { signal: AbortSignal; tabId: string }): Promise<void>;
  readonly content: Pick<Content, 'convert'>;
  readonly clock: Clock;
}

/** Why a step failed, in the caller's words. */
export class StepFailed extends Error {
  readonly code: StepErrorCode;

  constructor(code: StepErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'StepFailed';
    this.code = code;
  }
}
