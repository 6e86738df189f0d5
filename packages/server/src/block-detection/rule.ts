/**
 * What block pages look like is data. A rule is one observation: where to look,
 * what must be there, and how much it proves.
 *
 * `strong` is what only a block shows. `weak` is a guess that needs an error
 * status or a nearly empty page beside it. `shape` is a page with no more than
 * the outline of a block. Many marks stand on the ordinary pages of a vendor's
 * customers too (sensors, cookies, telemetry): they are bound to statuses that
 * such pages do not have.
 *
 * Every pattern is linear in its input: no quantifier stands beside or inside
 * another that could take the same character.
 */
import type { BlockType, BlockVendor } from '@berth/contract';

export type Strength = 'strong' | 'weak' | 'shape';

/** A real element of the markup: never text, a comment or a quotation. */
export interface ElementMark {
  tag: string;
  attribute: string;
  value: RegExp;
  /** Literal text of the tag's source, by which it is found among thousands. */
  needle: string;
  /** The same for the probe script. */
  css?: string;
}

export type Sight =
  /** Without `value` the header need only be there, and what it holds is never told. */
  | { kind: 'header'; name: string; value?: RegExp }
  | { kind: 'cookie_name'; name: RegExp }
  | { kind: 'title'; value: RegExp }
  /** Host and path of the final address, such as `example.com/a/b`. */
  | { kind: 'url'; value: RegExp }
  | { kind: 'status' }
  /** Only the probe script sees it. */
  | { kind: 'selector'; css: string }
  | ({ kind: 'element' } & ElementMark)
  /** The text of an inline script that runs, never of data. `needle` is literal text in it. */
  | { kind: 'script'; value: RegExp; needle: string }
  /** Visible text with its white space collapsed, on pages that have at most `textMax` characters of it. */
  | { kind: 'text'; value: RegExp; textMax: number }
  /** A captcha of the rule's vendor: built in, or with its challenge on display, which only a browser can tell. */
  | { kind: 'captcha'; displayed: boolean };

/** What must be true of the reply besides. */
export interface Condition {
  statuses?: readonly number[];
  /** A status of 400 or more. */
  error?: true;
  /** A status below 400, or none told. */
  success?: true;
  /** HTML of at most `smallPageBytes`. */
  small?: true;
  /** At most this many visible characters. */
  textMax?: number;
  /** Scripts, and nothing but a little text to see or use. */
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
  sight: Sight;
  when?: Condition;
  /** A challenge that a real browser passes by waiting. */
  selfClearing?: true;
}

/** A page below this is no more than a notice. */
export const smallPageBytes = 5000;

/** The statuses with which a visitor is turned away. With these a guess is believed. */
export const refusals: readonly number[] = [401, 403, 405, 429, 503];
