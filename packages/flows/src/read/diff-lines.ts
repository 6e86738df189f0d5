const linesMax = 500;

/** Lines of one text that the other does not have, or not as often. In time linear in the lines. */
export function diffLines(before: readonly string[], after: readonly string[]): { added: string[]; removed: string[] } {
  const counts = new Map<string, number>();
  for (const line of before) counts.set(line, (counts.get(line) ?? 0) + 1);
  const added: string[] = [];
  for (const line of after) {
    const count = counts.get(line) ?? 0;
    if (count > 0) counts.set(line, count - 1);
    else if (added.length < linesMax) added.push(line);
  }
  const removed: string[] = [];
  for (const line of before) {
    const count = counts.get(line) ?? 0;
    if (count === 0 || removed.length >= linesMax) continue;
    counts.set(line, count - 1);
    removed.push(line);
  }
  return { added, removed };
}
