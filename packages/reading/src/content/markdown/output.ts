/** Nested lists and quotations beyond this are not indented further: each level would repeat in every line. */
const nestingMax = 16;
/** A hostile page of short lines in deep lists would be many times its size. */
const charsMax = 50_000_000;

interface Level {
  prefix: string;
  first: string | null;
  gapPrefix: string;
  blocks: number;
}

/** Blocks of Markdown, each with the prefix of the lists and quotations around it. */
export class MarkdownOutput {
  /** Line ends before the next block. */
  gap = 0;
  readonly #parts: string[] = [];
  #chars = 0;
  #blocks = 0;
  #depth = 0;
  #prefix = '';
  /** The prefix of the next line only, with the markers that begin there. */
  #first: string | null = null;
  /** The prefix of the blank line before these markers. */
  #gapPrefix = '';

  get isCut(): boolean {
    return this.#chars > charsMax;
  }

  /** Begins an item or a quotation: `marker` is in its first line, `indent` in the others. */
  enter(marker: string, indent: string): Level {
    const level = { prefix: this.#prefix, first: this.#first, gapPrefix: this.#gapPrefix, blocks: this.#blocks };
    if (this.#first === null) this.#gapPrefix = this.#prefix;
    this.#first = (this.#first ?? this.#prefix) + marker;
    this.#depth += 1;
    if (this.#depth <= nestingMax) this.#prefix += indent;
    return level;
  }

  /** The next block stands beside the marker of an item or a quotation. */
  get isAtMarker(): boolean {
    return this.#first !== null;
  }

  get blocks(): number {
    return this.#blocks;
  }

  /** Returns whether anything was added since. */
  exit(level: Level): boolean {
    const isEmpty = this.#blocks === level.blocks;
    this.#depth -= 1;
    this.#prefix = level.prefix;
    this.#first = isEmpty ? level.first : null;
    this.#gapPrefix = level.gapPrefix;
    return !isEmpty;
  }

  add(block: string): void {
    if (block === '' || this.isCut) return;
    const text = this.#prefix === '' ? block : block.replaceAll('\n', `\n${this.#prefix}`);
    const gapPrefix = (this.#first === null ? this.#prefix : this.#gapPrefix).trimEnd();
    const lead = this.#blocks === 0 ? '' : this.gap > 1 ? `\n${gapPrefix}\n` : '\n';
    const line = lead + (this.#first ?? this.#prefix) + text;
    this.#parts.push(line);
    this.#chars += line.length;
    this.#blocks += 1;
    this.#first = null;
    this.gap = 2;
  }

  toString(): string {
    return this.#parts.join('');
  }
}
