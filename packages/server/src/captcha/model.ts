/** The events and the result of a solve. */
import type { BlockVendor, CaptchaState } from '@berth/contract';
import type { ProviderFailureReason } from './provider.ts';

export interface CaptchaEvent {
  type: 'captcha.detected' | 'captcha.awaiting_human' | 'captcha.solved' | 'captcha.failed';
  /** Always `tab_id`, `vendor`, `type` and `url`. */
  data: Record<string, unknown>;
}

export interface SolveResult {
  /** `none`: there is no captcha to answer, or no provider. */
  result: 'solved' | 'failed' | 'timeout' | 'none';
  /** Whether it called a provider or waited for a person. */
  waited: boolean;
  vendor: BlockVendor | null;
  url: string;
  durationMs: number;
  /** Units charged: one for a captcha that a provider or a person solved. */
  units: 0 | 1;
  state: CaptchaState;
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
  | 'page_gone'
  | 'page_failed'
  | 'busy'
  | 'internal';
