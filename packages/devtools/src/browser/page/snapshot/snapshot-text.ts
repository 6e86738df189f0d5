/** A node of a snapshot as a line: `- button "Buy" [disabled] [ref=e3]`. */
import type { AccessibilityNode } from '../page.ts';

export interface LineOptions {
  /** Whether the row of the element is said: where others have its role and name. */
  withPlace: boolean;
}

/** The line without its indentation. */
export function toLine(node: AccessibilityNode, { withPlace }: LineOptions): string {
  const { role, name, value = '', text = '', place, ref, box, url } = node;
  if (role === 'text') return `text: ${plain(name)}`;
  const parts = [role];
  if (name !== '') parts.push(quote(name));
  parts.push(...marksOf(node));
  if (withPlace && place !== undefined && place !== '') parts.push(`[in=${quote(place)}]`);
  if (ref !== null) parts.push(`[ref=${ref}]`);
  if (box) parts.push(`[box=${box.x},${box.y},${box.width},${box.height}]`);
  if (url !== undefined) parts.push(`[url=${quote(url)}]`);
  const said = value === '' ? text : value;
  return said === '' ? parts.join(' ') : `${parts.join(' ')}: ${plain(said)}`;
}

function marksOf({ states = {}, options }: AccessibilityNode): string[] {
  const marks = Object.entries(states).map(([state, value]) => (value === 'true' ? `[${state}]` : `[${state}=${value}]`));
  if (!options) return marks;
  const more = options.more > 0 ? [`+${options.more} more`] : [];
  return [...marks, `[options: ${[...options.shown.map(quote), ...more].join(', ')}]`];
}

/** No text of a page can end its quotes, or look like a mark. */
const quote = (text: string): string => JSON.stringify(text);

/** Texts of letters, digits and common punctuation stand without quotes, which cost tokens. */
const plain = (text: string): string =>
  /^[\p{L}\p{N}$€£¥+(][\p{L}\p{M}\p{N} .,;!?%&$€£¥/()+*@_’'–—…-]*$/u.test(text) ? text : quote(text);

/** An estimate, rather too high: five letters, three digits or one other character are a token of today's models. One pass, as it is made of each line. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let run = 0;
  let kind = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const lower = code | 32;
    const next = lower >= 97 && lower <= 122 ? 5 : code >= 48 && code <= 57 ? 3 : code === 32 ? 0 : 1;
    run = next === kind && run < next ? run + 1 : 1;
    kind = next;
    if (run === 1 && next > 0) tokens += 1;
  }
  return tokens;
}

/** 53 bits of a text, to compare the lines of two snapshots without keeping them. */
export function hashOf(text: string): number {
  let [low, high] = [0x811c9dc5, 0x9e3779b9];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b) ^ (high >>> 13);
  }
  return (high >>> 11) * 4_294_967_296 + (low >>> 0);
}
