/** Splits a command line into words as a shell does, without running anything: quotes and backslashes, nothing else. */
import { usageError } from './failures.ts';

export function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let index = 0; index < line.length; index++) {
    const char = line[index] ?? '';
    if (quote !== undefined) {
      if (char === quote) quote = undefined;
      else if (char === '\\' && quote === '"' && /["\\]/.test(line[index + 1] ?? '')) word += line[++index] ?? '';
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (char === '\\' && index + 1 < line.length) word = (word ?? '') + (line[++index] ?? '');
    else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote !== undefined) throw usageError(`A quote is not closed: ${line}`);
  return word === undefined ? words : [...words, word];
}
