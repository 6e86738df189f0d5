/** What a solve tells and how it ends. */
import type { BlockVendor, CaptchaState } from '@berth/contract';
import type { ProviderFailureReason } from './provider.ts';

export interface CaptchaEvent {
  type: 'captcha.detected' | 'captcha.awaiting_human' | 'captcha.solved' | 'captcha.failed';
  /** Always `tab_id`, `vendor`, `type` and `url`. */
  data: Record<string, unknown>;
}

export interface SolveOutcome {
  /** `none`: there is nothing to answer, or nobody to ask. */
  result: 'solved' | 'failed' | 'timeout' | 'none';
  /** Whether a provider was asked or a person waited for. */
  waited: boolean;
  vendor: BlockVendor | null;
  url: string;
  durationMs: number;
  /** What is charged: a captcha that somebody was asked for and that was solved. */
  units: 0 | 1;
  state: CaptchaState;
}

/**
 * Why a captcha was not solved. `unsupported`: no provider takes its type.
 * `no_place`, `not_taken`: the page did not have the answer. `busy`: too many
 * are being solved, or this one already is. `internal`: a fault of ours.
 */
export type CaptchaFailure =
  | 'timeout'
  | 'cancelled'
  | 'unsupported'
  | `provider_${ProviderFailureReason}`
  | 'no_place'
  | 'not_taken'
  | 'page_gone'
  | 'page_failed'
  | 'busy'
  | 'internal';
