/** Compares texts and addresses with a caller's pattern. Regular expressions run in the page alone: one without end costs the page its time, and nobody else's. */
import { parsePattern } from '@berth/contract';
import type { Attempt } from '../run/attempt.ts';
import { scripts } from '../scripts.ts';

export async function matchesPattern(attempt: Attempt, pattern: string, text: string): Promise<boolean> {
  const expression = parsePattern(pattern);
  if (expression === null) return matchesPlain(pattern, text);
  const { page } = attempt;
  return page.call(page.mainFrame(), scripts.testExpression, [expression.source, expression.flags, text], attempt.call());
}

/** A part of the text; with `*` all of it. Takes time in proportion to the text for each `*` at most. */
export function matchesPlain(pattern: string, text: string): boolean {
  const wanted = pattern.replace(/\s+/g, ' ').trim();
  if (!wanted.includes('*')) return text.includes(wanted);
  const [first = '', ...rest] = wanted.split('*');
  const last = rest.pop() ?? '';
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return from <= text.length - last.length;
}
