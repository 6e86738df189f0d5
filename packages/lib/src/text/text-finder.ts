/** Replaces many texts in a text in one pass, in time linear in its length whatever the texts are. */
import { WordAutomaton } from './word-automaton.ts';

/** Characters that are read between two pauses: about a millisecond. */
const sliceChars = 64 * 1024;

/** Matches that overlap. The longest of them names it. */
interface Span {
  start: number;
  end: number;
  pattern: number;
}

export class TextFinder {
  readonly #patterns: readonly string[];
  /** Marks the first code unit of each pattern: most text is skipped by it. */
  readonly #starts = new Uint8Array(0x1_0000);
  readonly #automaton = new WordAutomaton();
  /** Index of each pattern, by the state at which the pattern ends. */
  readonly #patternAt = new Map<number, number>();

  private constructor(patterns: readonly string[]) {
    this.#patterns = patterns;
  }

  /** Pauses at each `yield`. The first of equal patterns counts; none is empty. */
  static *create(patterns: readonly string[]): Generator<void, TextFinder> {
    const finder = new TextFinder(patterns);
    for (const [index, pattern] of patterns.entries()) {
      finder.#insert(pattern, index);
      yield;
    }
    yield* finder.#automaton.link();
    return finder;
  }

  /**
   * The text with each match replaced, and matches that overlap as one, by what the longest of them is replaced by.
   * What is inserted is never read again. `count` gets the characters of the result as they come, and may throw.
   */
  *replace(text: string, nameOf: (pattern: number) => string, count: (chars: number) => void): Generator<void, string> {
    const parts: string[] = [];
    const spans: Span[] = [];
    const automaton = this.#automaton;
    let [state, copied] = [0, 0];
    const add = (part: string): void => {
      count(part.length);
      parts.push(part);
    };
    const flush = (): void => {
      for (const { start, end, pattern } of spans) {
        if (start > copied) add(text.slice(copied, start));
        add(nameOf(pattern));
        copied = end;
      }
      spans.length = 0;
    };
    for (let from = 0; from < text.length; from += sliceChars) {
      if (from > 0) yield;
      const to = Math.min(text.length, from + sliceChars);
      for (let at = from; at < to; at += 1) {
        const code = text.charCodeAt(at);
        if (state === 0 && this.#starts[code] === 0) continue;
        state = automaton.step(state, code);
        const output = automaton.outputOf(state);
        const pattern = this.#patternAt.get(output);
        if (pattern !== undefined) merge(spans, { start: at + 1 - automaton.depthOf(output), end: at + 1, pattern }, this.#patterns);
        // No later match begins before this.
        if (spans.length > 0 && at + 1 - automaton.depthOf(state) >= (spans.at(-1)?.end ?? 0)) flush();
      }
    }
    flush();
    if (parts.length === 0) {
      count(text.length);
      return text;
    }
    if (copied < text.length) add(text.slice(copied));
    return parts.join('');
  }

  #insert(pattern: string, index: number): void {
    this.#starts[pattern.charCodeAt(0)] = 1;
    const state = this.#automaton.add(pattern);
    if (!this.#patternAt.has(state)) this.#patternAt.set(state, index);
  }
}

function merge(spans: Span[], span: Span, patterns: readonly string[]): void {
  const lengthOf = (pattern: number): number => patterns[pattern]?.length ?? 0;
  for (let last = spans.at(-1); last && last.end > span.start; last = spans.at(-1)) {
    spans.pop();
    span.start = Math.min(span.start, last.start);
    if (lengthOf(last.pattern) >= lengthOf(span.pattern)) span.pattern = last.pattern;
  }
  spans.push(span);
}
