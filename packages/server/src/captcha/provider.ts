/** Who can be asked for the answer to a captcha. */
import type { CaptchaType } from '@berth/contract';

export interface CaptchaTask {
  type: CaptchaType;
  /** The site's public key at the vendor; null where the page does not tell it. */
  siteKey: string | null;
  /** Of the document that the captcha stands in, without its fragment. */
  pageUrl: string;
  action: string | null;
  /** What else the site has bound the answer to: `data-s`, `data-cdata` or `data-blob`. */
  data: string | null;
}

export interface CaptchaProgress {
  state: 'solving' | 'solved' | 'failed';
  /** There when solved. */
  token?: string | undefined;
  /** What the provider says it cost, in its own units. */
  costUnits?: number | undefined;
  /** In the provider's words, which are for nobody but the provider. */
  error?: string | undefined;
}

/** Everything throws ProviderFailure or the signal's reason. */
export interface CaptchaProvider {
  readonly name: string;
  supports(type: CaptchaType): boolean;
  submit(task: CaptchaTask, signal: AbortSignal): Promise<{ id: string }>;
  poll(id: string, signal: AbortSignal): Promise<CaptchaProgress>;
  /** Whether the page took the answer. */
  report?(id: string, good: boolean, signal: AbortSignal): Promise<void>;
}

/**
 * `refused`: an answer other than 2xx that asking again will not change.
 * `bad_reply`: an answer that is too large, no JSON, or not what was asked for.
 * `failed`: the provider gave the captcha up.
 */
export type ProviderFailureReason = 'refused' | 'bad_reply' | 'failed';

/** Carries nothing of what the provider said. */
export class ProviderFailure extends Error {
  readonly reason: ProviderFailureReason;

  constructor(reason: ProviderFailureReason) {
    super(`the captcha provider: ${reason}`);
    this.name = 'ProviderFailure';
    this.reason = reason;
  }
}
