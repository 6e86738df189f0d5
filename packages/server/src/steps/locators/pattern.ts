/** Matches texts and URLs with a caller's pattern. Regular expressions run in the page, so that backtracking blocks only the page. */
import { parsePattern } from '@berth/contract';
import type { Attempt } from '../run/attempt.ts';
import { scripts } from '../scripts.ts';

export async function matchesPattern(attempt: Attempt, pattern: string, text: string): Promise<boolean> {
  const expression = parsePattern(pattern);
  if (expression === null) return matchesPlain(pattern, text);
  const { page } = attempt;
  return page.call(page.mainFrame(), scripts.testExpression, [expression.source, expression.flags, text], attempt.call());
}

/** Matches a part of the text; with `*` the whole text. Linear in the text for each `*`. */
export function matchesPlain(pattern: string, text: string): boolean {
  const collapsed = pattern.replace(/\s+/g, ' ').trim();
  if (!collapsed.includes('*')) return text.includes(collapsed);
  const [first = '', ...rest] = collapsed.split('*');
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
