/** Superscripts and subscripts of plain text: a power that is written as its base is another number. */
import type { Script } from './main-content/layout.ts';

const lettersOf: Readonly<Record<Script, ReadonlyMap<string, string>>> = {
  sup: new Map([...'0123456789+-−=()ni'].map((letter, at) => [letter, [...'⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ'][at] ?? ''])),
  sub: new Map([...'0123456789+-−=()'].map((letter, at) => [letter, [...'₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎'][at] ?? ''])),
};
const lettersMax = 20;
/** Endings of ordinals and of trade marks are a matter of typography. */
const endings = /^(?:st|nd|rd|th|er|[eè]re|re|[eè]me|nde|os|as|tm|sm|mc|md)$/i;

/** The letters of a script where all of them exist. */
export function lettersIn(script: Script, text: string): string | null {
  if (text === '' || text.length > lettersMax) return null;
  let letters = '';
  for (const letter of text) {
    const own = lettersOf[script].get(letter);
    if (own === undefined) return null;
    letters += own;
  }
  return letters;
}

/** Whether a text means the same on the line: `1st`, `[3]`, `*`. */
export const meansTheSame = (text: string): boolean =>
  endings.test(text) || !/[\p{L}\p{N}]/u.test(text) || (text.length <= lettersMax && /^(?:\[.*\]|\(.*\))$/s.test(text));

/** `⁶`, `^n+1`, or the text itself where it means the same on the line. */
export function scriptText(script: Script, text: string): string {
  const letters = lettersIn(script, text);
  if (letters !== null) return letters;
  if (meansTheSame(text)) return text;
  return `${script === 'sup' ? '^' : '_'}${/^[\p{L}\p{N}]+$/u.test(text) ? text : `(${text})`}`;
}
