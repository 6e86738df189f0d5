/** Replaces many texts in a text in one pass, in time linear in its length whatever the texts are: the automaton of Aho and Corasick. */

/** Read between two pauses: about a millisecond. */
const sliceChars = 64 * 1024;
/** Nodes built between two pauses. */
const sliceNodes = 16 * 1024;

/** Matches that overlap. The longest of them names it. */
interface Span {
  start: number;
  end: number;
  pattern: number;
}

export class TextFinder {
  readonly #patterns: readonly string[];
  /** By the first code unit of a pattern: most text is skipped by it. */
  readonly #starts = new Uint8Array(0x1_0000);
  // By node. The root is 0; most nodes have one child.
  readonly #code = [0];
  readonly #child = [0];
  readonly #others: (Map<number, number> | undefined)[] = [undefined];
  readonly #fail = [0];
  readonly #depth = [0];
  /** The longest pattern that ends at the node, or -1. */
  readonly #longest = [-1];

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
    yield* finder.#link();
    return finder;
  }

  /**
   * The text with each match replaced, and matches that overlap as one, by what the longest of them is replaced by.
   * What is inserted is never read again. `count` gets the characters of the result as they come, and may throw.
   */
  *replace(text: string, nameOf: (pattern: number) => string, count: (chars: number) => void): Generator<void, string> {
    const parts: string[] = [];
    const spans: Span[] = [];
    let [node, copied] = [0, 0];
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
        if (node === 0 && this.#starts[code] === 0) continue;
        node = this.#next(node, code);
        const pattern = this.#longest[node] ?? -1;
        if (pattern >= 0) merge(spans, { start: at + 1 - this.#lengthOf(pattern), end: at + 1, pattern }, this.#patterns);
        // No later match begins before this.
        if (spans.length > 0 && at + 1 - (this.#depth[node] ?? 0) >= (spans.at(-1)?.end ?? 0)) flush();
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

  #lengthOf(pattern: number): number {
    return this.#patterns[pattern]?.length ?? 0;
  }

  #childOf(node: number, code: number): number {
    if (this.#code[node] === code) return this.#child[node] ?? 0;
    return this.#others[node]?.get(code) ?? 0;
  }

  #next(from: number, code: number): number {
    for (let node = from; ; node = this.#fail[node] ?? 0) {
      const child = this.#childOf(node, code);
      if (child !== 0 || node === 0) return child;
    }
  }

  #insert(pattern: string, index: number): void {
    this.#starts[pattern.charCodeAt(0)] = 1;
    let node = 0;
    for (let at = 0; at < pattern.length; at += 1) {
      const code = pattern.charCodeAt(at);
      node = this.#childOf(node, code) || this.#addChild(node, code);
    }
    if (this.#longest[node] === -1) this.#longest[node] = index;
  }

  #addChild(node: number, code: number): number {
    const child = this.#code.length;
    if (this.#child[node] === 0) {
      this.#code[node] = code;
      this.#child[node] = child;
    } else (this.#others[node] ??= new Map()).set(code, child);
    this.#code.push(0);
    this.#child.push(0);
    this.#others.push(undefined);
    this.#fail.push(0);
    this.#depth.push((this.#depth[node] ?? 0) + 1);
    this.#longest.push(-1);
    return child;
  }

  /** Where a node goes on when no child fits: at the longest end of its text that is a beginning, too. */
  *#link(): Generator<void> {
    const queue = [0];
    for (let at = 0; at < queue.length; at += 1) {
      if (at % sliceNodes === 0) yield;
      const node = queue[at] ?? 0;
      for (const [code, child] of this.#childrenOf(node)) {
        const fail = node === 0 ? 0 : this.#next(this.#fail[node] ?? 0, code);
        this.#fail[child] = fail;
        if (this.#longest[child] === -1) this.#longest[child] = this.#longest[fail] ?? -1;
        queue.push(child);
      }
    }
  }

  #childrenOf(node: number): [code: number, child: number][] {
    const child = this.#child[node] ?? 0;
    return child === 0 ? [] : [[this.#code[node] ?? 0, child], ...(this.#others[node] ?? [])];
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
