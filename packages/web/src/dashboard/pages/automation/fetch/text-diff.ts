/** The lines in which two texts differ. */
import { diffLines } from 'diff';

/** `line`: number of the line in its text, from 1; of a removed line in the first text. `gap`: equal lines that are left out. */
export type DiffRow = { kind: 'same' | 'added' | 'removed'; text: string; line: number } | { kind: 'gap'; lines: number };

export interface TextDiff {
  rows: DiffRow[];
  added: number;
  removed: number;
  /** Rows that the limit left out. */
  omitted: number;
}

/** Equal lines that are shown around a difference. */
const contextLines = 3;
/** A browser lays this many rows out at once without a pause. */
const rowsMax = 2000;
/** The time that a comparison takes grows with the number of differences. */
const timeoutMs = 1500;
/** A line of minified HTML has megabytes. */
const lineCharsMax = 2000;

/** Compares two texts line by line. null where they differ too much to compare in time. */
export function diffTexts(before: string, after: string): TextDiff | null {
  const changes = diffLines(withNewline(before), withNewline(after), { timeout: timeoutMs });
  if (!changes) return null;
  const rows: DiffRow[] = [];
  const counts = { added: 0, removed: 0 };
  const at = { before: 1, after: 1 };
  for (const [index, { added, removed, value }] of changes.entries()) {
    const lines = linesOf(value);
    const kind = added ? 'added' : removed ? 'removed' : 'same';
    if (kind === 'same') rows.push(...foldSame(lines, at.after, { isFirst: index === 0, isLast: index === changes.length - 1 }));
    else {
      counts[kind] += lines.length;
      const from = kind === 'removed' ? at.before : at.after;
      for (const [n, text] of lines.entries()) rows.push({ kind, text: shorten(text), line: from + n });
    }
    if (kind !== 'added') at.before += lines.length;
    if (kind !== 'removed') at.after += lines.length;
  }
  return { rows: rows.slice(0, rowsMax), ...counts, omitted: Math.max(0, rows.length - rowsMax) };
}

/** Ends the last line, so that one without a line break equals one with it. */
const withNewline = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

const linesOf = (value: string): string[] => value.replace(/\n$/, '').split('\n');

const shorten = (text: string): string => (text.length > lineCharsMax ? `${text.slice(0, lineCharsMax)}…` : text);

interface Position {
  isFirst: boolean;
  isLast: boolean;
}

/** Equal lines, without those that are far from a difference. */
function foldSame(lines: readonly string[], from: number, { isFirst, isLast }: Position): DiffRow[] {
  const head = isFirst ? 0 : contextLines;
  const tail = isLast ? 0 : contextLines;
  const row = (n: number): DiffRow => ({ kind: 'same', text: shorten(lines[n] ?? ''), line: from + n });
  const range = (start: number, end: number): DiffRow[] => Array.from({ length: end - start }, (_, n) => row(start + n));
  if (lines.length <= head + tail + 1) return range(0, lines.length);
  return [...range(0, head), { kind: 'gap', lines: lines.length - head - tail }, ...range(lines.length - tail, lines.length)];
}
