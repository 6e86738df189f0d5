/** Finds long runs of characters of a class without reading most of the others. */

export type CharClass = Uint8Array;

/** Creates a class of ASCII characters. */
export const charClass = (pattern: RegExp): CharClass =>
  Uint8Array.from({ length: 128 }, (_, code) => (pattern.test(String.fromCharCode(code)) ? 1 : 0));

/** Calls `visit` for each maximal run of at least `min` characters. A window without one is left behind its last other character. */
export function eachRun(text: string, inClass: CharClass, min: number, visit: (start: number, end: number) => void): void {
  const { length } = text;
  let start = 0;
  while (start + min <= length) {
    let at = start + min - 1;
    while (at >= start && inClass[text.charCodeAt(at)] === 1) at -= 1;
    if (at >= start) {
      start = at + 1;
      continue;
    }
    let end = start + min;
    while (end < length && inClass[text.charCodeAt(end)] === 1) end += 1;
    visit(start, end);
    start = end + 1;
  }
}

/** The matches of a pattern whose matches are of the class and that looks at one character before and after them. */
export function matchesInRuns(
  text: string,
  { inClass, min, pattern }: { inClass: CharClass; min: number; pattern: RegExp },
  visit: (match: string, index: number) => void,
): void {
  eachRun(text, inClass, min, (start, end) => {
    const from = Math.max(0, start - 1);
    for (const match of text.slice(from, end + 1).matchAll(pattern)) visit(match[0], from + match.index);
  });
}
