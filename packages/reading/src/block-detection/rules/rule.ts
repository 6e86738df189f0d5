/**
 * Block detection rules are data. A rule is one signal: its source, what must
 * match, and how strong the signal is.
 *
 * Only blocks show a `strong` signal. A `weak` one also needs an error status or
 * a nearly empty page. `shape` is only the outline of a block. Ordinary pages of
 * a vendor's customers carry many marks too (sensors, cookies, telemetry), so
 * those rules are bound to statuses that such pages do not have.
 *
 * Every pattern is linear in its input: no quantifier is next to or inside
 * another that could match the same character.
 */
import type { BlockType, BlockVendor } from '@berth/contract';

export type Strength = 'strong' | 'weak' | 'shape';

/** A real element of the markup: never text, a comment or a quotation. */
export interface ElementMark {
  tag: string;
  attribute: string;
  value: RegExp;
  /** Literal text in the tag's source, which makes the search fast. */
  needle: string;
  /** CSS selector of the element, for the probe script. */
  css?: string;
}

export type SignalSource =
  /** A header. Without `value` it only has to be present, and the evidence omits its value. */
  | { kind: 'header'; name: string; value?: RegExp }
  | { kind: 'cookie_name'; name: RegExp }
  | { kind: 'title'; value: RegExp }
  /** Host and path of the final address, such as `example.com/a/b`. */
  | { kind: 'url'; value: RegExp }
  | { kind: 'status' }
  /** Matched by the probe script only. */
  | { kind: 'selector'; css: string }
  | ({ kind: 'element' } & ElementMark)
  /** The text of an inline script that runs, never of data. `needle` is literal text in it. */
  | { kind: 'script'; value: RegExp; needle: string }
  /** Visible text with its white space collapsed, on pages that have at most `textMax` characters of it. */
  | { kind: 'text'; value: RegExp; textMax: number }
  /** A captcha of the rule's vendor: embedded, or with its challenge on display, which only a browser can detect. */
  | { kind: 'captcha'; displayed: boolean };

/** Further conditions on the response. */
export interface Condition {
  statuses?: readonly number[];
  /** A status of 400 or more. */
  error?: true;
  /** A status below 400, or none. */
  success?: true;
  /** HTML of at most `smallPageBytes`. */
  small?: true;
  /** Maximum number of visible characters. */
  textMax?: number;
  /** Has scripts, and nothing visible or usable but a little text. */
  shell?: true;
  /** A header that no block of this kind carries. */
  withoutHeader?: string;
}

export interface Rule {
  /** `vendor.mark` */
  id: string;
  vendor: BlockVendor;
  type: BlockType;
  strength: Strength;
  source: SignalSource;
  when?: Condition;
  /** A challenge that a real browser passes by waiting. */
  selfClearing?: true;
}

/** A smaller page is only a notice. */
export const smallPageBytes = 5000;

/** Statuses of refusals. They confirm a weak signal. */
export const refusals: readonly number[] = [401, 403, 405, 429, 503];
