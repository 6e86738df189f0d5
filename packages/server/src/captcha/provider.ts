/** The interface of a captcha provider. */
import type { CaptchaType } from '@berth/contract';

export interface CaptchaTask {
  type: CaptchaType;
  /** The site's public key at the vendor; null when the page does not expose it. */
  siteKey: string | null;
  /** The address of the document that holds the captcha, without its fragment. */
  pageUrl: string;
  action: string | null;
  /** Other data the token is bound to: `data-s`, `data-cdata` or `data-blob`. */
  data: string | null;
}

export interface CaptchaProgress {
  state: 'solving' | 'solved' | 'failed';
  /** Present when solved. */
  token?: string | undefined;
  /** The cost the provider reports, in its own units. */
  costUnits?: number | undefined;
  /** The provider's own text. Never logged and never shown to a caller. */
  error?: string | undefined;
}

/** All methods throw ProviderFailure or the signal's reason. */
export interface CaptchaProvider {
  readonly name: string;
  supports(type: CaptchaType): boolean;
  submit(task: CaptchaTask, signal: AbortSignal): Promise<{ id: string }>;
  poll(id: string, signal: AbortSignal): Promise<CaptchaProgress>;
  /** Reports whether the page accepted the token. */
  report?(id: string, good: boolean, signal: AbortSignal): Promise<void>;
}

/**
 * `refused`: a response other than 2xx that a retry will not change.
 * `invalid_response`: a response that is too large, no JSON, or does not match the request.
 * `failed`: the provider could not solve the captcha.
 */
export type ProviderFailureReason = 'refused' | 'invalid_response' | 'failed';

/** Contains nothing of the provider's response. */
export class ProviderFailure extends Error {
  readonly reason: ProviderFailureReason;

  constructor(reason: ProviderFailureReason) {
    super(`captcha provider failed: ${reason}`);
    this.name = 'ProviderFailure';
    this.reason = reason;
  }
}
